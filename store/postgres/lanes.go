package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/store"
)

// laneCache keeps the names of lanes, which never change. Whether one is paused is asked of the database each time.
type laneCache struct {
	mu     sync.Mutex
	byID   map[int64]store.Lane
	byName map[store.Lane]struct{} // without ID and Paused: those that are there
}

const maxLanesKept = 100_000

func (l *laneCache) keep(lane store.Lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil || len(l.byID) >= maxLanesKept {
		l.byID, l.byName = map[int64]store.Lane{}, map[store.Lane]struct{}{}
	}
	lane.Paused = false
	l.byID[lane.ID] = lane
	lane.ID = 0
	l.byName[lane] = struct{}{}
}

// exists says whether the lane with these names is known to be there.
func (l *laneCache) exists(name store.Lane) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.byName[name]
	return ok
}

func (l *laneCache) find(laneID int64) (store.Lane, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane, ok := l.byID[laneID]
	return lane, ok
}

const laneColumns = "l.id, l.tenant, l.queue, l.handler, l.workflow, l.paused"

func laneTargets(l *store.Lane) []any {
	return []any{&l.ID, &l.Tenant, &l.Queue, &l.Handler, &l.Workflow, &l.Paused}
}

// lane gives a lane by its id, not paused.
func (s *Store) lane(ctx context.Context, laneID int64) (store.Lane, error) {
	if lane, ok := s.lanes.find(laneID); ok {
		return lane, nil
	}
	err := s.run(ctx, "lanes", func(p *pipeline) {
		var found []store.Lane
		p.each("select "+laneColumns+" from millrace.lanes as l where l.id = $1", s.seeLane(&found), laneID)
	})
	if err != nil {
		return store.Lane{}, err
	}
	lane, ok := s.lanes.find(laneID)
	if !ok {
		return store.Lane{}, fmt.Errorf("lane %d: %w", laneID, store.ErrNotFound)
	}
	return lane, nil
}

// Lanes is [store.Worker.Lanes].
func (s *Store) Lanes(ctx context.Context, after int64, limit int) (out []store.Lane, err error) {
	err = s.run(ctx, "lanes", func(p *pipeline) {
		out = nil
		p.each("select "+laneColumns+" from millrace.lanes as l where l.id > $1 order by l.id limit $2", s.seeLane(&out),
			after, max(limit, 0))
	})
	return out, err
}

func (s *Store) seeLane(out *[]store.Lane) func(rows pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var l store.Lane
		if err := rows.Scan(laneTargets(&l)...); err != nil {
			return err
		}
		s.lanes.keep(l)
		*out = append(*out, l)
		return nil
	}
}

// One probe of the ready index for each lane that holds a task, and one for the end: from the first task of a lane to the
// first of the next. And the first of the due index: as many rows as the next claim moves into the ready set.
const stockedSQL = `with recursive stock (lane) as (
		(select lane from millrace.tasks where state = 0 and lane > $1 order by lane, rank limit 1)
		union all
		select (select lane from millrace.tasks where state = 0 and lane > stock.lane order by lane, rank limit 1)
		from stock where stock.lane is not null),
	ready as (select lane from stock limit $2),
	due as (select lane from millrace.tasks where state = 1 and due <= millrace.clock() order by due limit 1000),
	stocked as (select lane from ready union select lane from due where lane > $1)
	select ` + laneColumns + ` from stocked cross join lateral (select * from millrace.lanes where id = stocked.lane limit 1) as l order by l.id limit $2`

// Stocked is [store.Worker.Stocked].
func (s *Store) Stocked(ctx context.Context, after int64, limit int) (out []store.Lane, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.run(ctx, "stocked lanes", func(p *pipeline) {
		out = nil
		p.each(stockedSQL, s.seeLane(&out), after, limit)
	})
	return out, err
}

const (
	// The lock of the schema's lanes: a new lane sees every pause, and a pause every lane.
	lockLanesSQL = "select pg_advisory_xact_lock(hashtextextended($1, 0))"
	// What covers a lane: $1 is its tenant, %[1]s its queue and %[2]s its workflow. At most three rows of the primary key.
	coveredSQL = `exists (select from millrace.pauses as c where c.tenant = %[3]s and (
		c.kind = 'tenant' or c.kind = 'queue' and c.name = %[1]s or c.kind = 'workflow' and c.name = %[2]s))`
)

// lockLanes has the rest of the pipeline alone with the lanes.
func (p *pipeline) lockLanes() { p.do(lockLanesSQL, "millrace lanes "+p.s.o.Schema) }

const (
	pauseSQL = "insert into millrace.pauses values ($1, $2, $3, $4, $5, millrace.clock()) on conflict (tenant, kind, name) do nothing"
	// A range of the lanes of one tenant, or of one queue of it.
	coveringSQL = "tenant = $1 and ($2 = 'tenant' or $2 = 'queue' and queue = $3 or $2 = 'workflow' and workflow = $3)"
	flagSQL     = "update millrace.lanes set paused = true where not paused and " + coveringSQL
)

var unflagSQL = "update millrace.lanes as l set paused = false where paused and " + coveringSQL + " and not " +
	fmt.Sprintf(coveredSQL, "l.queue", "l.workflow", "$1")

// Pause is [store.Supply.Pause].
func (s *Store) Pause(ctx context.Context, p store.Pause) (bool, error) {
	if err := p.Storable(); err != nil {
		return false, fmt.Errorf("pause: %w", err)
	}
	var n int64
	err := s.run(ctx, "pause", func(pipe *pipeline) {
		pipe.lockLanes()
		pipe.count(pauseSQL, &n, p.Tenant, string(p.Kind), p.Name, p.By, p.Reason)
		pipe.do(flagSQL, p.Tenant, string(p.Kind), p.Name)
	})
	return n > 0 && err == nil, err
}

// Unpause is [store.Supply.Unpause].
func (s *Store) Unpause(ctx context.Context, tenant string, kind store.PauseKind, name string) (bool, error) {
	if unstorable(tenant) || unstorable(name) {
		return false, nil
	}
	var n int64
	err := s.run(ctx, "unpause", func(p *pipeline) {
		p.lockLanes()
		p.count("delete from millrace.pauses where tenant = $1 and kind = $2 and name = $3", &n, tenant, string(kind), name)
		p.do(unflagSQL, tenant, string(kind), name)
	})
	if err != nil || n == 0 {
		return false, err
	}
	s.hints.hint()
	return true, nil
}

// Pauses is [store.Supply.Pauses].
func (s *Store) Pauses(ctx context.Context, tenant string) (out []store.Pause, err error) {
	if unstorable(tenant) {
		return nil, nil
	}
	err = s.run(ctx, "pauses", func(p *pipeline) {
		out = nil
		p.each("select kind, name, who, reason, at from millrace.pauses where tenant = $1 order by kind, name", func(rows pgx.Rows) error {
			one := store.Pause{Tenant: tenant}
			if err := rows.Scan((*string)(&one.Kind), &one.Name, &one.By, &one.Reason, (*int64)(&one.At)); err != nil {
				return err
			}
			out = append(out, one)
			return nil
		}, tenant)
	})
	return out, err
}
