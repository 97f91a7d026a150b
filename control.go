package millrace

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/millrace-go/millrace/internal/engine"
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
	a, err := c.tell(ctx,
		engine.Order{Tenant: tenant, RunID: run, Event: machine.Event{Kind: machine.RetryRequested}, Ended: true, Rebuild: true},
		machine.Order{By: o.By, Reason: o.Reason, From: o.From, Again: o.Again})
	if err == nil && !a.Changed {
		err = fmt.Errorf("retry: %w", &machine.Refusal{
			Why: fmt.Sprintf("run %s is %s: only a run that has ended is tried again", run, a.Status),
		})
	}
	return a, err
}

// order tells a run what a person asks of it.
func (c *Client) order(ctx context.Context, tenant, run string, kind machine.EventKind, o Order) (Applied, error) {
	return c.tell(ctx, engine.Order{Tenant: tenant, RunID: run, Event: machine.Event{Kind: kind}}, machine.Order{By: o.By, Reason: o.Reason})
}

// tell sends an order with its payload.
func (c *Client) tell(ctx context.Context, o engine.Order, says machine.Order) (Applied, error) {
	says.By, says.Reason = engine.Clean(says.By), engine.Clean(says.Reason)
	payload, err := json.Marshal(says)
	if err != nil {
		return Applied{Run: o.RunID}, fmt.Errorf("%s of run %s: %w", o.Event.Kind, o.RunID, err)
	}
	o.Event.Payload = payload
	told, err := c.teller.Tell(ctx, o)
	a := Applied{Run: o.RunID, Changed: told.Changed}
	if told.Run != nil {
		a.Status = told.Run.Status
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w", words[o.Event.Kind], err)
	}
	return a, nil
}

// words name orders for people.
var words = map[machine.EventKind]string{
	machine.CancelRequested: "cancel", machine.AbortRequested: "abort", machine.PauseRequested: "pause",
	machine.ResumeRequested: "resume", machine.RetryRequested: "retry", machine.RedriveRequested: "redrive",
	machine.DropRequested: "drop",
}
