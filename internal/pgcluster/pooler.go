package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pooler is a pgbouncer before a cluster, which lends its few server connections for one transaction at a time.
type Pooler struct {
	cluster *Cluster
	port    int
}

var sharedPooler = sync.OnceValues(func() (*Pooler, error) {
	c, err := shared()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return c.pool(ctx)
})

// SharedPooler gives the pooler of the shared cluster, made by the first call.
func SharedPooler(tb testing.TB) *Pooler {
	tb.Helper()
	Shared(tb)
	p, err := sharedPooler()
	if errors.Is(err, exec.ErrNotFound) {
		lack(tb, err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// URL gives that of a database of the cluster, through the pooler. Such a database is there until the cluster is gone: to drop it
// is to end the connections that the pooler keeps, and pgbouncer 1.18 to 1.20 dies when one ends that it is about to cancel.
func (p *Pooler) URL(database string) string {
	p.cluster.mu.Lock()
	p.cluster.pooled[database] = true
	p.cluster.mu.Unlock()
	q := url.Values{"host": {p.cluster.folder}, "port": {strconv.Itoa(p.port)}, "sslmode": {"disable"}}
	return (&url.URL{Scheme: "postgres", User: url.User(User), Path: "/" + database, RawQuery: q.Encode()}).String()
}

const poolerSettings = `[databases]
* = host=%[1]s port=%[2]d user=` + User + `
[pgbouncer]
listen_addr =
listen_port = %[3]d
unix_socket_dir = %[1]s
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 1000
server_idle_timeout = 5
pidfile = %[1]s/pgbouncer.pid
logfile = %[1]s/pgbouncer.log
`

func (c *Cluster) pool(ctx context.Context) (*Pooler, error) {
	binary, err := findPooler()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", exec.ErrNotFound, err)
	}
	p := &Pooler{cluster: c, port: c.port - 1} // it names the socket, and nobody listens there
	file := filepath.Join(c.folder, "pgbouncer.ini")
	text := fmt.Sprintf(poolerSettings, c.folder, c.port, p.port)
	if err := errors.Join(os.WriteFile(file, []byte(text), 0o644), os.Chmod(file, 0o644)); err != nil { //nolint:gosec // another user reads it, whatever the umask
		return nil, err
	}
	cmd := c.detached(exec.CommandContext(context.WithoutCancel(ctx), binary, "-q", file)) //nolint:gosec // found by findPooler
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go Reap(cmd, make(chan struct{})) // the guard ends it
	return p, p.answers(ctx)
}

func (p *Pooler) answers(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, p.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("pgbouncer does not answer: %w", errors.Join(err, syscall.ETIMEDOUT))
		case <-tick.C:
		}
	}
}
