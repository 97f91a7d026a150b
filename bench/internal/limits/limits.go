// Package limits measures what the machine itself gives: how long the disk takes to make a page durable, and how many commits
// and rows PostgreSQL takes on it. What a system reaches is read against these.
//
// Nouns: a [Limit] is one of them. The package imports nothing of Millrace.
package limits

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Limit is one number.
type Limit struct {
	Name  string
	Value float64
	Unit  string
}

const (
	pageSize = 8192
	pages    = 256
	syncs    = 500
)

// Disk measures how long a page that is overwritten in a file of the folder takes to be durable: the median.
func Disk(folder string) (l Limit, err error) {
	f, err := os.CreateTemp(folder, "limits-")
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	page := make([]byte, pageSize)
	for i := range pages {
		if _, err := f.WriteAt(page, int64(i)*pageSize); err != nil {
			return l, err
		}
	}
	if err := f.Sync(); err != nil {
		return l, err
	}
	times := make([]time.Duration, 0, syncs)
	for i := range syncs {
		began := time.Now()
		if _, err := f.WriteAt(page, int64(i%pages)*pageSize); err != nil {
			return l, err
		}
		if err := syncData(f); err != nil {
			return l, err
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return Limit{"a page made durable", float64(times[syncs/2].Nanoseconds()) / 1000, "us"}, nil
}

// Server measures an empty database of PostgreSQL, each limit for about so long, and once at least: commits of one row by 1, 8 and 32 clients, and
// rows inserted in batches of 500 by two.
func Server(ctx context.Context, url string, each time.Duration) ([]Limit, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 32
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "create table limits(id bigint generated always as identity primary key, data bytea)"); err != nil {
		return nil, err
	}
	var out []Limit
	data := make([]byte, 100)
	for _, clients := range []int{1, 8, 32} {
		rate, err := repeat(ctx, pool, clients, each, "insert into limits(data) values ($1)", data)
		if err != nil {
			return nil, err
		}
		out = append(out, Limit{fmt.Sprintf("commits of one row, clients: %d", clients), rate, "/s"})
	}
	const batch = 500
	rate, err := repeat(ctx, pool, 2, each, "insert into limits(data) select $1 from generate_series(1, $2)", data, batch)
	return append(out, Limit{"rows inserted in batches of 500", rate * batch, "/s"}), err
}

// repeat has clients run a statement, each in a transaction of its own, and gives how many a second.
func repeat(ctx context.Context, pool *pgxpool.Pool, clients int, each time.Duration, query string, args ...any) (float64, error) {
	errs := make([]error, clients)
	var n atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for c := range clients {
		all.Go(func() {
			errs[c] = pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
				for {
					if _, err := conn.Exec(ctx, query, args...); err != nil {
						return err
					}
					if n.Add(1); time.Since(began) >= each {
						return nil
					}
				}
			})
		})
	}
	all.Wait()
	return float64(n.Load()) / time.Since(began).Seconds(), errors.Join(errs...)
}
