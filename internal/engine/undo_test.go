package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
)

// X4, X3: many compensations, four engines of sixteen slots each; the order is that of the endings, the newest first.
func TestCompensationsNeverOverlapAndKeepTheirOrder(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		var b strings.Builder
		b.WriteString("workflow: wide\nversion: 1\nsteps:\n")
		for i := range 24 {
			fmt.Fprintf(&b, "  s%d: { task: work, compensate: { task: undo, retry: { attempts: 2, delay: 1s, jitter: 0 } } }\n", i)
		}
		b.WriteString("  bad: { task: bad }\n")
		w.define(b.String())
		var mu sync.Mutex
		under, failed := 0, map[string]bool{}
		var undone []string
		hs := handlers{
			"work": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
				var n int
				if _, err := fmt.Sscanf(a.Path, "s%d", &n); err != nil {
					return nil, engine.Permanent(err)
				}
				pass(time.Duration(1+(n*7)%24) * time.Second)
				return nil, nil
			},
			"bad": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
				pass(time.Minute)
				return nil, engine.Permanent(errors.New("no"))
			},
			"undo": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
				mu.Lock()
				under++
				if under > 1 {
					t.Errorf("%s runs beside another", a.Path)
				}
				again := !failed[a.Path] && len(undone)%3 == 0
				failed[a.Path] = true
				mu.Unlock()
				pass(time.Second)
				mu.Lock()
				defer mu.Unlock()
				under--
				if again {
					return nil, errors.New("not yet")
				}
				undone = append(undone, strings.TrimSuffix(a.Path, "~undo"))
				return nil, nil
			},
		}
		for range 4 {
			w.engine(engine.Config{Slots: 16}, hs)
		}
		id := w.start("wide", "null")
		_ = w.failed(id)
		var want []string
		for _, e := range w.journal(id) {
			if e.Kind == machine.TaskSucceeded && !strings.HasSuffix(e.Path, "~undo") {
				want = append(want, e.Path)
			}
		}
		slices.Reverse(want)
		if !slices.Equal(undone, want) || len(want) != 24 {
			t.Errorf("undone were %v; want %v", undone, want)
		}
	})
}

// X3: siblings of the step that fails: one succeeds late, one never answers. Both are undone.
func TestSiblingThatNeverAnswersIsUndoneAsPerhapsDone(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: two
version: 1
steps:
  quick: { parallel: { l: { steps: [ { id: x, task: ok }, { id: y, task: bad } ] }, r: { do: { task: late, compensate: { task: ok } } } } }
  silent: { task: silent, timeout: 30s, retry: 1, compensate: { task: ok } }
`)
		release := make(chan struct{})
		w.engine(engine.Config{}, handlers{
			"ok": ok,
			"bad": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
				pass(time.Second)
				return nil, engine.Permanent(errors.New("no"))
			},
			"late": func(ctx context.Context, _ *engine.Attempt) (json.RawMessage, error) {
				<-ctx.Done()
				pass(10 * time.Second)
				return json.RawMessage(`"late"`), nil
			},
			"silent": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
				<-release // it heeds nothing
				return nil, nil
			},
		})
		id := w.start("two", "null")
		if e := w.failed(id); e.Step != "quick/l/y" {
			t.Errorf("the run failed with %+v", e)
		}
		for _, path := range []string{"quick/r~undo", "silent~undo"} {
			if n := w.called(id, path); n != 1 {
				t.Errorf("%s was called %d times:\n%s", path, n, w.story(id))
			}
		}
		close(release)
		pass(time.Second)
	})
}

// C2: the compensation in hand goes on, and the ending changes.
func TestCancelWhileACompensationWaitsForItsRetryChangesTheEndingAlone(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: s
version: 1
steps:
  - { id: a, task: ok, compensate: { task: undo, retry: { attempts: 3, delay: 1m, jitter: 0 } } }
  - { id: b, task: bad }
`)
		w.engine(engine.Config{}, handlers{"ok": ok, "bad": refuses, "undo": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
			if a.Number < 3 {
				return nil, errors.New("not yet")
			}
			return nil, nil
		}})
		id := w.start("s", "null")
		pass(30 * time.Second)
		for _, want := range []bool{true, false} {
			if changed := w.order(id, machine.CancelRequested); changed != want {
				t.Errorf("the cancel changed something: %t", changed)
			}
		}
		w.becomes(id, machine.Cancelled)
		if n := w.called(id, "a~undo"); n != 3 {
			t.Errorf("the compensation was called %d times", n)
		}
		w.nothingLeft(id)
	})
}

