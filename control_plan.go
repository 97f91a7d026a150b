package millrace

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// PlannedUndo is one compensation that a cancel would start.
type PlannedUndo struct {
	Path string `json:"path"` // the activation that would be undone
	Task string `json:"task"` // its compensation
}

// UndoPlan gives what a cancel of the run would undo if it came now, in the order in which it would: attempts under way count as
// if they gave no answer. Nothing is changed. Errors: ErrNotFound, ErrEnded, ErrDamaged.
func (c *Client) UndoPlan(ctx context.Context, tenant, run string) ([]PlannedUndo, error) {
	state, attempts, err := c.underWay(ctx, tenant, run)
	if err != nil {
		return nil, fmt.Errorf("plan the undoing of run %s: %w", run, err)
	}
	if state.Status.Ended() {
		return nil, fmt.Errorf("plan the undoing of run %s, which is %s: %w", run, state.Status, ErrEnded)
	}
	def, err := c.defs.get(ctx, tenant, state.Workflow, state.Version)
	if err != nil {
		return nil, fmt.Errorf("plan the undoing of run %s: %w", run, err)
	}
	var fault error
	load := func(r machine.Ref) (json.RawMessage, bool) {
		var got map[machine.Ref]json.RawMessage
		if got, fault = c.st.Payloads(ctx, tenant, run, []machine.Ref{r}); fault != nil {
			return nil, false
		}
		raw, ok := got[r]
		return raw, ok
	}
	paths, err := machine.Plan(def, state, func(path string) int { return attempts[path] }, load, nil)
	switch {
	case fault != nil:
		return nil, fmt.Errorf("plan the undoing of run %s: %w", run, fault)
	case err != nil:
		return nil, fmt.Errorf("plan the undoing of run %s: %w", run, damaged(err))
	}
	out := make([]PlannedUndo, 0, len(paths))
	for _, path := range paths {
		out = append(out, PlannedUndo{Path: path, Task: path + machine.UndoSuffix})
	}
	return out, nil
}

// underWay gives a run with all its documents, and the newest attempts of its live tasks by path.
func (c *Client) underWay(ctx context.Context, tenant, run string) (*machine.Run, map[string]int, error) {
	for try := 0; ; try++ {
		state, err := c.st.State(ctx, tenant, run, nil, []string{""})
		if err != nil {
			return nil, nil, err
		}
		tasks, err := c.st.Tasks(ctx, tenant, run, nil)
		if err != nil {
			return nil, nil, err
		}
		now, err := c.st.State(ctx, tenant, run, nil, nil)
		if err != nil {
			return nil, nil, err
		}
		if now.Version != state.Version && try < readTries {
			continue
		}
		attempts := make(map[string]int, len(tasks))
		for i := range tasks {
			attempts[tasks[i].Path] = tasks[i].Attempt
		}
		return state.Run, attempts, nil
	}
}

// damaged makes an error of the machine, of a run whose documents do not fit together, ErrDamaged too.
func damaged(err error) error { return fmt.Errorf("%w: %w", store.ErrDamaged, err) }
