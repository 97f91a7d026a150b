package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
	"github.com/millrace-go/millrace/store/sqlite/internal/listing"
)

// Start is [store.Starter.Start]. Like Settle it bets that the database refuses no content, and takes care when it does.
func (s *Store) Start(ctx context.Context, starts []store.Start) ([]store.Started, error) {
	members := make([]*starting, len(starts))
	for i := range starts {
		members[i] = &starting{Start: &starts[i], member: newMember(&starts[i].Settlement, starts[i].Storable())}
		if err := s.holdFor(ctx, starts[i].Hand); err != nil {
			return nil, s.fault(ctx, "start", err)
		}
	}
	out, err := s.startAll(ctx, members, false)
	if errors.Is(err, errBet) {
		out, err = s.startAll(ctx, members, true)
	}
	if err != nil {
		return nil, err
	}
	var told store.Hints
	for i, m := range members {
		if out[i].Created {
			told.Add(&m.Start.Settlement, out[i].Handed)
		}
	}
	told.Tell(s.hints.hint)
	return out, nil
}

type starting struct {
	*store.Start
	*member
}

func (s *Store) startAll(ctx context.Context, members []*starting, careful bool) ([]store.Started, error) {
	out := make([]store.Started, len(members))
	err := s.writeMany(ctx, "start", len(members), func(c *conn) error {
		w := &settling{s: s, c: c, now: s.o.Clock()}
		for i, m := range members {
			got, err := w.begin(m, careful)
			if err != nil {
				return err
			}
			out[i] = got
		}
		return nil
	})
	return out, err
}

// begin starts one run, or finds the one that was started before.
func (w *settling) begin(m *starting, careful bool) (store.Started, error) {
	h := &m.member.Run.Header
	fail := func(err error) (store.Started, error) {
		return store.Started{Err: fmt.Errorf("start of run %s: %w", h.ID, err)}, nil
	}
	asked := careful || h.Key != "" // an id alone is new, or else the insert finds out and the bet is lost
	if asked {
		if first, err := w.earlier(m, h); first != nil || err != nil {
			return deref(first), err
		}
	}
	var why error
	switch {
	case m.unknown:
		why = fmt.Errorf("%w: the id is not a UUID", store.ErrRefused)
	case store.IsSkewed(m.member.At, w.now):
		why = store.ErrSkewed
	default:
		why = errors.Join(m.content, m.member.Continues(0))
	}
	switch {
	case why != nil && asked:
		return fail(why)
	case why != nil: // that the id is taken would be said first
		return store.Started{}, errBet
	}
	if !careful {
		handed, err := w.create(m, h)
		return store.Started{RunID: h.ID, Created: true, Handed: handed}, bet(err)
	}
	var handed []store.Claimed
	err := w.saved(func() (err error) {
		handed, err = w.create(m, h)
		return err
	})
	if refused(err) {
		return fail(fmt.Errorf("%w: %w", store.ErrRefused, err))
	}
	return store.Started{RunID: h.ID, Created: true, Handed: handed}, err
}

func deref(s *store.Started) store.Started {
	if s == nil {
		return store.Started{}
	}
	return *s
}

// One row of a primary key, that of the tombstones when there is none in that of keys.
const keySQL = `select run, hash from run_keys where tenant = ?1 and workflow = ?2 and key = ?3
	union all select run, hash from key_tombstones where tenant = ?1 and workflow = ?2 and key = ?4`

// earlier gives the answer when the id or the key is taken.
func (w *settling) earlier(m *starting, h *machine.Header) (*store.Started, error) {
	var out *store.Started
	_, err := w.c.One("select tenant from runs where id = ?", func(r *row) error {
		out = &store.Started{RunID: h.ID}
		if r.ColumnText(0) != h.Tenant {
			out = &store.Started{Err: fmt.Errorf("start of run %s: %w: the id is taken", h.ID, store.ErrRefused)}
		}
		return nil
	}, m.id)
	if out != nil || err != nil || h.Key == "" {
		return out, err
	}
	_, err = w.c.One(keySQL, func(r *row) error {
		out = &store.Started{RunID: link.IDAt(r, 0).String()}
		if [32]byte(link.BytesAt(r, 1)) != m.KeyHash {
			out = &store.Started{Err: &store.ConflictError{What: "key", Name: h.Key, RunID: link.IDAt(r, 0).String()}}
		}
		return nil
	}, h.Tenant, h.Workflow, h.Key, sha256.Sum256([]byte(h.Key)))
	return out, err
}

const createSQL = `insert into runs (id, tenant, workflow, workflow_version, key, home, machine_version, created_at, status,
	version, seq, at, started_at, finished_at, rare, error, options, doc)
	values (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)`

func (w *settling) create(m *starting, h *machine.Header) ([]store.Claimed, error) {
	r := m.member.Run
	_, err := w.c.Exec(createSQL, m.id, h.Tenant, h.Workflow, h.Version, h.Key, h.Home, h.MachineVersion, h.CreatedAt,
		string(r.Status), r.Seq, r.At, r.StartedAt, r.FinishedAt, listing.Rare(r.Status), m.failure, h.Options.Encode(), m.root)
	if err != nil {
		return nil, err
	}
	if h.Key != "" {
		_, err := w.c.Exec("insert into run_keys values (?, ?, ?, ?, ?)", h.Tenant, h.Workflow, h.Key, m.id, m.KeyHash)
		if err != nil {
			return nil, err
		}
	}
	return w.carryOut(m.member)
}
