package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// A1
func TestTwoEnginesNeverExecuteTheSameAttempt(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		hs := handlers{"work": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
			pass(10 * time.Millisecond)
			return json.RawMessage("1"), nil
		}}
		var ids []string
		for range 200 {
			ids = append(ids, w.start("one", "null"))
		}
		w.engine(engine.Config{Slots: 7}, hs)
		w.engine(engine.Config{Slots: 13}, hs)
		for _, id := range ids {
			w.succeeded(id)
			if n := w.called(id, "work"); n != 1 {
				t.Errorf("run %s was executed %d times", id, n)
			}
		}
	})
}

// A1
func TestTaskThatNobodyServesStaysReadyAndUsesNoAttempts(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		id := w.start("one", "null")
		w.engine(engine.Config{}, handlers{"other": ok})
		pass(time.Hour)
		live, err := w.memory.Tasks(w.ctx, tenant, id, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(live) != 1 || live[0].State != store.Ready || live[0].Attempt != 0 {
			t.Errorf("tasks are %+v; want one that is ready and untried", live)
		}
	})
}

// A3
func TestErrorOfHandlerSaysWhetherItIsTriedAgain(t *testing.T) {
	t.Parallel()
	base := errors.New("no stock")
	after := int64(90_000)
	for _, c := range []struct {
		name string
		err  error
		want machine.Error
	}{
		{"plain", base, machine.Error{Code: "error", Message: "no stock", Passing: true}},
		{"code", engine.Fail("declined", base), machine.Error{Code: "declined", Message: "no stock", Passing: true}},
		{"code alone", engine.Fail("declined", nil), machine.Error{Code: "declined", Message: "declined", Passing: true}},
		{"permanent", engine.Permanent(base), machine.Error{Code: "error", Message: "no stock", Permanent: true}},
		{
			"permanent around code", engine.Permanent(engine.Fail("declined", base)),
			machine.Error{Code: "declined", Message: "no stock", Permanent: true},
		},
		{
			"code around permanent", fmt.Errorf("pay: %w", engine.Fail("declined", engine.Permanent(base))),
			machine.Error{Code: "declined", Message: "pay: no stock", Permanent: true},
		},
		{
			"retry after", engine.RetryAfter(90*time.Second, base),
			machine.Error{Code: "error", Message: "no stock", Passing: true, RetryAfterMS: &after},
		},
		{
			"permanent around retry after", engine.Permanent(engine.RetryAfter(90*time.Second, base)),
			machine.Error{Code: "error", Message: "no stock", Permanent: true, RetryAfterMS: &after},
		},
		{
			"a context of the handler's own", fmt.Errorf("dial: %w", context.DeadlineExceeded),
			machine.Error{Code: "error", Message: "dial: context deadline exceeded", Passing: true},
		},
		{
			"permanent around a context error", engine.Permanent(context.Canceled),
			machine.Error{Code: "error", Message: "context canceled", Permanent: true},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := engine.Classify(t.Context(), c.err)
			if got.Interrupted {
				t.Error("it is classed as interrupted, but nothing interrupted it")
			}
			if diff := cmp.Diff(&c.want, got.Err); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A3
func TestContextErrorAfterTheAttemptWasEndedIsAnInterruption(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(engine.ErrStopped)
	if got := engine.Classify(ctx, fmt.Errorf("dial: %w", context.Canceled)); !got.Interrupted {
		t.Errorf("got %+v", got)
	}
	if got := engine.Classify(ctx, engine.Permanent(context.Canceled)); got.Interrupted {
		t.Errorf("a permanent failure is classed as an interruption: %+v", got)
	}
}

// A3
func TestRetryAfterWaitsExactlySoLong(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		var times []time.Time
		w.engine(engine.Config{}, handlers{"work": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
			times = append(times, time.Now())
			if a.Number < 3 {
				return nil, engine.RetryAfter(90*time.Second, errors.New("busy"))
			}
			return nil, nil
		}})
		w.succeeded(w.start("one", "null"))
		if len(times) != 3 {
			t.Fatalf("%d attempts", len(times))
		}
		for i := 1; i < len(times); i++ {
			if d := times[i].Sub(times[i-1]); d < 90*time.Second || d > 90*time.Second+50*time.Millisecond {
				t.Errorf("attempt %d came after %s", i+1, d)
			}
		}
	})
}

// A3
func TestPermanentFailureIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		w.engine(engine.Config{}, handlers{"work": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
			return nil, engine.Fail("declined", engine.Permanent(errors.New("no money")))
		}})
		id := w.start("one", "null")
		if e := w.failed(id); e.Code != "declined" || w.called(id, "work") != 1 {
			t.Errorf("error %v after %d attempts", e, w.called(id, "work"))
		}
	})
}

// A4
func TestPanicIsAFailedAttemptWithItsStackInTheJournal(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]func(){
		"panic":   func() { panic("out of cheese") },
		"Goexit":  runtime.Goexit,
		"runtime": func() { _ = []int{}[len(t.Name())] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define(one)
				w.engine(engine.Config{}, handlers{"work": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
					if a.Number == 1 {
						crash()
					}
					return nil, nil
				}})
				id := w.start("one", "null")
				w.succeeded(id)
				first := w.journal(id)[1]
				var e machine.Error
				if err := json.Unmarshal(first.Payload, &e); err != nil || e.Code != machine.CodePanic {
					t.Errorf("the first attempt ended as %s %s", first.Kind, first.Payload)
				}
				if name != "Goexit" && !strings.Contains(string(first.Facts), "attempt_test.go") {
					t.Errorf("the facts hold no stack: %s", first.Facts)
				}
			})
		})
	}
}

