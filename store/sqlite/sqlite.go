// Package sqlite keeps runs in one SQLite file: the store of one machine, shared by any number of processes on it.
//
// Nouns: a [Store] is one open handle with one connection that writes and a few that read; a turn is the right to ask for
// SQLite's write lock next, so that processes take it by turns; an owner's lock is a file lock that its process holds as
// long as it lives, so that a free one proves its death; the line is where calls that write wait, to share a transaction.
//
// Every write is part of one transaction, durable when the call returns (WAL, synchronous=FULL). A busy database is waited for.
// Statements stand beside the method that runs them; the schema is in sql/, numbered and forward only.
// It imports store and machine, SQLite, and nothing else of this module.
package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/filelock"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

// Options are settings of a Store. The zero value is usable.
type Options struct {
	// BusyTimeout is how long a call waits for a database that another program has locked. Default: 10 s.
	BusyTimeout time.Duration
	// CallTimeout is how long a call may take in all, beside the caller's own context. Default: 30 s.
	CallTimeout time.Duration
	// Clock gives the time that is written. Default: the machine's clock, which all processes on it share.
	Clock func() machine.Time

	maxPages int // tests: the size at which the disk is full
	logPages int // tests: how many pages the log may have before it is brought into the file. Default: 2048, 8 MiB
}

func (o Options) withDefaults() Options {
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 10 * time.Second
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = 30 * time.Second
	}
	if o.logPages == 0 {
		o.logPages = 2048
	}
	if o.Clock == nil {
		o.Clock = func() machine.Time { return machine.TimeOf(time.Now()) }
	}
	return o
}

// Store is an open SQLite file. It is safe for concurrent use. Close it once.
type Store struct {
	path    string
	o       Options
	writer  chan *conn // holds the writing connection while nobody writes
	line    line
	readers chan *conn // holds a reading connection, or nil for one not opened yet, for each that may read now
	turn    *filelock.Turnstile
	owners  *filelock.Owners
	lanes   laneCache // used only while holding the writer
	hints   *hints
	log     *checkpointer
	closing chan struct{}
	once    sync.Once
}

var _ store.Store = (*Store)(nil)

type (
	conn = link.Conn
	row  = link.Row
	id   = link.ID
)

const readerCount = 4

// Open opens the file at path, which is made when it does not exist, and brings its schema up to this program's version.
// The error is a *store.StoreError with a hint for people: of kind ErrUnusable when the file cannot be used as it is, of
// kind ErrUnavailable when another program kept it locked for BusyTimeout or the disk is full.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{
		path:    path,
		o:       o,
		writer:  make(chan *conn, 1),
		readers: make(chan *conn, readerCount),
		closing: make(chan struct{}),
	}
	if err := s.open(ctx); err != nil {
		return nil, s.fault(ctx, "open "+path, err)
	}
	return s, nil
}

// Clock gives the machine's time, or that of Options.Clock.
func (s *Store) Clock(ctx context.Context) (machine.Time, error) {
	select {
	case <-s.closing:
		return 0, s.fault(ctx, "clock", errClosed)
	default:
		return s.o.Clock(), s.fault(ctx, "clock", ctx.Err())
	}
}

// Close waits for calls that are under way, brings the log into the file, and releases the file and the owners' locks: what
// their processes still hold is then proved lost. Repeating it does nothing.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		close(s.closing)
		err = s.log.stop()
		w := <-s.writer
		for range readerCount {
			if c := <-s.readers; c != nil {
				err = firstError(err, c.DB.Close())
			}
		}
		err = firstError(err, s.hints.close(), w.DB.Close(), s.owners.Close(), s.turn.Close())
	})
	return err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
