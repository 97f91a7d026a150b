package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/millrace-go/millrace/store"
)

// hints tells watchers of commits: of this handle at once, of others by PRAGMA data_version, which is asked only while
// somebody watches, and once for all.
type hints struct {
	s        *Store
	mu       sync.Mutex
	watchers map[chan store.Hint]struct{}

	pollMu  sync.Mutex
	c       *conn
	asked   time.Time
	version int64
	changes int64 // times that the version was seen to change
}

const pollEvery = 25 * time.Millisecond

func newHints(s *Store) *hints { return &hints{s: s, watchers: map[chan store.Hint]struct{}{}} }

// hint wakes all watchers of this handle.
func (h *hints) hint(what store.Hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		what.Send(w)
	}
}

func (h *hints) join() (watcher chan store.Hint, leave func()) {
	watcher = make(chan store.Hint, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[watcher] = struct{}{}
	return watcher, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, watcher)
	}
}

// poll gives a number that changes when another connection has committed. Watchers that ask at about the same time share
// one query.
func (h *hints) poll(ctx context.Context) (int64, error) {
	h.pollMu.Lock()
	defer h.pollMu.Unlock()
	if time.Since(h.asked) < pollEvery/2 {
		return h.changes, nil
	}
	select {
	case <-h.s.closing:
		return 0, errClosed
	default:
	}
	if h.c == nil {
		c, err := h.s.connect(ctx)
		if err != nil {
			return 0, err
		}
		h.c = c
	}
	_, err := h.c.One("pragma data_version", func(r *row) error {
		if v := r.ColumnInt64(0); v != h.version {
			h.version = v
			h.changes++
		}
		return nil
	})
	h.asked = time.Now()
	return h.changes, err
}

func (h *hints) close() error {
	h.pollMu.Lock()
	defer h.pollMu.Unlock()
	if h.c == nil {
		return nil
	}
	c := h.c
	h.c = nil
	return c.DB.Close()
}

// Watch is [store.Worker.Watch].
func (s *Store) Watch(ctx context.Context, wake func(store.Hint)) error {
	if err := s.watch(ctx, wake); ctx.Err() == nil {
		return s.fault(ctx, "watch", err)
	}
	return nil
}

func (s *Store) watch(ctx context.Context, wake func(store.Hint)) error {
	mine, leave := s.hints.join()
	defer leave()
	seen, err := s.hints.poll(ctx)
	if err != nil && !busy(err) {
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.closing:
			return errClosed
		case h := <-mine:
			wake(h)
			continue
		case <-tick.C:
		}
		changes, err := s.hints.poll(ctx)
		if err != nil && !busy(err) {
			return err
		}
		if changes != seen && err == nil {
			seen = changes
			wake(store.Hint{})
		}
	}
}
