package drive

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/millrace-go/millrace/store"
	millracesqlite "github.com/millrace-go/millrace/store/sqlite"
)

// SQLite is a database in the file of this name.
type SQLite string

// Open opens the file, or makes it.
func (f SQLite) Open(ctx context.Context) (store.Store, error) {
	return millracesqlite.Open(ctx, string(f), millracesqlite.Options{})
}

const copyAtOnce = 50_000

// Copy copies the run row by row.
func (f SQLite) Copy(ctx context.Context, n int) (err error) {
	db, err := sqlite.OpenConn(string(f), sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetInterrupt(ctx.Done())
	for _, q := range []string{
		"pragma synchronous = off", "create temp table one as select * from runs", "create temp table its as select * from journal",
	} {
		if err := sqlitex.ExecuteTransient(db, q, nil); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	runs, err := columns(db, "runs", "id")
	if err != nil {
		return err
	}
	journal, err := columns(db, "journal", "run")
	if err != nil {
		return err
	}
	const numbers = "with n(i) as (select ?1 union all select i + 1 from n where i < ?2) "
	for first := 1; first <= n; first += copyAtOnce {
		last := min(first+copyAtOnce-1, n)
		for _, q := range []string{
			fmt.Sprintf("insert into runs (id, %[1]s) "+numbers+"select unhex(printf('%%032x', i)), %[1]s from n, one", runs),
			fmt.Sprintf("insert into journal (run, %[1]s) "+numbers+"select unhex(printf('%%032x', i)), %[1]s from n, its", journal),
		} {
			if err := sqlitex.Execute(db, q, &sqlitex.ExecOptions{Args: []any{first, last}}); err != nil {
				return fmt.Errorf("%s: %w", q, err)
			}
		}
	}
	for _, q := range []string{"analyze", "pragma wal_checkpoint(truncate)"} {
		if err := sqlitex.ExecuteTransient(db, q, nil); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

// columns lists the columns of a table but one.
func columns(db *sqlite.Conn, table, but string) (string, error) {
	var names []string
	err := sqlitex.Execute(db, "select name from pragma_table_info(?) where name <> ?", &sqlitex.ExecOptions{
		Args: []any{table, but},
		ResultFunc: func(s *sqlite.Stmt) error {
			names = append(names, s.ColumnText(0))
			return nil
		},
	})
	return strings.Join(names, ", "), err
}
