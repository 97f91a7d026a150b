package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Standby makes a read-only copy of the cluster that follows it, removed with the test. The cluster must not be careless, and is
// stopped for a moment: nobody may be connected.
func (c *Cluster) Standby(tb testing.TB) *Cluster {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	folder, err := os.MkdirTemp("", "millrace-pg-") //nolint:usetesting // the guard removes it, and a socket needs a short path
	if err != nil {
		tb.Fatal(err)
	}
	s := &Cluster{binaries: c.binaries, folder: folder, owner: c.owner, masters: map[string]*master{}}
	if s.guard, err = watch(folder); err != nil {
		tb.Fatal(errors.Join(err, os.RemoveAll(folder)))
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := s.follow(ctx, c); err != nil {
		tb.Fatalf("make a standby in %s: %v", folder, err)
	}
	return s
}

// follow copies the data of a server as its owner, and starts a server that goes on from there. What is copied stands still
// meanwhile: beside a server that runs, files come and go.
func (c *Cluster) follow(ctx context.Context, primary *Cluster) error {
	if err := c.own(); err != nil {
		return err
	}
	if err := primary.Stop(Fast); err != nil {
		return err
	}
	copying := c.detached(exec.CommandContext(ctx, "cp", "-Rp", primary.data(), c.data())) //nolint:gosec // folders of its own
	if out, err := copying.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if err := primary.Resume(ctx); err != nil {
		return err
	}
	err := c.configure(Options{Settings: map[string]string{
		"primary_conninfo": fmt.Sprintf("host=%s port=%d user=%s", primary.folder, primary.port, User),
	}})
	if err = errors.Join(err, c.put("standby.signal", "")); err != nil {
		return err
	}
	return c.begin(ctx)
}

// put writes a file into the server's data, which is its owner's.
func (c *Cluster) put(name, text string) error {
	path := filepath.Join(c.data(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil || c.owner == nil {
		return err
	}
	return os.Chown(path, int(c.owner.Uid), int(c.owner.Gid))
}

// CatchUp waits until the standby has all that its primary has committed.
func (c *Cluster) CatchUp(tb testing.TB, primary *Cluster) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	var want string
	ask := func(of *Cluster, query string, out any, args ...any) {
		tb.Helper()
		conn, err := pgx.Connect(ctx, of.URL("postgres"))
		if err != nil {
			tb.Fatal(err)
		}
		defer conn.Close(ctx) //nolint:errcheck // nothing was written
		if err := conn.QueryRow(ctx, query, args...).Scan(out); err != nil {
			tb.Fatal(err)
		}
	}
	ask(primary, "select pg_current_wal_lsn()::text", &want)
	for done := false; !done; {
		ask(c, "select coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)", &done, want)
	}
}
