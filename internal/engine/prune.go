package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Retention says how long runs are kept after their end.
type Retention struct {
	Tenant string // whose
	// Keep is for how long, by status; runs of a status that is missing are kept for ever.
	Keep map[machine.Status]time.Duration
	// Every is the time from the end of one walk over all runs to the next. Default 10 minutes.
	Every time.Duration
	// Pruned hears which runs were removed. Default: nobody.
	Pruned func(runs []store.PrunedRun)
}

// validate lists what is wrong with r.
func (r *Retention) validate() []error {
	if r == nil {
		return nil
	}
	var all []error
	if r.Tenant == "" {
		all = append(all, errors.New("config: Retention has no Tenant; expected a name"))
	}
	if r.Every < 0 {
		all = append(all, fmt.Errorf("config: Retention.Every is %s; expected a time above zero, or 0 for the default", r.Every))
	}
	for _, status := range slices.Sorted(maps.Keys(r.Keep)) {
		if d := r.Keep[status]; !status.Ended() || d < 0 {
			all = append(all, fmt.Errorf("config: Retention.Keep[%q] is %s; expected a status that ends a run, and zero or more", status, d))
		}
	}
	return all
}

// order gives what to remove at a time.
func (r *Retention) order(now machine.Time) store.PruneOrder {
	o := store.PruneOrder{Tenant: r.Tenant, Before: make(map[machine.Status]machine.Time, len(r.Keep))}
	for status, keep := range r.Keep {
		o.Before[status] = now.Add(-keep)
	}
	return o
}

const (
	prunePage = 100                   // runs that one step removes at most
	pruneRest = 50 * time.Millisecond // between two steps of a walk: whoever works goes first
)

// PruneOnce removes a page of runs that are no longer kept, and gives their number and the time until the next page.
func (e *Engine) PruneOnce(ctx context.Context) (n int, next time.Duration, err error) {
	r := e.cfg.Retention
	if r == nil || len(r.Keep) == 0 {
		return 0, settlePoll, nil
	}
	e.mu.Lock()
	o := r.order(e.now())
	o.After, o.Limit = e.pruned, prunePage
	e.mu.Unlock()
	c, cancel := e.call(ctx)
	out, err := e.st.Prune(c, o)
	cancel()
	if err := e.fault("prune", err); err != nil {
		return 0, 0, err
	}
	e.mu.Lock()
	e.pruned = out.Next
	e.mu.Unlock()
	if r.Pruned != nil && len(out.Runs) > 0 {
		r.Pruned(out.Runs)
	}
	if out.Next != "" {
		return len(out.Runs), pruneRest, nil
	}
	return len(out.Runs), positive(r.Every, 10*time.Minute), nil
}

// prune removes what is no longer kept until ctx ends.
func (e *Engine) prune(ctx context.Context) {
	wait := backoff{}
	for ctx.Err() == nil {
		_, next, err := e.PruneOnce(ctx)
		if err != nil {
			next = wait.next()
		} else {
			wait = backoff{}
		}
		e.pause(ctx, nil, next)
	}
}
