package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
)

// order gives an order about a run.
func order(id string, kind machine.EventKind) engine.Order {
	payload, err := json.Marshal(machine.Order{By: "ann@desk", Reason: "it is wrong"})
	if err != nil {
		panic(err)
	}
	return engine.Order{Tenant: tenant, RunID: id, Event: machine.Event{Kind: kind, Payload: payload}}
}

// order tells a run an order from a process that has no loops, and gives whether it changed anything.
func (w *world) order(id string, kind machine.EventKind) bool {
	w.t.Helper()
	got, err := engine.Idle(w.memory).Tell(w.ctx, order(id, kind))
	if err != nil {
		w.t.Fatal(err)
	}
	return got.Changed
}

// answer tells a run what is to become of a letter.
func (w *world) answer(id string, kind machine.EventKind, letter machine.LetterKind, path string) {
	w.t.Helper()
	o := order(id, kind)
	o.Event.Name, o.Event.Path, o.Ended = string(letter), path, true
	got, err := engine.Idle(w.memory).Tell(w.ctx, o)
	if err != nil || !got.Changed {
		w.t.Fatalf("%s %s %s: %v; changed %t", kind, letter, path, err, got.Changed)
	}
}

// open gives the kinds and paths of the open letters of a run.
func (w *world) open(id string) (open []string) {
	w.t.Helper()
	all, err := w.memory.Letters(w.ctx, store.LetterFilter{Tenant: tenant, RunID: id, State: machine.LetterOpen})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, l := range all {
		open = append(open, string(l.Kind)+" "+l.Path)
	}
	slices.Sort(open)
	return open
}

// becomes waits until a run has a status.
func (w *world) becomes(id string, status machine.Status) {
	w.t.Helper()
	for range 3600 {
		if w.state(id).Status == status {
			return
		}
		pass(time.Second)
	}
	w.t.Fatalf("run %s is %s and not %s:\n%s", id, w.state(id).Status, status, w.story(id))
}

const wide = `
workflow: wide
version: 1
steps:
  held: { task: work }
  free: { task: nobody }
  later: { task: work, delay: 1h }
  nap: { wait: 2h }
`

// holding gives an engine without loops that holds the first attempt of a run, and the way to answer for it.
func (w *world) holding(path string) (*engine.Engine, desk) {
	w.t.Helper()
	d := desk{}
	e, err := engine.New(w.st, engine.Config{Owner: "e", Launcher: d, Observer: w, Handlers: map[string]engine.Handler{"work": engine.HandlerFunc(ok)}})
	if err != nil {
		w.t.Fatal(err)
	}
	e.Hint()
	if _, err := e.ClaimOnce(w.ctx); err != nil || d[path+"#1"] == nil {
		w.t.Fatalf("%s was not claimed: %v", path, err)
	}
	return e, d
}

// C1: no worker is alive that could apply it.
func TestCancelIsAppliedByWhoeverReceivesItInTheTransactionThatStoresIt(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(wide)
		id := w.start("wide", "null")
		w.holding("held")
		if !w.order(id, machine.CancelRequested) {
			t.Error("nothing has changed")
		}
		if s := w.state(id).Status; s != machine.Stopping {
			t.Errorf("the run is %s", s)
		}
		live, err := w.memory.Tasks(w.ctx, tenant, id, nil)
		if err != nil || len(live) != 1 || live[0].Path != "held" || !live[0].Stop || live[0].State != store.Leased {
			t.Errorf("live are %+v, %v", live, err)
		}
		if timers, err := w.memory.Timers(w.ctx, tenant, id); err != nil || len(timers) > 0 {
			t.Errorf("timers are left: %+v, %v", timers, err)
		}
		last := w.journal(id)[1]
		var said machine.Order
		if err := json.Unmarshal(last.Payload, &said); err != nil || last.Kind != machine.CancelRequested || said.By != "ann@desk" || said.Reason != "it is wrong" {
			t.Errorf("recorded as %+v, %v", last, err)
		}
	})
}

