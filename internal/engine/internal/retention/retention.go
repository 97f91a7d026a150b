// Package retention says how long runs are kept.
//
// Nouns: a [Retention] is that of one tenant; its order is what a store removes at a time.
//
// It imports store and machine.
package retention

import (
	"cmp"
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

// Validate lists all that is wrong with r, nothing for nil.
func (r *Retention) Validate() []error {
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

// Order gives what is to be removed at a time.
func (r *Retention) Order(now machine.Time) store.PruneOrder {
	o := store.PruneOrder{Tenant: r.Tenant, Before: make(map[machine.Status]machine.Time, len(r.Keep))}
	for status, keep := range r.Keep {
		o.Before[status] = now.Add(-keep)
	}
	return o
}

// Pause gives the time between two walks.
func (r *Retention) Pause() time.Duration { return cmp.Or(r.Every, 10*time.Minute) }
