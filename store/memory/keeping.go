package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Prune is [store.Keeper.Prune]: all of it under the mutex, and nothing is left behind. Keys stay as they are: they were
// never part of a run.
func (s *Store) Prune(ctx context.Context, o store.PruneOrder) (store.Pruned, error) {
	if err := s.enter(ctx, "prune"); err != nil {
		return store.Pruned{}, err
	}
	defer s.leave()
	if err := o.Storable(); err != nil {
		return store.Pruned{}, fmt.Errorf("prune: %w", err)
	}
	var out store.Pruned
	for _, id := range slices.Sorted(maps.Keys(s.runs)) {
		r := s.runs[id]
		row := store.PrunedRun{Tenant: r.Tenant, RunID: id, Workflow: r.Workflow, Status: r.status, FinishedAt: r.ended}
		if id <= o.After || !o.Selects(&row) || s.needed(r) {
			continue
		}
		if len(out.Runs) == o.Most() {
			out.Next = out.Runs[len(out.Runs)-1].RunID
			return out, nil
		}
		out.Runs = append(out.Runs, row)
		if !o.DryRun {
			s.remove(r)
		}
	}
	return out, nil
}

// needed says whether something keeps a run that has ended.
func (s *Store) needed(r *run) bool {
	return len(r.tasks)+len(r.timers)+len(r.inbox) > 0 || slices.ContainsFunc(s.letters, func(l *letter) bool {
		return l.RunID == r.ID && l.State == machine.LetterOpen
	})
}

func (s *Store) remove(r *run) {
	delete(s.runs, r.ID)
	delete(s.live, r.ID)
	s.letters = slices.DeleteFunc(s.letters, func(l *letter) bool { return l.RunID == r.ID })
}
