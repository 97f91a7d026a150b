package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

const maxSkew = machine.Time(time.Second / time.Microsecond)

func skewed(at, now machine.Time) bool { return at-now > maxSkew || now-at > maxSkew }

// Settle is [store.Worker.Settle]. All members go together in one pipeline, which waits for no run. A member that did not
// win, though its version still stands, is asked again alone and waits; when the database refuses the content of one, the
// batch is halved until that one is alone.
func (s *Store) Settle(ctx context.Context, settlements []store.Settlement) ([]store.Settled, error) {
	out := make([]store.Settled, len(settlements))
	var fast, slow []*member
	for i := range settlements {
		m := newMember(&settlements[i], i, settlements[i].Storable())
		switch {
		case m.unknown:
			out[i].Result = store.Lost
		case m.content != nil:
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
	if lostBet(err) {
		left, err = s.together(ctx, fast, out, true)
	}
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Concat(left, slow) {
		if out[m.n], err = s.alone(ctx, m); err != nil {
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
func (s *Store) tellOf(members []*member, out []store.Settled) {
	for _, m := range members {
		if out[m.n].Result == store.Won && (m.makesWork || len(m.starts) > len(out[m.n].Handed)) {
			s.hints.hint()
			return
		}
	}
}

// together settles members and gives those that must be asked alone.
func (s *Store) together(ctx context.Context, members []*member, out []store.Settled, careful bool) ([]*member, error) {
	if len(members) == 0 {
		return nil, nil
	}
	b := newBatch(members)
	b.careful = careful
	err := s.run(ctx, "settle", func(p *pipeline) {
		b.advance(p)
		b.carryOut(p)
	})
	switch {
	case refused(err) && len(members) == 1:
		return members, nil
	case refused(err):
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
		out[m.n] = store.Settled{Result: store.Lost, Clock: b.now}
	}
	for _, m := range b.won {
		out[m.n] = store.Settled{Result: store.Won, Clock: b.now, Handed: b.handed(m)}
	}
	return s.standing(ctx, b.losers())
}

// standsSQL finds the runs whose version still is the one that was asked for.
const standsSQL = `select i.n from unnest($1::int[], $2::uuid[], $3::bigint[]) as i(n, run, version)
	cross join lateral (select from millrace.runs where id = i.run and version = i.version limit 1) as r`

// standing gives those that may win yet: their row was locked, or something else than the version was in their way.
func (s *Store) standing(ctx context.Context, losers []*member) ([]*member, error) {
	if len(losers) == 0 {
		return nil, nil
	}
	var numbers []int32
	var runs []id
	var versions []int64
	for i, m := range losers {
		numbers, runs, versions = append(numbers, int32(i)), append(runs, m.id), append(versions, m.From) //nolint:gosec // few
	}
	var out []*member
	err := s.run(ctx, "settle", func(p *pipeline) {
		out = nil
		p.each(standsSQL, func(rows pgx.Rows) error {
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

// verdict is what stands in the way of one member.
type verdict struct {
	version, seq int64
	guards       int
	now          machine.Time
}

// alone settles one member and waits for its run.
func (s *Store) alone(ctx context.Context, m *member) (store.Settled, error) {
	var v verdict
	b := newBatch([]*member{m})
	b.careful = true
	fill := func(write bool) func(p *pipeline) {
		return func(p *pipeline) {
			v = verdict{}
			p.each(lockRunSQL, func(rows pgx.Rows) error {
				return rows.Scan(&v.version, &v.seq, (*int64)(&v.now))
			}, m.id, m.Run.Tenant)
			paths, tokens := m.guards()
			p.each(guardsSQL, func(rows pgx.Rows) error { return rows.Scan(&v.guards) }, m.id, paths, tokens)
			if write {
				b.advance(p)
				b.carryOut(p)
			}
		}
	}
	err := s.run(ctx, "settle", fill(m.content == nil))
	if refused(err) { // it would have won
		now, e := s.Clock(ctx)
		out := m.refusal(fmt.Errorf("%w: %w", store.ErrRefused, err))
		out.Clock = now
		return out, e
	}
	if err != nil {
		return store.Settled{}, err
	}
	if len(b.won) > 0 {
		return store.Settled{Result: store.Won, Clock: b.now, Handed: b.handed(m)}, nil
	}
	out := m.judge(v)
	if out.Clock = v.now; v.now == 0 {
		out.Clock, err = s.Clock(ctx)
	}
	return out, err
}

func (m *member) guards() (paths []string, tokens []int64) {
	for _, g := range m.Guards {
		paths, tokens = append(paths, g.Path), append(tokens, g.Token)
	}
	return paths, tokens
}

// judge says why a member did not win.
func (m *member) judge(v verdict) store.Settled {
	switch {
	case v.version == 0 || v.version != m.From || v.guards != len(m.Guards):
		return store.Settled{Result: store.Lost}
	case skewed(m.At, v.now):
		return store.Settled{Result: store.Skewed}
	}
	if err := errors.Join(m.content, m.continues(v.seq)); err != nil {
		return m.refusal(err)
	}
	return store.Settled{Result: store.Lost} // a task that nobody held was claimed just now
}
