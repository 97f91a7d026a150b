// Package patient remembers what a store could not do, and since when: an engine tries again and again, and whoever drives it
// decides when that is enough. It imports store.
package patient

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/millrace-go/millrace/store"
)

// Store is a store that remembers what it has not been able to do, and since when. It is safe for concurrent use.
type Store struct {
	store.Store
	mu     sync.Mutex
	faults map[string]Fault
}

// Fault is an operation that fails since a time.
type Fault struct {
	Since time.Time
	Err   error
}

// Settle settles and remembers.
func (w *Store) Settle(ctx context.Context, s []store.Settlement) ([]store.Settled, error) {
	out, err := w.Store.Settle(ctx, s)
	w.Heard("settle", err)
	return out, err
}

// Claim claims and remembers.
func (w *Store) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	out, err := w.Store.Claim(ctx, c)
	w.Heard("claim", err)
	return out, err
}

// Stocked looks for work and remembers.
func (w *Store) Stocked(ctx context.Context, after int64, limit int) ([]store.Lane, error) {
	out, err := w.Store.Stocked(ctx, after, limit)
	w.Heard("stocked", err)
	return out, err
}

// Heard notes how an operation went. That one succeeds says nothing of another: on a full disk, what writes nothing succeeds.
func (w *Store) Heard(op string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		delete(w.faults, op)
	case errors.Is(err, context.Canceled):
	case w.faults == nil:
		w.faults = map[string]Fault{op: {Since: time.Now(), Err: err}}
	default:
		f, known := w.faults[op]
		if !known {
			f.Since = time.Now()
		}
		f.Err = err
		w.faults[op] = f
	}
}

// Trouble gives the fault that lasts longest, zero when there is none.
func (w *Store) Trouble() Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	var longest Fault
	for _, f := range w.faults {
		if longest.Err == nil || f.Since.Before(longest.Since) {
			longest = f
		}
	}
	return longest
}
