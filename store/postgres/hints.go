package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/store"
)

// hints tells watchers of commits: of this handle at once, of others by NOTIFY, sent after the commit and apart from it, at
// most once in a while. Where nothing can be heard, watchers look every second whether anything was committed at all.
type hints struct {
	s    *Store
	url  string
	me   string // marks hints of this handle, which it does not hear itself
	work sync.WaitGroup

	mu       sync.Mutex
	watchers map[chan store.Hint]struct{}
	settled  bool // whether hints can be heard
	sending  bool // somebody is about to send
	again    bool // something was committed since
	untold   store.Hint
	quit     context.CancelFunc
}

const (
	hintEvery   = 20 * time.Millisecond
	pollEvery   = time.Second
	askWithin   = 5 * time.Second
	probeWithin = 2 * time.Second  // through a pooler, which may well have forgotten the LISTEN
	heardWithin = 30 * time.Second // by the server itself: nobody but a machine that is busy is late then
	rejoinAfter = time.Second
)

func newHints(s *Store, url string) *hints {
	if s.o.ListenURL != "" {
		url = s.o.ListenURL
	}
	mark := make([]byte, 8)
	_, _ = rand.Read(mark) // it never fails
	return &hints{s: s, url: url, me: hex.EncodeToString(mark), watchers: map[chan store.Hint]struct{}{}}
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
func (h *hints) hint(what store.Hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake(what)
	if h.s.o.NoHints {
		return
	}
	if h.again {
		what = what.And(h.untold)
	}
	h.again, h.untold = true, what
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
func (h *hints) wake(what store.Hint) {
	for w := range h.watchers {
		what.Send(w)
	}
}

// send tells other handles, and again after a while as long as there is something new to tell.
func (h *hints) send() {
	ctx, cancel := h.s.untilClosed()
	defer cancel()
	for text, more := h.more(); more; text, more = h.more() {
		_ = h.ask(ctx, func(ctx context.Context) error { // a hint that is lost is made good by polling
			_, err := h.s.pool.Exec(ctx, "select pg_notify($1, $2)", h.channel(), text)
			return err
		})
		if !pause(ctx, hintEvery) {
			return
		}
	}
}

// ask asks the database something short, and waits for the answer although ctx ends meanwhile: a query that is broken off has the
// driver send a request to cancel it, and there are versions of pgbouncer that do not survive many of those.
func (h *hints) ask(ctx context.Context, question func(ctx context.Context) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askWithin)
	defer cancel()
	err := question(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.Join(errSlow, err)
	}
	return err
}

// more gives the text of the next notification, if there is something to tell.
func (h *hints) more() (text string, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sending = h.again
	h.again = false
	return h.me + written(h.untold), h.sending
}

const longestHint = 4_000 // bytes of lanes in a notification, which may have 8,000

// written gives the lanes of a hint as text; empty: anywhere.
func written(what store.Hint) string {
	if len(what.Lanes) == 0 {
		return ""
	}
	text, err := json.Marshal(what.Lanes)
	if err != nil || len(text) > longestHint {
		return ""
	}
	return string(text)
}

// read is the opposite of written; what cannot be read is anywhere.
func read(text string) (what store.Hint) {
	if json.Unmarshal([]byte(text), &what.Lanes) != nil {
		return store.Hint{}
	}
	return what
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
func (h *hints) join() (watcher chan store.Hint, leave func()) {
	watcher = make(chan store.Hint, 1)
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
			h.deaf(ctx, h.listen(ctx)) // whatever it was: polling goes on, and it is tried again
		}
		for range int(rejoinAfter / pollEvery) {
			if !pause(ctx, pollEvery) {
				return
			}
			seen = h.poll(ctx, seen)
		}
	}
}

var (
	errDeaf = errors.New("notifications do not arrive")
	errSlow = errors.New("the server was too slow to be asked")
)

// deaf tells why hints cannot be heard, unless that was told, or they could be, or the server is but slow.
func (h *hints) deaf(ctx context.Context, err error) {
	h.mu.Lock()
	tell := !h.settled && !errors.Is(err, errSlow) && ctx.Err() == nil && h.s.o.Deaf != nil
	h.settled = h.settled || tell
	h.mu.Unlock()
	switch {
	case !tell:
	case errors.Is(err, errDeaf):
		h.s.o.Deaf(errDeaf)
	default:
		h.s.o.Deaf(cause(err))
	}
}

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
	err = h.ask(ctx, func(ctx context.Context) error {
		_, err := conn.Exec(ctx, "listen "+pgx.Identifier{h.channel()}.Sanitize(), pgx.QueryExecModeSimpleProtocol)
		return err
	})
	if err != nil {
		return err
	}
	if err := h.probe(ctx, conn); err != nil {
		return err
	}
	what := store.Hint{} // what was committed while nobody listened may be anything
	for {
		h.mu.Lock()
		h.settled = true
		h.wake(what)
		h.mu.Unlock()
		if what, err = h.next(ctx, conn); err != nil {
			return err
		}
	}
}

// probe sends a notification on another connection and waits for it.
func (h *hints) probe(ctx context.Context, conn *pgx.Conn) error {
	question, backend := h.me+"?", uint32(0)
	err := h.ask(ctx, func(ctx context.Context) error {
		_, err := h.s.pool.Exec(ctx, "select pg_notify($1, $2)", h.channel(), question)
		return err
	})
	if err != nil {
		return err
	}
	err = h.ask(ctx, func(ctx context.Context) error {
		return conn.QueryRow(ctx, "select pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&backend)
	})
	if err != nil {
		return err
	}
	within := heardWithin
	if backend != conn.PgConn().PID() { // as in look
		within = probeWithin
	}
	ctx, cancel := context.WithTimeout(ctx, within) // from when it was sent: a server that is slow is not one that is deaf
	defer cancel()
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
func (h *hints) next(ctx context.Context, conn *pgx.Conn) (store.Hint, error) {
	for {
		got, err := conn.WaitForNotification(ctx)
		if err != nil {
			return store.Hint{}, err
		}
		if len(got.Payload) >= len(h.me) && got.Payload[:len(h.me)] != h.me {
			return read(got.Payload[len(h.me):]), nil
		}
	}
}

// poll wakes watchers when transactions have begun or ended that write, of whatever database.
func (h *hints) poll(ctx context.Context, seen string) string {
	now := ""
	err := h.ask(ctx, func(ctx context.Context) error {
		return h.s.pool.QueryRow(ctx, "select pg_current_snapshot()::text").Scan(&now)
	})
	if err != nil || now == seen {
		return seen
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake(store.Hint{})
	return now
}

// close is called once closing is closed, and waits for what is under way.
func (h *hints) close() { h.work.Wait() }

// Watch is [store.Worker.Watch].
func (s *Store) Watch(ctx context.Context, wake func(store.Hint)) error {
	mine, leave := s.hints.join() //nolint:contextcheck // it lives as long as the store
	defer leave()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.closing:
			return s.fault(context.WithoutCancel(ctx), "watch", errClosed)
		case h := <-mine:
			wake(h)
		}
	}
}