// C2
func TestAbortEndsARunInTheMiddleOfItsUndoing(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define("workflow: s\nversion: 1\nsteps:\n  - { id: a, task: ok, compensate: { task: hang } }\n  - { id: b, task: bad }\n")
		begun, heard := make(chan struct{}), make(chan error, 1)
		w.engine(engine.Config{}, handlers{"ok": ok, "bad": refuses, "hang": func(ctx context.Context, _ *engine.Attempt) (json.RawMessage, error) {
			close(begun)
			<-ctx.Done()
			heard <- context.Cause(ctx)
			return nil, ctx.Err()
		}})
		id := w.start("s", "null")
		<-begun
		before := time.Now()
		w.order(id, machine.AbortRequested) // A8: from another process
		if cause := <-heard; !errors.Is(cause, engine.ErrLost) || time.Since(before) > time.Second {
			t.Errorf("it heard %v after %s", cause, time.Since(before))
		}
		if s := w.state(id).Status; s != machine.Aborted {
			t.Errorf("the run is %s", s)
		}
		w.nothingLeft(id)
	})
}

// X11, X12
func TestDeadlineFailsARunByNameAndStandsStillDuringAPause(t *testing.T) {
	t.Parallel()
	for name, paused := range map[string]time.Duration{"not paused": 0, "paused": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define("workflow: d\nversion: 1\ndeadline: 10m\nsteps:\n  - { id: a, task: hang, retry: { attempts: 9, for: 1d }, compensate: { task: ok } }\n")
				causes := make(chan error, 1)
				w.engine(engine.Config{}, handlers{"ok": ok, "hang": func(ctx context.Context, _ *engine.Attempt) (json.RawMessage, error) {
					<-ctx.Done()
					causes <- context.Cause(ctx)
					return nil, ctx.Err()
				}})
				before := time.Now()
				id := w.start("d", "null")
				pass(5 * time.Minute)
				if paused > 0 {
					w.order(id, machine.PauseRequested)
					pass(paused)
					w.order(id, machine.ResumeRequested)
				}
				if e := w.failed(id); e.Code != machine.CodeDeadline {
					t.Errorf("the run failed with %v", e)
				}
				if d := time.Since(before) - paused; d < 10*time.Minute || d > 10*time.Minute+2*time.Second {
					t.Errorf("it took %s", d)
				}
				if cause := <-causes; !errors.Is(cause, engine.ErrStopped) {
					t.Errorf("the attempt heard %v", cause)
				}
				if n := w.called(id, "a~undo"); n != 1 {
					t.Errorf("what was perhaps done was undone %d times", n)
				}
			})
		})
	}
}

// X12: nobody works for a week.
func TestOutageOfWorkersDelaysAndFailsNothing(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define("workflow: s\nversion: 1\nsteps:\n  - { id: a, task: work, timeout: 1m, retry: { attempts: 3 } }\n  - { id: b, task: work }\n")
		id := w.start("s", "null")
		pass(7 * 24 * time.Hour)
		w.engine(engine.Config{}, handlers{"work": ok})
		w.succeeded(id)
		if n := w.begun(); n != 2 {
			t.Errorf("%d attempts have begun", n)
		}
	})
}
