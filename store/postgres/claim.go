package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

const (
	// The first rows of the due index, those that nobody has locked.
	ripenSQL = `update millrace.tasks as t set state = 0, due = 0 from (
		select ctid as place from millrace.tasks where state = 1 and due <= millrace.clock() order by due limit 1000
		for no key update skip locked) as d where t.ctid = d.place`
	// The delayed tasks of one run, few in the primary key: a sum keeps the planner from the indexes of all runs' states.
	ripenRunSQL = `update millrace.tasks as t set state = 0, due = 0 from (
		select ctid as place from millrace.tasks where run = $1 and state + 0 = 1 and due <= millrace.clock()
		for no key update skip locked) as d where t.ctid = d.place`

	// One range of the ready index for each lane, in its order: no sort; rows that others hold are skipped, and no more are
	// locked than are asked for, because a lane is walked only when those before it did not give enough.
	pickSQL = `with picked as materialized (
		select t.* from unnest($1::bigint[], $2::bigint[], $8::bigint[]) as w(lane, n, floor)
		cross join lateral (select id from millrace.lanes where id = w.lane and not paused limit 1) as l
		cross join lateral (
			select ctid as place, run, entry, refs, documents from millrace.tasks
			where lane = l.id and state = 0 and rank >= w.floor order by rank limit w.n
			for no key update skip locked) as t
		limit $3)`
	// The tasks of one run, in the primary key: few beside those of its lanes, so that they are sorted.
	pickRunSQL = `with picked as materialized (
		select t.ctid as place, t.run, t.entry, t.refs, t.documents
		from millrace.tasks as t
		where t.run = $1 and t.state + 0 = 0
			and (select not l.paused and l.handler = any ($2::text[]) from millrace.lanes as l where l.id = t.lane)
			and exists (select from millrace.runs where id = $1 and tenant = $8)
		order by t.rank, t.path limit $3
		for no key update of t skip locked)`
	// What was picked is taken as long as its payloads are within bounds, counted in the order in which it was picked; the rest
	// was only locked. The rows are found by their place, at which the lock keeps them.
	takeSQL = `,
	sized as materialized (
		select p.*, row_number() over w as nth, sum(coalesce(octet_length(p.payload), 0)
			+ case when p.refs is null then 0 else (select coalesce(sum(octet_length(x)), 0) from unnest(p.payloads) as x) end)
			over w as total
		from (select p.*, ` + broughtColumns + ` from picked as p offset 0) as p window w as (rows unbounded preceding)),
	taken as (
		update millrace.tasks as p set state = 2, due = 0, attempt = p.attempt + 1, token = $4, owner = $5, stop = false,
			claimed_at = now.now, lease_until = now.now + case when p.lease_ms > 0 then p.lease_ms * 1000 else $6 end
		from sized as z, (select millrace.clock() as now) as now
		where p.ctid = z.place and (z.total <= $7 or z.nth = 1)
		returning p.*, z.payload, z.payloads, z.docs)
	select ` + taskColumns + ", p.payload, p.payloads, p.docs, " + stateColumns + `
	from taken as p cross join lateral (select * from millrace.runs where id = p.run limit 1) as r`
)

// Claim is [store.Worker.Claim].
func (s *Store) Claim(ctx context.Context, ask store.Claim) ([]store.Claimed, error) {
	if ask.Limit <= 0 {
		return nil, nil
	}
	var g gather
	var err error
	if ask.Run != "" {
		err = s.takeOfRun(ctx, &ask, &g)
	} else {
		err = s.takeOfLanes(ctx, &ask, &g)
	}
	if err != nil {
		return nil, err
	}
	g.sort(ask.Lanes)
	return s.bring(ctx, &g, ask.Token)
}

func (s *Store) takeOfLanes(ctx context.Context, ask *store.Claim, g *gather) error {
	lanes, limits := merged(ask.Lanes, ask.Limit)
	if len(lanes) == 0 {
		return s.fault(ctx, "claim", s.usable(ctx))
	}
	for {
		ranks, some := s.floors.use(lanes)
		began := time.Now()
		err := s.run(ctx, "claim", func(p *pipeline) {
			*g = gather{}
			g.fill(p, ask, lanes, limits, ranks)
		})
		if err != nil {
			return err
		}
		s.floors.learn(lanes, limits, ranks, g.rows, time.Since(began))
		if len(g.rows) > 0 || !some { // nothing above the floors: what is below them?
			return nil
		}
	}
}

// fill adds the statements of a claim from lanes.
func (g *gather) fill(p *pipeline, ask *store.Claim, lanes, limits, ranks []int64) {
	g.rows = make([]brought, 0, min(ask.Limit, 64))
	p.Do(ripenSQL)
	p.Each(pickSQL+takeSQL, g.see, append(append([]any{lanes, limits, ask.Limit}, takeArgs(ask)...), ranks)...)
}

func (s *Store) takeOfRun(ctx context.Context, ask *store.Claim, g *gather) error {
	run, ok := wire.ParseID(ask.Run)
	if !ok || store.StorableText(ask.Tenant) != nil {
		return s.fault(ctx, "claim", s.usable(ctx))
	}
	return s.run(ctx, "claim", func(p *pipeline) {
		*g = gather{}
		p.Do(ripenRunSQL, run)
		p.Each(pickRunSQL+takeSQL, g.see, append(append([]any{run, storable(ask.Handlers), ask.Limit}, takeArgs(ask)...), ask.Tenant)...)
	})
}

func takeArgs(ask *store.Claim) []any {
	return []any{ask.Token, ask.Owner, ask.Lease.Microseconds(), cmp.Or(ask.Bytes, store.DefaultBytes)}
}

