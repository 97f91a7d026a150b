package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
)

// ghost claims everything that is ready, as a process that dies at once.
func (w *world) ghost(owner string) {
	w.t.Helper()
	lanes, err := w.memory.Lanes(w.ctx, 0, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	c := store.Claim{Owner: owner, Token: 77, Lease: 30 * time.Second, Limit: 100}
	for _, l := range lanes {
		c.Lanes = append(c.Lanes, store.LaneLimit{Lane: l.ID, Limit: 100})
	}
	if _, err := w.memory.Claim(w.ctx, c); err != nil {
		w.t.Fatal(err)
	}
}

// A6
func TestLostWorkersAttemptCountsAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		id := w.start("one", "null")
		w.ghost("ghost")
		before := time.Now()
		w.engine(engine.Config{}, handlers{"work": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
			if a.Number != 2 {
				t.Errorf("this is attempt %d; the lost one must count", a.Number)
			}
			return nil, nil
		}})
		w.succeeded(id)
		if d := time.Since(before); d < 30*time.Second || d > 40*time.Second {
			t.Errorf("the loss was noticed after %s", d)
		}
		want := []machine.EventKind{machine.TaskLost, machine.TaskSucceeded}
		if got := w.kinds(id, "work"); !slices.Equal(got, want) {
			t.Errorf("journal has %v", got)
		}
	})
}

// A6
func TestAttemptOfProcessThatIsProvedDeadIsLostAtOnce(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		id := w.start("one", "null")
		w.ghost("ghost")
		w.memory.Bury("ghost")
		before := time.Now()
		w.engine(engine.Config{}, handlers{"work": ok})
		w.succeeded(id)
		if d := time.Since(before); d > 2*time.Second { // the retry's own delay
			t.Errorf("it took %s", d)
		}
	})
}

