package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
	"github.com/millrace-go/millrace/store/sqlite/internal/listing"
)

// Settle is [store.Worker.Settle]. It runs on the bet that every settlement whose version is right holds: the update that
// compares the version is its first statement, and nothing is read. Where the bet is lost (a guard does not hold, the
// content is refused) all is undone, and the batch is carried out again with care: each member is asked first and has a
// savepoint of its own.
func (s *Store) Settle(ctx context.Context, settlements []store.Settlement) ([]store.Settled, error) {
	members := make([]*member, len(settlements))
	for i := range settlements {
		members[i] = newMember(&settlements[i], settlements[i].Storable())
		if err := s.holdFor(ctx, settlements[i].Hand); err != nil {
			return nil, s.fault(ctx, "settle", err)
		}
	}
	out, err := s.settleAll(ctx, members, false)
	if errors.Is(err, errBet) {
		out, err = s.settleAll(ctx, members, true)
	}
	if err != nil {
		return nil, err
	}
	var told store.Hints
	for i, m := range members {
		if out[i].Result == store.Won {
			told.Add(m.Settlement, out[i].Handed)
		}
	}
	told.Tell(s.hints.hint)
	return out, nil
}

var errBet = errors.New("a settlement did not hold")

func (s *Store) holdFor(ctx context.Context, h store.HandOver) error {
	if h.Limit <= 0 {
		return nil
	}
	return s.owners.Hold(ctx, h.Owner)
}

func (s *Store) settleAll(ctx context.Context, members []*member, careful bool) ([]store.Settled, error) {
	out := make([]store.Settled, len(members))
	err := s.writeMany(ctx, "settle", len(members), func(c *conn) error {
		now := s.o.Clock()
		w := &settling{s: s, c: c, now: now}
		for i, m := range members {
			settle := w.quickly
			if careful {
				settle = w.carefully
			}
			got, err := settle(m)
			if err != nil {
				return err
			}
			got.Clock = now
			out[i] = got
		}
		return nil
	})
	return out, err
}

// member is a settlement with what can be known and written down before the transaction.
type member struct {
	*store.Settlement
	id      id
	unknown bool  // no run has such an id
	content error // why no store keeps it
	root    []byte
	changes []machine.Change
	started int                             // how many tasks it starts
	starts  []startRow                      // by effect, as far as the last of them
	failure []byte                          // EndRun's error
	endsAt  int                             // the last EndRun's place among the effects; -1: none
	stopsAt map[string]int                  // the last StopTask of a path
	holdsAt int                             // the last HoldTasks; -1: none
	freesAt int                             // the last FreeTasks; -1: none
	values  map[machine.Ref]json.RawMessage // that it puts; nil until asked for
}

// newMember writes a settlement down; content says why no store keeps it.
func newMember(st *store.Settlement, content error) *member {
	m := &member{
		Settlement: st, content: content, root: st.Run.EncodeRoot(), changes: st.Run.Changes(), endsAt: -1, holdsAt: -1,
		freesAt: -1,
	}
	run, ok := link.ParseID(st.Run.ID)
	m.id, m.unknown = run, !ok
	if content != nil {
		return m
	}
	for i, effect := range st.Effects {
		switch e := effect.(type) {
		case machine.StartTask:
			m.content = errors.Join(m.content, m.prepare(i, &e))
		case machine.StopTask:
			if m.stopsAt == nil {
				m.stopsAt = map[string]int{}
			}
			m.stopsAt[e.Path] = i
		case machine.HoldTasks:
			m.holdsAt = i
		case machine.FreeTasks:
			m.freesAt = i
		case machine.EndRun:
			m.endsAt = i
			m.failure = encodeFailure(e.Error)
		}
	}
	return m
}

// startRow is what a started task's row holds as text.
type startRow struct{ env, refs string }

func (m *member) prepare(i int, e *machine.StartTask) error {
	env, err := machine.EncodeEnv(&e.Env)
	if err != nil {
		return fmt.Errorf("%w: task %s: %w", store.ErrRefused, e.Path, err)
	}
	refs, err := link.EncodeRefs(e.Refs)
	if err != nil {
		return fmt.Errorf("%w: task %s: %w", store.ErrRefused, e.Path, err)
	}
	if m.starts == nil {
		m.starts = make([]startRow, len(m.Effects))
	}
	m.started++
	m.starts[i] = startRow{string(env), refs}
	return nil
}

// settling is one call of Settle or Start under way.
type settling struct {
	s   *Store
	c   *conn
	now machine.Time
}

