package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/workflow"
)

// flood starts so many runs of a workflow for a tenant, to whom it is registered if it is not yet.
func (w *world) flood(tenant, text string, runs int) {
	w.t.Helper()
	def, err := workflow.Read("flood.yaml", []byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	e, err := engine.New(w.memory, engine.Config{})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, _, err := e.Register(w.ctx, tenant, def); err != nil {
		w.t.Fatal(err)
	}
	for runs > 0 {
		batch := make([]engine.StartRequest, min(runs, 1_000))
		for i := range batch {
			batch[i] = engine.StartRequest{Tenant: tenant, Workflow: def.Name, Input: json.RawMessage("null")}
		}
		got, err := e.Start(w.ctx, batch)
		if err != nil || got[0].Err != nil {
			w.t.Fatal(err, got)
		}
		runs -= len(batch)
	}
}

// sleeper gives a handler that takes d, and tells of each attempt when it begins.
func sleeper(d time.Duration, begun func(a *engine.Attempt)) engine.HandlerFunc {
	return func(ctx context.Context, a *engine.Attempt) (json.RawMessage, error) {
		begun(a)
		select {
		case <-time.After(d):
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Q3: in virtual time, a task that comes to an idle process begins at once, and one that comes to a busy one as soon as a slot
// is free.
func TestOneTaskOfAnotherTenantIsNotHeldUpByLongLines(t *testing.T) {
	t.Parallel()
	const task = 100 * time.Millisecond
	for name, c := range map[string]struct {
		tenants, runs int // those that are there before
		steps         int
		slots         int
		rounds        int // how often the guest comes
		notice        time.Duration
	}{
		"of one tenant":                      {1, 10_000, 1, 4, 3, 25 * time.Millisecond},
		"of 100 tenants":                     {100, 50, 1, 4, 3, 25 * time.Millisecond},
		"of 100 tenants, for a single slot":  {100, 50, 1, 1, 1, 25 * time.Millisecond},
		"of 10,000 tenants":                  {10_000, 1, 1, 4, 1, 25 * time.Millisecond},
		"of runs that keep their slots":      {1, 4, 90, 4, 3, 25 * time.Millisecond},
		"of more runs that keep their slots": {5, 9, 40, 4, 3, 25 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				var steps strings.Builder
				for i := range c.steps {
					fmt.Fprintf(&steps, "  - { id: s%d, task: work }\n", i)
				}
				text := "workflow: flood\nversion: 1\nsteps:\n" + steps.String()
				for i := range c.tenants {
					w.flood(fmt.Sprintf("flood-%d", i), text, c.runs)
				}
				begun := make(chan time.Time, 9)
				w.engine(engine.Config{Slots: c.slots}, handlers{"work": sleeper(task, func(a *engine.Attempt) {
					if a.Tenant == "guest" {
						begun <- time.Now()
					}
				})})
				pass(10*task + task/2)
				for range c.rounds {
					came := time.Now()
					w.flood("guest", one, 1)
					if waited := (<-begun).Sub(came); waited > task+c.notice {
						t.Errorf("it began after %s", waited)
					}
					pass(26 * task)
				}
			})
		})
	}
}

// Q2
func TestTenantsAndThenTheirWorkflowsGetEqualShares(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.flood("a", one, 900)
		w.flood("b", one, 90)
		w.flood("b", strings.ReplaceAll(one, "one", "two"), 900)
		w.flood("c", one, 3)
		begun := map[string]int{}
		w.engine(engine.Config{Slots: 3}, handlers{"work": sleeper(time.Second, func(a *engine.Attempt) {
			w.mu.Lock()
			defer w.mu.Unlock()
			begun[a.Tenant+" "+a.Workflow]++
		})})
		pass(60*time.Second + time.Second/2) // 183 attempts have begun: 3 of c's, 90 of a's, 45 of each of b's
		w.mu.Lock()
		defer w.mu.Unlock()
		for name, want := range map[string]int{"c one": 3, "a one": 90, "b one": 45, "b two": 45} {
			if got := begun[name]; got < want-1 || got > want+1 {
				t.Errorf("%s began %d times, want about %d: %v", name, got, want, begun)
			}
		}
	})
}
