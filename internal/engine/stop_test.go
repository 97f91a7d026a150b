package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/clock"
	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
)

// nothingLeft checks that nothing live is left of a run that ended (invariant 1).
func (w *world) nothingLeft(id string) {
	w.t.Helper()
	tasks, err := w.memory.Tasks(w.ctx, tenant, id, nil)
	if err != nil || len(tasks) > 0 {
		w.t.Errorf("tasks are left: %+v, %v", tasks, err)
	}
	timers, err := w.memory.Timers(w.ctx, tenant, id)
	if err != nil || len(timers) > 0 {
		w.t.Errorf("timers are left: %+v, %v", timers, err)
	}
}

func TestTaskThatNobodyHoldsIsStoppedInTheSettlementThatStopsIt(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: stops
version: 1
steps:
  ready: { task: nobody }
  delayed: { task: work, delay: 1h }
  nap: { wait: 2h }
  bad: { task: bad }
`)
		w.engine(engine.Config{}, handlers{"work": ok, "bad": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
			return nil, engine.Permanent(errors.New("no"))
		}})
		before := time.Now()
		id := w.start("stops", "null")
		_ = w.failed(id)
		if d := time.Since(before); d > time.Second {
			t.Errorf("it took %s", d)
		}
		for _, path := range []string{"ready", "delayed"} {
			if got := w.kinds(id, path); !slices.Equal(got, []machine.EventKind{machine.TaskStopped}) {
				t.Errorf("%s has %v", path, got)
			}
		}
		w.nothingLeft(id)
	})
}

func TestTaskThatIsStartedAndStoppedInOneSettlementNeverRuns(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: stops
version: 1
steps:
  a: { task: work }
  b: { task: work }
  c: { task: work }
  d: { after: c, task: work }
`)
		w.st.Replan(func(op string, _ int) faulty.Fault {
			if op != "Settle" {
				return faulty.Fault{}
			}
			return faulty.Fault{Wait: func(context.Context) error { pass(20 * time.Millisecond); return nil }}
		})
		after := map[string]time.Duration{"a": 0, "c": 4 * time.Millisecond, "b": 5 * time.Millisecond}
		w.engine(engine.Config{}, handlers{"work": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
			pass(time.Second + after[a.Path]) // c and b answer while a is being settled
			if a.Path == "b" {
				return nil, engine.Permanent(errors.New("no"))
			}
			return nil, nil
		}})
		id := w.start("stops", "null")
		_ = w.failed(id)
		if got := w.kinds(id, "d"); !slices.Equal(got, []machine.EventKind{machine.TaskStopped}) || w.called(id, "d") != 0 {
			t.Errorf("d has %v and was called %d times", got, w.called(id, "d"))
		}
		w.nothingLeft(id)
	})
}

