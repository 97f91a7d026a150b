package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

// readRun runs look on one snapshot in which the run exists and is the tenant's.
func (s *Store) readRun(ctx context.Context, op, tenant, runID string, look func(c *conn, run id) error) error {
	return s.read(ctx, op, func(c *conn) error {
		run, ok := link.ParseID(runID)
		if ok {
			var err error
			ok, err = c.One("select 1 from runs where id = ? and tenant = ?", func(*row) error { return nil }, run, tenant)
			if err != nil {
				return err
			}
		}
		if !ok {
			return fmt.Errorf("run %s: %w", runID, store.ErrNotFound)
		}
		return look(c, run)
	})
}

// State is [store.Reader.State].
func (s *Store) State(ctx context.Context, tenant, runID string, scopes, under []string) (out store.RunState, err error) {
	err = s.readRun(ctx, "state", tenant, runID, func(c *conn, run id) error {
		l := newLoader(c)
		if out, err = l.state(run, scopes); err != nil {
			return err
		}
		for _, prefix := range under {
			if err := l.under(run, prefix, out.Run); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return store.RunState{}, err
	}
	return out, nil
}

const (
	underSQL = "select path, doc from scopes where run = ? and path >= ? and path < ? order by path"
	allSQL   = "select path, doc from scopes where run = ? order by path"
)

// under adds all documents whose path begins with prefix: a range of the primary key.
func (l *loader) under(run id, prefix string, to *machine.Run) error {
	query, args := allSQL, []any{run}
	if prefix != "" {
		query, args = underSQL, []any{run, prefix, after(prefix)}
	}
	return l.c.Each(query, func(r *row) error {
		path := r.ColumnText(0)
		if to.Known(path) {
			return nil
		}
		return putDocument(to, path, link.BytesAt(r, 1))
	}, args...)
}

// after gives the first text behind all that begin with prefix. The last byte of UTF-8 is never the highest.
func after(prefix string) string {
	b := []byte(prefix)
	b[len(b)-1]++
	return string(b)
}

// Documents is [store.Reader.Documents].
func (s *Store) Documents(ctx context.Context, tenant, runID string) (out map[string][]byte, err error) {
	err = s.readRun(ctx, "documents", tenant, runID, func(c *conn, run id) error {
		out = map[string][]byte{}
		_, err := c.One("select doc from runs where id = ?", func(r *row) error {
			out[""] = link.BytesAt(r, 0)
			return nil
		}, run)
		if err != nil {
			return err
		}
		return c.Each(allSQL, func(r *row) error {
			out[r.ColumnText(0)] = link.BytesAt(r, 1)
			return nil
		}, run)
	})
	return out, err
}

// Payloads is [store.Reader.Payloads].
func (s *Store) Payloads(
	ctx context.Context, tenant, runID string, refs []machine.Ref,
) (out map[machine.Ref]json.RawMessage, err error) {
	err = s.readRun(ctx, "payloads", tenant, runID, func(c *conn, run id) error {
		out, _, err = newLoader(c).payloads(run, refs)
		return err
	})
	return out, err
}

// Tasks is [store.Reader.Tasks].
func (s *Store) Tasks(ctx context.Context, tenant, runID string, paths []string) (out []store.Live, err error) {
	err = s.readRun(ctx, "tasks", tenant, runID, func(c *conn, run id) error {
		if paths == nil {
			out, err = liveRows(c, liveFrom+"where t.run = ? order by t.path", run)
			return err
		}
		names, err := json.Marshal(paths)
		if err != nil {
			return err
		}
		out, err = liveRows(c, liveFrom+"where t.run = ? and t.path in (select value from json_each(?)) order by t.path",
			run, string(names))
		return err
	})
	return out, err
}

// Timers is [store.Reader.Timers].
func (s *Store) Timers(ctx context.Context, tenant, runID string) (out []store.Timer, err error) {
	err = s.readRun(ctx, "timers", tenant, runID, func(c *conn, run id) error {
		return c.Each("select "+link.TimerColumns+" from timers where run = ? order by key", func(r *row) error {
			out = append(out, link.TimerAt(r))
			return nil
		}, run)
	})
	return out, err
}

// Journal is [store.Reader.Journal].
func (s *Store) Journal(
	ctx context.Context, tenant, runID string, after int64, limit int,
) (out []store.Entry, err error) {
	err = s.readRun(ctx, "journal", tenant, runID, func(c *conn, run id) error {
		bytes := 0
		return c.Each("select "+link.EntryColumns+" from journal where run = ? and seq > ? order by seq limit 0 + ?", func(r *row) error {
			e := link.EntryAt(r)
			out = append(out, e)
			if bytes += len(e.Payload) + len(e.Facts); bytes >= store.PageBytes {
				return link.ErrEnough
			}
			return nil
		}, run, after, max(limit, 0))
	})
	return out, err
}
