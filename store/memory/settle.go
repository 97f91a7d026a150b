package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Start is [store.Starter.Start].
func (s *Store) Start(ctx context.Context, starts []store.Start) ([]store.Started, error) {
	if err := s.enter(ctx, "start"); err != nil {
		return nil, err
	}
	defer s.leave()
	now := s.clock()
	var told store.Hints
	out := make([]store.Started, len(starts))
	for i := range starts {
		out[i] = s.start(&starts[i], now)
		if out[i].Created {
			told.Add(&starts[i].Settlement, out[i].Handed)
		}
	}
	told.Tell(s.hint)
	return out, nil
}

func (s *Store) start(st *store.Start, now machine.Time) store.Started {
	h := st.Run.Header
	fail := func(err error) store.Started { return store.Started{Err: fmt.Errorf("start of run %s: %w", h.ID, err)} }
	if old := s.runs[h.ID]; old != nil {
		if old.Tenant != h.Tenant {
			return fail(fmt.Errorf("%w: the id is taken", store.ErrRefused))
		}
		return store.Started{RunID: h.ID}
	}
	id := keyed{h.Tenant, h.Workflow, h.Key}
	if k, taken := s.keys[id]; taken && h.Key != "" {
		if k.hash == st.KeyHash {
			return store.Started{RunID: k.run}
		}
		return store.Started{Err: &store.ConflictError{What: "key", Name: h.Key, RunID: k.run}}
	}
	if store.IsSkewed(st.At, now) {
		return fail(store.ErrSkewed)
	}
	if u, err := uuid.Parse(h.ID); err != nil || u.String() != h.ID {
		return fail(fmt.Errorf("%w: the id is not a UUID", store.ErrRefused))
	}
	r := newRun(h)
	err := st.Storable()
	if err == nil {
		err = r.check(&st.Settlement)
	}
	if err != nil {
		return fail(err)
	}
	s.runs[h.ID] = r
	if h.Key != "" {
		s.keys[id] = key{run: h.ID, hash: st.KeyHash}
	}
	return store.Started{RunID: h.ID, Created: true, Handed: s.carryOut(r, &st.Settlement, now)}
}

func newRun(h machine.Header) *run {
	return &run{
		Header: h,
		docs:   map[string][]byte{},
		values: map[machine.Ref]json.RawMessage{},
		tasks:  map[string]*task{},
		timers: map[string]store.Timer{},
		told:   map[string]bool{},
	}
}

// Settle is [store.Worker.Settle].
func (s *Store) Settle(ctx context.Context, settlements []store.Settlement) ([]store.Settled, error) {
	if err := s.enter(ctx, "settle"); err != nil {
		return nil, err
	}
	defer s.leave()
	now := s.clock()
	var told store.Hints
	out := make([]store.Settled, len(settlements))
	for i := range settlements {
		out[i] = s.settle(&settlements[i], now)
		out[i].Clock = now
		if out[i].Result == store.Won {
			told.Add(&settlements[i], out[i].Handed)
		}
	}
	told.Tell(s.hint)
	return out, nil
}

func (s *Store) settle(st *store.Settlement, now machine.Time) store.Settled {
	r, err := s.find(st.Run.Tenant, st.Run.ID)
	if err != nil || r.version != st.From || !r.stands(st.Guards) {
		return store.Settled{Result: store.Lost}
	}
	if store.IsSkewed(st.At, now) {
		return store.Settled{Result: store.Skewed}
	}
	err = st.Storable()
	if err == nil {
		err = r.check(st)
	}
	if err != nil {
		return store.Settled{Result: store.Refused, Err: fmt.Errorf("settlement of run %s: %w", r.ID, err)}
	}
	return store.Settled{Result: store.Won, Handed: s.carryOut(r, st, now)}
}

// stands says whether all guards hold.
func (r *run) stands(guards []store.Guard) bool {
	for _, g := range guards {
		if t := r.tasks[g.Path]; t == nil || t.Token != g.Token {
			return false
		}
	}
	return true
}

// check says why a database would refuse st: what it does not say, carryOut carries out.
func (r *run) check(st *store.Settlement) error {
	if err := st.Continues(r.seq); err != nil {
		return err
	}
	live := map[string]bool{} // paths whose row comes or goes
	for _, g := range st.Guards {
		if g.Remove {
			live[g.Path] = false
		}
	}
	put := map[machine.Ref]bool{}
	for _, effect := range st.Effects {
		switch e := effect.(type) {
		case machine.StartTask:
			there, known := live[e.Path]
			if there || !known && r.tasks[e.Path] != nil {
				return fmt.Errorf("%w: task %s is live already", store.ErrRefused, e.Path)
			}
			live[e.Path] = true
		case machine.StopTask:
			there, known := live[e.Path]
			if there || !known && r.tasks[e.Path] != nil && r.tasks[e.Path].State != store.Leased {
				live[e.Path] = false
			}
		case machine.PutValue:
			if _, there := r.values[e.Ref]; there || put[e.Ref] {
				return fmt.Errorf("%w: value %s exists already", store.ErrRefused, e.Ref)
			}
			put[e.Ref] = true
		case machine.EndRun:
			for path := range r.tasks {
				live[path] = false
			}
		}
	}
	return nil
}

