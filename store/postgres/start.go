package postgres

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/batch"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// Start is [store.Starter.Start]. What another item of the call has the id or the key of comes in a transaction after it.
func (s *Store) Start(ctx context.Context, starts []store.Start) ([]store.Started, error) {
	out := make([]store.Started, len(starts))
	items := make([]*batch.Starting, len(starts))
	for i := range starts {
		items[i] = batch.NewStarting(&starts[i], i)
	}
	for wave := items; len(wave) > 0; {
		first, rest := batch.Apart(wave)
		err := s.begin(ctx, first, out, false)
		if wire.LostBet(err) {
			err = s.begin(ctx, first, out, true)
		}
		if err != nil {
			return nil, err
		}
		wave = rest
	}
	var told store.Hints
	for _, m := range items {
		if out[m.N].Created {
			told.Add(m.Member.Settlement, out[m.N].Handed)
		}
	}
	told.Tell(s.hints.hint)
	return out, nil
}

// begin starts runs in one transaction. When the database refuses the content of one, they are halved until that one is alone.
func (s *Store) begin(ctx context.Context, items []*batch.Starting, out []store.Started, careful bool) error {
	var fine []*batch.Member
	var c batch.Creation
	for _, m := range items {
		if m.Content == nil {
			fine = append(fine, m.Member)
		}
	}
	b := batch.New(fine)
	b.Careful = careful
	if !careful && len(items) == 1 && len(fine) == 1 {
		return s.beginOne(ctx, b, items[0], out)
	}
	c.Grow(len(fine))
	for _, m := range items {
		if m.Content == nil {
			c.Add(m)
		}
	}
	var found []batch.Prior
	err := s.run(ctx, "start", func(p *pipeline) {
		c.Queue(p)
		b.CarryOut(p, &s.lanes)
		found = make([]batch.Prior, len(items))
		batch.Asked(p, items, found, &b.Now)
	})
	switch {
	case wire.Refused(err) && len(items) == 1 && items[0].Content == nil:
		items[0].Content = fmt.Errorf("%w: %w", store.ErrRefused, err)
		return s.begin(ctx, items, out, true)
	case wire.Refused(err) && len(items) > 1:
		half := len(items) / 2
		if err := s.begin(ctx, items[:half], out, true); err != nil {
			return err
		}
		return s.begin(ctx, items[half:], out, true)
	case err != nil:
		return err
	}
	for i, m := range items {
		out[m.N] = m.Answer(&found[i], b)
	}
	return nil
}

// beginOne bets that a run is new and its key free.
func (s *Store) beginOne(ctx context.Context, b *batch.Batch, m *batch.Starting, out []store.Started) error {
	err := s.run(ctx, "start", func(p *pipeline) {
		b.Lone(p, m)
		b.CarryOut(p, &s.lanes)
	})
	switch {
	case wire.Refused(err):
		return s.begin(ctx, []*batch.Starting{m}, out, true)
	case err != nil:
		return err
	}
	out[m.N] = store.Started{RunID: m.Member.Run.ID, Created: true, Handed: b.Handed(m.Member)}
	return nil
}
