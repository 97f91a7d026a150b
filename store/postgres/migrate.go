package postgres

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/store"
)

//go:embed sql/*.sql
var files embed.FS

// migration is a step of the schema. Its file begins with "-- serves: N": programs that know N steps and more work on a
// schema with this one.
type migration struct {
	name   string
	text   string
	sum    string
	serves int
}

var servesLine = regexp.MustCompile(`^-- serves: ([0-9]+)\n`)

// migrations gives the steps of the schema in order; the n-th leads to version n. They go forward only, and a released one
// never changes.
var migrations = sync.OnceValue(func() []migration {
	entries, err := files.ReadDir("sql")
	if err != nil { // embedded: it cannot fail
		panic(err)
	}
	var out []migration
	for _, e := range entries {
		text, err := files.ReadFile("sql/" + e.Name())
		if err != nil {
			panic(err)
		}
		line := servesLine.FindSubmatch(text)
		if line == nil {
			panic(e.Name() + " does not say whom it serves")
		}
		serves, err := strconv.Atoi(string(line[1]))
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(text)
		out = append(out, migration{e.Name(), string(text), hex.EncodeToString(sum[:]), serves})
	}
	return out
})

const createMigrations = `create table millrace.migrations (
  number     int    not null primary key,
  serves     int    not null,
  name       text   not null,
  sum        text   not null,
  applied_at timestamptz not null default now()
)`

// applied is a step that the schema has.
type applied struct {
	number, serves int
	name, sum      string
}

// prepare finds the schema, or brings it up to this program's version.
func (s *Store) prepare(ctx context.Context) error {
	have, err := s.applied(ctx)
	if err != nil {
		return err
	}
	if err := s.fits(have); err != nil {
		return err
	}
	missing := len(migrations()) - len(have)
	if missing <= 0 {
		return nil
	}
	if !s.o.Migrate {
		return s.outdated(len(have))
	}
	return s.migrate(ctx)
}

func (s *Store) outdated(version int) error {
	err := fmt.Errorf("its schema %s has version %d, and this program needs %d", s.o.Schema, version, len(migrations()))
	if version == 0 {
		err = fmt.Errorf("it has no schema %s", s.o.Schema)
	}
	return &store.StoreError{Op: "open " + s.place, Kind: store.ErrUnusable, Hint: migrateHint, Err: err}
}

// applied lists the steps of the schema; none when it is not there.
func (s *Store) applied(ctx context.Context) ([]applied, error) {
	there := false
	err := s.pool.QueryRow(ctx, "select to_regclass($1) is not null", s.schema+".migrations").Scan(&there)
	if err != nil || !there {
		return nil, err
	}
	return readApplied(ctx, s.pool, s)
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

func readApplied(ctx context.Context, q querier, s *Store) ([]applied, error) {
	rows, err := q.Query(ctx, s.sql("select number, serves, name, sum from millrace.migrations order by number"))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (a applied, err error) {
		err = r.Scan(&a.number, &a.serves, &a.name, &a.sum)
		return a, err
	})
}

// fits sees that the schema was made by the steps that this program knows, and that newer ones serve it.
func (s *Store) fits(have []applied) error {
	unusable := func(format string, args ...any) error {
		return &store.StoreError{
			Op: "open " + s.place, Kind: store.ErrUnusable, Err: fmt.Errorf(format, args...),
			Hint: "use the newer millrace that made it, or name another schema or database",
		}
	}
	for i, a := range have {
		switch {
		case a.number != i+1:
			return unusable("its schema %s lacks the step %d", s.o.Schema, i+1)
		case i >= len(migrations()) && a.serves > len(migrations()):
			return unusable("its schema %s has version %d, which programs that know less than %d cannot serve; this one knows %d",
				s.o.Schema, len(have), a.serves, len(migrations()))
		case i < len(migrations()) && a.sum != migrations()[i].sum:
			return unusable("its schema %s was made by another step %s", s.o.Schema, a.name)
		}
	}
	return nil
}

// migrate applies what is missing, in one transaction and one process at a time.
func (s *Store) migrate(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", "millrace schema "+s.o.Schema); err != nil {
			return err
		}
		have, err := s.lay(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.fits(have); err != nil { // another process may have been first
			return err
		}
		for i := len(have); i < len(migrations()); i++ {
			m := migrations()[i]
			if err := s.apply(ctx, tx, i+1, m); err != nil {
				return fmt.Errorf("migration %s: %w", m.name, err)
			}
		}
		return nil
	})
}

// lay makes the schema and its list of steps when they are not there, and gives the steps that it has.
func (s *Store) lay(ctx context.Context, tx pgx.Tx) ([]applied, error) {
	there := false
	if err := tx.QueryRow(ctx, "select to_regclass($1) is not null", s.schema+".migrations").Scan(&there); err != nil {
		return nil, err
	}
	if there {
		return readApplied(ctx, tx, s)
	}
	if err := tx.QueryRow(ctx, "select to_regnamespace($1) is not null", s.schema).Scan(&there); err != nil {
		return nil, err
	}
	if !there {
		if _, err := tx.Exec(ctx, "create schema "+s.schema); err != nil {
			return nil, err
		}
	}
	_, err := tx.Exec(ctx, s.sql(createMigrations))
	return nil, err
}

func (s *Store) apply(ctx context.Context, tx pgx.Tx, number int, m migration) error {
	if _, err := tx.Conn().PgConn().Exec(ctx, s.sql(m.text)).ReadAll(); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, s.sql("insert into millrace.migrations (number, serves, name, sum) values ($1, $2, $3, $4)"),
		number, m.serves, m.name, m.sum)
	return err
}

// Migrate makes the schema, or brings it up to this program's version, and gives the names of the steps that were missing.
// With dry it only says which they are. Nothing but Schema and Timeout is read of o.
func Migrate(ctx context.Context, url string, o Options, dry bool) ([]string, error) {
	o = Options{Schema: o.Schema, Timeout: o.Timeout, MaxConns: 2, NoHints: true, Migrate: !dry}
	s := &Store{o: o.withDefaults(), closing: make(chan struct{})}
	s.schema = pgx.Identifier{s.o.Schema}.Sanitize()
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	names, err := s.missing(ctx, url)
	if s.pool != nil {
		s.pool.Close()
	}
	return names, s.fault(ctx, "migrate", err)
}

// missing opens the database and gives the names of the steps that it lacked before.
func (s *Store) missing(ctx context.Context, url string) ([]string, error) {
	before := 0
	migrating := s.o.Migrate
	s.o.Migrate = false
	err := s.open(ctx, url)
	var fault *store.StoreError
	if err != nil && (!errors.As(err, &fault) || fault.Hint != migrateHint || s.pool == nil) {
		return nil, err
	}
	have, err := s.applied(ctx)
	if err != nil {
		return nil, err
	}
	before = len(have)
	if migrating && before < len(migrations()) {
		if err := s.migrate(ctx); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, m := range migrations()[min(before, len(migrations())):] {
		names = append(names, strings.TrimSuffix(m.name, ".sql"))
	}
	return names, nil
}
