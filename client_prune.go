package millrace

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// PruneOptions say which runs to remove.
type PruneOptions struct {
	Tenant string
	// Keep is how long runs are kept after their end, by status; those of a status that is missing are kept.
	Keep map[machine.Status]time.Duration
	// DryRun removes nothing, and tells what would be.
	DryRun bool
	// Pruned hears of the runs of one step, once they are gone; an error of it ends the pruning. Default: nobody.
	Pruned func(runs []PrunedRun) error
}

// PrunedRun was a run.
type PrunedRun struct {
	ID         string         `json:"id"`
	Workflow   string         `json:"workflow"`
	Status     machine.Status `json:"status"`
	FinishedAt *time.Time     `json:"finished_at"`
}

// Prune removes runs that ended long enough ago, oldest first, with all that is stored of them, and gives their number. A run
// with an open dead letter is kept. What was taken as their key stays taken. It works in small steps beside everything else;
// when ctx ends, what is removed stays removed, and calling it again goes on. That something is no ending is an error.
func (c *Client) Prune(ctx context.Context, p PruneOptions) (n int, err error) {
	now, err := c.st.Clock(ctx)
	if err != nil {
		return 0, fmt.Errorf("prune: %w", err)
	}
	o := store.PruneOrder{Tenant: p.Tenant, Before: map[machine.Status]machine.Time{}, DryRun: p.DryRun}
	for status, keep := range p.Keep {
		o.Before[status] = now.Add(-keep)
	}
	for {
		out, err := c.st.Prune(ctx, o)
		n += len(out.Runs)
		if p.Pruned != nil && len(out.Runs) > 0 {
			if err := p.Pruned(prunedRuns(out.Runs)); err != nil {
				return n, err
			}
		}
		switch {
		case err != nil:
			return n, fmt.Errorf("prune: %w", err)
		case out.Next == "":
			return n, nil
		}
		o.After = out.Next
	}
}

func prunedRuns(rows []store.PrunedRun) []PrunedRun {
	out := make([]PrunedRun, 0, len(rows))
	for _, r := range rows {
		out = append(out, PrunedRun{ID: r.RunID, Workflow: r.Workflow, Status: r.Status, FinishedAt: moment(r.FinishedAt)})
	}
	return out
}