// C1
func TestAttemptsOfTheProcessThatReceivesAnOrderHearOfItAtOnce(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]machine.EventKind{"cancel": machine.CancelRequested, "abort": machine.AbortRequested} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define(one)
				heard := make(chan error, 1)
				begun := make(chan struct{})
				e, _ := w.engine(engine.Config{}, handlers{"work": func(ctx context.Context, _ *engine.Attempt) (json.RawMessage, error) {
					close(begun)
					<-ctx.Done()
					heard <- context.Cause(ctx)
					return nil, ctx.Err()
				}})
				id := w.start("one", "null")
				<-begun
				now := time.Now()
				if got, err := e.Tell(w.ctx, order(id, kind)); err != nil || !got.Changed {
					t.Fatal(err)
				}
				if cause := <-heard; !errors.Is(cause, engine.ErrStopped) || !time.Now().Equal(now) {
					t.Errorf("it heard %v after %s", cause, time.Since(now))
				}
				w.wait(id)
				w.nothingLeft(id)
			})
		})
	}
}

// C2
func TestRepeatedOrderChangesNothingAndOneOnAnEndedRunIsRefused(t *testing.T) {
	t.Parallel()
	for kind, again := range map[machine.EventKind]error{
		machine.CancelRequested: nil, machine.PauseRequested: nil, machine.AbortRequested: store.ErrEnded,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define(wide)
				id := w.start("wide", "null")
				w.holding("held")
				w.order(id, kind)
				got, err := engine.Idle(w.memory).Tell(w.ctx, order(id, kind))
				if !errors.Is(err, again) || got.Changed {
					t.Errorf("the repeat gave %+v, %v", got, err)
				}
				if n := len(w.kinds(id, "")); n != 2 {
					t.Errorf("%d entries are recorded of the run: %s", n, w.story(id))
				}
				if kind != machine.AbortRequested {
					w.order(id, machine.AbortRequested)
				}
				for _, late := range []machine.EventKind{machine.CancelRequested, machine.AbortRequested, machine.PauseRequested, machine.ResumeRequested} {
					if _, err := engine.Idle(w.memory).Tell(w.ctx, order(id, late)); !errors.Is(err, store.ErrEnded) {
						t.Errorf("%s after the end gave %v", late, err)
					}
				}
			})
		})
	}
}

func TestOrderForARunThatIsNotTheTenantsIsNotFound(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		o := order(w.start("one", "null"), machine.CancelRequested)
		o.Tenant = "another"
		if _, err := engine.Idle(w.memory).Tell(w.ctx, o); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("it gave %v", err)
		}
	})
}

const saga = `
workflow: saga
version: 1
steps:
  - { id: stock, task: work, with: { n: "${ input.n }", key: "${ task.key }" }, compensate: { task: undo } }
  - { id: charge, task: work, compensate: { task: undo, with: { was: "${ step.output }", of: "${ step.input.sum }", by: "${ step.key }", why: "${ error.code }" } } }
  - { id: ship, task: ship, retry: 1 }
`

// X2, X3, A15
func TestCompensationGetsInputOutputAndKeyOfItsStepAndTheErrorThatBeganIt(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(saga)
		got := map[string]any{}
		keys := map[string]string{}
		var order []string
		w.engine(engine.Config{}, handlers{
			"work": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
				keys[a.Path] = a.Key
				return json.RawMessage(`{"sum":1.10,"of":"` + a.Path + `"}`), nil
			},
			"ship": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
				return nil, engine.Permanent(engine.Fail("no_ship", errors.New("all ships are out")))
			},
			"undo": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
				var in any
				if err := json.Unmarshal(a.Input, &in); err != nil {
					return nil, err
				}
				got[a.Path], keys[a.Path] = in, a.Key
				order = append(order, a.Path)
				return nil, nil
			},
		})
		id := w.start("saga", `{"n":3}`)
		if e := w.failed(id); e.Code != "no_ship" {
			t.Errorf("the run failed with %v", e)
		}
		if want := []string{"charge~undo", "stock~undo"}; !slices.Equal(order, want) {
			t.Errorf("undone were %v", order)
		}
		want := map[string]any{
			"stock~undo": map[string]any{
				"key": keys["stock"], "input": map[string]any{"n": 3.0, "key": keys["stock"]},
				"output": map[string]any{"sum": 1.1, "of": "stock"},
				"error":  map[string]any{"code": "no_ship", "message": "all ships are out", "step": "ship", "data": nil},
			},
			"charge~undo": map[string]any{
				"was": map[string]any{"sum": 1.1, "of": "charge"}, "of": 1.1, "by": keys["charge"], "why": "no_ship",
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if keys["stock"] == keys["stock~undo"] {
			t.Error("a step and its compensation have the same key")
		}
		if open := w.open(id); len(open) > 0 {
			t.Errorf("letters are open: %v", open)
		}
		w.nothingLeft(id)
	})
}

