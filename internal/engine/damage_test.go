package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// X13: however many damaged runs have something older that waits than a run has whose turn would be next.
func TestManyDamagedRunsKeepNoOtherWaiting(t *testing.T) {
	t.Parallel()
	const (
		many = 1_200
		rest = "workflow: rest\nversion: 1\nsteps:\n  - { id: nap, wait: 3s }\n"
	)
	claim := func(w *world, n int) {
		w.t.Helper()
		got, err := w.memory.Claim(w.ctx, store.Claim{
			Owner: "dead", Token: 7, Lease: time.Second, Lanes: []store.LaneLimit{{Lane: 1, Limit: n}}, Limit: n,
		})
		if err != nil || len(got) != n {
			w.t.Fatal(err, len(got))
		}
	}
	cancel := func(w *world, ids []string) {
		w.t.Helper()
		for i, id := range ids {
			m := store.Message{Tenant: tenant, RunID: id, ID: fmt.Sprint(i), Event: machine.Event{
				Kind: machine.CancelRequested, Payload: json.RawMessage("null"),
			}}
			if got, err := w.memory.Tell(w.ctx, []store.Message{m}); err != nil || got[0] != nil {
				w.t.Fatal(err, got)
			}
		}
	}
	for name, c := range map[string]struct {
		text, workflow string
		wait           func(w *world, ids []string) // has something wait for each run
		within         time.Duration
	}{
		"timers":   {rest, "rest", func(*world, []string) {}, 10 * time.Second},
		"messages": {rest, "rest", cancel, 10 * time.Second},
		"losses":   {one, "one", func(w *world, ids []string) { claim(w, len(ids)) }, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define(c.text)
				broken := w.bulk(c.workflow, many)
				c.wait(w, broken)
				pass(10 * time.Millisecond)
				whole := w.bulk(c.workflow, 1)
				c.wait(w, whole)
				for _, id := range broken {
					w.memory.Damage(id, "", []byte("garbage"))
				}
				came := time.Now()
				w.engine(engine.Config{}, handlers{"work": ok})
				w.wait(whole[0])
				if d := time.Since(came); d > c.within {
					t.Errorf("it went on after %s", d)
				}
			})
		})
	}
}

// bulk starts so many runs at once and gives their ids.
func (w *world) bulk(name string, n int) []string {
	w.t.Helper()
	batch := make([]engine.StartRequest, n)
	for i := range batch {
		batch[i] = engine.StartRequest{Tenant: tenant, Workflow: name, Input: json.RawMessage("null")}
	}
	got, err := engine.Idle(w.memory).Start(w.ctx, batch)
	if err != nil {
		w.t.Fatal(err)
	}
	ids := make([]string, n)
	for i := range got {
		if got[i].Err != nil {
			w.t.Fatal(got[i].Err)
		}
		ids[i] = got[i].RunID
	}
	return ids
}
