package sqlite

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

// Tell is [store.Mailbox.Tell].
func (s *Store) Tell(ctx context.Context, messages []store.Message) ([]error, error) {
	out := make([]error, len(messages))
	err := s.write(ctx, "tell", func(c *conn) error {
		now := s.o.Clock()
		for i := range messages {
			why, err := tell(c, &messages[i], now)
			if err != nil {
				return err
			}
			if out[i] = nil; why != nil {
				out[i] = fmt.Errorf("message to run %s: %w", messages[i].RunID, why)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.hints.hint(store.Hint{})
	return out, nil
}

// tell records a message, or says why the run cannot have it.
func tell(c *conn, m *store.Message, now machine.Time) (why, err error) {
	run, ok := link.ParseID(m.RunID)
	if !ok {
		return store.ErrNotFound, nil
	}
	ended := false
	found, err := c.One("select status from runs where id = ? and tenant = ?", func(r *row) error {
		ended = machine.Status(r.ColumnText(0)).Ended()
		return nil
	}, run, m.Tenant)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return store.ErrNotFound, nil
	case ended:
		return store.ErrEnded, nil
	}
	told, err := c.One("select 1 from told where run = ? and id = ?", func(*row) error { return nil }, run, m.ID)
	if told || err != nil {
		return nil, err
	}
	if why := m.Storable(); why != nil {
		return why, nil
	}
	e := &m.Event
	_, err = c.Exec(`insert into inbox (tenant, run, id, kind, at, path, name, key, attempt, cause, payload, facts)
		values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, m.Tenant, run, m.ID, string(e.Kind), now, e.Path, e.Name, e.Key, e.Attempt,
		e.Cause, e.Payload, e.Facts)
	if err != nil {
		return nil, err
	}
	_, err = c.Exec("insert into told values (?, ?, last_insert_rowid())", run, m.ID)
	return nil, err
}

// Inbox is [store.Mailbox.Inbox].
func (s *Store) Inbox(ctx context.Context, limit int) (out []store.Message, err error) {
	err = s.read(ctx, "inbox", func(c *conn) error {
		return c.Each("select "+link.MessageColumns+" from inbox order by seq limit 0 + ?", func(r *row) error {
			out = append(out, link.MessageAt(r))
			return nil
		}, max(limit, 0))
	})
	return out, err
}

const (
	// A range of the due index of timers, earliest first: no sort.
	dueSQL  = "select " + link.TimerColumns + " from timers where due <= ? order by due, run, key limit 0 + ?"
	nextSQL = "select due from timers where due > ? order by due limit 1"
)

// Due is [store.Mailbox.Due].
func (s *Store) Due(ctx context.Context, limit int) (out []store.Timer, next machine.Time, err error) {
	err = s.read(ctx, "due", func(c *conn) error {
		now := s.o.Clock()
		err := c.Each(dueSQL, func(r *row) error {
			out = append(out, link.TimerAt(r))
			return nil
		}, now, max(limit, 0))
		if err != nil {
			return err
		}
		_, err = c.One(nextSQL, func(r *row) error {
			next = link.TimeAt(r, 0)
			return nil
		}, now)
		return err
	})
	return out, next, err
}
