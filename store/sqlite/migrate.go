package sqlite

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"zombiezen.com/go/sqlite/sqlitex"
)

//go:embed sql/*.sql
var files embed.FS

type migration struct {
	name string
	text string
	sum  string
}

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
		sum := sha256.Sum256(text)
		out = append(out, migration{e.Name(), string(text), hex.EncodeToString(sum[:])})
	}
	return out
})

const createMigrations = `create table migrations (
  number     integer not null primary key,
  name       text    not null,
  sum        text    not null,
  applied_at integer not null
)`

// migrate applies what is missing, in one transaction, and checks what was applied before.
func (s *Store) migrate(ctx context.Context, c *conn) error {
	if done, err := s.current(ctx, c); done || err != nil {
		return err
	}
	if err := s.begin(ctx, c); err != nil {
		return err
	}
	defer c.Rollback()
	if _, err := s.recognise(c); err != nil { // another process may have been first
		return err
	}
	_, version, err := identity(c)
	if err != nil {
		return err
	}
	if version == 0 {
		if err := c.Do(createMigrations); err != nil {
			return err
		}
	}
	for i, m := range migrations()[version:] {
		if err := s.apply(c, version+i+1, m); err != nil {
			return fmt.Errorf("migration %s: %w", m.name, err)
		}
	}
	if err := s.verify(c); err != nil {
		return err
	}
	return c.Do("commit")
}

// current says whether nothing is to be done, without taking the write lock.
func (s *Store) current(ctx context.Context, c *conn) (bool, error) {
	version := 0
	err := patient(ctx, func() (err error) {
		_, version, err = identity(c)
		return err
	})
	if err != nil || version < len(migrations()) {
		return false, err
	}
	return true, s.verify(c)
}

func (s *Store) apply(c *conn, number int, m migration) error {
	if err := sqlitex.ExecuteScript(c.DB, strings.TrimSpace(m.text), nil); err != nil {
		return err
	}
	_, err := c.Exec("insert into migrations values (?, ?, ?, ?)", number, m.name, m.sum, s.o.Clock())
	if err != nil {
		return err
	}
	if err := c.Do(fmt.Sprintf("pragma user_version = %d", number)); err != nil {
		return err
	}
	return c.Do(fmt.Sprintf("pragma application_id = %d", applicationID))
}

// verify sees that the file was made by the migrations that this program knows.
func (s *Store) verify(c *conn) error {
	return c.Each("select number, name, sum from migrations order by number", func(r *row) error {
		n := r.ColumnInt(0)
		if n > len(migrations()) || r.ColumnText(2) != migrations()[n-1].sum {
			return unusable("use the millrace that wrote it", "%s was made by another migration %s", s.path, r.ColumnText(1))
		}
		return nil
	})
}
