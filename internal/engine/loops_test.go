package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/clock"
	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
	"github.com/millrace-go/millrace/store/memory"
	"github.com/millrace-go/millrace/workflow"
)

// Q1
func TestFullQueueNeverDelaysAnother(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: slow
version: 1
steps: [{ id: work, task: slow, queue: slow }]
`)
		w.define(one)
		release := make(chan struct{})
		running, most := 0, 0
		for range 20 {
			w.start("slow", "null")
		}
		w.engine(engine.Config{Slots: 4, Queues: map[string]int{"slow": 2}}, handlers{
			"slow": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
				w.mu.Lock()
				running++
				most = max(most, running)
				w.mu.Unlock()
				<-release
				w.mu.Lock()
				running--
				w.mu.Unlock()
				return nil, nil
			},
			"work": ok,
		})
		pass(time.Second)
		before := time.Now()
		for range 20 {
			w.succeeded(w.start("one", "null"))
		}
		if d := time.Since(before); d > time.Second {
			t.Errorf("the other queue took %s", d)
		}
		if most != 2 {
			t.Errorf("%d of the queue with limit 2 ran at once", most)
		}
		close(release)
		pass(time.Second)
		if running != 0 || most != 2 {
			t.Errorf("%d run, at most %d did", running, most)
		}
	})
}

func TestTenantsAndWorkflowsShareTheSlots(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		w.define(strings.Replace(one, "workflow: one", "workflow: two", 1))
		for range 50 {
			w.start("one", "null")
		}
		late := w.start("two", "null")
		w.engine(engine.Config{Slots: 2}, handlers{"work": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
			pass(time.Second)
			return nil, nil
		}})
		w.succeeded(late)
		if n := w.begun(); n > 6 {
			t.Errorf("the single run of a workflow was begun after %d attempts of the other", n)
		}
	})
}

// T3
func TestNothingIsLockedWhileAHandlerRuns(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		w.define(strings.NewReplacer("workflow: one", "workflow: outer", "task: work", "task: outer").Replace(one))
		var e *engine.Engine
		e, _ = w.engine(engine.Config{}, handlers{
			"work": ok,
			"outer": func(ctx context.Context, a *engine.Attempt) (json.RawMessage, error) {
				got, err := e.Start(ctx, []engine.StartRequest{request("one", "", "1")})
				if err != nil {
					return nil, err
				}
				w.wait(got[0].RunID) // settled by the same engine, meanwhile
				_, err = w.st.State(ctx, tenant, a.ID, nil, nil)
				return nil, err
			},
		})
		w.succeeded(w.start("outer", "null"))
	})
}

func TestNextStepOfARunIsHandedOverInItsSettlement(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(chain)
		id := w.start("chain", "null")
		w.engine(engine.Config{Slots: 1}, handlers{"work": ok})
		w.succeeded(id)
		if n := w.st.Calls("Settle"); n != 5 {
			t.Errorf("%d settlements for 5 steps", n)
		}
		if n := w.st.Calls("State") + w.st.Calls("Tasks"); n != 0 {
			t.Errorf("the run was read %d times", n)
		}
		for _, e := range w.journal(id)[2:] {
			var f struct {
				StartedAt machine.Time `json:"started_at"`
			}
			if err := json.Unmarshal(e.Facts, &f); err != nil || f.StartedAt == 0 {
				t.Errorf("facts of %s are %s", e.Path, e.Facts)
			}
		}
	})
}

func TestLongRunYieldsToOthersOfItsQueue(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		var steps strings.Builder
		for i := range 200 {
			fmt.Fprintf(&steps, "  - { id: s%d, task: work }\n", i)
		}
		w.define("workflow: long\nversion: 1\nsteps:\n" + steps.String())
		w.define(one)
		long := w.start("long", "null")
		short := w.start("one", "null")
		w.engine(engine.Config{Slots: 1}, handlers{"work": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
			pass(10 * time.Millisecond)
			return nil, nil
		}})
		w.succeeded(short)
		if n := w.begun(); n > 20 {
			t.Errorf("the other run waited for %d steps", n)
		}
		w.succeeded(long)
	})
}

func TestOutcomesOfOneRunAreSettledTogether(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: wide
version: 1
steps:
  - id: all
    map: { over: input, do: { task: work } }
`)
		w.st.Replan(func(op string, _ int) faulty.Fault {
			if op != "Settle" {
				return faulty.Fault{}
			}
			return faulty.Fault{Wait: func(context.Context) error { pass(20 * time.Millisecond); return nil }}
		})
		var items []string
		for i := range 60 {
			items = append(items, fmt.Sprint(i))
		}
		id := w.start("wide", "["+strings.Join(items, ",")+"]")
		w.engine(engine.Config{Slots: 100, Settlers: 1}, handlers{"work": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
			pass(time.Second)
			return a.Input, nil
		}})
		w.succeeded(id)
		if n := w.st.Calls("Settle"); n > 5 {
			t.Errorf("%d settlements for 60 outcomes that came at once", n)
		}
	})
}

