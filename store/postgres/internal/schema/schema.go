// Package schema is where the store's tables are: their steps, and the name of the schema that holds them.
//
// Nouns: [Tables] are those of one schema; a step is a file of sql/, numbered, that leads from one version to the next. A step
// says whom it serves: programs that know so many steps work on a schema that has more, so that a fleet can be replaced one by
// one. They go forward only, and a released one never changes.
//
// It imports store and pgx.
package schema

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
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

// step leads from one version to the next. Its file begins with "-- serves: N".
type step struct {
	name   string
	text   string
	sum    string
	serves int
}

var servesLine = regexp.MustCompile(`^-- serves: ([0-9]+)\n`)

// steps gives all of them in order; the n-th leads to version n.
var steps = sync.OnceValue(func() []step {
	entries, err := files.ReadDir("sql")
	if err != nil { // embedded: it cannot fail
		panic(err)
	}
	var out []step
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
		out = append(out, step{e.Name(), string(text), hex.EncodeToString(sum[:]), serves})
	}
	return out
})

// Newest is the version that this program knows.
func Newest() int { return len(steps()) }

// Missing names the steps that lead from a version to the newest, in order.
func Missing(version int) []string {
	var names []string
	for _, s := range steps()[min(version, Newest()):] {
		names = append(names, s.name)
	}
	return names
}

// written is the schema's name in statements; that of the tables is put in its place.
const written = "millrace."

// Tables are those of one schema. They are safe for concurrent use.
type Tables struct {
	name   string
	quoted string
	texts  sync.Map // statements with the schema's name, by their text
}

// In gives the tables of the schema with this name.
func In(name string) *Tables { return &Tables{name: name, quoted: pgx.Identifier{name}.Sanitize()} }

// Name is the schema's.
func (t *Tables) Name() string { return t.name }

// Text gives a statement with the schema's name in it.
func (t *Tables) Text(query string) string {
	if t.name+"." == written {
		return query
	}
	if text, ok := t.texts.Load(query); ok {
		named, _ := text.(string)
		return named
	}
	named := strings.ReplaceAll(query, written, t.quoted+".")
	t.texts.Store(query, named)
	return named
}

// applied is a step that a schema has.
type applied struct {
	number, serves int
	name, sum      string
}

// querier is a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// What is there is read in the catalogs, which show what has been committed: to_regclass and its like may remember what was not there
// before the transaction waited for its lock.
const (
	schemaThere = "select exists (select from pg_catalog.pg_namespace where nspname = $1)"
	tableThere  = `select exists (select from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
		where n.nspname = $1 and c.relname = $2)`
)

// Version reads how far the schema is: 0 when it is not there. The error is a *store.StoreError when this program cannot serve it.
func (t *Tables) Version(ctx context.Context, q querier) (int, error) {
	there := false
	err := q.QueryRow(ctx, tableThere, t.name, "migrations").Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	rows, err := q.Query(ctx, t.Text("select number, serves, name, sum from millrace.migrations order by number"))
	if err != nil {
		return 0, err
	}
	have, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (a applied, err error) {
		err = r.Scan(&a.number, &a.serves, &a.name, &a.sum)
		return a, err
	})
	if err != nil {
		return 0, err
	}
	return len(have), t.fits(have)
}

// fits sees that the schema was made by the steps that this program knows, and that newer ones serve it.
func (t *Tables) fits(have []applied) error {
	unusable := func(format string, args ...any) error {
		return &store.StoreError{
			Op: "open the schema " + t.name, Kind: store.ErrUnusable, Err: fmt.Errorf(format, args...),
			Hint: "use the newer millrace that made it, or name another schema or database",
		}
	}
	for i, a := range have {
		switch {
		case a.number != i+1:
			return unusable("its step %d is missing", i+1)
		case i >= Newest() && a.serves > Newest():
			return unusable("it has version %d, which programs that know less than %d cannot serve; this one knows %d",
				len(have), a.serves, Newest())
		case i < Newest() && a.sum != steps()[i].sum:
			return unusable("it was made by another step %s", a.name)
		}
	}
	return nil
}

const createMigrations = `create table millrace.migrations (
  number     int         not null primary key,
  serves     int         not null,
  name       text        not null,
  sum        text        not null,
  applied_at timestamptz not null default now()
)`

// Beginner is a pool or a connection.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Migrate applies what is missing, in one transaction and one process at a time. It makes the schema when it is not there.
func (t *Tables) Migrate(ctx context.Context, db Beginner) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", "millrace schema "+t.name); err != nil {
			return err
		}
		version, err := t.Version(ctx, tx)
		if err != nil {
			return err
		}
		if version == 0 {
			if err := t.lay(ctx, tx); err != nil {
				return err
			}
		}
		for i := version; i < Newest(); i++ {
			if err := t.apply(ctx, tx, i+1, steps()[i]); err != nil {
				return fmt.Errorf("migration %s: %w", steps()[i].name, err)
			}
		}
		return nil
	})
}

// lay makes the schema, unless somebody has made it for us, and its list of steps.
func (t *Tables) lay(ctx context.Context, tx pgx.Tx) error {
	there := false
	if err := tx.QueryRow(ctx, schemaThere, t.name).Scan(&there); err != nil {
		return err
	}
	if !there {
		if _, err := tx.Exec(ctx, "create schema "+t.quoted); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, t.Text(createMigrations))
	return err
}

func (t *Tables) apply(ctx context.Context, tx pgx.Tx, number int, s step) error {
	if _, err := tx.Conn().PgConn().Exec(ctx, t.Text(s.text)).ReadAll(); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, t.Text("insert into millrace.migrations (number, serves, name, sum) values ($1, $2, $3, $4)"),
		number, s.serves, s.name, s.sum)
	return err
}