// X6
func TestCompensationThatGivesUpIsRedrivenOrDropped(t *testing.T) {
	t.Parallel()
	for kind, end := range map[machine.EventKind]machine.Status{
		machine.RedriveRequested: machine.Failed, machine.DropRequested: machine.Dead,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define(saga)
				refuse := true
				w.engine(engine.Config{}, handlers{"work": sums, "ship": refuses, "undo": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
					if refuse && a.Path == "charge~undo" {
						return nil, engine.Permanent(errors.New("the bank is closed"))
					}
					return nil, nil
				}})
				id := w.start("saga", `{"n":3}`)
				if s := w.wait(id).Status; s != machine.Dead {
					t.Fatalf("the run is %s:\n%s", s, w.story(id))
				}
				if want, got := []string{"compensation charge~undo"}, w.open(id); !slices.Equal(got, want) {
					t.Errorf("open are %v", got)
				}
				if n := w.called(id, "stock~undo"); n != 0 {
					t.Errorf("the rest of the plan did not wait: %d calls", n)
				}
				refuse = false
				w.answer(id, kind, machine.LetterCompensation, "charge~undo")
				w.becomes(id, end)
				if n := w.called(id, "stock~undo"); n != 1 {
					t.Errorf("stock was undone %d times", n)
				}
				if open := w.open(id); len(open) > 0 {
					t.Errorf("letters are open: %v", open)
				}
				w.nothingLeft(id)
			})
		})
	}
}

func sums(context.Context, *engine.Attempt) (json.RawMessage, error) {
	return json.RawMessage(`{"sum":1}`), nil
}

func refuses(context.Context, *engine.Attempt) (json.RawMessage, error) {
	return nil, engine.Permanent(errors.New("no"))
}

// C2: the order is stored before the outcome that would have been the last.
func TestCancelThatComesBeforeTheLastSuccessHasItUndone(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define("workflow: s\nversion: 1\nsteps:\n  - { id: a, task: work, compensate: { task: work } }\n")
		id := w.start("s", "null")
		e, d := w.holding("a")
		raced := false
		w.st.Replan(func(op string, _ int) faulty.Fault {
			if op != "Settle" || raced {
				return faulty.Fault{}
			}
			raced = true
			return faulty.Fault{Wait: func(context.Context) error { w.order(id, machine.CancelRequested); return nil }}
		})
		d["a#1"](engine.Outcome{Output: json.RawMessage(`7`)})
		w.settleAll(e)
		d["a~undo#1"](engine.Outcome{})
		w.settleAll(e)
		if s := w.state(id).Status; s != machine.Cancelled {
			t.Errorf("the run is %s:\n%s", s, w.story(id))
		}
		want := []machine.EventKind{machine.RunStarted, machine.CancelRequested, machine.TaskSucceeded, machine.TaskSucceeded}
		if got := w.all(id); !slices.Equal(got, want) {
			t.Errorf("the journal has %v", got)
		}
	})
}

