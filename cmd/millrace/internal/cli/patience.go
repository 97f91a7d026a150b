package cli

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/millrace-go/millrace/store"
)

// watched is a store that remembers since when it has not been able to write. The engine tries again and again; whoever
// drives it decides when that is enough.
type watched struct {
	store.Store
	mu    sync.Mutex
	since time.Time
	err   error
}

// Settle settles and remembers.
func (w *watched) Settle(ctx context.Context, s []store.Settlement) ([]store.Settled, error) {
	out, err := w.Store.Settle(ctx, s)
	w.heard(err)
	return out, err
}

// Claim claims and remembers.
func (w *watched) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	out, err := w.Store.Claim(ctx, c)
	w.heard(err)
	return out, err
}

func (w *watched) heard(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.since, w.err = time.Time{}, nil
	case errors.Is(err, context.Canceled):
	case w.err == nil:
		w.since, w.err = time.Now(), err
	default:
		w.err = err
	}
}

// trouble gives what is wrong and since when, nil when nothing is.
func (w *watched) trouble() (time.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.since, w.err
}
