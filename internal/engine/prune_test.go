package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
)

// gone says whether the store has a run no more.
func (w *world) gone(id string) bool {
	w.t.Helper()
	_, err := w.memory.State(context.WithoutCancel(w.ctx), tenant, id, nil, nil)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		w.t.Fatal(err)
	}
	return err != nil
}

// K1
func TestRunsAreKeptForAsLongAsTheirStatusSays(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		var mu sync.Mutex
		var heard []string
		fail := false
		w.engine(engine.Config{
			Retention: &engine.Retention{
				Tenant: tenant, Every: time.Minute,
				Keep: map[machine.Status]time.Duration{machine.Succeeded: time.Hour, machine.Cancelled: 2 * time.Hour},
				Pruned: func(runs []store.PrunedRun) {
					mu.Lock()
					defer mu.Unlock()
					for _, r := range runs {
						heard = append(heard, r.RunID)
					}
				},
			},
		}, handlers{"work": func(ctx context.Context, a *engine.Attempt) (json.RawMessage, error) {
			if fail {
				return nil, engine.Permanent(errors.New("no"))
			}
			return ok(ctx, a)
		}})
		first := w.start("one", "null")
		w.succeeded(first)
		fail = true
		failed := w.start("one", "null")
		if e := w.failed(failed); e == nil {
			t.Fatal("the run did not fail")
		}
		fail = false
		pass(50 * time.Minute)
		second := w.start("one", "null")
		w.succeeded(second)
		pass(15 * time.Minute)
		if !w.gone(first) || w.gone(second) || w.gone(failed) {
			t.Errorf("after 65 minutes: %t %t %t", w.gone(first), w.gone(second), w.gone(failed))
		}
		w.st.Replan(func(op string, _ int) faulty.Fault {
			if op == "Prune" {
				return faulty.Fault{Fail: faulty.Outage(op)}
			}
			return faulty.Fault{}
		})
		pass(3 * time.Hour)
		if w.gone(second) {
			t.Error("it is gone although the store did not answer")
		}
		w.st.Replan(nil)
		pass(2 * time.Minute)
		if !w.gone(second) || w.gone(failed) {
			t.Errorf("once the store answers: %t %t", w.gone(second), w.gone(failed))
		}
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff([]string{first, second}, heard); diff != "" {
			t.Error(diff)
		}
	})
}

// K1: a late answer of an attempt whose run was removed troubles nobody.
func TestALateAnswerForARunThatWasRemovedIsDropped(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define("workflow: hung\nversion: 1\nsteps:\n  - { id: a, task: hang, timeout: 1s, retry: { attempts: 1 }, on_error: continue }\n")
		w.define(one)
		release := make(chan struct{})
		w.engine(engine.Config{Retention: &engine.Retention{
			Tenant: tenant, Every: time.Minute, Keep: map[machine.Status]time.Duration{machine.Succeeded: time.Minute},
		}}, handlers{"work": ok, "hang": func(ctx context.Context, a *engine.Attempt) (json.RawMessage, error) {
			<-release // whatever its context says
			return ok(ctx, a)
		}})
		id := w.start("hung", "null")
		w.succeeded(id)
		pass(5 * time.Minute)
		if !w.gone(id) {
			t.Fatal("the run is not removed")
		}
		close(release)
		pass(time.Second)
		w.succeeded(w.start("one", "null"))
		if n := w.st.Calls("State"); n > 1_000 {
			t.Errorf("the run was asked for again and again: %d times", n)
		}
	})
}

// K1
func TestARetentionThatMakesNoSenseIsRefusedByName(t *testing.T) {
	t.Parallel()
	c := engine.Config{Retention: &engine.Retention{
		Every: -1, Keep: map[machine.Status]time.Duration{machine.Running: time.Hour, machine.Failed: -time.Hour},
	}}
	var got []string
	if joined, ok := c.Validate().(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			got = append(got, err.Error())
		}
	}
	slices.Sort(got)
	want := []string{
		`config: Retention has no Tenant; expected a name`,
		`config: Retention.Every is -1ns; expected a time above zero, or 0 for the default`,
		`config: Retention.Keep["failed"] is -1h0m0s; expected a status that ends a run, and zero or more`,
		`config: Retention.Keep["running"] is 1h0m0s; expected a status that ends a run, and zero or more`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
