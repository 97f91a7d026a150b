package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/store"
)

// laneCache keeps lanes that this handle has met. It is used under the writer alone, and compared with the database once a
// transaction: a trigger counts changes of known lanes; new ones harm nobody.
type laneCache struct {
	byID       map[int64]store.Lane
	byName     map[store.Lane]store.Lane // by a lane without ID and Paused
	generation int64
	stale      bool
}

const maxLanesKept = 100_000

func (l *laneCache) forget() { l.byID, l.byName = nil, nil }

func (l *laneCache) keep(lane store.Lane) {
	if l.byID == nil || len(l.byID) >= maxLanesKept {
		l.byID, l.byName = map[int64]store.Lane{}, map[store.Lane]store.Lane{}
	}
	name := lane
	name.ID, name.Paused = 0, false
	l.byID[lane.ID], l.byName[name] = lane, lane
}

// refresh forgets what another transaction has changed.
func (l *laneCache) refresh(c *conn) error {
	if !l.stale {
		return nil
	}
	_, err := c.One("select value from meta where name = 'lanes'", func(r *row) error {
		if n := r.ColumnInt64(0); n != l.generation {
			l.generation = n
			l.forget()
		}
		return nil
	})
	l.stale = err != nil
	return err
}

const laneColumns = "id, tenant, queue, handler, workflow, paused"

func laneAt(r *row, col int) store.Lane {
	return store.Lane{
		ID: r.ColumnInt64(col), Tenant: r.ColumnText(col + 1), Queue: r.ColumnText(col + 2),
		Handler: r.ColumnText(col + 3), Workflow: r.ColumnText(col + 4), Paused: r.ColumnBool(col + 5),
	}
}

// find gives the lane with this id, if there is one.
func (l *laneCache) find(c *conn, laneID int64) (store.Lane, bool, error) {
	if err := l.refresh(c); err != nil {
		return store.Lane{}, false, err
	}
	if lane, ok := l.byID[laneID]; ok {
		return lane, true, nil
	}
	var lane store.Lane
	found, err := c.One("select "+laneColumns+" from lanes where id = ?", func(r *row) error {
		lane = laneAt(r, 0)
		l.keep(lane)
		return nil
	}, laneID)
	return lane, found, err
}

// What covers a lane: ?1 is its tenant, %s its queue and %s its workflow. At most three rows of the primary key.
const coveredSQL = `exists (select 1 from pauses where tenant = ?1 and (
	kind = 'tenant' or kind = 'queue' and name = %s or kind = 'workflow' and name = %s))`

var makeLaneSQL = "insert into lanes (tenant, queue, handler, workflow, paused) values (?1, ?2, ?3, ?4, " +
	fmt.Sprintf(coveredSQL, "?2", "?4") + ")"

// named gives the lane with these names, and makes it when it is new.
func (l *laneCache) named(c *conn, name store.Lane) (store.Lane, error) {
	if err := l.refresh(c); err != nil {
		return store.Lane{}, err
	}
	if lane, ok := l.byName[name]; ok {
		return lane, nil
	}
	for range 2 {
		found, err := c.One("select "+laneColumns+" from lanes where tenant = ? and queue = ? and handler = ? and workflow = ?",
			func(r *row) error {
				name = laneAt(r, 0)
				return nil
			}, name.Tenant, name.Queue, name.Handler, name.Workflow)
		if err != nil || found {
			l.keep(name)
			return name, err
		}
		_, err = c.Exec(makeLaneSQL,
			name.Tenant, name.Queue, name.Handler, name.Workflow)
		if err != nil {
			return name, err
		}
	}
	return name, store.ErrNotFound
}

// Lanes is [store.Worker.Lanes].
func (s *Store) Lanes(ctx context.Context, after int64, limit int) ([]store.Lane, error) {
	var out []store.Lane
	err := s.read(ctx, "lanes", func(c *conn) error {
		return c.Each("select "+laneColumns+" from lanes where id > ? order by id limit 0 + ?", func(r *row) error {
			out = append(out, laneAt(r, 0))
			return nil
		}, after, max(limit, 0))
	})
	return out, err
}

const (
	// One probe of the ready index for each lane that holds a task, and one for the end: from the first task of a lane to the
	// first of the next.
	stockedSQL = `with recursive stock (lane) as (
		select min(lane) from tasks indexed by tasks_ready where state = 0 and lane > ?1
		union all
		select (select min(lane) from tasks indexed by tasks_ready where state = 0 and lane > stock.lane)
			from stock where stock.lane is not null limit 0 + ?2)
		select ` + laneColumns + ` from stock cross join lanes on id = lane`
	// The first of the due index: as many rows as the next claim moves into the ready set.
	ripeSQL = "select lane from tasks indexed by tasks_due where state = 1 and due <= ? order by due limit 0 + ?"
	laneSQL = "select " + laneColumns + " from lanes where id = ?"
)

// Stocked is [store.Worker.Stocked].
func (s *Store) Stocked(ctx context.Context, after int64, limit int) (out []store.Lane, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.read(ctx, "stocked lanes", func(c *conn) error {
		seen := map[int64]bool{}
		err := c.Each(stockedSQL, func(r *row) error {
			out = append(out, laneAt(r, 0))
			seen[r.ColumnInt64(0)] = true
			return nil
		}, after, limit)
		if err != nil {
			return err
		}
		var more []int64
		err = c.Each(ripeSQL, func(r *row) error {
			if id := r.ColumnInt64(0); id > after && !seen[id] {
				seen[id] = true
				more = append(more, id)
			}
			return nil
		}, s.o.Clock(), ripenAtOnce)
		if err != nil {
			return err
		}
		for _, id := range more {
			_, err := c.One(laneSQL, func(r *row) error {
				out = append(out, laneAt(r, 0))
				return nil
			}, id)
			if err != nil {
				return err
			}
		}
		slices.SortFunc(out, func(a, b store.Lane) int { return cmp.Compare(a.ID, b.ID) })
		out = out[:min(limit, len(out))]
		return nil
	})
	return out, err
}
