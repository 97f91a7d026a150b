package ceiling

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const postgresSchema = `
create table runs(id uuid primary key, tenant text not null, workflow text not null, version int not null, status smallint not null,
  state_version bigint not null, doc bytea not null, created_at timestamptz not null default now(), finished_at timestamptz)
  with (fillfactor = 60);
create table tasks(run_id uuid not null, path text not null, queue text not null, handler text not null, priority int not null,
  ready_at timestamptz not null, attempt int not null, input bytea, token bigint, owner text, lease_until timestamptz,
  primary key(run_id, path)) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
create index tasks_ready on tasks(queue, priority desc, ready_at) where token is null;
create index tasks_lease on tasks(lease_until) where token is not null;
create table journal(run_id uuid not null, seq int not null, at timestamptz not null default now(), kind smallint not null,
  path text not null, data bytea, primary key(run_id, seq));
`

const (
	pgInsertRuns = `insert into runs(id, tenant, workflow, version, status, state_version, doc)
select unnest($1::uuid[]), 'default', 'bench', 1, 1, 1, $2`
	pgInsertFirst = `insert into journal(run_id, seq, kind, path, data) select unnest($1::uuid[]), 1, 1, '', $2`
	pgInsertTasks = `insert into tasks(run_id, path, queue, handler, priority, ready_at, attempt, input)
select unnest($1::uuid[]), 's0', 'default', 'noop', 0, now(), 0, $2`

	// One range of tasks_ready in its order; rows that another claim holds are passed over.
	pgClaim = `with c as (
  select run_id, path from tasks where token is null and queue = 'default' and ready_at <= now()
  order by queue, priority desc, ready_at limit $1 for update skip locked)
update tasks t set token = $2, owner = 'w', attempt = attempt + 1, lease_until = now() + interval '30 s'
from c, runs s where t.run_id = c.run_id and t.path = c.path and s.id = t.run_id
returning t.run_id, t.path, s.state_version, t.input, s.doc`

	pgDelete = `delete from tasks t using unnest($1::uuid[], $2::text[], $3::bigint[]) u(r, p, k)
where t.run_id = u.r and t.path = u.p and t.token = u.k`
	pgAdvance = `update runs s set state_version = s.state_version + 1, doc = $4,
  status = case when u.e then 2 else s.status end, finished_at = case when u.e then now() end
from unnest($1::uuid[], $2::bigint[], $3::bool[]) u(r, v, e) where s.id = u.r and s.state_version = u.v`
	pgEntries = `insert into journal(run_id, seq, kind, path, data)
select r, s, 2, p, $4 from unnest($1::uuid[], $2::int[], $3::text[]) u(r, s, p)`
	pgHandOver = `insert into tasks(run_id, path, queue, handler, priority, ready_at, attempt, input, token, owner, lease_until)
select r, p, 'default', 'noop', 0, now(), 1, $3, $4, 'w', now() + interval '30 s' from unnest($1::uuid[], $2::text[]) u(r, p)`
)

// pgTask is a held task of a run, and where the run stands.
type pgTask struct {
	run     [16]byte
	path    string
	step    int
	version int64
	token   int64
	seq     int32
}

// pgWriter writes the plan's rows through a pool.
type pgWriter struct {
	pool  *pgxpool.Pool
	token atomic.Int64
	ids   uint64
	done  atomic.Int64
	ended atomic.Int64
}

// Prepare makes the plan's tables in an empty database of PostgreSQL and starts all runs of a Load. It gives runs per second.
func Prepare(ctx context.Context, url string, w Load) (starts float64, err error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, postgresSchema); err != nil {
		return 0, err
	}
	db := &pgWriter{pool: pool}
	began := time.Now()
	for i := 0; i < w.Runs; i += startBatch {
		if err := db.start(ctx, min(startBatch, w.Runs-i)); err != nil {
			return 0, err
		}
	}
	return perSecond(w.Runs, began), nil
}

