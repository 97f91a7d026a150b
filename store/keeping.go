package store

import (
	"cmp"
	"context"
	"fmt"

	"github.com/millrace-go/millrace/machine"
)

// Keeper removes what need not be kept any longer.
type Keeper interface {
	// Prune removes runs that ended long enough ago, with all that is stored of them: documents, journal, values and letters.
	// What was taken as their key stays taken: a tombstone keeps the key's hash, KeyHash and the run's id, and Start answers as
	// it did before. A run is kept as long as one of its letters is open, or a task, timer or message of it is left.
	//
	// It visits runs by id, oldest first, in short transactions of its own, some rows each, so that whoever works beside it
	// never waits for it: a run is gone at once, what it leaves behind goes bit by bit. It may look at a bounded number of runs
	// in a call, and the walk may end before the first run that was made after all times in Before: ids follow time. When it
	// was interrupted, what was removed stays removed, and the next call, whatever it asks for, removes the rest of what was
	// begun. The call that ends a walk gives space back to the file system, where a file holds the store. With an error, Runs
	// are those that were removed before it. ErrRefused: a status that does not end a run.
	Prune(ctx context.Context, o PruneOrder) (Pruned, error)
}

// PruneOrder says what to remove.
type PruneOrder struct {
	Tenant      string // whose runs; not read with EveryTenant
	EveryTenant bool
	Before      map[machine.Status]machine.Time // runs of these statuses that finished before then; others are kept
	After       string                          // keyset: only ids after this one
	Limit       int                             // at most so many runs; 0: 100
	DryRun      bool                            // removes nothing, and tells what would be
}

// Pruned says what was removed.
type Pruned struct {
	Runs []PrunedRun // by id, ascending
	Next string      // After of the call that goes on; "": the walk is over
}

// PrunedRun was a run.
type PrunedRun struct {
	Tenant     string
	RunID      string
	Workflow   string
	Status     machine.Status
	FinishedAt machine.Time
}

const defaultPruned = 100

// Most gives how many runs a call removes at most.
func (o *PruneOrder) Most() int { return cmp.Or(max(o.Limit, 0), defaultPruned) }

// Selects says whether a run may go, as far as its row tells.
func (o *PruneOrder) Selects(r *PrunedRun) bool {
	before, ok := o.Before[r.Status]
	return ok && r.FinishedAt < before && (o.EveryTenant || o.Tenant == r.Tenant)
}

// Latest gives the time after which no run was made that Selects: they finished before it.
func (o *PruneOrder) Latest() machine.Time {
	var latest machine.Time
	for _, before := range o.Before {
		latest = max(latest, before)
	}
	return latest
}

// Storable gives nil when o can be carried out, else an error that wraps ErrRefused.
func (o *PruneOrder) Storable() error {
	for status := range o.Before {
		if !status.Ended() {
			return fmt.Errorf("%w: runs that are %q have not ended", ErrRefused, status)
		}
	}
	return nil
}

// Schema is the state of a database's tables.
type Schema struct {
	Version int      // 0: it is empty
	Newest  int      // that of this program
	Missing []string // names of the migrations that lead from Version to Newest, in order
}