// C2: the outcome is stored while the order is on its way.
func TestCancelThatComesAfterTheLastSuccessIsRefused(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		id := w.start("one", "null")
		e, d := w.holding("work")
		late := faulty.New(w.memory, func(op string, _ int) faulty.Fault {
			if op != "Settle" {
				return faulty.Fault{}
			}
			return faulty.Fault{Wait: func(context.Context) error {
				d["work#1"](engine.Outcome{})
				w.settleAll(e)
				return nil
			}}
		})
		if _, err := engine.Idle(late).Tell(w.ctx, order(id, machine.CancelRequested)); !errors.Is(err, store.ErrEnded) {
			t.Errorf("it gave %v", err)
		}
		if s := w.state(id).Status; s != machine.Succeeded {
			t.Errorf("the run is %s:\n%s", s, w.story(id))
		}
	})
}

// settleAll settles what waits at an engine without loops, and claims what it led to.
func (w *world) settleAll(e *engine.Engine) {
	w.t.Helper()
	for range 10 {
		if _, err := e.SettleOnce(w.ctx); err != nil {
			w.t.Fatal(err)
		}
		e.Hint()
		if _, err := e.ClaimOnce(w.ctx); err != nil {
			w.t.Fatal(err)
		}
		pass(100 * time.Millisecond)
	}
}

// all gives the kinds of all entries of a journal.
func (w *world) all(id string) (kinds []machine.EventKind) {
	w.t.Helper()
	for _, e := range w.journal(id) {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// A11
func TestOrderWhoseAnswerIsLostIsAppliedOnceAndSaidToHaveChangedTheRun(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		id := w.start("one", "null")
		lossy := faulty.New(w.memory, func(op string, n int) faulty.Fault {
			if op == "Settle" && n == 1 {
				return faulty.Fault{Lose: faulty.Outage(op)}
			}
			return faulty.Fault{}
		})
		got, err := engine.Idle(lossy).Tell(w.ctx, order(id, machine.CancelRequested))
		if err != nil || !got.Changed || got.Run.Status != machine.Cancelled {
			t.Errorf("it gave %+v, %v", got, err)
		}
		want := []machine.EventKind{machine.RunStarted, machine.CancelRequested, machine.TaskStopped}
		if all := w.all(id); !slices.Equal(all, want) {
			t.Errorf("the journal has %v", all)
		}
	})
}

// C2: one handler hangs and heeds nothing; the other's process is gone.
func TestAbortAwaitsNobody(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: two
version: 1
steps:
  a: { task: work, compensate: { task: work } }
  b: { task: work, compensate: { task: work } }
`)
		id := w.start("two", "null")
		e, d := w.holding("a")
		w.order(id, machine.AbortRequested)
		if s := w.state(id).Status; s != machine.Aborted {
			t.Errorf("the run is %s", s)
		}
		w.nothingLeft(id)
		if _, err := e.ControlOnce(w.ctx); err != nil {
			t.Fatal(err)
		}
		if n := e.Holding(); n != 0 {
			t.Errorf("%d attempts are still held", n)
		}
		d["a#1"](engine.Outcome{Output: json.RawMessage(`"late"`)}) // C4
		w.settleAll(e)
		want := []machine.EventKind{machine.RunStarted, machine.AbortRequested, machine.TaskLate}
		if all := w.all(id); !slices.Equal(all, want) {
			t.Errorf("the journal has %v", all)
		}
		if s := w.state(id).Status; s != machine.Aborted {
			t.Errorf("the run is %s after a late outcome", s)
		}
		w.nothingLeft(id)
	})
}

// X13
func TestOrderOnADamagedRunSaysSoAndChangesNothing(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		id := w.start("one", "null")
		w.memory.Damage(id, "", []byte("garbage"))
		for _, kind := range []machine.EventKind{machine.CancelRequested, machine.AbortRequested} {
			if _, err := engine.Idle(w.memory).Tell(w.ctx, order(id, kind)); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s gave %v", kind, err)
			}
		}
		if n := len(w.journal(id)); n != 1 {
			t.Errorf("the journal has %d entries", n)
		}
	})
}