// Finish drives the runs that Prepare has started to their ends, in so many loops side by side, and counts the rows.
func Finish(ctx context.Context, url string, w Load, loops int) (f Figure, err error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return f, err
	}
	defer pool.Close()
	db := &pgWriter{pool: pool}
	errs := make([]error, loops)
	var all sync.WaitGroup
	began := time.Now()
	for i := range loops {
		all.Go(func() { errs[i] = db.loop(ctx, w) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return f, err
	}
	done, ended := int(db.done.Load()), int(db.ended.Load())
	f.Steps, f.Runs = perSecond(done, began), perSecond(ended, began)
	return f, tally(w, done, ended, func(query string) (n int, err error) {
		return n, pool.QueryRow(ctx, query).Scan(&n)
	})
}

func (w *pgWriter) start(ctx context.Context, n int) error {
	ids := make([][16]byte, n)
	for i := range ids {
		w.ids++
		ids[i] = [16]byte(newID(w.ids))
	}
	b := &pgx.Batch{}
	b.Queue("begin")
	b.Queue(pgInsertRuns, ids, document)
	b.Queue(pgInsertFirst, ids, payload)
	b.Queue(pgInsertTasks, ids, payload)
	b.Queue("commit")
	return w.send(ctx, b)
}

// send sends a batch that brings its own begin and commit on one connection.
func (w *pgWriter) send(ctx context.Context, b *pgx.Batch) error {
	return w.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error { return c.SendBatch(ctx, b).Close() })
}

// loop claims and settles, a batch at a time, until nothing is left or enough is done.
func (w *pgWriter) loop(ctx context.Context, load Load) error {
	var held []pgTask
	for load.Limit == 0 || int(w.done.Load()) < load.Limit {
		if free := load.Batch - len(held); free > 0 {
			claimed, err := w.claim(ctx, free)
			if err != nil {
				return err
			}
			held = append(held, claimed...)
		}
		if len(held) == 0 {
			return nil
		}
		next, err := w.settle(ctx, held, load.Steps)
		if err != nil {
			return err
		}
		w.done.Add(int64(len(held)))
		w.ended.Add(int64(len(held) - len(next)))
		held = next
	}
	return nil
}

func (w *pgWriter) claim(ctx context.Context, limit int) ([]pgTask, error) {
	token := w.token.Add(1)
	rows, err := w.pool.Query(ctx, pgClaim, limit, token)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (pgTask, error) {
		t := pgTask{token: token, seq: 2}
		var input, doc []byte
		err := r.Scan(&t.run, &t.path, &t.version, &input, &doc)
		return t, err
	})
}

// settle ends the held tasks and hands over the next of their runs, in one transaction and one round trip.
func (w *pgWriter) settle(ctx context.Context, held []pgTask, steps int) (next []pgTask, err error) {
	var runs, nextRuns [][16]byte
	var paths, nextPaths []string
	var tokens, versions []int64
	var seqs []int32
	var ends []bool
	token := w.token.Add(1)
	for _, t := range held {
		last := t.step+1 == steps
		runs, paths, tokens, versions = append(runs, t.run), append(paths, t.path), append(tokens, t.token), append(versions, t.version)
		seqs, ends = append(seqs, t.seq), append(ends, last)
		if last {
			continue
		}
		n := pgTask{t.run, fmt.Sprintf("s%d", t.step+1), t.step + 1, t.version + 1, token, t.seq + 1}
		next, nextRuns, nextPaths = append(next, n), append(nextRuns, n.run), append(nextPaths, n.path)
	}
	b := &pgx.Batch{}
	b.Queue("begin")
	b.Queue(pgDelete, runs, paths, tokens)
	b.Queue(pgAdvance, runs, versions, ends, document)
	b.Queue(pgEntries, runs, seqs, paths, payload)
	if len(next) > 0 {
		b.Queue(pgHandOver, nextRuns, nextPaths, payload, token)
	}
	b.Queue("commit")
	return next, w.send(ctx, b)
}
