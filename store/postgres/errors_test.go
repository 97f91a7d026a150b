package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/store"
)

// fault sees that err is of a kind, and that its hint names what to do.
func fault(t *testing.T, err, kind error, hint string) {
	t.Helper()
	var got *store.StoreError
	if !errors.As(err, &got) || !errors.Is(err, kind) {
		t.Fatalf("got %v, want %v", err, kind)
	}
	if !strings.Contains(got.Hint, hint) {
		t.Errorf("the hint of %q is %q, which does not say %q", got, got.Hint, hint)
	}
	if strings.ContainsAny(err.Error(), "\n\t") {
		t.Errorf("it is told in more than a line: %q", err)
	}
	if strings.Contains(err.Error(), pgcluster.Secret) || strings.Contains(got.Hint, pgcluster.Secret) {
		t.Errorf("the password is in %q, %q", err, got.Hint)
	}
}

func TestADatabaseThatCannotBeUsedSaysWhatToDo(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	empty := c.Database(t)
	tcp := func(user, password, database string) string {
		return "postgres://" + user + ":" + password + "@" + c.Address() + "/" + database
	}
	exec := func(t *testing.T, statements ...string) string {
		t.Helper()
		name := c.Copy(t, "plain", migrated)
		if err := c.Exec(t.Context(), name, statements...); err != nil {
			t.Fatal(err)
		}
		return c.URL(name)
	}
	for name, test := range map[string]struct {
		url  func(t *testing.T) string
		o    Options
		kind error
		hint string
	}{
		"no URL":  {fixed("postgres://a:right@[::"), Options{}, store.ErrUnusable, "postgres://USER"},
		"no port": {fixed("postgres://a:right@host:99999999/x"), Options{}, store.ErrUnusable, "postgres://USER"},
		"a password among the settings": {
			fixed("postgres://host/x?user=u&password=" + pgcluster.Secret + "&sslmode=bogus"), Options{}, store.ErrUnusable, "variables PG*",
		},
		"no such setting":   {fixed(c.URL(empty) + "&nonsense=1"), Options{}, store.ErrUnusable, "settings of the URL"},
		"no such value":     {fixed(c.URL(empty) + "&statement_timeout=abc"), Options{}, store.ErrUnusable, "settings of the URL"},
		"no TLS":            {fixed(tcp(pgcluster.Secured, pgcluster.Secret, "postgres") + "?sslmode=require"), Options{}, store.ErrUnusable, "offers no TLS"},
		"no host of a kind": {fixed(c.URL(empty) + "&target_session_attrs=standby"), Options{}, store.ErrUnavailable, "target_session_attrs"},
		"nobody listens":    {fixed("postgres://127.0.0.1:1/x"), Options{}, store.ErrUnavailable, "start PostgreSQL"},
		"no socket":         {fixed("postgres:///x?host=/nowhere"), Options{}, store.ErrUnavailable, "start PostgreSQL"},
		"no such database":  {fixed(c.URL("none")), Options{}, store.ErrUnusable, "createdb"},
		"a wrong password":  {fixed(tcp(pgcluster.Secured, "wrong", "postgres")), Options{}, store.ErrUnusable, "password"},
		"no such role":      {fixed(tcp("stranger", "x", "postgres")), Options{}, store.ErrUnusable, "user and password"},
		"no schema":         {fixed(c.URL(empty)), Options{}, store.ErrUnusable, "millrace migrate"},
		"no such schema":    {fixed(c.URL(c.Copy(t, "plain", migrated))), Options{Schema: "other"}, store.ErrUnusable, "millrace migrate"},
		"no right to make":  {fixed(tcp(pgcluster.Secured, pgcluster.Secret, empty)), Options{Migrate: true}, store.ErrUnusable, "right"},
		"no right to use":   {fixed(tcp(pgcluster.Secured, pgcluster.Secret, c.Copy(t, "plain", migrated))), Options{}, store.ErrUnusable, "right"},
		"another encoding": {func(t *testing.T) string {
			t.Helper()
			name := "ascii_" + c.Database(t)
			if err := c.Exec(t.Context(), "postgres", "create database "+name+" encoding 'SQL_ASCII' template template0 locale 'C'"); err != nil {
				t.Fatal(err)
			}
			return c.URL(name)
		}, Options{Migrate: true}, store.ErrUnusable, "UTF8"},
		"read-only": {func(t *testing.T) string {
			t.Helper()
			name := c.Database(t)
			if err := c.Exec(t.Context(), name, "alter database "+name+" set default_transaction_read_only = on"); err != nil {
				t.Fatal(err)
			}
			return c.URL(name)
		}, Options{}, store.ErrUnusable, "read_only"},
		"a newer schema that this program cannot serve": {func(t *testing.T) string {
			t.Helper()
			return exec(t, "insert into millrace.migrations (number, serves, name, sum) values (99, 99, 'x', 'x')",
				"insert into millrace.migrations (number, serves, name, sum) select n, 99, 'x', 'x' from generate_series(2, 98) as n on conflict do nothing")
		}, Options{}, store.ErrUnusable, "newer millrace"},
		"a schema of other steps": {func(t *testing.T) string {
			t.Helper()
			return exec(t, "update millrace.migrations set sum = 'x' where number = 1")
		}, Options{Migrate: true}, store.ErrUnusable, "newer millrace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := test.url(t)
			s, err := Open(t.Context(), url, test.o)
			if err == nil {
				t.Fatal(errors.Join(errors.New("it was opened"), s.Close()))
			}
			fault(t, err, test.kind, test.hint)
		})
	}
}

