// Package pgcluster gives tests PostgreSQL servers of their own: made from the installed binaries in a temporary folder, run
// by an unprivileged user, and gone when the test process is, however it ends.
//
// Nouns: a [Cluster] is one server with its data; [Shared] gives the one of this process, made once; [Start] gives one that a
// test may stop, kill and start again; a database is a fresh one for each test; [Pooler] is pgbouncer before a cluster.
//
// Without binaries a test is skipped with a line that says how to get them; with MILLRACE_TEST_POSTGRES=require it fails.
// It is support for tests and imports nothing of this module.
package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options are settings of a cluster. The zero value is a durable one.
type Options struct {
	// Careless turns off what makes commits durable: for tests that never crash the server.
	Careless bool
	// Settings are lines of postgresql.conf, by name.
	Settings map[string]string
}

// Cluster is a server with its data. It is safe for concurrent use, but for Stop and Resume.
type Cluster struct {
	binaries string
	folder   string
	port     int
	held     io.Closer           // keeps the port from others
	owner    *syscall.Credential // nil: that of this process
	server   *exec.Cmd           // nil while it is stopped
	exited   chan struct{}
	guard    io.Closer // its end has the guard end the server and remove the folder
	copying  string    // how databases are copied

	mu      sync.Mutex
	number  int // of databases made
	masters map[string]*master
	pooled  map[string]bool // databases that a pooler may have connections to
}

// User is the superuser of every cluster; it needs no password.
const User = "millrace"

// Secured is a role of every cluster that logs in over TCP with the password Secret, and has no other right.
const (
	Secured = "secured"
	Secret  = "s3cret-7q"
)

// patience is how long anything here may take: seconds, and minutes on a machine that is slow and busy.
const patience = 5 * time.Minute

var shared = sync.OnceValues(func() (*Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return launch(ctx, Options{Careless: true})
})

// Shared gives the cluster of this process, which is made by the first call and is not durable. Nobody stops it: it ends
// with the process.
func Shared(tb testing.TB) *Cluster {
	tb.Helper()
	c, err := shared()
	if errors.Is(err, errNone) {
		lack(tb, err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// Start makes a cluster for this test alone; it is removed with the test.
func Start(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	c, err := launch(ctx, o)
	if errors.Is(err, errNone) {
		lack(tb, err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

func launch(ctx context.Context, o Options) (*Cluster, error) {
	binaries, err := findBinaries(ctx)
	if err != nil {
		return nil, err
	}
	owner, err := unprivileged()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "millrace-pg-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{binaries: binaries, folder: folder, owner: owner, masters: map[string]*master{}, pooled: map[string]bool{}}
	if c.guard, err = watch(folder); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	if err := c.make(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("make a cluster in %s: %w", folder, err), c.Close())
	}
	return c, nil
}

// own gives the folder to whom the server runs as.
func (c *Cluster) own() error {
	if err := os.Chmod(c.folder, 0o755); err != nil { //nolint:gosec // another user runs the server, and clients find its socket
		return err
	}
	if c.owner == nil {
		return nil
	}
	return os.Chown(c.folder, int(c.owner.Uid), int(c.owner.Gid))
}

func (c *Cluster) make(ctx context.Context, o Options) error {
	if err := c.own(); err != nil {
		return err
	}
	if out, err := c.command(ctx, "initdb", "-D", c.data(), "-U", User, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N").CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(c.data(), "pg_hba.conf"), []byte(access), 0o644); err != nil { //nolint:gosec // as above
		return err
	}
	if err := c.configure(o); err != nil {
		return err
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	return c.Exec(ctx, "postgres", "create role "+Secured+" login password '"+Secret+"'")
}

const access = "host all " + Secured + " 127.0.0.1/32 scram-sha-256\nlocal all all trust\nlocal replication all trust\n" +
	"host all all 127.0.0.1/32 trust\n"

func (c *Cluster) configure(o Options) error {
	connections := max(300, 50*runtime.GOMAXPROCS(0)) // of all tests that run side by side
	settings := map[string]string{
		"listen_addresses": "127.0.0.1", "unix_socket_directories": c.folder,
		"max_connections": strconv.Itoa(connections), "shared_buffers": "256MB", "log_min_messages": "panic", "log_min_error_statement": "panic",
	}
	if o.Careless {
		c.copying = " strategy file_copy" // half the work, as long as nothing is synced
		settings["fsync"], settings["synchronous_commit"], settings["full_page_writes"] = "off", "off", "off"
	}
	maps.Copy(settings, o.Settings)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s = '%s'\n", name, settings[name])
	}
	file, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text.String())
	return errors.Join(err, file.Close())
}

func (c *Cluster) data() string { return filepath.Join(c.folder, "data") }

// Folder is where the server's socket and its log lie.
func (c *Cluster) Folder() string { return c.folder }

// Address is host and port of the server's TCP listener.
func (c *Cluster) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)) }

// URL gives that of a database of the cluster, over its Unix socket, for User.
func (c *Cluster) URL(database string) string {
	q := url.Values{"host": {c.folder}, "port": {strconv.Itoa(c.port)}}
	return (&url.URL{Scheme: "postgres", User: url.User(User), Path: "/" + database, RawQuery: q.Encode()}).String()
}

// Exec runs statements in a database, one transaction each.
func (c *Cluster) Exec(ctx context.Context, database string, statements ...string) error {
	conn, err := pgx.Connect(ctx, c.URL(database))
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, e := conn.Exec(ctx, statement); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", statement, e))
		}
	}
	return errors.Join(err, conn.Close(ctx))
}
