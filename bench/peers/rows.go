package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"
)

// rows is a database as this program itself looks at it, beside the system that is measured.
type rows struct {
	*sql.DB
	postgres bool
}

// look opens the target's database for questions.
func (t target) look(ctx context.Context) (rows, error) {
	driver, name := "sqlite", "file:"+t.Path
	if t.URL != "" {
		driver, name = "pgx", t.URL
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		return rows{}, err
	}
	db.SetMaxOpenConns(1)
	return rows{db, t.URL != ""}, db.PingContext(ctx)
}

// ask gives the number that a query gives.
func (r rows) ask(ctx context.Context, query string) (n int, err error) {
	if err := r.QueryRowContext(ctx, query).Scan(&n); err != nil {
		return 0, fmt.Errorf("%s: %w", query, err)
	}
	return n, nil
}

// count asks one question of the target's database.
func (t target) count(ctx context.Context, query string) (n int, err error) {
	db, err := t.look(ctx)
	if err != nil {
		return 0, err
	}
	n, err = db.ask(ctx, query)
	return n, errors.Join(err, db.Close())
}

// counted compares counts with what they must be.
func (t target) counted(ctx context.Context, want map[string]int) error {
	for query, n := range want {
		got, err := t.count(ctx, query)
		if err == nil {
			err = check(query, got, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copied is a table whose rows are copied, with the columns that tell the copies apart.
type copied struct {
	table string
	ids   map[string]string // by column: an expression of the copy's number i; "": the database gives it
}

// multiply copies the rows of tables n times.
func (t target) multiply(ctx context.Context, n int, tables ...copied) (err error) {
	if n == 0 {
		return nil
	}
	db, err := t.look(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, c := range tables {
		columns, err := db.columns(ctx, c.table)
		if err != nil {
			return err
		}
		var into, from []string
		for _, name := range columns {
			switch value, special := c.ids[name]; {
			case special && value == "":
			case special:
				into, from = append(into, name), append(from, value)
			default:
				into, from = append(into, name), append(from, "o."+name)
			}
		}
		numbers := fmt.Sprintf("(select i from generate_series(1, %d) i) n", n)
		if !db.postgres {
			numbers = fmt.Sprintf("(with recursive n(i) as (select 1 union all select i + 1 from n where i < %d) select i from n) n", n)
		}
		query := fmt.Sprintf("insert into %s (%s) select %s from %s, (select * from %s) o", c.table, strings.Join(into, ", "),
			strings.Join(from, ", "), numbers, c.table)
		if _, err := db.ExecContext(ctx, query); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	if db.postgres {
		_, err = db.ExecContext(ctx, "vacuum analyze") // as time would have done
	}
	return err
}

// columns lists the columns of a table, in quotes.
func (r rows) columns(ctx context.Context, table string) (names []string, err error) {
	found, err := r.QueryContext(ctx, "select * from "+table+" limit 0")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	if names, err = found.Columns(); err != nil {
		return nil, err
	}
	return slices.Clip(names), found.Err()
}

// analyze refreshes statistics.
func (t target) analyze(ctx context.Context) error {
	db, err := t.look(ctx)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "analyze")
	return errors.Join(err, db.Close())
}

// pool opens so many connections.
func (t target) pool(ctx context.Context, conns int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(t.URL)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(conns)
	return pgxpool.NewWithConfig(ctx, config)
}
