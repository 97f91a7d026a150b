package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite"
	"github.com/millrace-go/millrace/workflow"
)

// counting counts the ends of runs.
type counting struct {
	mu    sync.Mutex
	left  int
	ended chan struct{}
}

func (*counting) Claimed(*engine.Attempt)                 {}
func (*counting) Answered(*engine.Attempt, machine.Event) {}
func (c *counting) Settled(run *machine.Run) {
	if !run.Status.Ended() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left == 0 {
		close(c.ended)
	}
}

// process opens the file as a process of its own would, and runs an engine on it until the test ends.
func process(t *testing.T, path string, c engine.Config) *engine.Engine {
	t.Helper()
	st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Logger = slog.New(slog.DiscardHandler)
	e, err := engine.New(st, c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- e.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-left; err != nil {
			t.Error(err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// A1 R1
func TestSeveralEnginesOnOneSQLiteFileExecuteEachStepOnce(t *testing.T) {
	t.Parallel()
	const runs = 30
	path := filepath.Join(t.TempDir(), "m.db")
	var mu sync.Mutex
	calls := map[string]int{}
	work := engine.HandlerFunc(func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
		mu.Lock()
		defer mu.Unlock()
		calls[a.ID+" "+a.Path]++
		return json.RawMessage(fmt.Sprintf("%q", a.Path)), nil
	})
	done := &counting{left: runs, ended: make(chan struct{})}
	var engines []*engine.Engine
	for range 3 {
		engines = append(engines, process(t, path, engine.Config{
			Slots: 8, Observer: done, Handlers: map[string]engine.Handler{"work": work},
		}))
	}
	def, err := workflow.Read("fork.yaml", []byte(`
workflow: fork
version: 1
steps:
  a: { task: work }
  b: { after: a, task: work }
  c: { after: a, task: work }
  nap: { after: a, wait: 50ms }
  d: { after: [b, c, nap], task: work }
  all: { after: d, map: { over: "[1, 2, 3]", do: { task: work } } }
`))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := engines[0].Register(t.Context(), tenant, def); err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		got, err := engines[i%3].Start(t.Context(), []engine.StartRequest{request("fork", "", "null")})
		if err != nil || got[0].Err != nil {
			t.Fatal(err, got)
		}
	}
	<-done.ended
	st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := st.Runs(t.Context(), store.Filter{Tenant: tenant, Limit: runs + 1, Status: []machine.Status{machine.Succeeded}})
	if err != nil || len(rows) != runs {
		t.Errorf("%d runs succeeded, %v", len(rows), err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	if len(calls) != 7*runs {
		t.Errorf("%d tasks were executed; want %d", len(calls), 7*runs)
	}
	for task, n := range calls {
		if n != 1 {
			t.Errorf("%s was executed %d times", task, n)
		}
	}
}

// BenchmarkChain is W2 in small: sequences of five steps on SQLite, one process.
func BenchmarkChain(b *testing.B) {
	path := filepath.Join(b.TempDir(), "m.db")
	st, err := sqlite.Open(b.Context(), path, sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	done := &counting{left: b.N, ended: make(chan struct{})}
	e, err := engine.New(st, engine.Config{
		Slots: 256, Observer: done, Handlers: map[string]engine.Handler{"work": engine.HandlerFunc(ok)},
	})
	if err != nil {
		b.Fatal(err)
	}
	def, err := workflow.Read("chain.yaml", []byte(chain))
	if err != nil {
		b.Fatal(err)
	}
	if _, _, err := e.Register(b.Context(), tenant, def); err != nil {
		b.Fatal(err)
	}
	for from := 0; from < b.N; from += 500 {
		var all []engine.StartRequest
		for range min(500, b.N-from) {
			all = append(all, request("chain", "", "null"))
		}
		if _, err := e.Start(b.Context(), all); err != nil {
			b.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(b.Context())
	left := make(chan error, 1)
	b.ResetTimer()
	go func() { left <- e.Run(ctx) }()
	<-done.ended
	b.ReportMetric(float64(5*b.N)/b.Elapsed().Seconds(), "steps/s")
	b.StopTimer()
	stop()
	if err := <-left; err != nil {
		b.Error(err)
	}
	if err := st.Close(); err != nil {
		b.Error(err)
	}
}
