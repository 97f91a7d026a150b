package sqlite

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/listing"
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

// find gives the lane with this id, if there is one.
func (l *laneCache) find(c *conn, laneID int64) (store.Lane, bool, error) {
	if err := l.refresh(c); err != nil {
		return store.Lane{}, false, err
	}
	if lane, ok := l.byID[laneID]; ok {
		return lane, true, nil
	}
	var lane store.Lane
	found, err := c.One("select "+listing.LaneColumns+" from lanes where id = ?", func(r *row) error {
		lane = listing.LaneAt(r, 0)
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
		found, err := c.One("select "+listing.LaneColumns+" from lanes where tenant = ? and queue = ? and handler = ? and workflow = ?",
			func(r *row) error {
				name = listing.LaneAt(r, 0)
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
		return c.Each("select "+listing.LaneColumns+" from lanes where id > ? order by id limit 0 + ?", func(r *row) error {
			out = append(out, listing.LaneAt(r, 0))
			return nil
		}, after, max(limit, 0))
	})
	return out, err
}

// Stocked is [store.Worker.Stocked].
func (s *Store) Stocked(ctx context.Context, after int64, limit int) (out []store.Lane, err error) {
	err = s.read(ctx, "stocked lanes", func(c *conn) (err error) {
		out, err = listing.Stocked(c, after, limit, s.o.Clock(), ripenAtOnce)
		return err
	})
	return out, err
}
