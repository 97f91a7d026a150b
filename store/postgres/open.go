package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/column"
	"github.com/millrace-go/millrace/store/postgres/internal/schema"
)

const oldestServer = 150000

func (s *Store) open(ctx context.Context, url string) error {
	if err := s.connect(ctx, url); err != nil {
		return err
	}
	s.hints = newHints(s, url)
	version, err := s.tables.Version(ctx, s.pool)
	switch {
	case err != nil || version >= schema.Newest():
		return err
	case s.o.Migrate:
		return s.tables.Migrate(ctx, s.pool)
	}
	why := fmt.Errorf("its schema %s has version %d, and this program needs %d", s.o.Schema, version, schema.Newest())
	if version == 0 {
		why = fmt.Errorf("it has no schema %s", s.o.Schema)
	}
	return &store.StoreError{Op: "open " + s.place, Kind: store.ErrUnusable, Hint: migrateHint, Err: why}
}

// connect opens the pool, once it is known that such a server will do.
func (s *Store) connect(ctx context.Context, url string) error {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return err
	}
	c := config.ConnConfig
	s.place = placeOf(c)
	seen, err := look(ctx, c)
	if err != nil {
		return err
	}
	if err := s.judge(seen); err != nil {
		return err
	}
	s.configure(config, url, seen.pooled)
	s.pool, err = pgxpool.NewWithConfig(ctx, config)
	return err
}

// placeOf names a server for people: its first host, or socket.
func placeOf(c *pgx.ConnConfig) string {
	place := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	if network, address := pgconn.NetworkAddress(c.Host, c.Port); network == "unix" {
		place = address
	}
	if c.Database != "" {
		place += "/" + c.Database
	}
	if more := len(c.Fallbacks); more > 0 && c.Fallbacks[more-1].Host != c.Host {
		place += " and the other hosts"
	}
	return place
}

// server is what one connection sees of the server.
type server struct {
	version    int
	recovering bool
	readOnly   bool
	encoding   string
	pooled     bool
}

// look opens a connection, asks what there is, and closes it. A pooler is known by the process's number: it makes one up.
func look(ctx context.Context, config *pgx.ConnConfig) (server, error) {
	var seen server
	first := config.Copy()
	first.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, first)
	if err != nil {
		return seen, err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing was written
	var pid uint32
	err = conn.QueryRow(ctx, `select current_setting('server_version_num')::int, pg_is_in_recovery(),
		current_setting('default_transaction_read_only')::bool, current_setting('server_encoding'), pg_backend_pid()`).
		Scan(&seen.version, &seen.recovering, &seen.readOnly, &seen.encoding, &pid)
	seen.pooled = pid != conn.PgConn().PID()
	return seen, err
}

// judge says why such a server cannot be used.
func (s *Store) judge(seen server) error {
	unusable := func(hint, format string, args ...any) error {
		return &store.StoreError{Op: "open " + s.place, Kind: store.ErrUnusable, Hint: hint, Err: fmt.Errorf(format, args...)}
	}
	switch {
	case seen.version < oldestServer:
		return unusable("use PostgreSQL 15 or newer", "the server is PostgreSQL %d.%d", seen.version/10000, seen.version%10000)
	case seen.recovering:
		return unusable("name the primary (target_session_attrs=read-write finds it among several hosts)", "the server is a read-only replica")
	case seen.readOnly:
		return unusable("have default_transaction_read_only turned off for this role and database", "the database is read-only")
	case seen.encoding != "UTF8":
		return unusable("make the database with `createdb --encoding=UTF8 --template=template0`", "its encoding is %s", seen.encoding)
	}
	return nil
}

// planning are settings under which a statement walks its index whatever statistics say: hot statements ask for a few rows by
// key, and a plan that was made while a table was empty outlives the backlog that follows. Nothing but speed depends on them.
// A session has them from its start; behind a pooler, each transaction sets them for itself.
const (
	planning = `set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_hashjoin = off;
		set enable_mergejoin = off; set enable_bitmapscan = off; set jit = off`
	planningOnce = `select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
		set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
		set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true)`
)

func (s *Store) configure(config *pgxpool.Config, url string, pooled bool) {
	switch {
	case s.o.MaxConns > 0:
		config.MaxConns = int32(min(s.o.MaxConns, 1000))
	case !hasSetting(url, "pool_max_conns"):
		config.MaxConns = defaultConns
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "millrace"
	}
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error { return column.Register(conn.TypeMap()) }
	if s.pooled = s.o.Pooled || pooled; s.pooled {
		if !hasSetting(url, "default_query_exec_mode") {
			config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
		return
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, planning).ReadAll()
		return errors.Join(err, column.Register(conn.TypeMap()))
	}
}

// hasSetting says whether a URL, or a list of settings, sets name.
func hasSetting(url, name string) bool { return strings.Contains(url, name+"=") }
