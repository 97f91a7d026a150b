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

// priced is a store whose calls take, in virtual time, what they take on a server: some for the transaction, some for each
// member.
type priced struct{ store.Store }

const (
	priceOfCall   = 300 * time.Microsecond
	priceOfMember = 40 * time.Microsecond
)

func (p priced) Settle(ctx context.Context, s []store.Settlement) ([]store.Settled, error) {
	pass(priceOfCall + time.Duration(len(s))*priceOfMember)
	return p.Store.Settle(ctx, s)
}

func (p priced) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	got, err := p.Store.Claim(ctx, c)
	pass(priceOfCall + time.Duration(len(got))*priceOfMember)
	return got, err
}

func (p priced) Start(ctx context.Context, s []store.Start) ([]store.Started, error) {
	pass(priceOfCall + time.Duration(len(s))*priceOfMember)
	return p.Store.Start(ctx, s)
}

func (p priced) Stocked(ctx context.Context, after int64, limit int) ([]store.Lane, error) {
	pass(priceOfCall)
	return p.Store.Stocked(ctx, after, limit)
}

// watcher notes what began and ended, and when.
type watcher struct {
	others  atomic.Int64  // attempts of others than the guest that have begun
	claimed chan int64    // gets others when an attempt of the guest begins
	ended   chan struct{} // gets a value when a run of the guest ends
}

func (w *watcher) Claimed(a *engine.Attempt) {
	if a.Tenant != "guest" {
		w.others.Add(1)
		return
	}
	w.claimed <- w.others.Load()
}

func (w *watcher) Answered(*engine.Attempt, machine.Event) {}

func (w *watcher) Settled(run *machine.Run) {
	if run.Tenant == "guest" && run.Status.Ended() {
		w.ended <- struct{}{}
	}
}

// visit has the guest start one run and gives how many tasks of others began before it, the time until its task began, and until
// the run ended.
func (w *world) visit(seen *watcher, from *engine.Engine) (others int64, begun, ended time.Duration) {
	w.t.Helper()
	before, came := seen.others.Load(), time.Now()
	got, err := from.Start(w.ctx, []engine.StartRequest{{Tenant: "guest", Workflow: "one", Input: json.RawMessage("null")}})
	if err != nil || got[0].Err != nil {
		w.t.Fatal(err, got)
	}
	others = <-seen.claimed - before
	begun = time.Since(came)
	<-seen.ended
	return others, begun, time.Since(came)
}

// Q3: where every call has its price and the tasks of a flood take no time at all, so that batches are as large as there are
// slots.
func TestOneTaskIsNotHeldUpByTheBatchesOfAFlood(t *testing.T) {
	t.Parallel()
	const slots = 64
	measure := func(w *world, flood int) (others int64, begun, ended time.Duration) {
		const visits = 8
		if w.flood("guest", one, 1); flood > 0 {
			w.flood("flood", one, flood)
		}
		seen := &watcher{claimed: make(chan int64, 1), ended: make(chan struct{}, 1)}
		st := priced{w.memory}
		w.runs(st, engine.Config{Slots: slots, Observer: seen, Handlers: map[string]engine.Handler{"work": engine.HandlerFunc(ok)}})
		<-seen.claimed
		<-seen.ended
		from, err := engine.New(st, engine.Config{})
		if err != nil {
			w.t.Fatal(err)
		}
		for n := range visits {
			pass(20*time.Millisecond + time.Duration(n)*370*time.Microsecond)
			o, b, e := w.visit(seen, from)
			others, begun, ended = max(others, o), max(begun, b), max(ended, e)
		}
		if flood > 0 && seen.others.Load() >= int64(flood) {
			w.t.Error("the flood had ended before")
		}
		return others, begun, ended
	}
	var idleBegun, idleEnded time.Duration
	in(t, func(w *world) { _, idleBegun, idleEnded = measure(w, 0) })
	in(t, func(w *world) {
		others, begun, ended := measure(w, 6_000)
		if others > slots {
			w.t.Errorf("%d tasks of the flood began before the guest's, more than there are slots", others)
		}
		if begun > 2*idleBegun || ended > 2*idleEnded {
			w.t.Errorf("it began after %s and ended after %s; in an idle process after %s and %s", begun, ended, idleBegun, idleEnded)
		}
	})
}
