package engine_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
	"github.com/millrace-go/millrace/store/memory"
	"github.com/millrace-go/millrace/workflow"
)

const tenant = "t"

// world is a store in memory under virtual time, with any number of engines at it, and what they were seen to do.
type world struct {
	t      *testing.T
	ctx    context.Context
	memory *memory.Store
	st     *faulty.Store

	mu    sync.Mutex
	ended map[string]chan struct{}
	calls map[string]int // of handlers, by run and path
	seen  []string       // the same, in order
}

type handlers map[string]engine.HandlerFunc

// in runs a test in a bubble of virtual time: it moves on whenever everybody waits.
func in(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(func() machine.Time { return machine.TimeOf(time.Now()) })
		test(&world{
			t: t, ctx: t.Context(), memory: m, st: faulty.New(m, nil),
			ended: map[string]chan struct{}{}, calls: map[string]int{},
		})
	})
}

// engine makes an engine that runs until the test ends, or stop is called, which gives what Run gave.
func (w *world) engine(c engine.Config, hs handlers) (e *engine.Engine, stop func() error) {
	w.t.Helper()
	c.Handlers = map[string]engine.Handler{}
	for name, h := range hs {
		c.Handlers[name] = w.counted(h)
	}
	c.Observer = w
	return w.runs(w.st, c)
}

// runs is engine at a store of the caller's, with handlers and an observer of the caller's.
func (w *world) runs(st store.Store, c engine.Config) (e *engine.Engine, stop func() error) {
	w.t.Helper()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	e, err := engine.New(st, c)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	result := make(chan error, 1)
	go func() { result <- e.Run(ctx) }()
	var once sync.Once
	var got error
	stop = func() error {
		once.Do(func() {
			cancel()
			got = <-result
		})
		return got
	}
	w.t.Cleanup(func() { _ = stop() })
	return e, stop
}

func (w *world) counted(h engine.HandlerFunc) engine.HandlerFunc {
	return func(ctx context.Context, a *engine.Attempt) (json.RawMessage, error) {
		w.mu.Lock()
		w.calls[a.ID+" "+a.Path]++
		w.seen = append(w.seen, a.ID+" "+a.Path)
		w.mu.Unlock()
		return h(ctx, a)
	}
}

func (w *world) Claimed(*engine.Attempt)                 {}
func (w *world) Answered(*engine.Attempt, machine.Event) {}

func (w *world) Settled(run *machine.Run) {
	if !run.Status.Ended() {
		return
	}
	end := w.end(run.ID)
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-end: // it has ended before
	default:
		close(end)
	}
}

func (w *world) end(id string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended[id] == nil {
		w.ended[id] = make(chan struct{})
	}
	return w.ended[id]
}

// called says how often the handler of a task was called.
func (w *world) called(id, path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[id+" "+path]
}

// begun says how often any handler was called.
func (w *world) begun() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// define registers a workflow.
func (w *world) define(text string) {
	w.t.Helper()
	def, err := workflow.Read("test.yaml", []byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	e, err := engine.New(w.memory, engine.Config{})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, _, err := e.Register(w.ctx, tenant, def); err != nil {
		w.t.Fatal(err)
	}
}

// start starts a run and gives its id. It goes round the faults of the store.
func (w *world) start(name, input string) string {
	w.t.Helper()
	e, err := engine.New(w.memory, engine.Config{})
	if err != nil {
		w.t.Fatal(err)
	}
	got, err := e.Start(w.ctx, []engine.StartRequest{{Tenant: tenant, Workflow: name, Input: json.RawMessage(input)}})
	if err != nil || got[0].Err != nil {
		w.t.Fatal(err, got)
	}
	return got[0].RunID
}

// wait blocks until a run has ended and gives it.
func (w *world) wait(id string) *machine.Run {
	w.t.Helper()
	select {
	case <-w.end(id):
	case <-time.After(time.Hour):
		w.t.Fatalf("run %s does not end:\n%s", id, w.story(id))
	}
	return w.state(id)
}

func (w *world) state(id string) *machine.Run {
	w.t.Helper()
	s, err := w.memory.State(context.WithoutCancel(w.ctx), tenant, id, nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Run
}

// succeeded waits for a run and fails the test unless it succeeded.
func (w *world) succeeded(id string) {
	w.t.Helper()
	if run := w.wait(id); run.Status != machine.Succeeded {
		w.t.Errorf("run %s is %s:\n%s", id, run.Status, w.story(id))
	}
}

// failed waits for a run that fails and gives its error.
func (w *world) failed(id string) *machine.Error {
	w.t.Helper()
	run := w.wait(id)
	if run.Status != machine.Failed || run.Root.Run.Error == nil {
		w.t.Fatalf("run %s is %s:\n%s", id, run.Status, w.story(id))
	}
	return run.Root.Run.Error
}

func (w *world) journal(id string) []store.Entry {
	w.t.Helper()
	all, err := w.memory.Journal(context.WithoutCancel(w.ctx), tenant, id, 0, 100_000)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range all {
		if all[i].Seq != int64(i+1) {
			w.t.Errorf("run %s: entry %d has the number %d", id, i+1, all[i].Seq)
		}
	}
	return all
}

// kinds gives the events about one task, in order.
func (w *world) kinds(id, path string) []machine.EventKind {
	w.t.Helper()
	var out []machine.EventKind
	for _, e := range w.journal(id) {
		if e.Path == path {
			out = append(out, e.Kind)
		}
	}
	return out
}

func (w *world) story(id string) string {
	w.t.Helper()
	var b strings.Builder
	for _, e := range w.journal(id) {
		line, err := json.Marshal(e)
		if err != nil {
			w.t.Fatal(err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	live, err := w.memory.Tasks(context.WithoutCancel(w.ctx), tenant, id, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range live {
		b.WriteString("live: " + live[i].Path + " owner " + live[i].Owner + "\n")
	}
	return b.String()
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

func ok(context.Context, *engine.Attempt) (json.RawMessage, error) {
	return json.RawMessage(`"done"`), nil
}

const one = `
workflow: one
version: 1
steps:
  - { id: work, task: work }
`

const chain = `
workflow: chain
version: 1
steps:
  - { id: a, task: work }
  - { id: b, task: work }
  - { id: c, task: work }
  - { id: d, task: work }
  - { id: e, task: work }
`
