package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/batch"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// Settle is [store.Worker.Settle]. All members go together in one pipeline, which waits for no run for long. A member that did not
// win, though its version still stands, is asked again alone and waits; when the database refuses the content of one, the
// batch is halved until that one is alone.
func (s *Store) Settle(ctx context.Context, settlements []store.Settlement) ([]store.Settled, error) {
	out := make([]store.Settled, len(settlements))
	var fast, slow []*batch.Member
	for i := range settlements {
		m := batch.NewMember(&settlements[i], i, settlements[i].Storable())
		switch {
		case m.Unknown:
			out[i].Result = store.Lost
		case m.Content != nil:
			slow = append(slow, m)
		default:
			fast = append(fast, m)
		}
	}
	if len(fast) == 0 && len(slow) == 0 && len(settlements) > 0 {
		now, err := s.Clock(ctx)
		for i := range out {
			out[i].Clock = now
		}
		return out, err
	}
	left, err := s.together(ctx, fast, out, false)
	if wire.LostBet(err) {
		left, err = s.together(ctx, fast, out, true)
	}
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Concat(left, slow) {
		if out[m.N], err = s.alone(ctx, m); err != nil {
			return nil, err
		}
	}
	s.tellOf(fast, out)
	stamp(out)
	return out, nil
}

// stamp gives members that were not asked about the time of those that were.
func stamp(out []store.Settled) {
	var now machine.Time
	for _, one := range out {
		now = max(now, one.Clock)
	}
	for i := range out {
		out[i].Clock = cmp.Or(out[i].Clock, now)
	}
}

// tellOf hints when a settlement has made work that was not handed over.
func (s *Store) tellOf(members []*batch.Member, out []store.Settled) {
	var told store.Hints
	for _, m := range members {
		if out[m.N].Result == store.Won {
			told.Add(m.Settlement, out[m.N].Handed)
		}
	}
	told.Tell(s.hints.hint)
}

// together settles members and gives those that must be asked alone.
func (s *Store) together(ctx context.Context, members []*batch.Member, out []store.Settled, careful bool) ([]*batch.Member, error) {
	if len(members) == 0 {
		return nil, nil
	}
	b := batch.New(members)
	b.Careful = careful
	err := s.run(ctx, "settle", func(p *pipeline) {
		b.Advance(p)
		b.CarryOut(p, &s.lanes)
	})
	switch {
	case wire.Refused(err) && len(members) == 1:
		return members, nil
	case wire.Refused(err):
		half := len(members) / 2
		left, err := s.together(ctx, members[:half], out, true)
		if err != nil {
			return nil, err
		}
		right, err := s.together(ctx, members[half:], out, true)
		return append(left, right...), err
	case err != nil:
		return nil, err
	}
	for _, m := range members {
		out[m.N] = store.Settled{Result: store.Lost, Clock: b.Now}
	}
	for _, m := range b.Won {
		out[m.N] = store.Settled{Result: store.Won, Clock: b.Now, Handed: b.Handed(m)}
	}
	return s.standing(ctx, b.Losers())
}

// standsSQL finds the runs whose version still is the one that was asked for.
const standsSQL = `select i.n from unnest($1::int[], $2::uuid[], $3::bigint[]) as i(n, run, version)
	cross join lateral (select from millrace.runs where id = i.run and version = i.version limit 1) as r`

// standing gives those that may win yet: their row was locked, or something else than the version was in their way.
func (s *Store) standing(ctx context.Context, losers []*batch.Member) ([]*batch.Member, error) {
	if len(losers) == 0 {
		return nil, nil
	}
	var numbers []int32
	var runs []id
	var versions []int64
	for i, m := range losers {
		numbers, runs, versions = append(numbers, int32(i)), append(runs, m.ID), append(versions, m.From)
	}
	var out []*batch.Member
	err := s.run(ctx, "settle", func(p *pipeline) {
		out = nil
		p.Each(standsSQL, func(rows pgx.Rows) error {
			var i int
			err := rows.Scan(&i)
			if err == nil {
				out = append(out, losers[i])
			}
			return err
		}, numbers, ids(runs), versions)
	})
	return out, err
}

const (
	// One row of the primary key: whoever holds the run is waited for, before anything else of it is touched.
	lockRunSQL = "select version, seq, millrace.clock() from millrace.runs where id = $1 and tenant = $2 for no key update"
	guardsSQL  = `select count(*) from unnest($2::text[], $3::bigint[]) as g(path, token)
		cross join lateral (select from millrace.tasks where run = $1 and path = g.path and token = g.token limit 1) as t`
)

// alone settles one member and waits for its run.
func (s *Store) alone(ctx context.Context, m *batch.Member) (store.Settled, error) {
	var v batch.Verdict
	b := batch.New([]*batch.Member{m})
	b.Careful = true
	fill := func(write bool) func(p *pipeline) {
		return func(p *pipeline) {
			v = batch.Verdict{}
			p.Each(lockRunSQL, func(rows pgx.Rows) error {
				return rows.Scan(&v.Version, &v.Seq, (*int64)(&v.Now))
			}, m.ID, m.Run.Tenant)
			paths, tokens := m.GuardColumns()
			p.Each(guardsSQL, func(rows pgx.Rows) error { return rows.Scan(&v.Guards) }, m.ID, paths, tokens)
			if write {
				b.Advance(p)
				b.CarryOut(p, &s.lanes)
			}
		}
	}
	err := s.run(ctx, "settle", fill(m.Content == nil))
	if wire.Refused(err) { // it would have won
		now, e := s.Clock(ctx)
		out := m.Refusal(fmt.Errorf("%w: %w", store.ErrRefused, err))
		out.Clock = now
		return out, e
	}
	if err != nil {
		return store.Settled{}, err
	}
	if len(b.Won) > 0 {
		return store.Settled{Result: store.Won, Clock: b.Now, Handed: b.Handed(m)}, nil
	}
	out := m.Judge(v)
	if out.Clock = v.Now; v.Now == 0 {
		out.Clock, err = s.Clock(ctx)
	}
	return out, err
}