const (
	// The run's row is the run's lock: whoever finds the version has it. One row of the primary key.
	advanceSQL = `update runs set version = version + 1, status = ?, seq = ?, at = ?, started_at = ?, finished_at = ?,
		rare = ?, error = iif(?, error, ?), doc = ? where id = ? and tenant = ? and version = ? and seq = ?`
	standsSQL = "select version, seq from runs where id = ? and tenant = ?"
	dropSQL   = "delete from tasks where run = ? and path = ? and token = ?"
	guardSQL  = "select 1 from tasks where run = ? and path = ? and token = ?"
)

// quickly settles a member, or gives errBet.
func (w *settling) quickly(m *member) (store.Settled, error) {
	before := m.Run.Seq - int64(len(m.Entries))
	if m.unknown {
		return store.Settled{Result: store.Lost}, nil
	}
	if m.content != nil || store.IsSkewed(m.At, w.now) || m.Continues(before) != nil {
		return store.Settled{}, errBet
	}
	n, err := w.advance(m, before)
	if err != nil {
		return store.Settled{}, bet(err)
	}
	if n == 0 {
		version, _, err := w.stands(m)
		if err == nil && version == m.From {
			err = errBet // the version is right and the journal is not
		}
		return store.Settled{Result: store.Lost}, err
	}
	for _, g := range m.Guards {
		held, err := w.guard(m, g)
		if err != nil {
			return store.Settled{}, err
		}
		if !held {
			return store.Settled{}, errBet
		}
	}
	handed, err := w.carryOut(m)
	return store.Settled{Result: store.Won, Handed: handed}, bet(err)
}

// bet turns a refusal of the database into errBet.
func bet(err error) error {
	if refused(err) {
		return errBet
	}
	return err
}

func (w *settling) advance(m *member, before int64) (int, error) {
	r := m.Run
	return w.c.Exec(advanceSQL, string(r.Status), r.Seq, r.At, r.StartedAt, r.FinishedAt,
		listing.Rare(r.Status), m.endsAt < 0 && r.Status.Ended(), m.failure, m.root, m.id, r.Tenant, m.From, before)
}

// stands reads version and length of the journal; 0 for a run that is not there.
func (w *settling) stands(m *member) (version, seq int64, err error) {
	_, err = w.c.One(standsSQL, func(r *row) error {
		version, seq = r.ColumnInt64(0), r.ColumnInt64(1)
		return nil
	}, m.id, m.Run.Tenant)
	return version, seq, err
}

// guard asks a guard, and removes the task of one that holds.
func (w *settling) guard(m *member, g store.Guard) (bool, error) {
	if g.Remove {
		n, err := w.c.Exec(dropSQL, m.id, g.Path, g.Token)
		return n > 0, err
	}
	return w.holds(m, g)
}

func (w *settling) holds(m *member, g store.Guard) (bool, error) {
	return w.c.One(guardSQL, func(*row) error { return nil }, m.id, g.Path, g.Token)
}

// carefully settles a member and leaves the others unharmed, whatever becomes of it.
func (w *settling) carefully(m *member) (store.Settled, error) {
	version, seq, err := w.stands(m)
	if err != nil {
		return store.Settled{}, err
	}
	if m.unknown || version == 0 || version != m.From {
		return store.Settled{Result: store.Lost}, nil
	}
	for _, g := range m.Guards {
		held, err := w.holds(m, g)
		if !held || err != nil {
			return store.Settled{Result: store.Lost}, err
		}
	}
	if store.IsSkewed(m.At, w.now) {
		return store.Settled{Result: store.Skewed}, nil
	}
	if err := errors.Join(m.content, m.Continues(seq)); err != nil {
		return m.refusal(err), nil
	}
	var handed []store.Claimed
	err = w.saved(func() (err error) {
		if _, err := w.advance(m, seq); err != nil {
			return err
		}
		for _, g := range m.Guards {
			if _, err := w.guard(m, g); err != nil {
				return err
			}
		}
		handed, err = w.carryOut(m)
		return err
	})
	if refused(err) {
		return m.refusal(fmt.Errorf("%w: %w", store.ErrRefused, err)), nil
	}
	return store.Settled{Result: store.Won, Handed: handed}, err
}

func (m *member) refusal(err error) store.Settled {
	return store.Settled{Result: store.Refused, Err: fmt.Errorf("settlement of run %s: %w", m.Run.ID, err)}
}

// saved runs do and undoes it alone when it fails.
func (w *settling) saved(do func() error) error {
	if err := w.c.Do("savepoint member"); err != nil {
		return err
	}
	err := do()
	if err != nil {
		w.s.lanes.forget()
		if err := w.c.Do("rollback to member"); err != nil {
			return err
		}
	}
	if e := w.c.Do("release member"); e != nil {
		return e
	}
	return err
}