func TestHolderThatIsToldToStopMaySucceedAllTheSame(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: stops
version: 1
steps:
  slow: { task: slow }
  bad: { task: bad }
`)
		w.engine(engine.Config{}, handlers{
			"slow": func(ctx context.Context, _ *engine.Attempt) (json.RawMessage, error) {
				<-ctx.Done()
				return json.RawMessage(`"done"`), nil
			},
			"bad": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
				pass(time.Second)
				return nil, engine.Permanent(errors.New("no"))
			},
		})
		id := w.start("stops", "null")
		_ = w.failed(id)
		if got := w.kinds(id, "slow"); !slices.Equal(got, []machine.EventKind{machine.TaskSucceeded}) {
			t.Errorf("slow has %v", got)
		}
		w.nothingLeft(id)
	})
}

// E2
func TestMessageIsDeliveredOnceToItsRun(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define("workflow: nap\nversion: 1\nsteps:\n  - { id: nap, wait: 10m }\n")
		id := w.start("nap", "null")
		w.st.Replan(func(op string, n int) faulty.Fault {
			if op == "Settle" && n == 1 {
				return faulty.Fault{Lose: faulty.Outage(op)}
			}
			return faulty.Fault{}
		})
		w.engine(engine.Config{}, nil)
		w.engine(engine.Config{}, nil)
		m := store.Message{Tenant: tenant, RunID: id, ID: "1", Event: machine.Event{
			Kind: machine.EventReceived, Name: "paid", Key: "17", Payload: json.RawMessage(`{"sum":1.10}`),
		}}
		for range 2 {
			if got, err := w.memory.Tell(w.ctx, []store.Message{m}); err != nil || got[0] != nil {
				t.Fatal(got, err)
			}
			pass(time.Minute)
		}
		w.eventually(id)
		n := 0
		for _, e := range w.journal(id) {
			if e.Kind == machine.EventReceived {
				n++
				if e.Name != "paid" || e.Key != "17" || string(e.Payload) != `{"sum":1.10}` {
					t.Errorf("recorded as %+v", e)
				}
			}
		}
		if n != 1 {
			t.Errorf("it was recorded %d times", n)
		}
	})
}

// skewed is a clock that is wrong by a constant.
type skewed struct {
	clock.Real
	by time.Duration
}

func (s skewed) Now() time.Time { return s.Real.Now().Add(s.by) }

// O1
func TestTimesInTheJournalAreTheStoresWhateverTheProcessesClockSays(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define(`
workflow: nap
version: 1
steps:
  - { id: nap, wait: 1m }
  - { id: work, task: work, retry: { attempts: 2, delay: 30s, jitter: 0 } }
`)
				before := time.Now()
				e, _ := w.engine(engine.Config{Clock: skewed{by: by}}, handlers{
					"work": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
						if a.Number == 1 {
							return nil, errors.New("again")
						}
						return nil, nil
					},
				})
				other := w.starter(engine.Config{Clock: skewed{by: by}}) // has not heard of the store's clock
				got, err := other.Start(w.ctx, []engine.StartRequest{request("nap", "", "1")})
				if err != nil || got[0].Err != nil {
					t.Fatal(err, got)
				}
				w.succeeded(got[0].RunID)
				if d := time.Since(before); d < 90*time.Second || d > 92*time.Second {
					t.Errorf("it took %s", d)
				}
				last := machine.TimeOf(before)
				for _, x := range w.journal(got[0].RunID) {
					if x.At < last || x.At > machine.TimeOf(time.Now()) {
						t.Errorf("entry %d is of %s", x.Seq, x.At.Std())
					}
					last = x.At
				}
				if s := e.Skew(); s != -by {
					t.Errorf("the skew is taken to be %s", s)
				}
			})
		})
	}
}

func TestClockThatJumpsIsHeardOfWithTheNextAnswer(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(chain)
		c := &jumping{}
		w.engine(engine.Config{Clock: c}, handlers{"work": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
			if a.Path == "b" {
				c.by.Store(int64(10 * time.Minute))
			}
			return nil, nil
		}})
		before := time.Now()
		w.succeeded(w.start("chain", "null"))
		if d := time.Since(before); d > 2*time.Second {
			t.Errorf("it took %s", d)
		}
	})
}

// jumping is a clock that somebody sets.
type jumping struct {
	clock.Real
	by atomic.Int64
}

func (j *jumping) Now() time.Time { return j.Real.Now().Add(time.Duration(j.by.Load())) }

// F11
func TestWordOfACommandThatCannotBeEvaluatedFailsTheStepByName(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]string{
		"word":     `run: ["./x", "${ 1 / input }"]`,
		"variable": `run: ["./x"], env: { A: "${ 1 / input }" }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define("workflow: one\nversion: 1\nsteps:\n  - { id: work, " + step + " }\n")
				w.engine(engine.Config{}, handlers{machine.CommandHandler(""): ok})
				e := w.failed(w.start("one", "0"))
				if e.Code != machine.CodeExpression || !strings.Contains(e.Message, name) {
					t.Errorf("it failed with %v", e)
				}
			})
		})
	}
}
