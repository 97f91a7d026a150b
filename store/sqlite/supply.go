package sqlite

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

const (
	pauseSQL = "insert into pauses values (?, ?, ?, ?, ?, ?) on conflict (tenant, kind, name) do nothing"
	// A range of the lanes of one tenant, or of one queue of it.
	coveringSQL = "tenant = ?1 and (?2 = 'tenant' or ?2 = 'queue' and queue = ?3 or ?2 = 'workflow' and workflow = ?3)"
	flagSQL     = "update lanes set paused = 1 where paused = 0 and " + coveringSQL
)

var unflagSQL = "update lanes set paused = 0 where paused = 1 and " + coveringSQL + " and not " +
	fmt.Sprintf(coveredSQL, "lanes.queue", "lanes.workflow")

// Pause is [store.Supply.Pause].
func (s *Store) Pause(ctx context.Context, p store.Pause) (changed bool, err error) {
	if err := p.Storable(); err != nil {
		return false, fmt.Errorf("pause: %w", err)
	}
	err = s.write(ctx, "pause", func(c *conn) error {
		n, err := c.Exec(pauseSQL, p.Tenant, string(p.Kind), p.Name, p.By, p.Reason, s.o.Clock())
		if changed = n > 0; err != nil || !changed {
			return err
		}
		return s.flag(c, flagSQL, p.Tenant, p.Kind, p.Name)
	})
	return changed && err == nil, err
}

// Unpause is [store.Supply.Unpause].
func (s *Store) Unpause(ctx context.Context, tenant string, kind store.PauseKind, name string) (changed bool, err error) {
	err = s.write(ctx, "unpause", func(c *conn) error {
		n, err := c.Exec("delete from pauses where tenant = ? and kind = ? and name = ?", tenant, string(kind), name)
		if changed = n > 0; err != nil || !changed {
			return err
		}
		return s.flag(c, unflagSQL, tenant, kind, name)
	})
	if err != nil || !changed {
		return false, err
	}
	s.hints.hint(store.Hint{})
	return true, nil
}

// flag changes the flags of the lanes that a pause covers. What shares the transaction looks again.
func (s *Store) flag(c *conn, query, tenant string, kind store.PauseKind, name string) error {
	s.lanes.stale = true
	_, err := c.Exec(query, tenant, string(kind), name)
	return err
}

// Pauses is [store.Supply.Pauses].
func (s *Store) Pauses(ctx context.Context, tenant string) (out []store.Pause, err error) {
	err = s.read(ctx, "pauses", func(c *conn) error {
		return c.Each("select kind, name, who, reason, at from pauses where tenant = ? order by kind, name", func(r *row) error {
			out = append(out, store.Pause{
				Tenant: tenant, Kind: store.PauseKind(r.ColumnText(0)), Name: r.ColumnText(1), By: r.ColumnText(2),
				Reason: r.ColumnText(3), At: machine.Time(r.ColumnInt64(4)),
			})
			return nil
		}, tenant)
	})
	return out, err
}
