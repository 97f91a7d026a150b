package engine_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store/faulty"
)

// shelf is a launcher that keeps attempts, and the way to answer for each.
type shelf map[string]kept

type kept struct {
	attempt *engine.Attempt
	done    func(engine.Outcome)
}

// Launch keeps the attempt under its path.
func (s shelf) Launch(a *engine.Attempt, done func(engine.Outcome)) { s[a.Path] = kept{a, done} }

// shelved gives an engine without loops whose attempts lie on a shelf.
func (w *world) shelved(plan faulty.Plan) (*engine.Engine, shelf) {
	w.t.Helper()
	s := shelf{}
	e, err := engine.New(faulty.New(w.memory, plan), engine.Config{
		Owner: "e", Launcher: s, Observer: w, Handlers: map[string]engine.Handler{"work": engine.HandlerFunc(ok)},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	e.Hint()
	if _, err := e.ClaimOnce(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	return e, s
}

// C4, X3: an attempt was lost while the run was being stopped, and its handler returns after all, before its compensation has
// its turn.
func TestLateSuccessIsWhatItsCompensationGets(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: late
version: 1
steps:
  a: { task: work, lease: 1s, compensate: { task: work } }
  b: { task: work, compensate: { task: work } }
  bad: { task: work }
`)
		id := w.start("late", "null")
		e, s := w.shelved(nil)
		s["bad"].done(engine.Outcome{Err: &machine.Error{Code: "no", Permanent: true}})
		w.settleAll(e)
		w.loseSoon(id, "a")
		s["b"].done(engine.Outcome{Output: json.RawMessage(`"b"`)}) // it ended last: it is undone first
		w.settleAll(e)
		s["a"].done(engine.Outcome{Output: json.RawMessage(`"a"`)})
		w.settleAll(e)
		if s["a~undo"].done != nil {
			t.Error("two compensations run at the same time")
		}
		s["b~undo"].done(engine.Outcome{})
		w.settleAll(e)
		a := s["a~undo"].attempt
		if a == nil {
			t.Fatalf("a is not undone:\n%s", w.story(id))
		}
		if o := a.Prepare(w.ctx); o != nil {
			t.Fatal(o.Err)
		}
		var got struct{ Output, Error json.RawMessage }
		if err := json.Unmarshal(a.Input, &got); err != nil || string(got.Output) != `"a"` {
			t.Errorf("its compensation gets %s, %v", a.Input, err)
		}
		s["a~undo"].done(engine.Outcome{})
		w.settleAll(e)
		if s := w.state(id).Status; s != machine.Failed {
			t.Errorf("the run is %s:\n%s", s, w.story(id))
		}
		if want, got := []machine.EventKind{machine.TaskLost, machine.TaskLate}, w.kinds(id, "a"); !slices.Equal(got, want) {
			t.Errorf("a has %v", got)
		}
	})
}

// C4, A11: an outcome whose settlement was carried out, and whose answer was lost, did not come late.
func TestOutcomeWhoseAnswerWasLostIsNotTakenForALateOne(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		id := w.start("one", "null")
		e, s := w.shelved(func(op string, n int) faulty.Fault {
			if op == "Settle" && n == 1 {
				return faulty.Fault{Lose: faulty.Outage(op)}
			}
			return faulty.Fault{}
		})
		s["work"].done(engine.Outcome{Output: json.RawMessage("1")})
		if _, err := e.SettleOnce(w.ctx); err == nil {
			t.Error("the answer was not lost")
		}
		pass(10 * time.Second)
		w.settleAll(e)
		want := []machine.EventKind{machine.RunStarted, machine.TaskSucceeded}
		if got := w.all(id); !slices.Equal(got, want) || e.Holding() != 0 {
			t.Errorf("the journal has %v; %d attempts are held", got, e.Holding())
		}
	})
}

// C4: the outcome waits to be settled when the attempt is lost and the task tried again elsewhere; an interrupted one says nothing.
func TestOutcomeThatLosesTheRaceIsRecordedOnceAsLate(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]engine.Outcome{
		"success":     {Output: json.RawMessage("1")},
		"failure":     {Err: &machine.Error{Code: "no"}},
		"interrupted": {Interrupted: true, Err: &machine.Error{Code: "no"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define("workflow: one\nversion: 1\nsteps:\n  - { id: work, task: work, lease: 1s, retry: { attempts: 3, delay: 1h } }\n")
				id := w.start("one", "null")
				e, s := w.shelved(nil)
				if outcome.Interrupted {
					e.Interrupt()
				}
				s["work"].done(outcome)
				w.loseSoon(id, "work")
				w.settleAll(e)
				w.settleAll(e)
				want := []machine.EventKind{machine.TaskLost}
				if !outcome.Interrupted {
					want = append(want, machine.TaskLate)
				}
				if got := w.kinds(id, "work"); !slices.Equal(got, want) {
					t.Errorf("it has %v", got)
				}
				for _, x := range w.journal(id) {
					if x.Kind == machine.TaskLate && (x.Attempt != 1 || (x.Name == machine.LateSuccess) != (name == "success")) {
						t.Errorf("recorded as %+v", x)
					}
				}
				if n := e.Holding(); n != 0 {
					t.Errorf("%d attempts are held", n)
				}
			})
		})
	}
}
