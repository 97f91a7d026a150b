package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/store"
)

const (
	beatSQL = `insert into millrace.processes (owner, host, pid, serves, draining, beat_at) values ($1, $2, $3, $4, $5, millrace.clock())
		on conflict (owner) do update set host = excluded.host, pid = excluded.pid, serves = excluded.serves,
			draining = excluded.draining, beat_at = excluded.beat_at`
	// A few rows; the lease index is walked only when one of them is that old: ten minutes, in microseconds.
	burySQL = `delete from millrace.processes as p where p.beat_at < millrace.clock() - 600000000
		and not exists (select from millrace.tasks as t where t.state = 2 and t.owner = p.owner offset 0)`
)

// Beat is [store.Worker.Beat]. It also removes processes that have long been silent and hold nothing.
func (s *Store) Beat(ctx context.Context, p store.Process) error {
	serves := p.Serves
	if serves == nil {
		serves = []string{}
	}
	return s.run(ctx, "beat", func(pipe *pipeline) {
		pipe.Do(beatSQL, p.Owner, p.Host, p.PID, serves, p.Draining)
		pipe.Do(burySQL)
	})
}

// Retire is [store.Worker.Retire].
func (s *Store) Retire(ctx context.Context, owner string) error {
	return s.run(ctx, "retire", func(p *pipeline) { p.Do("delete from millrace.processes where owner = $1", owner) })
}

// Processes is [store.Reader.Processes].
func (s *Store) Processes(ctx context.Context) (out []store.ProcessRow, err error) {
	err = s.run(ctx, "processes", func(p *pipeline) {
		out = nil
		p.Each("select owner, host, pid, serves, draining, beat_at from millrace.processes order by owner", func(rows pgx.Rows) error {
			var one store.ProcessRow
			err := rows.Scan(&one.Owner, &one.Host, &one.PID, &one.Serves, &one.Draining, (*int64)(&one.BeatAt))
			out = append(out, one)
			return err
		})
	})
	return out, err
}

const (
	liveFrom = "select " + taskColumns + `, p.state, p.due, p.token, p.owner, p.lease_until, p.claimed_at, p.stop, ` + laneColumns + `
		from millrace.tasks as p cross join lateral (select * from millrace.lanes where id = p.lane limit 1) as l`
	// A range of the lease index, oldest first: no sort but of equal ones.
	lapsedSQL = liveFrom + " where p.state = 2 and p.lease_until < millrace.clock() order by p.lease_until, p.run, p.path limit $1"
)

// seeLive reads live tasks with their lanes; one whose programs cannot be read comes without them.
func seeLive(out *[]store.Live) func(rows pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var b brought
		var l store.Live
		var state int
		targets := append(b.taskTargets(), &state, (*int64)(&l.Due), &l.Token, &l.Owner, (*int64)(&l.LeaseUntil),
			(*int64)(&l.ClaimedAt), &l.Stop)
		if err := rows.Scan(append(targets, laneTargets(&b.task.Lane)...)...); err != nil {
			return err
		}
		b.task.RunID = b.run.String()
		_ = decodeTask(&b.task, b.env, b.entry, b.refs) // damaged: without them
		l.Task, l.Tenant, l.State = b.task, b.task.Lane.Tenant, store.TaskState(state)
		*out = append(*out, l)
		return nil
	}
}

// Expired is [store.Worker.Expired]. Nothing proves a process dead here: its leases run out.
func (s *Store) Expired(ctx context.Context, limit int) (out []store.Live, err error) {
	err = s.run(ctx, "expired", func(p *pipeline) {
		out = nil
		p.Each(lapsedSQL, seeLive(&out), max(limit, 0))
	})
	return out, err
}

// queuesSQL walks the live tasks once; ended ones have no row. A person asks it now and then, nothing hot does.
const queuesSQL = "select " + laneColumns + `, count(*) filter (where t.ready), count(*) filter (where t.state = 1 and not t.ready),
		count(*) filter (where t.state = 2), count(*) filter (where t.state = 3), coalesce(min(t.rank + t.priority * 2000000::bigint) filter (where t.ready), 0)
	from (select lane, state, rank, priority, state = 0 or state = 1 and due <= millrace.clock() as ready from millrace.tasks) as t
	join millrace.lanes as l on l.id = t.lane
	where l.tenant = $1 group by l.id order by l.queue, l.handler, l.workflow`

// Queues is [store.Reader.Queues].
func (s *Store) Queues(ctx context.Context, tenant string) (out []store.Depth, err error) {
	if unstorable(tenant) {
		return nil, nil
	}
	err = s.run(ctx, "queues", func(p *pipeline) {
		out = nil
		p.Each(queuesSQL, func(rows pgx.Rows) error {
			var d store.Depth
			err := rows.Scan(append(laneTargets(&d.Lane), &d.Ready, &d.Delayed, &d.Leased, &d.Held, (*int64)(&d.Oldest))...)
			out = append(out, d)
			return err
		}, tenant)
	})
	return out, err
}
