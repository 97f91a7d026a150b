package sqlite

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

const (
	journalSQL = "insert into journal values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	saveSQL    = "insert into scopes values (?, ?, ?) on conflict (run, path) do update set doc = excluded.doc"
	startSQL   = `insert into tasks (run, path, lane, rank, state, due, priority, attempt, cause, lease_ms, ready_at, token,
		owner, lease_until, claimed_at, refs, env) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	timerSQL = `insert into timers values (?, ?, ?, ?, ?)
		on conflict (run, key) do update set due = excluded.due, cause = excluded.cause`
	// What an ended run leaves behind, in four probes of a primary key: nothing, for nearly all runs.
	remainsSQL = `select exists (select 1 from tasks where run = ?1), exists (select 1 from timers where run = ?1),
		exists (select 1 from scopes where run = ?1), exists (select 1 from told where run = ?1)`
	// The tasks of one run, in the primary key.
	holdSQL = "update tasks set state = 3 where run = ? and state < 2"
	freeSQL = "update tasks set state = iif(due > ?2, 1, 0), due = iif(due > ?2, due, 0) where run = ?1 and state = 3"
)

// endSQL deletes what is live of a run, in the order of remainsSQL: each is one range of a primary key. Documents of results
// are kept.
var endSQL = []string{
	"delete from tasks where run = ?",
	"delete from timers where run = ?",
	"delete from scopes where run = ? and substr(path, -2) <> ':]'",
}

const documents = 2 // their place in endSQL

// carryOut does all that follows the run's row and the guards, in the order of store.Settlement.
func (w *settling) carryOut(m *member) ([]store.Claimed, error) {
	if err := w.consume(m); err != nil {
		return nil, err
	}
	for _, change := range m.changes {
		if err := w.save(m, change); err != nil {
			return nil, err
		}
	}
	for i := range m.Entries {
		if err := w.record(m, &m.Entries[i]); err != nil {
			return nil, err
		}
	}
	var handed []store.Claimed
	for i, effect := range m.Effects {
		var err error
		if e, ok := effect.(machine.StartTask); ok {
			handed, err = w.start(m, i, &e, handed)
		} else {
			err = w.effect(m, i, effect)
		}
		if err != nil {
			return nil, err
		}
	}
	return handed, w.pay(m, handed)
}

func (m *member) cause(i int) int64 {
	if i < len(m.Causes) {
		return m.Causes[i]
	}
	return 0
}

// consume removes timers that fired and messages that were delivered.
func (w *settling) consume(m *member) error {
	for _, key := range m.Timers {
		if err := w.cancelTimer(m, key); err != nil {
			return err
		}
	}
	for _, seq := range m.Inbox {
		if _, err := w.c.Exec("delete from inbox where seq = ? and run = ?", seq, m.id); err != nil {
			return err
		}
	}
	return nil
}

func (w *settling) save(m *member, change machine.Change) error {
	if change.Doc == nil {
		_, err := w.c.Exec("delete from scopes where run = ? and path = ?", m.id, change.Path)
		return err
	}
	_, err := w.c.Exec(saveSQL, m.id, change.Path, change.Doc)
	return err
}

func (w *settling) record(m *member, e *store.Entry) error {
	_, err := w.c.Exec(journalSQL, m.id, e.Seq, e.At, string(e.Kind), e.Path, e.Name, e.Key, e.Attempt, e.Cause, e.Payload,
		e.Facts)
	return err
}

func (w *settling) effect(m *member, i int, effect machine.Effect) error {
	switch e := effect.(type) {
	case machine.StopTask:
		return w.stop(m, e.Path)
	case machine.SetTimer:
		_, err := w.c.Exec(timerSQL, m.id, e.Key, m.Run.Tenant, e.Due, m.cause(i))
		return err
	case machine.CancelTimer:
		return w.cancelTimer(m, e.Key)
	case machine.PutValue:
		_, err := w.c.Exec("insert into run_values values (?, ?, ?, ?)", m.id, e.Ref.Key, e.Ref.Index, e.Data)
		return err
	case machine.OpenLetter:
		return w.openLetter(m, &e)
	case machine.CloseLetter:
		return w.closeLetters(m, &e)
	case machine.HoldTasks:
		_, err := w.c.Exec(holdSQL, m.id)
		return err
	case machine.FreeTasks:
		_, err := w.c.Exec(freeSQL, m.id, w.now)
		return err
	case machine.EndRun:
		return w.end(m, e.Keep)
	}
	return fmt.Errorf("effect %T: unknown to this store", effect)
}

func (w *settling) cancelTimer(m *member, key string) error {
	_, err := w.c.Exec("delete from timers where run = ? and key = ?", m.id, key)
	return err
}

// stop deletes a task that nobody holds and marks one that is held.
func (w *settling) stop(m *member, path string) error {
	n, err := w.c.Exec(dropSQL, m.id, path, 0)
	if err == nil && n == 0 {
		_, err = w.c.Exec("update tasks set stop = 1 where run = ? and path = ?", m.id, path)
	}
	return err
}

func (w *settling) end(m *member, keep bool) error {
	var remains [4]bool
	_, err := w.c.One(remainsSQL, func(r *row) error {
		for i := range remains {
			remains[i] = r.ColumnBool(i)
		}
		return nil
	}, m.id)
	if err != nil {
		return err
	}
	for i, query := range endSQL {
		if !remains[i] || keep && i == documents {
			continue
		}
		if _, err := w.c.Exec(query, m.id); err != nil {
			return err
		}
	}
	if !remains[len(endSQL)] {
		return nil
	}
	return w.untell(m)
}

// untell forgets what the run was told.
func (w *settling) untell(m *member) error {
	var seqs []int64
	err := w.c.Each("select seq from told where run = ?", func(r *row) error {
		seqs = append(seqs, r.ColumnInt64(0))
		return nil
	}, m.id)
	if err != nil || len(seqs) == 0 {
		return err
	}
	for _, seq := range seqs {
		if _, err := w.c.Exec("delete from inbox where seq = ?", seq); err != nil {
			return err
		}
	}
	_, err = w.c.Exec("delete from told where run = ?", m.id)
	return err
}

// start inserts a task, as leased when it is handed over.
func (w *settling) start(m *member, i int, e *machine.StartTask, handed []store.Claimed) ([]store.Claimed, error) {
	lane, err := w.s.lanes.named(w.c, store.Lane{
		Tenant: m.Run.Tenant, Queue: e.Queue, Handler: e.Handler, Workflow: m.Run.Workflow,
	})
	if err != nil {
		return handed, err
	}
	t := store.Task{
		RunID: m.Run.ID, Path: e.Path, Lane: lane, Priority: e.Priority, Attempt: e.Attempt, Env: e.Env,
		Refs: slices.Clone(e.Refs), Cause: m.cause(i), Lease: e.Lease, ReadyAt: e.Due,
	}
	if e.Due == 0 {
		t.ReadyAt = m.At
	}
	live := store.Live{Task: t, State: store.Ready}
	later := e.Due > w.now
	if later {
		live.State, live.Due = store.Delayed, e.Due
	}
	switch {
	case !later && m.hands(i, &t, e.Held, len(handed)):
		t.Attempt++
		live = store.Live{
			Task: t, State: store.Leased, Token: m.Hand.Token, Owner: m.Hand.Owner,
			LeaseUntil: w.now.Add(leaseOf(&t, m.Hand.Lease)), ClaimedAt: w.now,
		}
		handed = append(handed, store.Claimed{Task: t, Token: m.Hand.Token})
	case e.Held:
		live.State = store.OnHold
	}
	return handed, w.insert(m, &live, m.starts[i])
}

// hands says whether a task that is ready now is handed over: not one that the same settlement takes back, or holds in the
// end.
func (m *member) hands(i int, t *store.Task, held bool, already int) bool {
	if max(m.holdsAt, m.freesAt) > i {
		held = m.holdsAt > m.freesAt
	}
	if held {
		return false
	}
	stop, stopped := m.stopsAt[t.Path]
	return already < m.Hand.Limit && m.endsAt < i && !(stopped && stop > i) && !t.Lane.Paused &&
		slices.Contains(m.Hand.Handlers, t.Lane.Handler)
}

func (w *settling) insert(m *member, l *store.Live, text startRow) error {
	_, err := w.c.Exec(startSQL, m.id, l.Path, l.Lane.ID, store.Rank(l.ReadyAt, l.Priority), int(l.State), l.Due, l.Priority, l.Attempt, l.Cause,
		l.Task.Lease, l.ReadyAt, l.Token, l.Owner, l.LeaseUntil, l.ClaimedAt, text.refs, text.env)
	return err
}

// pay completes the tasks handed over: the run as it is now, and the payloads that they refer to.
func (w *settling) pay(m *member, handed []store.Claimed) error {
	if len(handed) == 0 {
		return nil
	}
	loader := newLoader(w.c)
	loader.brought = m
	state := store.RunState{Run: m.Run.Saved(), Version: m.From + 1}
	for i := range handed {
		payloads, _, err := loader.payloads(m.id, handed[i].Refs)
		if err != nil {
			return err
		}
		for ref, payload := range payloads {
			payloads[ref] = slices.Clone(payload)
		}
		handed[i].Run, handed[i].Payloads = state, payloads
	}
	return nil
}

// payload gives one that the settlement itself carries.
func (m *member) payload(ref machine.Ref) (json.RawMessage, bool) {
	if ref.Key == "" && len(m.Entries) > 0 {
		i := ref.Seq - m.Entries[0].Seq // they are numbered without a gap
		if i >= 0 && i < int64(len(m.Entries)) {
			return m.Entries[i].Payload, true
		}
		return nil, false
	}
	if m.values == nil {
		m.values = map[machine.Ref]json.RawMessage{}
		for _, effect := range m.Effects {
			if e, ok := effect.(machine.PutValue); ok {
				m.values[e.Ref] = e.Data
			}
		}
	}
	value, ok := m.values[ref]
	return value, ok
}

func encodeFailure(e *machine.Error) []byte {
	if e == nil {
		return nil
	}
	b, err := json.Marshal(e)
	if err != nil { // its data was found storable, or the settlement is refused
		return nil
	}
	return b
}