// merged gives lanes and limits; one that is asked for twice is asked for once, for both limits: a claim does not skip what
// it has locked itself.
func merged(ask []store.LaneLimit, most int) (lanes, limits []int64) {
	at := make(map[int64]int, len(ask))
	for _, l := range ask {
		if l.Limit <= 0 {
			continue
		}
		i, known := at[l.Lane]
		if !known {
			i = len(lanes)
			at[l.Lane] = i
			lanes, limits = append(lanes, l.Lane), append(limits, 0)
		}
		limits[i] = min(limits[i]+int64(l.Limit), int64(most))
	}
	return lanes, limits
}

// bring gives what was taken. A task whose run is damaged is put aside for a while, so that it stops no other.
func (s *Store) bring(ctx context.Context, g *gather, token int64) ([]store.Claimed, error) {
	var out []store.Claimed
	var damaged []*brought
	for i := range g.rows {
		b := &g.rows[i]
		claimed, err := g.claimed(b)
		if errors.Is(err, store.ErrDamaged) {
			damaged = append(damaged, b)
			continue
		}
		if err != nil {
			return nil, err
		}
		if claimed.Lane, err = s.lane(ctx, b.lane); err != nil {
			return nil, err
		}
		claimed.Token = token
		out = append(out, claimed)
	}
	return out, s.postpone(ctx, damaged, token)
}

// postponeSQL undoes a claim, and delays what was claimed.
const postponeSQL = `update millrace.tasks as t set state = 1, due = millrace.clock() + $4, attempt = t.attempt - 1, token = 0,
	owner = '', lease_until = 0, claimed_at = 0
	from unnest($1::uuid[], $2::text[]) as d(run, path)
	where t.run = any (array[d.run]) and t.path = d.path and t.token = $3`

func (s *Store) postpone(ctx context.Context, damaged []*brought, token int64) error {
	if len(damaged) == 0 {
		return nil
	}
	var runs []id
	var paths []string
	for _, b := range damaged {
		runs, paths = append(runs, b.run), append(paths, b.task.Path)
	}
	return s.run(ctx, "claim", func(p *pipeline) {
		p.Do(postponeSQL, ids(runs), paths, token, store.SetAside.Microseconds())
	})
}

// ids gives ids as an argument of type uuid[].
func ids(list []id) [][16]byte {
	out := make([][16]byte, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

// All of the lease index: as many rows as there are held tasks. Asked only after an answer was lost.
const heldUnderSQL = "select " + taskColumns + ", " + broughtColumns + ", " + stateColumns + ` from millrace.tasks as p
	cross join lateral (select * from millrace.runs where id = p.run limit 1) as r
	where p.state = 2 and p.owner = $1 and p.token = $2 order by p.run, p.path`

// HeldBy is [store.Worker.HeldBy].
func (s *Store) HeldBy(ctx context.Context, owner string, token int64) (out []store.Claimed, err error) {
	var g gather
	err = s.run(ctx, "held by", func(p *pipeline) {
		g = gather{}
		p.Each(heldUnderSQL, g.see, owner, token)
	})
	if err != nil {
		return nil, err
	}
	for i := range g.rows {
		claimed, err := g.claimed(&g.rows[i])
		if errors.Is(err, store.ErrDamaged) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if claimed.Lane, err = s.lane(ctx, g.rows[i].lane); err != nil {
			return nil, err
		}
		claimed.Token = token
		out = append(out, claimed)
	}
	return out, nil
}

const (
	// Rows of the primary key, of which the token says whether they are held: a condition on the state would have the planner walk
	// the lease index. It locks them, but for those that a settlement has in hand: nobody waits here.
	renewSQL = `update millrace.tasks as t
		set lease_until = millrace.clock() + case when t.lease_ms > 0 then t.lease_ms * 1000 else $4 end
		from (select k.place from unnest($1::uuid[], $2::text[], $3::bigint[]) as h(run, path, token)
			cross join lateral (select ctid as place from millrace.tasks
				where run = h.run and path = h.path and token = h.token
				for no key update skip locked) as k where h.token <> 0) as k
		where t.ctid = k.place`
	standingSQL = `select h.ord, t.stop from unnest($1::uuid[], $2::text[], $3::bigint[]) with ordinality as h(run, path, token, ord)
		cross join lateral (select stop from millrace.tasks
			where run = h.run and path = h.path and token = h.token limit 1) as t where h.token <> 0`
)

// Renew is [store.Worker.Renew].
func (s *Store) Renew(ctx context.Context, held []store.Held, lease time.Duration) ([]store.Renewed, error) {
	if len(held) == 0 {
		return nil, nil
	}
	runs, paths, tokens := make([]id, len(held)), make([]string, len(held)), make([]int64, len(held))
	for i, h := range held {
		run, ok := wire.ParseID(h.RunID)
		if ok && store.StorableText(h.Path) == nil && h.Token != 0 { // else it is no task's, and nothing is asked
			runs[i], paths[i], tokens[i] = run, h.Path, h.Token
		}
	}
	var out []store.Renewed
	err := s.run(ctx, "renew", func(p *pipeline) {
		out = make([]store.Renewed, len(held))
		for i, h := range held {
			out[i] = store.Renewed{Held: h, Lost: true}
		}
		if lease > 0 {
			p.Do(renewSQL, ids(runs), paths, tokens, lease.Microseconds())
		}
		p.Each(standingSQL, func(rows pgx.Rows) error {
			var n int
			var stop bool
			if err := rows.Scan(&n, &stop); err != nil {
				return err
			}
			out[n-1].Lost, out[n-1].Stop = false, stop
			return nil
		}, ids(runs), paths, tokens)
	})
	if err != nil {
		return nil, err
	}
	return slices.Clip(out), nil
}
