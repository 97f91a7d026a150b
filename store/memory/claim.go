package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Lanes is [store.Worker.Lanes].
func (s *Store) Lanes(ctx context.Context, after int64, limit int) ([]store.Lane, error) {
	if err := s.enter(ctx, "lanes"); err != nil {
		return nil, err
	}
	defer s.leave()
	var out []store.Lane
	for _, l := range s.lanes {
		if l.ID > after && len(out) < limit {
			out = append(out, l.Lane)
		}
	}
	return out, nil
}

// Stocked is [store.Worker.Stocked].
func (s *Store) Stocked(ctx context.Context, after int64, limit int) ([]store.Lane, error) {
	if err := s.enter(ctx, "stocked lanes"); err != nil {
		return nil, err
	}
	defer s.leave()
	now := s.clock()
	var out []store.Lane
	for _, l := range s.lanes {
		if l.ID > after && len(out) < limit && l.stocked(now) {
			out = append(out, l.Lane)
		}
	}
	return out, nil
}

func (l *lane) stocked(now machine.Time) bool {
	for t := range l.tasks {
		if t.ready(now) {
			return true
		}
	}
	return false
}

// Claim is [store.Worker.Claim].
func (s *Store) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	if err := s.enter(ctx, "claim"); err != nil {
		return nil, err
	}
	defer s.leave()
	now := s.clock()
	bound := cmp.Or(c.Bytes, store.DefaultBytes)
	states := map[string]*machine.Run{}
	var out []store.Claimed
	total := 0
	for _, t := range s.pick(c, now) {
		state, err := t.run.state(states[t.RunID], machine.Documents(t.Path))
		if err != nil { // its run is damaged: it is set aside, and stops no other
			t.State, t.Due = store.Delayed, now.Add(store.SetAside)
			continue
		}
		states[t.RunID] = state
		payloads, size := t.run.payloads(t.Refs)
		if total += size; total > bound && len(out) > 0 {
			break
		}
		t.lease(c.Owner, c.Token, c.Lease, now)
		out = append(out, store.Claimed{
			Task: t.task(), Token: t.Token, Payloads: payloads,
			Run: store.RunState{Run: state, Version: t.run.version},
		})
	}
	return out, nil
}

// pick gives the tasks to claim, in order.
func (s *Store) pick(c store.Claim, now machine.Time) []*task {
	var out []*task
	if c.Run != "" {
		r, err := s.find(c.Tenant, c.Run)
		if err != nil {
			return nil
		}
		for _, t := range r.tasks {
			if !t.lane.Paused && t.ready(now) && slices.Contains(c.Handlers, t.lane.Handler) {
				out = append(out, t)
			}
		}
		return first(out, c.Limit)
	}
	taken := map[*task]bool{} // a lane may be asked for twice
	for _, l := range c.Lanes {
		if l.Lane < 1 || l.Lane > int64(len(s.lanes)) || s.lanes[l.Lane-1].Paused {
			continue
		}
		var ready []*task
		for t := range s.lanes[l.Lane-1].tasks {
			if t.ready(now) && !taken[t] {
				ready = append(ready, t)
			}
		}
		for _, t := range first(ready, min(l.Limit, c.Limit-len(out))) {
			taken[t] = true
			out = append(out, t)
		}
	}
	return out
}

// first gives the first n by rank.
func first(tasks []*task, n int) []*task {
	slices.SortFunc(tasks, func(a, b *task) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Path, b.Path))
	})
	return tasks[:max(0, min(n, len(tasks)))]
}

func (t *task) ready(now machine.Time) bool {
	return t.State == store.Ready || t.State == store.Delayed && t.Due <= now
}

// lease makes the task's next attempt.
func (t *task) lease(owner string, token int64, lease time.Duration, now machine.Time) {
	t.State, t.Due = store.Leased, 0
	t.Attempt++
	t.Owner, t.Token, t.ClaimedAt = owner, token, now
	t.LeaseUntil = now.Add(t.leaseOr(lease))
}

func (t *task) leaseOr(lease time.Duration) time.Duration {
	if t.Lease > 0 {
		return time.Duration(t.Lease) * time.Millisecond
	}
	return lease
}

// task gives a copy of the row.
func (t *task) task() store.Task {
	out := t.Task
	out.Lane = t.lane.Lane
	out.Refs = slices.Clone(t.Refs)
	if err := json.Unmarshal(t.env, &out.Env); err != nil {
		panic(err)
	}
	return out
}

// alive gives a copy of the row with what concerns its holder.
func (t *task) alive() store.Live {
	out := t.Live
	out.Task = t.task()
	return out
}

// payloads gives copies of stored payloads, and their size.
func (r *run) payloads(refs []machine.Ref) (map[machine.Ref]json.RawMessage, int) {
	out := make(map[machine.Ref]json.RawMessage, len(refs))
	size := 0
	for _, ref := range refs {
		payload := r.values[ref]
		if ref.Key == "" && ref.Seq >= 1 && ref.Seq <= int64(len(r.entries)) {
			payload = r.entries[ref.Seq-1].Payload
		}
		if payload != nil {
			out[ref] = clone(payload)
			size += len(payload)
		}
	}
	return out, size
}

// Renew is [store.Worker.Renew].
func (s *Store) Renew(ctx context.Context, held []store.Held, lease time.Duration) ([]store.Renewed, error) {
	if err := s.enter(ctx, "renew"); err != nil {
		return nil, err
	}
	defer s.leave()
	now := s.clock()
	out := make([]store.Renewed, len(held))
	for i, h := range held {
		out[i].Held = h
		r := s.runs[h.RunID]
		if r == nil || r.tasks[h.Path] == nil || r.tasks[h.Path].Token != h.Token || h.Token == 0 {
			out[i].Lost = true
			continue
		}
		t := r.tasks[h.Path]
		out[i].Stop = t.Stop
		if lease > 0 {
			t.LeaseUntil = now.Add(t.leaseOr(lease))
		}
	}
	return out, nil
}

// Beat is [store.Worker.Beat].
func (s *Store) Beat(ctx context.Context, p store.Process) error {
	if err := s.enter(ctx, "beat"); err != nil {
		return err
	}
	defer s.leave()
	p.Serves = slices.Clone(p.Serves)
	s.processes[p.Owner] = store.ProcessRow{Process: p, BeatAt: s.clock()}
	return nil
}

// Retire is [store.Worker.Retire].
func (s *Store) Retire(ctx context.Context, owner string) error {
	if err := s.enter(ctx, "retire"); err != nil {
		return err
	}
	defer s.leave()
	delete(s.processes, owner)
	return nil
}

// Expired is [store.Worker.Expired]; the dead are those that Bury named.
func (s *Store) Expired(ctx context.Context, limit int) ([]store.Live, error) {
	if err := s.enter(ctx, "expired"); err != nil {
		return nil, err
	}
	defer s.leave()
	now := s.clock()
	var out []store.Live
	for _, r := range s.live {
		for _, t := range r.tasks {
			if dead := s.dead[t.Owner]; t.State == store.Leased && (dead || t.LeaseUntil < now) {
				l := t.alive()
				l.Dead = dead
				out = append(out, l)
			}
		}
	}
	slices.SortFunc(out, func(a, b store.Live) int {
		return cmp.Or(cmp.Compare(a.LeaseUntil, b.LeaseUntil), cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Path, b.Path))
	})
	return out[:max(0, min(limit, len(out)))], nil
}