func fixed(url string) func(t *testing.T) string {
	return func(t *testing.T) string { t.Helper(); return url }
}

func TestAServerThatIsTooOldIsNamed(t *testing.T) {
	t.Parallel()
	s := newStore(Options{})
	fault(t, s.judge(server{version: 140010, encoding: "UTF8"}), store.ErrUnusable, "15 or newer")
	if err := s.judge(server{version: 150000, encoding: "UTF8"}); err != nil {
		t.Error(err)
	}
}

// A10, as far as a store is concerned.
func TestAServerThatComesBackIsUsedAgain(t *testing.T) {
	t.Parallel()
	c := pgcluster.Start(t, pgcluster.Options{})
	s := open(t, c.URL(c.Copy(t, "plain", migrated)), Options{})
	if _, err := s.Clock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(pgcluster.Immediate); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err := s.Clock(t.Context())
		fault(t, err, store.ErrUnavailable, "")
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Clock(t.Context()); err != nil {
		t.Error(err)
	}
}

// locked has a connection keep everybody from the workflows, until free is called.
func locked(t *testing.T, url string) (conn *pgx.Conn, free func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "begin; lock table millrace.workflows in access exclusive mode", pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	return conn, func() {
		ctx := context.WithoutCancel(t.Context())
		_, err := conn.Exec(ctx, "rollback", pgx.QueryExecModeSimpleProtocol) // who closes is not gone at once
		if err = errors.Join(err, conn.Close(ctx)); err != nil {
			t.Error(err)
		}
	}
}

// waitingSQL finds who waits for that lock, in this database: the tables of its copies have the same numbers.
const waitingSQL = "from pg_locks join pg_database as d on d.oid = database " +
	"where not granted and relation = 'millrace.workflows'::regclass and datname = current_database()"

// blocked gives a call that waits for a lock that free gives back, or the end of its connection.
func blocked(t *testing.T, url string, call func(ctx context.Context) error) (ended <-chan error, free func()) {
	t.Helper()
	conn, free := locked(t, url)
	out := make(chan error, 1)
	go func() { out <- call(t.Context()) }()
	for waiting := 0; waiting == 0; {
		err := conn.QueryRow(t.Context(), "select count(*) "+waitingSQL, pgx.QueryExecModeSimpleProtocol).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-out:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
	}
	return out, free
}

func TestAConnectionThatIsLostUnderACallIsToldAndReplaced(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	name := c.Copy(t, "plain", migrated)
	s := open(t, c.URL(name), Options{MaxConns: 2})
	ended, free := blocked(t, c.URL(name), workflows(s))
	defer free()
	if err := c.Exec(t.Context(), name, "select pg_terminate_backend(pid) "+waitingSQL); err != nil {
		t.Fatal(err)
	}
	fault(t, <-ended, store.ErrUnavailable, "")
	if _, err := s.Clock(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestACallWaitsForAConnectionNoLongerThanItsTimeout(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	name := c.Copy(t, "plain", migrated)
	s := open(t, c.URL(name), Options{MaxConns: 1, NoHints: true})
	ended, free := blocked(t, c.URL(name), workflows(s))
	hurried := *s.o.within(50 * time.Millisecond)
	second := &Store{o: hurried, tables: s.tables, pool: s.pool, closing: s.closing, place: s.place}
	_, err := second.Clock(t.Context())
	fault(t, err, store.ErrUnavailable, "all connections (1) are busy")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Clock(ctx)
	fault(t, err, store.ErrUnavailable, "look at what became of it")
	free()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func (o Options) within(d time.Duration) *Options {
	o.Timeout = d
	return &o
}

// A step that expands, and says that it serves programs which do not know it: they go on beside those that do, on tables with
// columns, a table and an index more.
//
// K3
func TestANewerSchemaThatServesThisProgramIsUsed(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	name := c.Copy(t, "standing", standingStill)
	works := func(s *Store) {
		t.Helper()
		for _, h := range (&watched{Store: s}).calls(nil) {
			if err := h.call(t.Context()); err != nil {
				t.Errorf("%s: %v", h.name, err)
			}
		}
	}
	before := open(t, c.URL(name), Options{MaxConns: 2})
	works(before)
	err := c.Exec(t.Context(), name, `do $$ declare t regclass; begin
		for t in select oid from pg_class where relnamespace = 'millrace'::regnamespace and relkind = 'r' loop
			execute format('alter table %s add column later text not null default %L', t, 'x');
		end loop; end $$`, "create table millrace.later (id int)", "create index on millrace.runs (later, id)",
		"insert into millrace.migrations (number, serves, name, sum) select count(*) + 1, 1, 'next', 'x' from millrace.migrations")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{before, open(t, c.URL(name), Options{MaxConns: 2}), open(t, c.URL(name), Options{MaxConns: 2, Migrate: true})} {
		works(s)
	}
}

// Who had to wait for the other's transaction sees what that made, whatever the session had found missing before.
//
// K3
func TestOfManyThatMigrateAtOnceAllFindItDone(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	for range 5 {
		url := c.URL(c.Database(t))
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				s, err := Open(t.Context(), url, Options{MaxConns: 1, Migrate: true, Timeout: patience})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}
