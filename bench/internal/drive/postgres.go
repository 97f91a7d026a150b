package drive

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres"
)

// Postgres is the database of this URL.
type Postgres string

// Open opens the schema, or makes it.
func (u Postgres) Open(ctx context.Context) (store.Store, error) {
	return postgres.Open(ctx, string(u), postgres.Options{Migrate: true})
}

// Copy copies the run's row and journal.
func (u Postgres) Copy(ctx context.Context, n int) error {
	const id = "lpad(to_hex(i), 32, '0')::uuid"
	var copies []string
	for table, column := range map[string]string{"millrace.runs": "id", "millrace.journal": "run"} {
		names, err := u.columns(ctx, table, column)
		if err != nil {
			return err
		}
		copies = append(copies, fmt.Sprintf("insert into %[1]s (%[2]s, %[3]s) select %[4]s, %[3]s from generate_series(1, %[5]d) n(i), %[1]s",
			table, column, names, id, n))
	}
	return u.run(ctx, append(copies, "vacuum analyze")...)
}

// columns lists the columns of a table but one.
func (u Postgres) columns(ctx context.Context, table, but string) (list string, err error) {
	conn, err := pgx.Connect(ctx, string(u))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	const query = `select attname from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped
and attgenerated = '' and attidentity = '' and attname <> $2`
	rows, err := conn.Query(ctx, query, table, but)
	if err != nil {
		return "", err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(names, ", "), err
}

// run runs statements, each in a transaction of its own.
func (u Postgres) run(ctx context.Context, statements ...string) (err error) {
	conn, err := pgx.Connect(ctx, string(u))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
