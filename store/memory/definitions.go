package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/store"
)

// Register is [store.Definitions.Register].
func (s *Store) Register(ctx context.Context, w store.Workflow) (int, bool, error) {
	if err := s.enter(ctx, "register"); err != nil {
		return 0, false, err
	}
	defer s.leave()
	for _, text := range []string{w.Tenant, w.Name} {
		if err := store.StorableText(text); err != nil {
			return 0, false, fmt.Errorf("register: %w", err)
		}
	}
	id := named{w.Tenant, w.Name}
	versions := s.workflows[id]
	free := 1
	if n := len(versions); n > 0 {
		newest := versions[n-1]
		free = newest.Version + 1
		if w.Version == 0 && newest.Hash == w.Hash {
			return newest.Version, false, nil
		}
	}
	if w.Version == 0 {
		w.Version = free
	}
	at, found := slices.BinarySearchFunc(versions, w.Version, func(v store.Workflow, n int) int { return cmp.Compare(v.Version, n) })
	if found {
		if versions[at].Hash != w.Hash {
			return 0, false, &store.ConflictError{What: "workflow", Name: w.Name, Free: free}
		}
		return w.Version, false, nil
	}
	w.Doc = bytes.Clone(w.Doc)
	w.CreatedAt = s.clock()
	s.workflows[id] = slices.Insert(versions, at, w)
	return w.Version, true, nil
}

// Workflow is [store.Definitions.Workflow].
func (s *Store) Workflow(ctx context.Context, tenant, name string, version int) (store.Workflow, error) {
	if err := s.enter(ctx, "workflow"); err != nil {
		return store.Workflow{}, err
	}
	defer s.leave()
	for _, w := range slices.Backward(s.workflows[named{tenant, name}]) {
		if version == 0 || w.Version == version {
			w.Doc = bytes.Clone(w.Doc)
			return w, nil
		}
	}
	return store.Workflow{}, fmt.Errorf("workflow %s version %d: %w", name, version, store.ErrNotFound)
}

// Workflows is [store.Definitions.Workflows].
func (s *Store) Workflows(ctx context.Context, tenant string) ([]store.Workflow, error) {
	if err := s.enter(ctx, "workflows"); err != nil {
		return nil, err
	}
	defer s.leave()
	var out []store.Workflow
	for id, versions := range s.workflows {
		if id.tenant == tenant {
			w := versions[len(versions)-1]
			w.Doc = bytes.Clone(w.Doc)
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b store.Workflow) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
