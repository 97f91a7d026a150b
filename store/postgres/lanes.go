package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/batch"
)

const laneColumns = "l.id, l.tenant, l.queue, l.handler, l.workflow, l.paused"

func laneTargets(l *store.Lane) []any {
	return []any{&l.ID, &l.Tenant, &l.Queue, &l.Handler, &l.Workflow, &l.Paused}
}

// lane gives a lane by its id, not paused.
func (s *Store) lane(ctx context.Context, laneID int64) (store.Lane, error) {
	if lane, ok := s.lanes.Find(laneID); ok {
		return lane, nil
	}
	err := s.run(ctx, "lanes", func(p *pipeline) {
		var found []store.Lane
		p.Each("select "+laneColumns+" from millrace.lanes as l where l.id = $1", s.seeLane(&found), laneID)
	})
	if err != nil {
		return store.Lane{}, err
	}
	lane, ok := s.lanes.Find(laneID)
	if !ok {
		return store.Lane{}, fmt.Errorf("lane %d: %w", laneID, store.ErrNotFound)
	}
	return lane, nil
}

// Lanes is [store.Worker.Lanes].
func (s *Store) Lanes(ctx context.Context, after int64, limit int) (out []store.Lane, err error) {
	err = s.run(ctx, "lanes", func(p *pipeline) {
		out = nil
		p.Each("select "+laneColumns+" from millrace.lanes as l where l.id > $1 order by l.id limit $2", s.seeLane(&out),
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
		s.lanes.Keep(l)
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
		p.Each(stockedSQL, s.seeLane(&out), after, limit)
	})
	return out, err
}

const (
	pauseSQL = "insert into millrace.pauses values ($1, $2, $3, $4, $5, millrace.clock()) on conflict (tenant, kind, name) do nothing"
	// A range of the lanes of one tenant, or of one queue of it.
	coveringSQL = "tenant = $1 and ($2 = 'tenant' or $2 = 'queue' and queue = $3 or $2 = 'workflow' and workflow = $3)"
	flagSQL     = "update millrace.lanes set paused = true where not paused and " + coveringSQL
)

var unflagSQL = "update millrace.lanes as l set paused = false where paused and " + coveringSQL + " and not " +
	batch.Covered("$1", "l.queue", "l.workflow")

// Pause is [store.Supply.Pause].
func (s *Store) Pause(ctx context.Context, p store.Pause) (bool, error) {
	if err := p.Storable(); err != nil {
		return false, fmt.Errorf("pause: %w", err)
	}
	var n int64
	err := s.run(ctx, "pause", func(pipe *pipeline) {
		s.lanes.Lock(pipe)
		pipe.Count(pauseSQL, &n, p.Tenant, string(p.Kind), p.Name, p.By, p.Reason)
		pipe.Do(flagSQL, p.Tenant, string(p.Kind), p.Name)
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
		s.lanes.Lock(p)
		p.Count("delete from millrace.pauses where tenant = $1 and kind = $2 and name = $3", &n, tenant, string(kind), name)
		p.Do(unflagSQL, tenant, string(kind), name)
	})
	if err != nil || n == 0 {
		return false, err
	}
	s.hints.hint(store.Hint{})
	return true, nil
}

// Pauses is [store.Supply.Pauses].
func (s *Store) Pauses(ctx context.Context, tenant string) (out []store.Pause, err error) {
	if unstorable(tenant) {
		return nil, nil
	}
	err = s.run(ctx, "pauses", func(p *pipeline) {
		out = nil
		p.Each("select kind, name, who, reason, at from millrace.pauses where tenant = $1 order by kind, name", func(rows pgx.Rows) error {
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
