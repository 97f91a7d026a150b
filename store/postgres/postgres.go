// Package postgres keeps runs in PostgreSQL, 15 or newer: the store of many machines.
//
// Nouns: a [Store] is one process's handle with a pool of connections; a pipeline is a transaction that is sent at once, from
// its first statement to its commit, and answered at once; a member is one settlement of a batch; the winners of a batch are
// the runs whose row its transaction wrote, and what the others ask for is passed over; a hint tells other processes of work.
//
// A run's row is the lock of all that is the run's own. A batch bets that nobody else holds its runs, and is undone rather than
// wait for long; then it takes the rows that are free. What did not win is asked again by itself, waiting. Nothing depends on the
// state of a session, so that a transaction pooler may stand before the server. Statements stand beside the method that runs
// them; the rooms below internal/ hold the schema, and what a batch of settlements does.
//
// It imports store and machine, pgx, and nothing else of this module.
package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/batch"
	"github.com/millrace-go/millrace/store/postgres/internal/schema"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// Options are settings of a Store. The zero value is usable.
type Options struct {
	// Schema holds all that the store keeps. Default: millrace.
	Schema string
	// Migrate brings the schema up to this program's version, and makes it when it is not there. Default: an older one is an
	// error that says what to do.
	Migrate bool
	// MaxConns is how many connections the store opens at most, without that of the listener. Default: pool_max_conns of the
	// URL, else 8.
	MaxConns int
	// Timeout is how long a call may take in all, beside the caller's own context. Default: 30 s.
	Timeout time.Duration
	// NoHints has the store neither send nor hear hints (LISTEN and NOTIFY): other processes notice work when they poll.
	NoHints bool
	// ListenURL is that of the connection that hears hints, past a pooler that cannot. Default: the store's own.
	ListenURL string
	// Deaf is told why hints cannot be heard, at most once, when they never could be: polling goes on. Default: nobody is.
	Deaf func(error)
	// Pooled says that a pooler lends server connections for one transaction at a time, so that no statement is prepared.
	// Default: the store looks whether one does.
	Pooled bool
}

const (
	defaultSchema = "millrace"
	defaultConns  = 8
)

func (o Options) withDefaults() Options {
	if o.Schema == "" {
		o.Schema = defaultSchema
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	return o
}

// Store is an open schema of a PostgreSQL database. It is safe for concurrent use. Close it once.
type Store struct {
	o       Options
	place   string // host and database, for people
	pooled  bool   // sessions are others' too
	tables  *schema.Tables
	pool    *pgxpool.Pool
	lanes   batch.Lanes
	floors  floors
	hints   *hints
	closing chan struct{}
	once    sync.Once
}

var _ store.Store = (*Store)(nil)

type (
	pipeline = wire.Pipeline
	id       = wire.ID
)

// Open connects to the database that url names, and finds or makes the schema. The error is a *store.StoreError with a hint
// for people: of kind ErrUnusable when the database cannot be used as it is (no such database, a wrong password, no right, an
// old server, a read-only one, an older or a newer schema), of kind ErrUnavailable when it cannot be reached now.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	s := newStore(o)
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	if err := s.open(ctx, url); err != nil {
		if s.pool != nil {
			s.pool.Close()
		}
		return nil, s.faultOpening(ctx, "open "+s.place, err)
	}
	return s, nil
}

func newStore(o Options) *Store {
	o = o.withDefaults()
	return &Store{o: o, tables: schema.In(o.Schema), closing: make(chan struct{}), lanes: batch.Lanes{Schema: o.Schema}}
}

// Clock gives the database's time.
func (s *Store) Clock(ctx context.Context) (machine.Time, error) {
	var now machine.Time
	err := s.run(ctx, "clock", func(p *pipeline) { p.One("select millrace.clock()", (*int64)(&now)) })
	return now, err
}

// Close ends every Watch, waits for calls that are under way, and releases the connections. Repeating it does nothing.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.closing)
		s.hints.close()
		s.pool.Close()
	})
	return nil
}
