package engine

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/retention"
	"github.com/millrace-go/millrace/internal/engine/internal/rounds"
)

// Retention says how long runs are kept after their end.
type Retention = retention.Retention

const (
	prunePage = 100                   // runs that one step removes at most
	pruneRest = 50 * time.Millisecond // between two steps of a walk: whoever works goes first
)

// PruneOnce removes a page of runs that are no longer kept, and gives their number and the time until the next page.
func (e *Engine) PruneOnce(ctx context.Context) (n int, next time.Duration, err error) {
	r := e.cfg.Retention
	if r == nil || len(r.Keep) == 0 {
		return 0, settlePoll, nil
	}
	e.mu.Lock()
	o := r.Order(e.now())
	o.After, o.Limit = e.pruned, prunePage
	e.mu.Unlock()
	c, cancel := e.call(ctx)
	out, err := e.st.Prune(c, o)
	cancel()
	if r.Pruned != nil && len(out.Runs) > 0 {
		r.Pruned(out.Runs)
	}
	if err := e.fault("prune", err); err != nil {
		return len(out.Runs), 0, err
	}
	e.mu.Lock()
	e.pruned = out.Next
	e.mu.Unlock()
	if out.Next != "" {
		return len(out.Runs), pruneRest, nil
	}
	return len(out.Runs), r.Pause(), nil
}

// prune removes what is no longer kept until ctx ends.
func (e *Engine) prune(ctx context.Context) {
	wait := rounds.Backoff{}
	for ctx.Err() == nil {
		_, next, err := e.PruneOnce(ctx)
		if err != nil {
			next = wait.Next()
		} else {
			wait = rounds.Backoff{}
		}
		e.pause(ctx, nil, next)
	}
}
