package drive

import (
	"bytes"
	"context"
	"fmt"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

const (
	page        = 1000
	replayEvery = 100 // one run of so many is replayed
)

// Verify looks at the newest runs: all must have ended so and with so many entries, and what the journal of one in a hundred
// gives when it is applied again must be what is stored.
func (b *Bench) Verify(ctx context.Context, runs int, shape Shape) error {
	n, before := 0, ""
	for n < runs {
		rows, err := b.store.Runs(ctx, store.Filter{
			Tenant: millrace.DefaultTenant, Before: before, Limit: min(page, runs-n),
		})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return fmt.Errorf("%d runs are stored, not %d", n, runs)
		}
		for i := range rows {
			r := &rows[i]
			if r.Status != shape.Ending || r.Seq != shape.Entries {
				return fmt.Errorf("run %s is %s with %d entries, not %s with %d", r.ID, r.Status, r.Seq, shape.Ending, shape.Entries)
			}
			if (n+i)%replayEvery == 0 {
				if err := b.replay(ctx, r); err != nil {
					return err
				}
			}
		}
		n, before = n+len(rows), rows[len(rows)-1].ID
	}
	return nil
}

// replay applies the journal of a run and compares.
func (b *Bench) replay(ctx context.Context, r *store.RunRow) error {
	entries, err := b.store.Journal(ctx, r.Tenant, r.ID, 0, int(r.Seq)+1)
	if err != nil {
		return err
	}
	events := make([]machine.Event, len(entries))
	for i, e := range entries {
		if e.Seq != int64(i+1) {
			return fmt.Errorf("run %s: entry %d has the number %d", r.ID, i+1, e.Seq)
		}
		events[i] = machine.Event{
			Kind: e.Kind, At: e.At, Path: e.Path, Name: e.Name, Key: e.Key, Attempt: e.Attempt, Cause: e.Cause,
			Payload: e.Payload, Facts: e.Facts,
		}
	}
	stored, err := b.store.State(ctx, r.Tenant, r.ID, nil, []string{""})
	if err != nil {
		return err
	}
	again, err := machine.Replay(b.def, r.Header, events)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.ID, err)
	}
	if !bytes.Equal(stored.Run.EncodeRoot(), again.EncodeRoot()) || stored.Run.Status != again.Status {
		return fmt.Errorf("run %s: its journal does not lead to what is stored of it", r.ID)
	}
	return nil
}
