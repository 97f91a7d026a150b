package sqlite

import (
	"context"
	"fmt"
	"math"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/pruning"
)

// Prune is [store.Keeper.Prune]. It looks at runs on a snapshot, and takes the write lock for those alone that it removes.
func (s *Store) Prune(ctx context.Context, o store.PruneOrder) (out store.Pruned, err error) {
	if err := o.Storable(); err != nil {
		return store.Pruned{}, fmt.Errorf("prune: %w", err)
	}
	if !o.DryRun {
		if err := s.clearLeftovers(ctx); err != nil {
			return store.Pruned{}, err
		}
	}
	var found []pruning.Run
	err = s.read(ctx, "prune", func(c *conn) (err error) {
		found, out.Next, err = pruning.Find(c, &o)
		return err
	})
	switch {
	case err != nil:
		return store.Pruned{}, err
	case o.DryRun:
		for _, r := range found {
			out.Runs = append(out.Runs, r.PrunedRun)
		}
		return out, nil
	}
	if out.Runs, err = s.removeAll(ctx, found); err == nil && out.Next == "" {
		err = s.giveBack(ctx)
	}
	return out, err
}

func (s *Store) removeAll(ctx context.Context, found []pruning.Run) (all []store.PrunedRun, err error) {
	for len(found) > 0 {
		done, removed, err := s.removeSome(ctx, found)
		all = append(all, removed...)
		if err == nil {
			err = s.clearLeftovers(ctx)
		}
		if err != nil {
			return all, err
		}
		found = found[done:]
	}
	return all, nil
}

// removeSome removes runs in one transaction.
func (s *Store) removeSome(ctx context.Context, list []pruning.Run) (done int, removed []store.PrunedRun, err error) {
	err = s.write(ctx, "prune", func(c *conn) (err error) {
		done, removed, err = pruning.Remove(c, list)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return done, removed, nil
}

// clearLeftovers removes what runs that are gone have left behind, in one transaction after the other.
func (s *Store) clearLeftovers(ctx context.Context) error {
	for {
		var run id
		some := false
		err := s.read(ctx, "prune", func(c *conn) (err error) {
			run, some, err = pruning.Leftovers(c)
			return err
		})
		if !some || err != nil {
			return err
		}
		if err := s.write(ctx, "prune", func(c *conn) error { return pruning.Clear(c, run) }); err != nil {
			return err
		}
	}
}

// giveBack shortens the file by what is free in it, in one transaction after the other. What is left over is used again.
func (s *Store) giveBack(ctx context.Context) error {
	for before := math.MaxInt; ; {
		free := 0
		err := s.write(ctx, "give space back", func(c *conn) (err error) {
			free, err = pruning.Shorten(c)
			return err
		})
		if free == 0 || free >= before || err != nil {
			return err
		}
		before = free
	}
}
