package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

const (
	lookedAt   = 5_000 // rows of runs that one call looks at
	prunedRuns = 100   // that one transaction removes
	prunedRows = 2_000 // of a run that one transaction removes
)

// Prune is [store.Keeper.Prune]: an error comes beside the runs that are gone already. A key needs no tombstone: what is kept of it is its hash from the start.
func (s *Store) Prune(ctx context.Context, o store.PruneOrder) (store.Pruned, error) {
	if err := o.Storable(); err != nil {
		return store.Pruned{}, fmt.Errorf("prune: %w", err)
	}
	if !o.DryRun {
		if err := s.clearLeftovers(ctx); err != nil {
			return store.Pruned{}, err
		}
	}
	found, next, err := s.prunable(ctx, &o)
	if err != nil {
		return store.Pruned{}, err
	}
	out := store.Pruned{Next: next}
	for len(found) > 0 {
		some := found[:min(prunedRuns, len(found))]
		found = found[len(some):]
		if !o.DryRun {
			if some, err = s.removeRuns(ctx, some); err != nil {
				return out, err
			}
			err = s.clearLeftovers(ctx)
		}
		for i := range some {
			out.Runs = append(out.Runs, some[i].PrunedRun)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// prunable is a run that may go, as long as it has this version.
type prunable struct {
	store.PrunedRun
	id      id
	version int64
	created machine.Time
	needed  bool
}

const (
	// What keeps an ended run, in four probes of an index: nothing, for nearly all. Without the offsets the planner may read all
	// that lives, once, to spare the probes. A letter is open as long as it has no end: asked so, it is looked for by its run.
	neededSQL = `(exists (select from millrace.dead_letters where run = r.id and closed_at = 0 offset 0)
		or exists (select from millrace.tasks where run = r.id offset 0)
		or exists (select from millrace.timers where run = r.id offset 0)
		or exists (select from millrace.inbox where run = r.id offset 0))`
	// A range of the primary key, oldest first: so many rows that it ends soon, whatever they are.
	agedSQL = `select r.id, r.tenant, r.workflow, r.status, r.finished_at, r.created_at, r.version, r.status = any ($3::text[]) and ` + neededSQL + `
		from millrace.runs as r where r.id > $1 order by r.id limit $2`
)

// prunable finds runs that may go, and where the walk goes on.
func (s *Store) prunable(ctx context.Context, o *store.PruneOrder) (out []prunable, next string, err error) {
	var rows []prunable
	after, _ := wire.ParseID(o.After)
	err = s.run(ctx, "prune", func(p *pipeline) {
		rows = nil
		p.Each(agedSQL, func(r pgx.Rows) error {
			var p prunable
			err := r.Scan((*[16]byte)(&p.id), &p.Tenant, &p.Workflow, (*string)(&p.Status), (*int64)(&p.FinishedAt), (*int64)(&p.created),
				&p.version, &p.needed)
			p.RunID = p.id.String()
			rows = append(rows, p)
			return err
		}, after, lookedAt, endedStatuses)
	})
	if err != nil {
		return nil, "", err
	}
	for i := range rows {
		p := &rows[i]
		if p.created >= o.Latest() {
			return out, "", nil
		}
		if !o.Selects(&p.PrunedRun) || p.needed {
			continue
		}
		if len(out) == o.Most() {
			return out, out[len(out)-1].RunID, nil
		}
		out = append(out, *p)
	}
	if len(rows) == lookedAt {
		next = rows[len(rows)-1].RunID
	}
	return out, next, nil
}

const (
	// Locks the rows that are as they were seen, and that nobody holds; what keeps a run would have changed its version.
	markSQL = `insert into millrace.leftovers (run)
		select r.id from unnest($1::uuid[], $2::bigint[]) as i(run, version)
		cross join lateral (select id from millrace.runs where id = i.run and version = i.version for update skip locked) as r
		where not ` + neededSQL + `
		on conflict (run) do nothing
		returning run`
	// Those that this transaction has marked.
	marked            = "select run from millrace.leftovers where xmin = pg_current_xact_id_if_assigned()::xid and run = any ($1::uuid[])"
	forgetLettersSQL  = "delete from millrace.dead_letters where run = any (array(" + marked + "))"
	forgetRunsSQL     = "delete from millrace.runs where id = any (array(" + marked + "))"
	leftoverSQL       = "select run from millrace.leftovers limit 100"
	clearLeftoversSQL = "delete from millrace.leftovers where run = $1"
)

// removeRuns removes the rows of runs, with their letters, in one transaction, and gives those that are gone.
func (s *Store) removeRuns(ctx context.Context, list []prunable) (gone []prunable, err error) {
	var runs []id
	var versions []int64
	for i := range list {
		runs, versions = append(runs, list[i].id), append(versions, list[i].version)
	}
	removed := map[id]bool{}
	err = s.run(ctx, "prune", func(p *pipeline) {
		clear(removed)
		p.Each(markSQL, func(rows pgx.Rows) error {
			var run [16]byte
			err := rows.Scan(&run)
			removed[run] = true
			return err
		}, ids(runs), versions)
		p.Do(forgetLettersSQL, ids(runs))
		p.Do(forgetRunsSQL, ids(runs))
	})
	for i := range list {
		if removed[list[i].id] {
			gone = append(gone, list[i])
		}
	}
	return gone, err
}

// stripSQL are ranges of primary keys: rows of one run, as many as may go at once.
var stripSQL = []string{
	"delete from millrace.journal where run = $1 and seq in (select seq from millrace.journal where run = $1 order by seq limit $2)",
	"delete from millrace.run_values where run = $1 and ref in (select ref from millrace.run_values where run = $1 order by ref limit $2)",
	"delete from millrace.scopes where run = $1 and path in (select path from millrace.scopes where run = $1 order by path limit $2)",
}

// clearLeftovers removes what runs that are gone have left behind, in one transaction after the other.
func (s *Store) clearLeftovers(ctx context.Context) error {
	for {
		var runs []id
		err := s.run(ctx, "prune", func(p *pipeline) {
			runs = nil
			p.Each(leftoverSQL, func(rows pgx.Rows) error {
				var run [16]byte
				err := rows.Scan(&run)
				runs = append(runs, run)
				return err
			})
		})
		if len(runs) == 0 || err != nil {
			return err
		}
		for _, run := range runs {
			if err := s.strip(ctx, run); err != nil {
				return err
			}
		}
	}
}

// strip removes all rows of a run that is gone.
func (s *Store) strip(ctx context.Context, run id) error {
	for {
		counts := make([]int64, len(stripSQL))
		err := s.run(ctx, "prune", func(p *pipeline) {
			for i, query := range stripSQL {
				p.Count(query, &counts[i], run, prunedRows)
			}
		})
		if err != nil {
			return err
		}
		if max(counts[0], counts[1], counts[2]) < prunedRows {
			return s.run(ctx, "prune", func(p *pipeline) { p.Do(clearLeftoversSQL, run) })
		}
	}
}
