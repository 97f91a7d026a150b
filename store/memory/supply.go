package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/store"
)

// paused names a pause.
type paused struct {
	tenant string
	kind   store.PauseKind
	name   string
}

// Pause is [store.Supply.Pause].
func (s *Store) Pause(ctx context.Context, p store.Pause) (bool, error) {
	if err := s.enter(ctx, "pause"); err != nil {
		return false, err
	}
	defer s.leave()
	if err := p.Storable(); err != nil {
		return false, fmt.Errorf("pause: %w", err)
	}
	id := paused{p.Tenant, p.Kind, p.Name}
	if _, set := s.pauses[id]; set {
		return false, nil
	}
	p.At = s.clock()
	s.pauses[id] = p
	s.flagLanes()
	return true, nil
}

// Unpause is [store.Supply.Unpause].
func (s *Store) Unpause(ctx context.Context, tenant string, kind store.PauseKind, name string) (bool, error) {
	if err := s.enter(ctx, "unpause"); err != nil {
		return false, err
	}
	defer s.leave()
	id := paused{tenant, kind, name}
	if _, set := s.pauses[id]; !set {
		return false, nil
	}
	delete(s.pauses, id)
	s.flagLanes()
	s.hint(store.Hint{})
	return true, nil
}

func (s *Store) flagLanes() {
	for _, l := range s.lanes {
		l.Paused = s.covered(l.Lane)
	}
}

// covered says whether any pause covers a lane.
func (s *Store) covered(l store.Lane) bool {
	for _, p := range s.pauses {
		if p.Covers(l) {
			return true
		}
	}
	return false
}

// Pauses is [store.Supply.Pauses].
func (s *Store) Pauses(ctx context.Context, tenant string) ([]store.Pause, error) {
	if err := s.enter(ctx, "pauses"); err != nil {
		return nil, err
	}
	defer s.leave()
	var out []store.Pause
	for id, p := range s.pauses {
		if id.tenant == tenant {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b store.Pause) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return out, nil
}