// A6
func TestAtMostOnceIsNotTriedAgainAfterALoss(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: one
version: 1
steps:
  - { id: work, task: work, at_most_once: true, retry: 5 }
`)
		id := w.start("one", "null")
		w.ghost("ghost")
		w.memory.Bury("ghost")
		w.engine(engine.Config{}, handlers{"work": ok})
		if e := w.failed(id); e.Code != machine.CodeOutcomeUnknown || w.called(id, "work") != 0 {
			t.Errorf("error %v after %d calls", e, w.called(id, "work"))
		}
	})
}

// A6
func TestHandlerThatKillsItsWorkerEveryTimeEndsAsAFailure(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		id := w.start("one", "null")
		w.engine(engine.Config{}, handlers{"other": ok}) // sweeps
		for i := range 10 {
			w.ghost(fmt.Sprint("ghost-", i))
			w.memory.Bury(fmt.Sprint("ghost-", i))
			pass(time.Minute)
		}
		if e := w.failed(id); e.Code != machine.CodeLost {
			t.Errorf("the run failed with %v", e)
		}
		if n := len(w.kinds(id, "work")); n != 4 {
			t.Errorf("%d attempts; the default policy has 4", n)
		}
	})
}

// A7
func TestWhoLostItsLeaseHearsItAndItsLateOutcomeIsRecordedAndChangesNothing(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		cut := faulty.New(w.memory, nil) // the line of the engine that will be cut off
		var cause error
		heard := make(chan struct{})
		first, err := engine.New(cut, engine.Config{
			Owner: "cut", Observer: w,
			Handlers: map[string]engine.Handler{"work": engine.HandlerFunc(func(ctx context.Context, _ *engine.Attempt) (json.RawMessage, error) {
				<-ctx.Done()
				cause = context.Cause(ctx)
				close(heard)
				return json.RawMessage(`"late"`), nil
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(w.ctx)
		ended := make(chan error, 1)
		go func() { ended <- first.Run(ctx) }()
		id := w.start("one", "null")
		pass(2 * time.Second)
		cut.Replan(func(op string, _ int) faulty.Fault { return faulty.Fault{Fail: faulty.Outage(op)} })
		w.engine(engine.Config{}, handlers{"work": ok})
		w.succeeded(id)
		cut.Replan(nil)
		<-heard
		if !errors.Is(cause, engine.ErrLost) {
			t.Errorf("the cause is %v", cause)
		}
		pass(10 * time.Second)
		want := []machine.EventKind{machine.TaskLost, machine.TaskSucceeded, machine.TaskLate}
		if got := w.kinds(id, "work"); !slices.Equal(got, want) {
			t.Errorf("journal has %v", got)
		}
		if s := w.state(id).Status; s != machine.Succeeded {
			t.Errorf("the run is %s", s)
		}
		if n := first.Holding(); n != 0 {
			t.Errorf("the first engine still holds %d attempts", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A7, A10
func TestLeaseThatWasProlongedAfterItRanOutIsNotLost(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		id := w.start("one", "null")
		w.ghost("slow")
		sweeper, err := engine.New(w.st, engine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for range 60 {
			if found, err = sweeper.SweepOnce(w.ctx); err != nil || found > 0 {
				break
			}
			pass(time.Second)
		}
		if err != nil || found != 1 {
			t.Fatalf("the sweep found %d: %v", found, err)
		}
		if _, err := w.memory.Renew(w.ctx, []store.Held{{RunID: id, Path: "work", Token: 77}}, 30*time.Second); err != nil {
			t.Fatal(err)
		}
		if _, err := sweeper.SettleOnce(w.ctx); err != nil {
			t.Fatal(err)
		}
		if got := w.kinds(id, "work"); len(got) > 0 {
			t.Errorf("the journal has %v", got)
		}
	})
}

// A8
func TestAttemptThatIsToStopHearsOfItWithinASecond(t *testing.T) {
	t.Parallel()
	for name, hints := range map[string]bool{"with hints": true, "by polling": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				if !hints {
					w.st.Replan(func(op string, _ int) faulty.Fault {
						if op == "Watch" {
							return faulty.Fault{Fail: faulty.Outage(op)}
						}
						return faulty.Fault{}
					})
				}
				w.define(`
workflow: race
version: 1
steps:
  - id: both
    parallel:
      fast: { do: { task: fast } }
      slow: { do: { task: slow } }
    need: 1
    cancel_rest: true
`)
				var won, heard time.Time
				w.engine(engine.Config{}, handlers{"fast": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
					pass(10 * time.Second)
					won = time.Now()
					return nil, nil
				}})
				w.engine(engine.Config{}, handlers{"slow": func(ctx context.Context, _ *engine.Attempt) (json.RawMessage, error) {
					<-ctx.Done()
					heard = time.Now()
					return nil, ctx.Err()
				}})
				id := w.start("race", "null")
				w.succeeded(id)
				if d := heard.Sub(won); d < 0 || d > time.Second {
					t.Errorf("it heard after %s", d)
				}
				if got := w.kinds(id, "both/slow"); !slices.Equal(got, []machine.EventKind{machine.TaskStopped}) {
					t.Errorf("journal has %v", got)
				}
			})
		})
	}
}

// A9
func TestPoliteShutdownReleasesWhatDoesNotEndInTimeUncounted(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		var numbers []int
		var causes []error
		hang := func(ctx context.Context, a *engine.Attempt) (json.RawMessage, error) {
			numbers = append(numbers, a.Number)
			<-ctx.Done()
			causes = append(causes, context.Cause(ctx))
			return nil, ctx.Err()
		}
		_, stop := w.engine(engine.Config{Grace: 4 * time.Second}, handlers{"work": hang})
		id := w.start("one", "null")
		pass(time.Second)
		before := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if d := time.Since(before); d < 4*time.Second || d > 5*time.Second {
			t.Errorf("shutdown took %s; the grace is 4 s", d)
		}
		if len(causes) != 1 || !errors.Is(causes[0], engine.ErrInterrupted) {
			t.Errorf("causes are %v", causes)
		}
		before = time.Now()
		w.engine(engine.Config{}, handlers{"work": ok})
		w.succeeded(id)
		if d := time.Since(before); d > 100*time.Millisecond {
			t.Errorf("it was not ready at once, but after %s", d)
		}
		want := []machine.EventKind{machine.TaskReleased, machine.TaskSucceeded}
		if got := w.kinds(id, "work"); !slices.Equal(got, want) {
			t.Errorf("journal has %v", got)
		}
	})
}

// A9
func TestPoliteShutdownLetsAttemptsFinishWithinTheGrace(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(chain)
		_, stop := w.engine(engine.Config{}, handlers{"work": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
			pass(3 * time.Second)
			return nil, nil
		}})
		id := w.start("chain", "null")
		pass(time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if got := w.kinds(id, "a"); !slices.Equal(got, []machine.EventKind{machine.TaskSucceeded}) {
			t.Errorf("journal has %v", got)
		}
		if n := w.called(id, "b"); n != 0 {
			t.Error("the next step was begun")
		}
	})
}

// A handler that gives its program all of the grace, and kills it then, has given its task back by the time the engine leaves.
//
// A9
func TestPoliteShutdownWaitsForHandlersThatKillAfterTheGrace(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		const grace = 2 * time.Second
		_, stop := w.engine(engine.Config{Grace: grace}, handlers{"work": func(ctx context.Context, _ *engine.Attempt) (json.RawMessage, error) {
			<-ctx.Done()
			pass(grace + time.Second)
			return nil, ctx.Err()
		}})
		id := w.start("one", "null")
		pass(time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if got := w.kinds(id, "work"); !slices.Equal(got, []machine.EventKind{machine.TaskReleased}) {
			t.Errorf("journal has %v", got)
		}
	})
}

// A9
func TestShutdownNamesHandlersThatDoNotReturn(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		release := make(chan struct{})
		_, stop := w.engine(engine.Config{}, handlers{"work": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
			<-release
			return nil, nil
		}})
		id := w.start("one", "null")
		pass(time.Second)
		if err := stop(); err == nil {
			t.Error("nothing was said of the handler that hangs")
		}
		if got := w.kinds(id, "work"); len(got) != 0 {
			t.Errorf("its task was given away while it runs: %v", got)
		}
		close(release)
	})
}

// A10
func TestOutageOfOneMinuteLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(chain)
		hs := handlers{"work": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
			pass(7 * time.Second)
			return nil, nil
		}}
		w.engine(engine.Config{Slots: 10}, hs)
		w.engine(engine.Config{Slots: 10}, hs)
		var ids []string
		for range 20 {
			ids = append(ids, w.start("chain", "null"))
		}
		pass(10 * time.Second)
		w.st.Replan(func(op string, _ int) faulty.Fault { return faulty.Fault{Fail: faulty.Outage(op)} })
		pass(time.Minute)
		w.st.Replan(nil)
		for _, id := range ids {
			w.succeeded(id)
			for _, step := range []string{"a", "b", "c", "d", "e"} {
				if n := w.called(id, step); n != 1 {
					t.Errorf("run %s: step %s was executed %d times:\n%s", id, step, n, w.story(id))
				}
			}
		}
	})
}

// A11
func TestLostAnswersAreResolvedByAsking(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"Settle", "Claim", "Start", "HeldBy", "Renew", "State", "Tasks", "Lanes", "Payloads", "Workflow", "Due", "Timers"} {
		for name, before := range map[string]bool{"after": false, "before": true} {
			t.Run(op+" "+name, func(t *testing.T) {
				t.Parallel()
				in(t, func(w *world) { losing(w, op, before) })
			})
		}
	}
}

func losing(w *world, op string, before bool) {
	w.define(`
workflow: fork
version: 1
steps:
  a: { task: work }
  b: { after: a, task: work }
  c: { after: a, task: work }
  nap: { after: a, wait: 3s }
  d: { after: [b, c, nap], task: work, with: { a: "${ steps.a.output }" } }
`)
	var mu sync.Mutex
	w.st.Replan(func(got string, n int) faulty.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case got != op || n%2 == 0:
			return faulty.Fault{}
		case before:
			return faulty.Fault{Fail: faulty.Outage(op)}
		}
		return faulty.Fault{Lose: faulty.Outage(op)}
	})
	hs := handlers{"work": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
		pass(2 * time.Second)
		return json.RawMessage("1"), nil
	}}
	w.engine(engine.Config{}, hs)
	w.engine(engine.Config{}, hs)
	var ids []string
	for range 10 {
		ids = append(ids, w.start("fork", "null"))
	}
	for _, id := range ids {
		w.eventually(id)
		for _, step := range []string{"a", "b", "c", "d"} {
			if n := w.called(id, step); n != 1 {
				w.t.Errorf("step %s was executed %d times:\n%s", step, n, w.story(id))
			}
			got := w.kinds(id, step)
			if !slices.Equal(got, []machine.EventKind{machine.TaskSucceeded}) {
				w.t.Errorf("step %s has the entries %v", step, got)
			}
		}
	}
}

// eventually is succeeded for runs whose last settlement's answer may be lost, so that no engine hears of their end.
func (w *world) eventually(id string) {
	w.t.Helper()
	for range 3600 {
		if w.state(id).Status.Ended() {
			break
		}
		pass(time.Second)
	}
	if s := w.state(id).Status; s != machine.Succeeded {
		w.t.Fatalf("run %s is %s:\n%s", id, s, w.story(id))
	}
}
