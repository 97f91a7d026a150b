package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// HeldBy is [store.Worker.HeldBy].
func (s *Store) HeldBy(ctx context.Context, owner string, token int64) ([]store.Claimed, error) {
	if err := s.enter(ctx, "held by"); err != nil {
		return nil, err
	}
	defer s.leave()
	var out []store.Claimed
	for _, r := range s.live {
		for _, t := range r.tasks {
			if t.State != store.Leased || t.Owner != owner || t.Token != token {
				continue
			}
			state, err := r.state(nil, machine.Documents(t.Path))
			if err != nil {
				continue
			}
			payloads, _ := r.payloads(t.Refs)
			out = append(out, store.Claimed{
				Task: t.task(), Token: t.Token, Run: store.RunState{Run: state, Version: r.version}, Payloads: payloads,
			})
		}
	}
	slices.SortFunc(out, func(a, b store.Claimed) int {
		return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Path, b.Path))
	})
	return out, nil
}