func (s *Store) carryOut(r *run, st *store.Settlement, now machine.Time) []store.Claimed {
	for _, g := range st.Guards {
		if t := r.tasks[g.Path]; g.Remove && t != nil {
			r.drop(t)
		}
	}
	for _, key := range st.Timers {
		delete(r.timers, key)
	}
	r.inbox = slices.DeleteFunc(r.inbox, func(m store.Message) bool { return slices.Contains(st.Inbox, m.Seq) })
	r.write(st)
	var started []*task
	for i, effect := range st.Effects {
		var cause int64
		if i < len(st.Causes) {
			cause = st.Causes[i]
		}
		if t := s.effect(r, effect, cause, st.At, now); t != nil {
			started = append(started, t)
		}
	}
	delete(s.live, r.ID)
	if !r.status.Ended() || len(r.tasks)+len(r.timers)+len(r.inbox) > 0 {
		s.live[r.ID] = r
	}
	return handOver(r, st, started, now)
}

// write stores the run's row, its changed documents and the new entries.
func (r *run) write(st *store.Settlement) {
	r.version = st.From + 1
	r.status, r.seq, r.at = st.Run.Status, st.Run.Seq, st.Run.At
	r.started, r.ended = st.Run.StartedAt, st.Run.FinishedAt
	if !r.status.Ended() {
		r.err = nil
	}
	r.root = slices.Clone(st.Run.EncodeRoot())
	for _, change := range st.Run.Changes() {
		if change.Doc == nil {
			delete(r.docs, change.Path)
		} else {
			r.docs[change.Path] = slices.Clone(change.Doc)
		}
	}
	for _, e := range st.Entries {
		e.Payload, e.Facts = clone(e.Payload), clone(e.Facts)
		r.entries = append(r.entries, e)
	}
}

// effect carries out one effect, and gives the task that it started.
func (s *Store) effect(r *run, effect machine.Effect, cause int64, at, now machine.Time) *task {
	switch e := effect.(type) {
	case machine.StartTask:
		return s.startTask(r, e, cause, at, now)
	case machine.StopTask:
		if t := r.tasks[e.Path]; t != nil && t.State == store.Leased {
			t.Stop = true
		} else if t != nil {
			r.drop(t)
		}
	case machine.SetTimer:
		r.timers[e.Key] = store.Timer{Tenant: r.Tenant, RunID: r.ID, Key: e.Key, Due: e.Due, Cause: cause}
	case machine.CancelTimer:
		delete(r.timers, e.Key)
	case machine.PutValue:
		r.values[e.Ref] = clone(e.Data)
	case machine.HoldTasks:
		r.hold()
	case machine.FreeTasks:
		r.free(now)
	case machine.OpenLetter:
		s.openLetter(r, e, at)
	case machine.CloseLetter:
		s.closeLetters(r, e, at)
	case machine.EndRun:
		r.err = encodeError(e.Error)
		r.end(e.Keep)
	}
	return nil
}

func (s *Store) startTask(r *run, e machine.StartTask, cause int64, at, now machine.Time) *task {
	l := s.lane(r.Tenant, e.Queue, e.Handler, r.Workflow)
	t := &task{run: r, lane: l, env: encode(e.Env)}
	t.Task = store.Task{
		RunID: r.ID, Path: e.Path, Priority: e.Priority, Attempt: e.Attempt, Refs: slices.Clone(e.Refs), Cause: cause,
		Lease: e.Lease, ReadyAt: e.Due,
	}
	t.Tenant = r.Tenant
	if e.Due == 0 {
		t.ReadyAt = at
	}
	if e.Due > now {
		t.State, t.Due = store.Delayed, e.Due
	}
	if e.Held {
		t.State = store.OnHold
	}
	t.rank = store.Rank(t.ReadyAt, e.Priority)
	r.tasks[e.Path] = t
	l.tasks[t] = struct{}{}
	return t
}

// hold keeps tasks that nobody holds from being claimed.
func (r *run) hold() {
	for _, t := range r.tasks {
		if t.State == store.Ready || t.State == store.Delayed {
			t.State = store.OnHold
		}
	}
}

// free ends hold.
func (r *run) free(now machine.Time) {
	for _, t := range r.tasks {
		switch {
		case t.State != store.OnHold:
		case t.Due > now:
			t.State = store.Delayed
		default:
			t.State, t.Due = store.Ready, 0
		}
	}
}

// end deletes what is live of a run; keep leaves its documents.
func (r *run) end(keep bool) {
	for _, t := range r.tasks {
		r.drop(t)
	}
	clear(r.timers)
	clear(r.told)
	r.inbox = nil
	for path := range r.docs {
		if !keep && !machine.HoldsResults(path) {
			delete(r.docs, path)
		}
	}
}

func handOver(r *run, st *store.Settlement, started []*task, now machine.Time) []store.Claimed {
	var out []store.Claimed
	for _, t := range started {
		if len(out) >= st.Hand.Limit {
			break
		}
		if r.tasks[t.Path] != t || t.State != store.Ready || t.lane.Paused || !slices.Contains(st.Hand.Handlers, t.lane.Handler) {
			continue
		}
		t.lease(st.Hand.Owner, st.Hand.Token, st.Hand.Lease, now)
		payloads, _ := r.payloads(t.Refs)
		out = append(out, store.Claimed{
			Task: t.task(), Token: t.Token, Payloads: payloads,
			Run: store.RunState{Run: st.Run.Saved(), Version: r.version},
		})
	}
	return out
}
