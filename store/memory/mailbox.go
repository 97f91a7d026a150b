package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Tell is [store.Mailbox.Tell].
func (s *Store) Tell(ctx context.Context, messages []store.Message) ([]error, error) {
	if err := s.enter(ctx, "tell"); err != nil {
		return nil, err
	}
	defer s.leave()
	now := s.clock()
	out := make([]error, len(messages))
	for i, m := range messages {
		if err := s.tell(m, now); err != nil {
			out[i] = fmt.Errorf("message to run %s: %w", m.RunID, err)
		}
	}
	s.hint(store.Hint{})
	return out, nil
}

func (s *Store) tell(m store.Message, now machine.Time) error {
	r, err := s.find(m.Tenant, m.RunID)
	if err != nil {
		return err
	}
	if r.status.Ended() {
		return store.ErrEnded
	}
	if r.told[m.ID] {
		return nil
	}
	if err := m.Storable(); err != nil {
		return err
	}
	s.messages++
	m.Seq = s.messages
	m.Event.At, m.Event.Loaded = now, nil
	m.Event.Payload, m.Event.Facts = clone(m.Event.Payload), clone(m.Event.Facts)
	r.told[m.ID] = true
	r.inbox = append(r.inbox, m)
	return nil
}

// Inbox is [store.Mailbox.Inbox].
func (s *Store) Inbox(ctx context.Context, limit int) ([]store.Message, error) {
	if err := s.enter(ctx, "inbox"); err != nil {
		return nil, err
	}
	defer s.leave()
	var out []store.Message
	for _, r := range s.live {
		out = append(out, r.inbox...)
	}
	slices.SortFunc(out, func(a, b store.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	out = out[:max(0, min(limit, len(out)))]
	for i := range out {
		e := &out[i].Event
		e.Payload, e.Facts = clone(e.Payload), clone(e.Facts)
	}
	return out, nil
}

// Due is [store.Mailbox.Due].
func (s *Store) Due(ctx context.Context, limit int) ([]store.Timer, machine.Time, error) {
	if err := s.enter(ctx, "due"); err != nil {
		return nil, 0, err
	}
	defer s.leave()
	now := s.clock()
	var next machine.Time
	var out []store.Timer
	for _, r := range s.live {
		for _, t := range r.timers {
			if t.Due <= now {
				out = append(out, t)
			} else if next == 0 || t.Due < next {
				next = t.Due
			}
		}
	}
	slices.SortFunc(out, func(a, b store.Timer) int {
		return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Key, b.Key))
	})
	return out[:max(0, min(limit, len(out)))], next, nil
}
