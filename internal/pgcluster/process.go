package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Mode is a way of stopping a server.
type Mode syscall.Signal

// The ways of stopping a server.
const (
	Fast      = Mode(syscall.SIGINT)  // connections are ended, what is committed is written
	Immediate = Mode(syscall.SIGQUIT) // as if it crashed: the next start recovers
)

// unprivileged gives whom a server runs as: PostgreSQL refuses root. nil is the user of this process.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nobody else
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: false}, nil
	}
	return nil, errors.New("neither a user postgres nor nobody, and PostgreSQL does not run as root")
}

// command gives one that runs a program of PostgreSQL as the cluster's owner, apart from this process's terminal.
func (c *Cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return c.detached(exec.CommandContext(ctx, filepath.Join(c.binaries, name), args...)) //nolint:gosec // found by findBinaries
}

func (c *Cluster) detached(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir = c.folder
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: c.owner}
	return cmd
}

// watch starts a guard, which waits for the end of its input, that is of this process if nobody closes it before, then ends
// the server whose data lie in folder, and removes folder. It does not wait for ever: where nobody reaps an orphan, its pid stays.
func watch(folder string) (io.Closer, error) {
	const script = `cat >/dev/null
for f in "$1"/data/postmaster.pid "$1"/pgbouncer.pid; do
  pid=$(head -n 1 "$f" 2>/dev/null) || continue
  kill -QUIT "$pid" 2>/dev/null
  n=0
  while kill -0 "$pid" 2>/dev/null && [ $n -lt 2400 ]; do sleep 0.05; n=$((n + 1)); done
done
rm -rf "$1"`
	cmd := exec.Command("sh", "-c", script, "guard", folder) //nolint:noctx,gosec // it outlives every context; the script is its own
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &guarding{cmd, in}, nil
}

type guarding struct {
	cmd *exec.Cmd
	in  io.Closer
}

// Close lets the guard do its work and waits for it.
func (g *guarding) Close() error { return errors.Join(g.in.Close(), g.cmd.Wait()) }

// Resume starts the server and waits until it answers. It must be stopped.
func (c *Cluster) Resume(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(c.folder, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := c.command(context.WithoutCancel(ctx), "postgres", "-D", c.data(), "-p", strconv.Itoa(c.port))
	cmd.Stdout, cmd.Stderr = log, log
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		return err
	}
	c.server, c.exited = cmd, make(chan struct{})
	go Reap(cmd, c.exited)
	return c.answers(ctx)
}

// Reap waits for a program to end, and then closes exited. It is exported for its name alone, by which a test that looks for
// goroutines left behind leaves out those of the shared cluster.
func Reap(cmd *exec.Cmd, exited chan<- struct{}) {
	defer close(exited)
	_ = cmd.Wait() // how it ended is known to whoever ended it; else its log says why
}

// answers waits until the server takes connections.
func (c *Cluster) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, c.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-c.exited:
			log, _ := os.ReadFile(filepath.Join(c.folder, "log"))
			return fmt.Errorf("the server ended: %s", log)
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w", err)
		case <-tick.C:
		}
	}
}

// Stop ends the server and waits for it. One that is stopped already is no mistake.
func (c *Cluster) Stop(m Mode) error {
	if c.server == nil {
		return nil
	}
	err := c.server.Process.Signal(syscall.Signal(m))
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-c.exited
	c.server = nil
	return err
}

// PID is that of the server's first process.
func (c *Cluster) PID() int { return c.server.Process.Pid }
