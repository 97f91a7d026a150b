package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// hints tells watchers of commits: of this handle at once, of others by NOTIFY, sent after the commit and apart from it, at
// most once in a while. Where nothing can be heard, watchers look every second whether anything was committed at all.
type hints struct {
	s    *Store
	url  string
	me   string // marks hints of this handle, which it does not hear itself
	work sync.WaitGroup

	mu       sync.Mutex
	watchers map[chan struct{}]struct{}
	sending  bool // somebody is about to send
	again    bool // something was committed since
	quit     context.CancelFunc
}

const (
	hintEvery   = 20 * time.Millisecond
	pollEvery   = time.Second
	probeWithin = 2 * time.Second
	rejoinAfter = time.Second
)

func newHints(s *Store, url string) *hints {
	if s.o.ListenURL != "" {
		url = s.o.ListenURL
	}
	mark := make([]byte, 8)
	_, _ = rand.Read(mark) // it never fails
	return &hints{s: s, url: url, me: hex.EncodeToString(mark), watchers: map[chan struct{}]struct{}{}}
}

// channel is where hints of this schema go. Its name is cut like any other of PostgreSQL.
func (h *hints) channel() string {
	const longest = 63
	name := "millrace " + h.s.o.Schema
	if len(name) > longest {
		sum := sha256.Sum256([]byte(name))
		name = "millrace " + hex.EncodeToString(sum[:16])
	}
	return name
}

// hint wakes all watchers of this handle, and has other handles told.
func (h *hints) hint() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake()
	if h.s.o.NoHints {
		return
	}
	h.again = true
	if h.sending {
		return
	}
	select {
	case <-h.s.closing:
	default:
		h.sending = true
		h.work.Go(h.send)
	}
}

// wake is called under the mutex.
func (h *hints) wake() {
	for w := range h.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// send tells other handles, and again after a while as long as there is something new to tell.
func (h *hints) send() {
	ctx, cancel := h.s.untilClosed()
	defer cancel()
	for h.more() {
		// A hint that is lost is made good by polling.
		_, _ = h.s.pool.Exec(ctx, "select pg_notify($1, $2)", h.channel(), h.me)
		if !pause(ctx, hintEvery) {
			return
		}
	}
}

func (h *hints) more() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sending = h.again
	h.again = false
	return h.sending
}

// untilClosed gives a context that ends when the store is closed.
func (s *Store) untilClosed() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // it is the store that ends it, not a caller
	go func() {
		select {
		case <-s.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// pause waits, and says whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// join adds a watcher; the first has the handle listen, until the last one leaves.
func (h *hints) join() (watcher chan struct{}, leave func()) {
	watcher = make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[watcher] = struct{}{}
	if len(h.watchers) == 1 {
		ctx, quit := h.s.untilClosed()
		h.quit = quit
		h.work.Go(func() { h.hear(ctx) })
	}
	return watcher, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, watcher)
		if len(h.watchers) == 0 {
			h.quit()
		}
	}
}

// hear listens as long as ctx lives, and polls while it cannot.
func (h *hints) hear(ctx context.Context) {
	seen := ""
	for ctx.Err() == nil {
		if !h.s.o.NoHints {
			_ = h.listen(ctx) // whatever it was: polling goes on, and it is tried again
		}
		for range int(rejoinAfter / pollEvery) {
			if !pause(ctx, pollEvery) {
				return
			}
			seen = h.poll(ctx, seen)
		}
	}
}

var errDeaf = errors.New("notifications do not arrive")

// listen hears hints on a connection of its own until it is lost. First it makes sure that it can: a pooler takes a LISTEN
// and forgets it.
func (h *hints) listen(ctx context.Context) error {
	config, err := pgx.ParseConfig(h.url)
	if err != nil {
		return err
	}
	config.RuntimeParams["application_name"] = "millrace listener"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{h.channel()}.Sanitize(), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if err := h.probe(ctx, conn); err != nil {
		return err
	}
	for {
		h.mu.Lock() // what was committed while nobody listened
		h.wake()
		h.mu.Unlock()
		if err := h.next(ctx, conn); err != nil {
			return err
		}
	}
}

// probe sends a notification on another connection and waits for it.
func (h *hints) probe(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	question := h.me + "?"
	if _, err := h.s.pool.Exec(ctx, "select pg_notify($1, $2)", h.channel(), question); err != nil {
		return err
	}
	for {
		got, err := conn.WaitForNotification(ctx)
		switch {
		case err != nil:
			return errors.Join(errDeaf, err)
		case got.Payload == question:
			return nil
		}
	}
}

// next waits for a hint of another handle.
func (h *hints) next(ctx context.Context, conn *pgx.Conn) error {
	for {
		got, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if len(got.Payload) >= len(h.me) && got.Payload[:len(h.me)] != h.me {
			return nil
		}
	}
}

// poll wakes watchers when transactions have begun or ended that write, of whatever database.
func (h *hints) poll(ctx context.Context, seen string) string {
	ctx, cancel := context.WithTimeout(ctx, h.s.o.Timeout)
	defer cancel()
	now := ""
	err := h.s.pool.QueryRow(ctx, "select pg_current_snapshot()::text").Scan(&now)
	if err != nil || now == seen {
		return seen
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake()
	return now
}

// close is called once closing is closed, and waits for what is under way.
func (h *hints) close() { h.work.Wait() }

// Watch is [store.Worker.Watch].
func (s *Store) Watch(ctx context.Context, wake func()) error {
	mine, leave := s.hints.join() //nolint:contextcheck // it lives as long as the store
	defer leave()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.closing:
			return s.fault(context.WithoutCancel(ctx), "watch", errClosed)
		case <-mine:
			wake()
		}
	}
}
