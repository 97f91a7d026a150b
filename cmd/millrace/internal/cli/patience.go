package cli

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/millrace-go/millrace/store"
)

// watched is a store that remembers what it has not been able to do, and since when. The engine tries again and again; whoever
// drives it decides when that is enough.
type watched struct {
	store.Store
	mu     sync.Mutex
	faults map[string]fault
}

// fault is an operation that fails since a time.
type fault struct {
	since time.Time
	err   error
}

// Settle settles and remembers.
func (w *watched) Settle(ctx context.Context, s []store.Settlement) ([]store.Settled, error) {
	out, err := w.Store.Settle(ctx, s)
	w.heard("settle", err)
	return out, err
}

// Claim claims and remembers.
func (w *watched) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	out, err := w.Store.Claim(ctx, c)
	w.heard("claim", err)
	return out, err
}

// heard notes how an operation went. That one succeeds says nothing of another: on a full disk, what writes nothing succeeds.
func (w *watched) heard(op string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		delete(w.faults, op)
	case errors.Is(err, context.Canceled):
	case w.faults == nil:
		w.faults = map[string]fault{op: {since: time.Now(), err: err}}
	default:
		f, known := w.faults[op]
		if !known {
			f.since = time.Now()
		}
		f.err = err
		w.faults[op] = f
	}
}

// trouble gives the fault that lasts longest, zero when there is none.
func (w *watched) trouble() fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	var longest fault
	for _, f := range w.faults {
		if longest.err == nil || f.since.Before(longest.since) {
			longest = f
		}
	}
	return longest
}
