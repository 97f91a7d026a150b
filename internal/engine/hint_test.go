package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/store"
)

// gossipy is a store that tells of work where a test says so, and when it was asked for it.
type gossipy struct {
	store.Store
	hints chan store.Hint

	mu     sync.Mutex
	claims []time.Time
}

func (g *gossipy) Watch(ctx context.Context, wake func(store.Hint)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case h := <-g.hints:
			wake(h)
		}
	}
}

func (g *gossipy) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	g.mu.Lock()
	g.claims = append(g.claims, time.Now())
	g.mu.Unlock()
	return g.Store.Claim(ctx, c)
}

// since gives the claims that were made since a time.
func (g *gossipy) since(at time.Time) (all []time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.claims {
		if !c.Before(at) {
			all = append(all, c.Sub(at))
		}
	}
	return all
}

// Others' work is hinted at fifty times a second, and others take it: that costs a process few claims, and what is left for it
// begins soon all the same. What comes while little is hinted begins at once.
func TestHintsOfWorkThatOthersTakeCostFewClaims(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		begun := make(chan time.Time, 1)
		g := &gossipy{Store: w.memory, hints: make(chan store.Hint)}
		w.runs(g, engine.Config{Handlers: map[string]engine.Handler{"work": sleeper(0, func(*engine.Attempt) { begun <- time.Now() })}})
		hint := store.Hint{Lanes: []store.Lane{{Tenant: tenant, Queue: "default", Handler: "work", Workflow: "one"}}}
		work := func(within time.Duration) {
			t.Helper()
			w.start("one", "null")
			at := time.Now()
			g.hints <- hint
			if waited := (<-begun).Sub(at); waited > within {
				t.Errorf("it began after %s, want %s", waited, within)
			}
		}
		w.start("one", "null")
		<-begun // the lane is known
		pass(300 * time.Millisecond)
		work(0)
		pass(300 * time.Millisecond)
		const flood = 2 * time.Second
		from := time.Now()
		for time.Since(from) < flood {
			g.hints <- hint
			pass(20 * time.Millisecond)
		}
		claims := g.since(from)
		if len(claims) < int(flood/(100*time.Millisecond)) || len(claims) > int(flood/(40*time.Millisecond)) {
			t.Errorf("there were %d claims: %v", len(claims), claims)
		}
		work(80 * time.Millisecond)
		pass(10 * time.Millisecond) // it is settled
		work(0)                     // there was something left for it
		for range 50 {
			g.hints <- hint
			pass(20 * time.Millisecond)
		}
		pass(170 * time.Millisecond) // a hint that was put off, and the rest after it
		work(0)
	})
}
