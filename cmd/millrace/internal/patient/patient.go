// Package patient remembers what a store could not do, and since when: an engine tries again and again, and whoever drives it
// decides when that is enough. It imports store.
package patient

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/millrace-go/millrace/store"
)

// Store is a store that remembers what it has not been able to do, and since when. It is safe for concurrent use.
type Store struct {
	store.Store
	mu       sync.Mutex
	faults   map[string]Fault
	underway map[string]int // calls that have not answered yet
}

// Fault is an operation that fails since a time.
type Fault struct {
	Since time.Time
	Err   error
	last  time.Time // when it failed last
}

// lapse is how long after it failed last a fault is forgotten when its operation is not called any more and others succeed: what
// is tried again is tried every few seconds.
const lapse = 10 * time.Second

// Settle settles and remembers.
func (w *Store) Settle(ctx context.Context, s []store.Settlement) (out []store.Settled, err error) {
	err = w.call("settle", func() error {
		out, err = w.Store.Settle(ctx, s)
		return err
	})
	return out, err
}

// Claim claims and remembers.
func (w *Store) Claim(ctx context.Context, c store.Claim) (out []store.Claimed, err error) {
	err = w.call("claim", func() error {
		out, err = w.Store.Claim(ctx, c)
		return err
	})
	return out, err
}

// Stocked looks for work and remembers.
func (w *Store) Stocked(ctx context.Context, after int64, limit int) (out []store.Lane, err error) {
	err = w.call("stocked", func() error {
		out, err = w.Store.Stocked(ctx, after, limit)
		return err
	})
	return out, err
}

func (w *Store) call(op string, do func() error) error {
	w.count(op, 1)
	defer w.count(op, -1)
	err := do()
	w.Heard(op, err)
	return err
}

func (w *Store) count(op string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.underway == nil {
		w.underway = map[string]int{}
	}
	w.underway[op] += n
}

// Heard notes how an operation went. That one succeeds says little of another: on a full disk, what writes nothing succeeds.
func (w *Store) Heard(op string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		delete(w.faults, op)
		maps.DeleteFunc(w.faults, func(op string, f Fault) bool { return w.underway[op] == 0 && now.Sub(f.last) >= lapse })
	case errors.Is(err, context.Canceled):
	default:
		f, known := w.faults[op]
		if !known {
			f.Since = now
		}
		f.Err, f.last = err, now
		if w.faults == nil {
			w.faults = map[string]Fault{}
		}
		w.faults[op] = f
	}
}

// Trouble tells since when something has not been possible, and what was said last; zero when there is nothing.
func (w *Store) Trouble() Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all Fault
	for _, f := range w.faults {
		since := all.Since
		if all.Err == nil || f.Since.Before(since) {
			since = f.Since
		}
		if all.Err == nil || f.last.After(all.last) {
			all = f
		}
		all.Since = since
	}
	return all
}
