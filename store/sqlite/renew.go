package sqlite

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

const (
	// One row of the primary key.
	heldSQL    = "select stop, lease_ms from tasks where run = ? and path = ? and token = ?"
	prolongSQL = "update tasks set lease_until = ? where run = ? and path = ?"
)

// Renew is [store.Worker.Renew]. Asking alone takes no write lock.
func (s *Store) Renew(ctx context.Context, held []store.Held, lease time.Duration) ([]store.Renewed, error) {
	if len(held) == 0 {
		return nil, nil
	}
	out := make([]store.Renewed, len(held))
	do := func(c *conn) error {
		now := s.o.Clock()
		for i, h := range held {
			var t store.Task
			run, found, err := standing(c, h, &t, &out[i])
			if err != nil {
				return err
			}
			if found && lease > 0 {
				if _, err := c.Exec(prolongSQL, now.Add(leaseOf(&t, lease)), run, h.Path); err != nil {
					return err
				}
			}
		}
		return nil
	}
	call := s.read
	if lease > 0 {
		call = s.write
	}
	if err := call(ctx, "renew", do); err != nil {
		return nil, err
	}
	return out, nil
}

// standing finds the task that h holds, and says in out how it stands.
func standing(c *conn, h store.Held, t *store.Task, out *store.Renewed) (id, bool, error) {
	*out = store.Renewed{Held: h, Lost: true}
	run, ok := link.ParseID(h.RunID)
	if !ok || h.Token == 0 {
		return run, false, nil
	}
	found, err := c.One(heldSQL, func(r *row) error {
		out.Lost, out.Stop = false, r.ColumnBool(0)
		t.Lease = r.ColumnInt64(1)
		return nil
	}, run, h.Path, h.Token)
	return run, found, err
}
