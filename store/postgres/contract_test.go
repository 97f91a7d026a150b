package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
	"github.com/millrace-go/millrace/store/memory"
	"github.com/millrace-go/millrace/store/postgres/internal/schema"
	"github.com/millrace-go/millrace/store/storetest"
)

// TestMain finds goroutines that outlive the tests. Those that are about to end have the time that a busy machine takes: each
// look lasts half a second.
func TestMain(m *testing.M) {
	status := m.Run()
	left := errors.New("not looked at")
	for n := 0; left != nil && n < 100; n++ {
		left = goleak.Find(goleak.IgnoreAnyFunction("github.com/millrace-go/millrace/internal/pgcluster.Reap"))
	}
	if status == 0 && left != nil {
		fmt.Fprintln(os.Stderr, left)
		status = 1
	}
	os.Exit(status)
}

// patience is how long a call may take of which a test expects an answer: it never does, but on a machine that is slow and busy.
const patience = 5 * time.Minute

// byHand gives a clock that tests move, instead of the database's.
const byHand = `create table millrace.hand (now bigint not null);
	insert into millrace.hand values (extract(epoch from timestamptz '2026-03-01 12:00:00Z') * 1000000);
	create or replace function millrace.clock() returns bigint language sql stable return (select now from millrace.hand)`

// standing is the time at which the clock of a database stands that standingStill has filled, and stopped the clock: a function
// of which the planner knows as little as of the real one.
var standing = machine.TimeOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

const stopped = `create or replace function millrace.clock() returns bigint language sql stable parallel safe
	return (extract(epoch from case when now() is null then now() else timestamptz '2026-03-01 12:00:00Z' end) * 1000000)::bigint`

// migrated fills a database with the schema.
func migrated(ctx context.Context, url string) error {
	s, err := Open(ctx, url, Options{Migrate: true, Timeout: patience})
	if err != nil {
		return err
	}
	return s.Close()
}

// standingStill is migrated, with a clock that stands: however long a settlement that was made takes on its way, it is in time.
func standingStill(ctx context.Context, url string) error {
	return withClock(schema.In(defaultSchema), stopped)(ctx, url)
}

func withClock(tables *schema.Tables, clock string) func(ctx context.Context, url string) error {
	return func(ctx context.Context, url string) error {
		s, err := Open(ctx, url, Options{Migrate: true, Schema: tables.Name(), Timeout: patience})
		if err != nil {
			return err
		}
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		_, err = conn.PgConn().Exec(ctx, tables.Text(clock)).ReadAll()
		return errors.Join(err, conn.Close(ctx), s.Close())
	}
}

// open opens a database and closes it at the end of the test. Without a timeout its calls have patience.
func open(t testing.TB, url string, o Options) *Store {
	t.Helper()
	o.Timeout = cmp.Or(o.Timeout, patience)
	s, err := Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// reach gives the URL by which a store reaches a database of the shared cluster.
type reach func(t *testing.T, database string) string

func directly(t *testing.T, database string) string {
	t.Helper()
	return pgcluster.Shared(t).URL(database)
}

func throughPooler(t *testing.T, database string) string {
	t.Helper()
	return pgcluster.SharedPooler(t).URL(database)
}

// harness gives an open store on a fresh database, with a clock that is moved by hand.
func harness(how reach, o Options) func(t *testing.T) storetest.Harness {
	return func(t *testing.T) storetest.Harness {
		t.Helper()
		o := o
		o.MaxConns = 4
		c := pgcluster.Shared(t)
		tables := schema.In(cmp.Or(o.Schema, defaultSchema))
		database := c.Copy(t, "hand "+tables.Name(), withClock(tables, byHand))
		another := func(t *testing.T) *Store { t.Helper(); return open(t, how(t, database), o) }
		s := another(t)
		exec := func(t *testing.T, query string, args ...any) {
			t.Helper()
			if err := c.Exec(t.Context(), database, tables.Text(fmt.Sprintf(query, args...))); err != nil {
				t.Fatal(err)
			}
		}
		return storetest.Harness{
			Store:   s,
			Advance: func(d time.Duration) { exec(t, "update millrace.hand set now = now + %d", d.Microseconds()) },
			Second:  func(t *testing.T) store.Store { t.Helper(); return another(t) },
			Reopen: func(t *testing.T) store.Store {
				t.Helper()
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = another(t)
				return s
			},
			Damage: func(t *testing.T, runID, path string, doc []byte) {
				t.Helper()
				if path == "" {
					exec(t, `update millrace.runs set doc = '\x%x' where id = '%s'`, doc, runID)
				} else {
					exec(t, `update millrace.scopes set doc = '\x%x' where run = '%s' and path = '%s'`, doc, runID, path)
				}
			},
		}
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness(directly, Options{}))
}

// faultless wraps what a harness opens as the simulation does, with no fault planned.
func faultless(open func(t *testing.T) storetest.Harness) func(t *testing.T) storetest.Harness {
	return func(t *testing.T) storetest.Harness {
		t.Helper()
		h := open(t)
		wrapped := func(again func(t *testing.T) store.Store) func(t *testing.T) store.Store {
			return func(t *testing.T) store.Store { t.Helper(); return faulty.New(again(t), nil) }
		}
		h.Store, h.Second, h.Reopen = faulty.New(h.Store, nil), wrapped(h.Second), wrapped(h.Reopen)
		return h
	}
}

// The schema may have any name, and the simulation's wrapper changes nothing.
func TestContractWithoutHints(t *testing.T) {
	t.Parallel()
	storetest.Run(t, faultless(harness(directly, Options{NoHints: true, Schema: `it's "odd"`})))
}

// The pooler lends server connections for one transaction at a time, and hears nothing.
func TestContractThroughAPooler(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness(throughPooler, Options{}))
}

func TestModel(t *testing.T) {
	t.Parallel()
	storetest.Model(t, harness(directly, Options{NoHints: true}), memory.New)
}
