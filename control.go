package millrace

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/machine"
)

// Order is who asks for something to be done to a run, and why. Both are recorded in the run's journal.
type Order struct {
	By     string
	Reason string
}

// Applied says what an order came to.
type Applied struct {
	Run     string         `json:"run"`
	Status  machine.Status `json:"status"`  // of the run, after it
	Changed bool           `json:"changed"` // false: it was so already
}

// Cancel stops a run, has undone what it did, and lets it end as cancelled. When Cancel returns, the order has been applied:
// nothing new starts, what waited is gone, and the holders of attempts are told; the undoing is left to whoever works at
// the store. Repeating it changes nothing. Errors: ErrNotFound, ErrEnded.
func (c *Client) Cancel(ctx context.Context, tenant, run string, o Order) (Applied, error) {
	return c.order(ctx, tenant, run, machine.CancelRequested, o)
}

// Abort ends a run at once, from every status that is not an end: nothing is awaited and nothing undone. Errors are those of
// Cancel.
func (c *Client) Abort(ctx context.Context, tenant, run string, o Order) (Applied, error) {
	return c.order(ctx, tenant, run, machine.AbortRequested, o)
}

// Pause keeps everything of a run from being claimed and handed over until Resume; attempts that run may finish. Errors are
// those of Cancel.
func (c *Client) Pause(ctx context.Context, tenant, run string, o Order) (Applied, error) {
	return c.order(ctx, tenant, run, machine.PauseRequested, o)
}

// Resume lifts the pause of a run. It executes nothing. Errors are those of Cancel.
func (c *Client) Resume(ctx context.Context, tenant, run string, o Order) (Applied, error) {
	return c.order(ctx, tenant, run, machine.ResumeRequested, o)
}

// RetryOrder asks for an ended run to do again what is not in force.
type RetryOrder struct {
	Order
	From  string // a step of the workflow itself that is done again too, with all that follows; "": none
	Again bool   // also what succeeded and was not undone
}

// Retry has an ended run do again what did not succeed or was undone, and all that follows; the rest keeps its output. Errors:
// ErrNotFound, and a *machine.Refusal that names the step for which it would be unsafe.
func (c *Client) Retry(ctx context.Context, tenant, run string, o RetryOrder) (Applied, error) {
	return c.order(ctx, tenant, run, machine.RetryRequested, o.Order)
}

// PlannedUndo is one compensation that a cancel would start.
type PlannedUndo struct {
	Path string `json:"path"` // the step that would be undone
	Task string `json:"task"` // its compensation's task
}

// UndoPlan gives what a cancel of the run would undo, in the order in which it would, as the run stands now. Errors:
// ErrNotFound, ErrEnded.
func (c *Client) UndoPlan(ctx context.Context, tenant, run string) ([]PlannedUndo, error) {
	return nil, fmt.Errorf("plan of run %s: %w", run, errNotYet)
}

var errNotYet = errors.New("this version cannot do it yet")

// order tells a run an event of a person.
func (c *Client) order(_ context.Context, _, run string, kind machine.EventKind, _ Order) (Applied, error) {
	return Applied{Run: run}, fmt.Errorf("%s of run %s: %w", kind, run, errNotYet)
}

// Supply names a supply of tasks of a tenant that can be paused as a whole.
type Supply struct {
	Kind string // "workflow", "queue" or "tenant"
	Name string // of the workflow or queue; "" for the tenant
}

// PausedSupply is a supply that is paused, since when, by whom and why.
type PausedSupply struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	By     string `json:"by"`
	Reason string `json:"reason"`
	At     string `json:"at"`
}
