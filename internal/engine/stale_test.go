package engine_test

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// desk is a launcher that keeps the way to answer for each attempt.
type desk map[string]func(engine.Outcome)

// Launch keeps done under path and number.
func (d desk) Launch(a *engine.Attempt, done func(engine.Outcome)) {
	d[a.Path+"#"+string(rune('0'+a.Number))] = done
}

// A7: the outcome of an attempt that was lost may wait here while the task's next attempt is claimed here too, and be settled
// together with a failure that stops the task. The next attempt must not be taken away unheard.
func TestStaleOutcomeBesideAStopTakesNoHeldTaskAway(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: two
version: 1
steps:
  x: { task: work, lease: 1s, retry: { attempts: 3, delay: 0s } }
  y: { task: work, retry: 1 }
`)
		id := w.start("two", "null")
		d := desk{}
		e, err := engine.New(w.st, engine.Config{Owner: "e", Launcher: d, Handlers: map[string]engine.Handler{"work": engine.HandlerFunc(ok)}})
		if err != nil {
			t.Fatal(err)
		}
		claim := func() {
			e.Hint()
			if n, err := e.ClaimOnce(w.ctx); err != nil || n == 0 {
				t.Fatalf("claimed %d: %v", n, err)
			}
		}
		claim()
		d["y#1"](engine.Outcome{Err: &machine.Error{Code: "no", Permanent: true}})
		d["x#1"](engine.Outcome{})
		w.loseSoon(id, "x")
		claim()
		for range 5 {
			if _, err := e.SettleOnce(w.ctx); err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
		}
		live, err := w.memory.Tasks(w.ctx, tenant, id, []string{"x"})
		if err != nil || len(live) != 1 || live[0].State != store.Leased || !live[0].Stop || live[0].Attempt != 2 {
			t.Fatalf("x is %+v, %v:\n%s", live, err, w.story(id))
		}
		d["x#2"](engine.Outcome{Interrupted: true, Err: &machine.Error{Code: "error"}})
		if _, err := e.SettleOnce(w.ctx); err != nil {
			t.Fatal(err)
		}
		if s := w.state(id).Status; s != machine.Failed {
			t.Errorf("the run is %s:\n%s", s, w.story(id))
		}
	})
}

// loseSoon has somebody else declare a held attempt lost whose lease is short.
func (w *world) loseSoon(id, path string) {
	w.t.Helper()
	other, err := engine.New(w.memory, engine.Config{Owner: "other"})
	if err != nil {
		w.t.Fatal(err)
	}
	found := 0
	for n := 0; n < 25 && found == 0; n++ {
		pass(time.Second)
		if found, err = other.SweepOnce(w.ctx); err != nil {
			w.t.Fatal(err)
		}
	}
	if _, err := other.SettleOnce(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	if got := w.kinds(id, path); len(got) != 1 || got[0] != machine.TaskLost {
		w.t.Fatalf("%s has %v", path, got)
	}
}
