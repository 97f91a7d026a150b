package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
	"github.com/millrace-go/millrace/store/sqlite/internal/listing"
)

// Beat is [store.Worker.Beat]. It also takes the owner's lock, whose freedom will prove the process's death.
func (s *Store) Beat(ctx context.Context, p store.Process) error {
	if err := s.owners.Hold(ctx, p.Owner); err != nil {
		return s.fault(ctx, "beat", err)
	}
	serves, err := json.Marshal(p.Serves)
	if err != nil {
		return s.fault(ctx, "beat", err)
	}
	return s.write(ctx, "beat", func(c *conn) error {
		_, err := c.Exec(`insert into processes values (?, ?, ?, ?, ?, ?) on conflict (owner) do update set
			host = excluded.host, pid = excluded.pid, serves = excluded.serves, draining = excluded.draining,
			beat_at = excluded.beat_at`, p.Owner, p.Host, p.PID, string(serves), p.Draining, s.o.Clock())
		return err
	})
}

// Retire is [store.Worker.Retire].
func (s *Store) Retire(ctx context.Context, owner string) error {
	if err := s.forgetProcess(ctx, owner); err != nil {
		return err
	}
	return s.fault(ctx, "retire", s.owners.Release(owner))
}

func (s *Store) forgetProcess(ctx context.Context, owner string) error {
	return s.write(ctx, "retire", func(c *conn) error {
		_, err := c.Exec("delete from processes where owner = ?", owner)
		return err
	})
}

const (
	liveColumns = `t.run, t.path, t.lane, t.priority, t.attempt, t.env, t.refs, t.cause, t.lease_ms, t.ready_at, t.state, t.due,
		t.token, t.owner, t.lease_until, t.claimed_at, t.stop, ` + "l.id, l.tenant, l.queue, l.handler, l.workflow, l.paused"
	liveFrom = "select " + liveColumns + " from tasks as t join lanes as l on l.id = t.lane "
	// A range of the lease index, oldest first: no sort.
	lapsedSQL = "select " + liveColumns + ` from tasks as t indexed by tasks_leased join lanes as l on l.id = t.lane
		where t.state = 2 and t.lease_until < ? order by t.lease_until, t.run, t.path limit 0 + ?`
	// All of the lease index, asked only when an owner has died: as many rows as there are held tasks.
	heldBySQL = "select " + liveColumns + ` from tasks as t indexed by tasks_leased join lanes as l on l.id = t.lane
		where t.state = 2 and t.owner in (select value from json_each(?)) order by t.lease_until, t.run, t.path limit 0 + ?`
)

// Expired is [store.Worker.Expired]. Owners are proved dead by their locks.
func (s *Store) Expired(ctx context.Context, limit int) ([]store.Live, error) {
	dead, err := s.deadOwners()
	if err != nil {
		return nil, s.fault(ctx, "expired", err)
	}
	var out []store.Live
	err = s.read(ctx, "expired", func(c *conn) error {
		lapsed, err := liveRows(c, lapsedSQL, s.o.Clock(), max(limit, 0))
		if err != nil || len(dead) == 0 {
			out = lapsed
			return err
		}
		names, err := json.Marshal(dead)
		if err != nil {
			return err
		}
		orphaned, err := liveRows(c, heldBySQL, string(names), max(limit, 0))
		out = merge(lapsed, orphaned)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Dead = slices.Contains(dead, out[i].Owner)
	}
	return out[:min(len(out), max(limit, 0))], s.bury(ctx, dead)
}

// merge gives both lists as one by LeaseUntil, what is in both once.
func merge(a, b []store.Live) []store.Live {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y store.Live) int {
		return cmp.Or(cmp.Compare(x.LeaseUntil, y.LeaseUntil), cmp.Compare(x.RunID, y.RunID), cmp.Compare(x.Path, y.Path))
	})
	return slices.CompactFunc(all, func(x, y store.Live) bool { return x.RunID == y.RunID && x.Path == y.Path })
}

func (s *Store) deadOwners() ([]string, error) {
	names, err := s.owners.Remains()
	if err != nil {
		return nil, err
	}
	var dead []string
	for _, owner := range names {
		alive, err := s.owners.Alive(owner)
		if err != nil {
			return nil, err
		}
		if !alive {
			dead = append(dead, owner)
		}
	}
	return dead, nil
}

// bury removes what is left of dead owners that hold nothing any more.
func (s *Store) bury(ctx context.Context, dead []string) error {
	for _, owner := range dead {
		holds := false
		err := s.read(ctx, "expired", func(c *conn) (err error) {
			holds, err = c.One("select 1 from tasks indexed by tasks_leased where state = 2 and owner = ? limit 1",
				func(*row) error { return nil }, owner)
			return err
		})
		if err != nil {
			return err
		}
		if holds {
			continue
		}
		if err := s.forgetProcess(ctx, owner); err != nil {
			return err
		}
		if err := s.owners.Clear(owner); err != nil {
			return s.fault(ctx, "expired", err)
		}
	}
	return nil
}

// liveRows reads live tasks with their lanes; one whose programs cannot be read comes without them.
func liveRows(c *conn, query string, args ...any) (out []store.Live, err error) {
	err = eachLive(c, query, func(l *store.Live, _ error) {
		out = append(out, *l)
	}, args...)
	return out, err
}

// eachLive reads live tasks with their lanes, and says why the programs of one cannot be read.
func eachLive(c *conn, query string, see func(l *store.Live, damage error), args ...any) error {
	return c.Each(query, func(r *row) error {
		l := &store.Live{
			State: store.TaskState(r.ColumnInt(10)), Due: link.TimeAt(r, 11), Token: r.ColumnInt64(12), Owner: r.ColumnText(13),
			LeaseUntil: link.TimeAt(r, 14), ClaimedAt: link.TimeAt(r, 15), Stop: r.ColumnBool(16), Tenant: r.ColumnText(18),
		}
		l.Task = store.Task{
			RunID: link.IDAt(r, 0).String(), Path: r.ColumnText(1), Lane: listing.LaneAt(r, 17), Priority: r.ColumnInt(3),
			Attempt: r.ColumnInt(4), Cause: r.ColumnInt64(7), Lease: r.ColumnInt64(8), ReadyAt: machine.Time(r.ColumnInt64(9)),
		}
		see(l, link.DecodeTask(&l.Task, link.BytesAt(r, 5), link.BytesAt(r, 6)))
		return nil
	}, args...)
}
