package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// C3: nothing of a paused run begins, what runs may finish, and no timer and no event is lost; the process that pauses it, and the one
// that worked, are gone when it is resumed.
func TestPausedRunBeginsNothingAndLosesNothing(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: p
version: 1
steps:
  slow: { task: work }
  next: { after: slow, task: work }
  nap: { wait: 10m }
  then: { after: nap, task: work }
  later: { task: work, delay: 20m }
  other: { task: other }
`)
		id := w.start("p", "null")
		begun := make(chan struct{})
		_, stop := w.engine(engine.Config{}, handlers{"work": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
			close(begun)
			pass(time.Minute)
			return nil, nil
		}})
		<-begun
		if !w.order(id, machine.PauseRequested) {
			t.Error("nothing has changed")
		}
		pass(time.Hour)
		if got := w.kinds(id, "slow"); !slices.Equal(got, []machine.EventKind{machine.TaskSucceeded}) {
			t.Errorf("slow has %v: it may finish", got)
		}
		if s := w.state(id).Status; s != machine.Paused {
			t.Errorf("the run is %s", s)
		}
		if got := w.begun(); got != 1 {
			t.Errorf("%d attempts have begun: %v", got, w.seen)
		}
		tell := store.Message{Tenant: tenant, RunID: id, ID: "1", Event: machine.Event{Kind: machine.EventReceived, Name: "paid", Payload: json.RawMessage("1")}}
		if got, err := w.memory.Tell(w.ctx, []store.Message{tell}); err != nil || got[0] != nil {
			t.Fatal(got, err)
		}
		pass(time.Minute)
		if n := len(w.kinds(id, "")); n != 3 {
			t.Errorf("the event was not recorded: %s", w.story(id))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		w.engine(engine.Config{}, handlers{"work": ok, "other": ok})
		pass(time.Minute)
		if got := w.begun(); got != 1 {
			t.Errorf("after the restart %d attempts have begun: %v", got, w.seen)
		}
		before := time.Now()
		w.order(id, machine.ResumeRequested)
		w.succeeded(id)
		if d := time.Since(before); d > 2*time.Second {
			t.Errorf("it took %s: what came due during the pause is due at once", d)
		}
	})
}

// C3
func TestPausedSupplyIsNotServedAndTheOthersAre(t *testing.T) {
	t.Parallel()
	for _, p := range []store.Pause{
		{Kind: store.PauseWorkflow, Name: "one"}, {Kind: store.PauseQueue, Name: "default"}, {Kind: store.PauseTenant},
	} {
		t.Run(string(p.Kind), func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define(one)
				w.define("workflow: two\nversion: 1\nsteps:\n  - { id: work, task: work, queue: q }\n")
				p.Tenant = tenant
				if changed, err := w.memory.Pause(w.ctx, p); err != nil || !changed {
					t.Fatal(changed, err)
				}
				e, _ := w.engine(engine.Config{}, handlers{"work": ok})
				got, err := e.Start(w.ctx, []engine.StartRequest{{Tenant: tenant, Workflow: "one"}, {Tenant: tenant, Workflow: "two"}})
				if err != nil {
					t.Fatal(err)
				}
				paused, free := got[0].RunID, got[1].RunID
				pass(time.Hour)
				if n := w.called(paused, "work"); n != 0 {
					t.Errorf("it was called %d times", n)
				}
				if s := w.state(paused).Status; s != machine.Running {
					t.Errorf("the run is %s", s)
				}
				if p.Kind != store.PauseTenant {
					w.succeeded(free)
				} else if n := w.called(free, "work"); n != 0 {
					t.Errorf("the tenant's other run was served")
				}
				before := time.Now()
				if changed, err := w.memory.Unpause(w.ctx, tenant, p.Kind, p.Name); err != nil || !changed {
					t.Fatal(changed, err)
				}
				w.succeeded(paused)
				w.succeeded(free)
				if d := time.Since(before); d > time.Second {
					t.Errorf("it took %s", d)
				}
			})
		})
	}
}

// C3: a chain is handed over from step to step; a pause of its supply stops it between two.
func TestNothingIsHandedOverAcrossAPause(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(chain)
		w.engine(engine.Config{}, handlers{"work": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
			if a.Path == "b" {
				_, err := w.memory.Pause(w.ctx, store.Pause{Tenant: tenant, Kind: store.PauseQueue, Name: "default"})
				return nil, err
			}
			return nil, nil
		}})
		id := w.start("chain", "null")
		pass(time.Minute)
		if n, b := w.begun(), w.called(id, "b"); n != 2 || b != 1 {
			t.Errorf("%d attempts have begun: %v", n, w.seen)
		}
		if _, err := w.memory.Unpause(w.ctx, tenant, store.PauseQueue, "default"); err != nil {
			t.Fatal(err)
		}
		w.succeeded(id)
	})
}

// A1, N2: a handler that nobody serves, among thousands of tasks that are served.
func TestTaskThatNobodyServesStandsInNobodysWay(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		w.define("workflow: odd\nversion: 1\nsteps:\n  - { id: work, task: odd }\n")
		var ids, odd []string
		for i := range 2_000 {
			if i%100 == 0 {
				odd = append(odd, w.start("odd", "null"))
			}
			ids = append(ids, w.start("one", "null"))
		}
		w.engine(engine.Config{}, handlers{"work": ok})
		for _, id := range ids {
			w.succeeded(id)
		}
		for _, id := range odd {
			live, err := w.memory.Tasks(w.ctx, tenant, id, nil)
			if err != nil || len(live) != 1 || live[0].State != store.Ready || live[0].Attempt != 0 {
				t.Errorf("the task that nobody serves is %s, %v", fmt.Sprint(live), err)
			}
		}
	})
}