// A5
func TestTimeoutIsSettledAtItsTimeAlthoughTheHandlerIgnoresIt(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: one
version: 1
steps:
  - { id: work, task: work, timeout: 5s, retry: 1 }
`)
		release := make(chan struct{})
		causes := make(chan error, 2)
		e, _ := w.engine(engine.Config{Slots: 1}, handlers{"work": func(ctx context.Context, _ *engine.Attempt) (json.RawMessage, error) {
			if d, ok := ctx.Deadline(); !ok || time.Until(d) != 5*time.Second {
				t.Errorf("the context's deadline is %v", d)
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			<-release
			return json.RawMessage("1"), nil
		}})
		before := time.Now()
		id := w.start("one", "null")
		if got := w.failed(id); got.Code != machine.CodeTimeout {
			t.Errorf("the run failed with %v", got)
		}
		if d := time.Since(before); d < 5*time.Second || d > 6*time.Second {
			t.Errorf("it was settled after %s", d)
		}
		if n := e.Overdue(); n != 1 {
			t.Errorf("%d handlers are overdue; want 1", n)
		}
		other := w.start("one", "null")
		pass(time.Second)
		if n := w.called(other, "work"); n != 0 {
			t.Error("the slot was freed before the handler returned")
		}
		close(release)
		if got := w.failed(other); got.Code != machine.CodeTimeout {
			t.Errorf("the other failed with %v", got)
		}
		for range 2 {
			if cause := <-causes; !errors.Is(cause, engine.ErrTimedOut) {
				t.Errorf("the cause is %v", cause)
			}
		}
		pass(time.Second)
		if got, want := w.kinds(id, "work"), []machine.EventKind{machine.TaskFailed, machine.TaskLate}; !slices.Equal(got, want) {
			t.Errorf("journal has %v; the late result is recorded and must not count", got)
		}
	})
}

// A15
func TestKeyIsTheSameForEveryAttemptAndDiffersByActivation(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(chain)
		keys := map[string][]string{}
		w.engine(engine.Config{Slots: 1}, handlers{"work": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
			keys[a.Path] = append(keys[a.Path], a.Key)
			if a.Number < 3 {
				return nil, errors.New("again")
			}
			return nil, nil
		}})
		w.succeeded(w.start("chain", "null"))
		seen := map[string]bool{}
		for path, all := range keys {
			if len(all) != 3 || len(slices.Compact(slices.Clone(all))) != 1 || seen[all[0]] {
				t.Errorf("keys of %s are %v", path, all)
			}
			seen[all[0]] = true
		}
	})
}

// R8 A17
func TestBadOutcomeFailsItsAttemptAloneAndByName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ output, code string }{
		"NUL":           {`"a\u0000b"`, machine.CodeUnstorable},
		"invalid UTF-8": {"\"a\xffb\"", machine.CodeUnstorable},
		"not JSON":      {`{"a":`, machine.CodeUnstorable},
		"too large":     {`"` + strings.Repeat("x", 1000) + `"`, machine.CodeTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define(one)
				var bad string
				w.engine(engine.Config{MaxPayload: 1000}, handlers{"work": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
					pass(time.Second) // all answer together
					if a.ID == bad {
						return json.RawMessage(c.output), nil
					}
					return nil, nil
				}})
				var good []string
				for range 5 {
					good = append(good, w.start("one", "null"))
				}
				bad = w.start("one", "null")
				for range 5 {
					good = append(good, w.start("one", "null"))
				}
				e := w.failed(bad)
				if e.Code != c.code || !e.Final || w.called(bad, "work") != 1 {
					t.Errorf("it failed with %+v after %d attempts", e, w.called(bad, "work"))
				}
				for _, id := range good {
					w.succeeded(id)
				}
			})
		})
	}
}

func TestErrorTextIsMadeStorableAndCut(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		w.engine(engine.Config{}, handlers{"work": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
			return nil, engine.Permanent(errors.New("a\x00b\xff" + strings.Repeat("é", 5000)))
		}})
		e := w.failed(w.start("one", "null"))
		if len(e.Message) > 4096 || !strings.HasPrefix(e.Message, "ab\uFFFDé") {
			t.Errorf("message of %d bytes: %.20q", len(e.Message), e.Message)
		}
	})
}

// F11
func TestExpressionThatCannotBeEvaluatedFailsTheStepByName(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: one
version: 1
steps:
  - { id: work, task: work, with: { n: "${ 1 / input.n }" } }
`)
		w.engine(engine.Config{}, handlers{"work": ok})
		id := w.start("one", `{"n": 0}`)
		if e := w.failed(id); e.Code != machine.CodeExpression || w.called(id, "work") != 0 {
			t.Errorf("error %v after %d calls", e, w.called(id, "work"))
		}
	})
}
