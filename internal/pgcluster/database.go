package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// master is a database that others are copies of.
type master struct {
	once sync.Once
	err  error
}

// Database gives the name of a fresh, empty database, which is dropped with the test, unless a pooler has been before it.
func (c *Cluster) Database(tb testing.TB) string {
	tb.Helper()
	return c.create(tb, "template1")
}

// Copy gives the name of a fresh copy of the database that prepare fills, given its URL: once for each name in the life of
// the cluster. It is dropped with the test.
func (c *Cluster) Copy(tb testing.TB, name string, prepare func(ctx context.Context, url string) error) string {
	tb.Helper()
	c.mu.Lock()
	m := c.masters[name]
	if m == nil {
		m = &master{}
		c.masters[name] = m
	}
	c.mu.Unlock()
	source := "master_" + name
	m.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if m.err = c.Exec(ctx, "postgres", "create database "+quoteIdentifier(source)); m.err == nil {
			m.err = prepare(ctx, c.URL(source))
		}
	})
	if m.err != nil {
		tb.Fatalf("prepare %s: %v", source, m.err)
	}
	return c.create(tb, source)
}

// gone says whether a database cannot be dropped because the test has stopped the server, or made it a replica.
func (c *Cluster) gone(err error) bool {
	return strings.Contains(err.Error(), "connect") || strings.Contains(err.Error(), "read-only")
}

// insist runs a statement about a database, again as long as that is in use: the server waits no longer than 5 s for the end of
// a connection that was closed.
func (c *Cluster) insist(ctx context.Context, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := c.Exec(ctx, "postgres", statement)
		var failure *pgconn.PgError
		if !errors.As(err, &failure) || failure.Code != inUse || ctx.Err() != nil {
			return err
		}
	}
}

const inUse = "55006"

func (c *Cluster) create(tb testing.TB, source string) string {
	tb.Helper()
	c.mu.Lock()
	c.number++
	name := fmt.Sprintf("test_%d", c.number)
	c.mu.Unlock()
	if err := c.insist(tb.Context(), "create database "+name+" template "+quoteIdentifier(source)+c.copying); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		c.mu.Lock()
		pooled := c.pooled[name]
		c.mu.Unlock()
		if pooled {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err := c.insist(ctx, "drop database if exists "+name+" with (force)")
		if err != nil && !c.gone(err) {
			tb.Error(err)
		}
	})
	return name
}