func TestTimersAreFiredInTimeAndNeverEarly(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: nap
version: 1
steps:
  - { id: nap, wait: 30m }
`)
		w.engine(engine.Config{}, handlers{})
		before := time.Now()
		id := w.start("nap", "null")
		w.succeeded(id)
		if d := time.Since(before); d < 30*time.Minute || d > 30*time.Minute+50*time.Millisecond {
			t.Errorf("it slept for %s", d)
		}
	})
}

// E5
func TestIdleEngineAsksRarely(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		w.engine(engine.Config{}, handlers{"work": ok})
		w.succeeded(w.start("one", "null"))
		all := []string{"Lanes", "Claim", "Settle", "Renew", "Beat", "Expired", "Inbox", "Due", "State", "Tasks", "Clock", "Timers"}
		count := func() (n int) {
			for _, op := range all {
				n += w.st.Calls(op)
			}
			return n
		}
		pass(10 * time.Second)
		before := count()
		pass(100 * time.Second)
		if n := count() - before; n > 505 {
			t.Errorf("%d queries in 100 s", n)
		}
	})
}

func TestEngineOfOneRunServesNoOther(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(chain)
		mine, other := w.start("chain", "null"), w.start("chain", "null")
		w.engine(engine.Config{Only: &engine.Only{Tenant: tenant, RunID: mine}}, handlers{"work": ok})
		w.succeeded(mine)
		pass(time.Minute)
		if n := w.called(other, "a"); n != 0 {
			t.Errorf("the other run was served")
		}
	})
}

// damaged gives one run without what its root document must have.
type damaged struct {
	store.Store
	run string
}

func (d *damaged) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	got, err := d.Store.Claim(ctx, c)
	for i := range got {
		if got[i].RunID == d.run {
			got[i].Run.Run.Root = &machine.Scope{}
		}
	}
	return got, err
}

func (d *damaged) State(ctx context.Context, tenant, id string, scopes, under []string) (store.RunState, error) {
	got, err := d.Store.State(ctx, tenant, id, scopes, under)
	if err == nil && id == d.run {
		got.Run.Root = &machine.Scope{}
	}
	return got, err
}

func TestRunThatIsDamagedIsLeftAloneAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(chain)
		var log strings.Builder
		bad := w.start("chain", "null")
		good := w.start("chain", "null")
		w.st = faulty.New(&damaged{Store: w.memory, run: bad}, nil)
		_, stop := w.engine(engine.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, handlers{"work": ok})
		w.succeeded(good)
		pass(10 * time.Minute)
		if s := w.state(bad).Status; s.Ended() {
			t.Errorf("the damaged run is %s", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "left alone"); n != 1 {
			t.Errorf("it was logged %d times:\n%s", n, log.String())
		}
	})
}

// inline executes attempts when it is told to, in the caller's goroutine.
type inline struct {
	waiting []func()
}

func (l *inline) Launch(a *engine.Attempt, done func(engine.Outcome)) {
	l.waiting = append(l.waiting, func() {
		if o := a.Prepare(a.Context()); o != nil {
			done(*o)
			return
		}
		done(engine.Outcome{Output: a.Input})
		done(engine.Outcome{Output: json.RawMessage(`"twice"`)}) // changes nothing
	})
}

// F12
func TestOneGoroutineSeesTheSameJournalsForTheSameSeed(t *testing.T) {
	t.Parallel()
	first, second := driven(t, 7), driven(t, 7)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	if !slices.ContainsFunc(first, func(s string) bool { return strings.Contains(s, "timer_fired") }) {
		t.Errorf("no timer was fired: %v", first)
	}
}

func driven(t *testing.T, seed uint64) []string {
	t.Helper()
	ctx := t.Context()
	c := clock.NewVirtual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	st := memory.New(func() machine.Time { return machine.TimeOf(c.Now()) })
	l := &inline{}
	n := 0
	e, err := engine.New(st, engine.Config{
		Owner: "sim", Seed: seed, Clock: c, Launcher: l, Slots: 5, Handlers: map[string]engine.Handler{"work": engine.HandlerFunc(ok)},
		NewID: func() string { n++; return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	def, err := workflow.Read("fork.yaml", []byte(`
workflow: fork
version: 1
steps:
  a: { task: work }
  b: { after: a, task: work }
  nap: { after: a, wait: 3s }
  c: { after: [b, nap], task: work }
`))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Register(ctx, tenant, def); err != nil {
		t.Fatal(err)
	}
	var requests []engine.StartRequest
	for i := range 10 {
		requests = append(requests, request("fork", "", fmt.Sprint(i)))
	}
	started, err := e.Start(ctx, requests)
	if err != nil {
		t.Fatal(err)
	}
	steps := []func(context.Context) (int, error){
		e.ClaimOnce, e.SettleOnce, e.FireOnce, e.DeliverOnce, e.ControlOnce, e.RenewOnce, e.SweepOnce,
	}
	for range 100 {
		for _, step := range steps {
			if _, err := step(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if len(l.waiting) > 0 {
			last := l.waiting[len(l.waiting)-1] // not in the order in which they began
			l.waiting = l.waiting[:len(l.waiting)-1]
			last()
		}
		e.Hint()
		c.Advance(100 * time.Millisecond)
	}
	var out []string
	for _, s := range started {
		entries, err := st.Journal(ctx, tenant, s.RunID, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range entries {
			out = append(out, fmt.Sprintf("%s %d %d %s %s %d %s %s", s.RunID, x.Seq, x.At, x.Kind, x.Path, x.Attempt, x.Payload, x.Facts))
		}
		state, err := st.State(ctx, tenant, s.RunID, nil, nil)
		if err != nil || state.Run.Status != machine.Succeeded {
			t.Errorf("run %s: %v, %v", s.RunID, state.Run.Status, err)
		}
	}
	return out
}
