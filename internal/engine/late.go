package engine

import (
	"bytes"
	"context"

	"github.com/millrace-go/millrace/internal/engine/internal/outcome"
	"github.com/millrace-go/millrace/machine"
)

// late gives what is left to be told of a fact about a task whose token is no longer current: of the outcome of an attempt
// that it came too late, unless it was recorded before, by a commit whose answer was lost; else nothing. The journal has seq
// entries.
func (s *folding) late(ctx context.Context, x *fact, seq int64) (*fact, error) {
	if x.attempt == nil || !outcome.Is(x.event.Kind) {
		return nil, nil
	}
	recorded, err := s.recorded(ctx, x, seq)
	if recorded || err != nil {
		return nil, err
	}
	return &fact{event: outcome.Late(x.event), attempt: x.attempt}, nil
}

// recorded says whether an outcome is among the entries that were made since its attempt began.
func (s *folding) recorded(ctx context.Context, x *fact, seq int64) (bool, error) {
	for after := x.attempt.born; after < seq; {
		entries, err := s.engine.journal(ctx, s.flight.key, after, seq-after)
		if err != nil || len(entries) == 0 {
			return false, err
		}
		for i := range entries {
			y := &entries[i]
			if y.Path == x.event.Path && y.Attempt == x.event.Attempt && bytes.Equal(y.Facts, x.event.Facts) &&
				(outcome.Is(y.Kind) || y.Kind == machine.TaskLate) {
				return true, nil
			}
		}
		after = entries[len(entries)-1].Seq
	}
	return false, nil
}
