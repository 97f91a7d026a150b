package engine_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// processors are those of a machine on which engines and their database live, in virtual time: whatever costs processor time
// waits for one and keeps it for as long.
type processors chan struct{}

func (p processors) spend(d time.Duration) {
	p <- struct{}{}
	pass(d)
	<-p
}

// costly is a store whose calls cost what they were measured to cost on PostgreSQL: some for each round, at the client and at
// the server, and some for each member.
type costly struct {
	store.Store
	processors

	settlements, claims atomic.Int64
}

const (
	roundAtServer  = 450 * time.Microsecond
	roundAtClient  = 350 * time.Microsecond
	memberAtServer = 30 * time.Microsecond
	memberAtClient = 20 * time.Microsecond
	step           = 40 * time.Microsecond // a handler that does nothing
)

func (c *costly) round(members int) {
	c.spend(roundAtClient + time.Duration(members)*memberAtClient)
	c.spend(roundAtServer + time.Duration(members)*memberAtServer)
}

func (c *costly) Settle(ctx context.Context, s []store.Settlement) ([]store.Settled, error) {
	c.settlements.Add(1)
	c.round(len(s))
	return c.Store.Settle(ctx, s)
}

func (c *costly) Claim(ctx context.Context, ask store.Claim) ([]store.Claimed, error) {
	c.claims.Add(1)
	got, err := c.Store.Claim(ctx, ask)
	c.round(len(got))
	return got, err
}

// tally tells when so many runs have ended.
type tally struct {
	left  atomic.Int64
	ended chan struct{}
}

func (*tally) Claimed(*engine.Attempt)                 {}
func (*tally) Answered(*engine.Attempt, machine.Event) {}

func (t *tally) Settled(run *machine.Run) {
	if run.Status.Ended() && t.left.Add(-1) == 0 {
		close(t.ended)
	}
}

// shared has so many engines work off runs of three steps on a machine of two processors.
func (w *world) shared(engines, runs int) (took time.Duration, settlements, claims float64) {
	w.flood("t", "workflow: three\nsteps:\n  - { id: a, task: work }\n  - { id: b, task: work }\n  - { id: c, task: work }\n", runs)
	st := &costly{Store: w.memory, processors: make(processors, 2)}
	seen := &tally{ended: make(chan struct{})}
	seen.left.Store(int64(runs))
	began := time.Now()
	for range engines {
		w.runs(st, engine.Config{Observer: seen, Handlers: map[string]engine.Handler{"work": engine.HandlerFunc(
			func(context.Context, *engine.Attempt) (json.RawMessage, error) {
				st.spend(step)
				return nil, nil
			})}})
	}
	<-seen.ended
	n := float64(runs)
	return time.Since(began), float64(st.settlements.Load()) / n, float64(st.claims.Load()) / n
}

// Each of several has as large batches as one alone, and what they do together is no less: every round costs the same whatever is
// in it, so that small ones would cost all of them.
func TestAddingAnEngineNeverSlowsTheTotal(t *testing.T) {
	t.Parallel()
	const runs = 2_000
	var alone time.Duration
	for _, n := range []int{1, 2, 4, 8} {
		in(t, func(w *world) {
			took, settlements, claims := w.shared(n, runs)
			if alone == 0 {
				alone = took
			}
			if took > alone {
				t.Errorf("%d engines take %s for what one does in %s", n, took, alone)
			}
			if settlements > 0.1 || claims > 0.1 { // of three steps, with 64 slots: at least 0.047 and 0.016
				t.Errorf("%d engines: a run takes %.3f settlements and %.3f claims", n, settlements, claims)
			}
		})
	}
}
