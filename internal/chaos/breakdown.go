package chaos

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-go/millrace/internal/pgcluster"
)

// serverFaults are what befalls the server.
func (n *nemesis) serverFaults() []fault {
	return []fault{
		{"crash of the server", 3, func(ctx context.Context, l *lane) error { return n.crash(ctx, l.between(0, 2*time.Second)) }},
		{"pg_terminate_backend", 4, func(ctx context.Context, l *lane) error { return n.terminate(ctx, l.random.Float64()) }},
		{"locks", 3, n.lock},
		{"no connection left", 2, n.eat},
	}
}

// networkFaults are what befalls the network before it.
func (n *nemesis) networkFaults() []fault {
	return []fault{
		{"cut", 4, func(_ context.Context, l *lane) error {
			n.proxy.Cut(l.random.Float64())
			return nil
		}},
		{"half-close", 3, func(_ context.Context, l *lane) error {
			n.proxy.HalfClose(l.random.Float64())
			return nil
		}},
		{"delay", 3, func(ctx context.Context, l *lane) error {
			n.proxy.Delay(l.between(10*time.Millisecond, 300*time.Millisecond))
			rest(ctx, l.between(time.Second, 4*time.Second))
			n.proxy.Restore()
			return nil
		}},
		{"silence", 2, func(ctx context.Context, l *lane) error {
			n.proxy.Swallow()
			rest(ctx, l.between(500*time.Millisecond, 6*time.Second))
			if l.random.IntN(2) == 0 { // else what was held back arrives after all
				n.proxy.Cut(1)
			}
			n.proxy.Restore()
			return nil
		}},
	}
}

// crash stops the server as a loss of power does, and starts it again.
func (n *nemesis) crash(ctx context.Context, away time.Duration) error {
	if err := n.Cluster.Stop(pgcluster.Immediate); err != nil {
		return err
	}
	rest(ctx, away)
	return n.Cluster.Resume(context.WithoutCancel(ctx))
}

// session gives a connection of the nemesis's own, past the proxy, as soon as the server has one: those that were closed may
// not be gone yet.
func (n *nemesis) session(ctx context.Context, f func(ctx context.Context, c *pgx.Conn) error) error {
	ctx = context.WithoutCancel(ctx)
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		c, err := pgx.Connect(within, n.Cluster.URL(n.Database))
		if err == nil {
			return errors.Join(f(ctx, c), c.Close(ctx))
		}
		var failure *pgconn.PgError
		if !errors.As(err, &failure) || failure.Code != manyConns || within.Err() != nil {
			return err
		}
		rest(within, 20*time.Millisecond)
	}
}

const manyConns = "53300"

const terminateOthers = `select count(pg_terminate_backend(pid)) from pg_stat_activity
	where datname = current_database() and pid <> pg_backend_pid() and application_name = 'millrace' and random() < $1`

func (n *nemesis) terminate(ctx context.Context, share float64) error {
	return n.session(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, terminateOthers, share)
		return err
	})
}

// lock holds what every settlement or claim needs, longer than some calls wait.
func (n *nemesis) lock(ctx context.Context, l *lane) error {
	statements := []string{
		`lock table millrace.runs in exclusive mode`,
		`lock table millrace.tasks in exclusive mode`,
		`lock table millrace.journal in access exclusive mode`,
		`select 1 from millrace.runs where status = 'running' and random() < 0.5 for update`,
		`select 1 from millrace.tasks where random() < 0.5 for update`,
	}
	statement := statements[l.random.IntN(len(statements))]
	d := l.between(500*time.Millisecond, 4*time.Second)
	if l.random.IntN(4) == 0 {
		d += 8 * time.Second
	}
	return n.session(ctx, func(within context.Context, c *pgx.Conn) error {
		tx, err := c.Begin(within)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(within, statement); err == nil { // a deadlock with somebody is a lock, too
			rest(ctx, d)
		}
		return tx.Rollback(within)
	})
}

// eat takes all connections that the server has, those of the engines too.
func (n *nemesis) eat(ctx context.Context, l *lane) error {
	d := l.between(time.Second, 5*time.Second)
	within := context.WithoutCancel(ctx)
	return n.session(ctx, func(_ context.Context, first *pgx.Conn) (err error) {
		var all []*pgx.Conn
		defer func() {
			for _, c := range all {
				err = errors.Join(err, c.Close(within))
			}
		}()
		end := time.Now().Add(d)
		for ctx.Err() == nil && time.Now().Before(end) {
			c, err := pgx.Connect(within, n.Cluster.URL("postgres"))
			if err == nil {
				all = append(all, c)
				continue
			}
			if _, err := first.Exec(within, terminateOthers, 1.0); err != nil {
				return err
			}
			rest(ctx, 20*time.Millisecond)
		}
		return nil
	})
}
