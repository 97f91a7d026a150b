package millrace

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// DeadLetter is a failure that waits for a person, or waited for one.
type DeadLetter struct {
	ID        int64               `json:"id"`
	Run       string              `json:"run"`
	Workflow  string              `json:"workflow"`
	Kind      machine.LetterKind  `json:"kind"`
	Path      string              `json:"path"` // what it is about, "" for the run as a whole
	State     machine.LetterState `json:"state"`
	Error     *machine.Error      `json:"error"`
	CreatedAt *time.Time          `json:"created_at"`
	ClosedAt  *time.Time          `json:"closed_at"`
}

// Help gives the command that helps with a dead letter; for one that is over, the one that shows its run.
func (l *DeadLetter) Help() string {
	switch {
	case l.State != machine.LetterOpen:
		return "millrace show " + ending(l.Run)
	case l.Kind == machine.LetterFailure:
		return "millrace retry " + ending(l.Run)
	case l.Kind == machine.LetterFinally:
		return "millrace dead drop " + strconv.FormatInt(l.ID, 10)
	}
	return "millrace dead redrive " + strconv.FormatInt(l.ID, 10)
}

// LetterError is an order on a dead letter that is not open any more.
type LetterError struct {
	ID    int64
	State machine.LetterState
}

// Error says what became of the letter.
func (e *LetterError) Error() string {
	return fmt.Sprintf("dead letter %d is not open any more: it was %s", e.ID, e.State)
}

// RedriveOrder asks for the work of a dead letter to be tried again.
type RedriveOrder struct {
	Order
	Input json.RawMessage // what it gets instead of the old input; nil: the old one
}

// DeadLetters lists dead letters, newest first, at most f.Limit (100 when zero). next is what the next page's f.Before must be;
// it is 0 on the last page. f.Tenant must be set.
func (c *Client) DeadLetters(ctx context.Context, f store.LetterFilter) (letters []DeadLetter, next int64, err error) {
	limit := f.Limit
	if limit <= 0 {
		limit = max(100, len(f.IDs))
	}
	f.Limit = limit + 1
	rows, err := c.st.Letters(ctx, f)
	if err != nil {
		return nil, 0, fmt.Errorf("list dead letters: %w", err)
	}
	if len(rows) > limit {
		rows, next = rows[:limit], rows[limit-1].ID
	}
	letters = make([]DeadLetter, 0, len(rows))
	for _, l := range rows {
		letters = append(letters, DeadLetter{
			ID: l.ID, Run: l.RunID, Workflow: l.Workflow, Kind: l.Kind, Path: l.Path, State: l.State, Error: l.Error,
			CreatedAt: moment(l.CreatedAt), ClosedAt: moment(l.ClosedAt),
		})
	}
	return letters, next, nil
}

// Redrive has the work of a dead letter tried again, with a fresh budget of attempts. Errors: ErrNotFound, *LetterError when it
// is not open, and a *machine.Refusal that says why it would be unsafe, or what to do instead.
func (c *Client) Redrive(ctx context.Context, tenant string, letter int64, o RedriveOrder) (Applied, error) {
	if len(o.Input) > 0 {
		if err := c.teller.CheckInput(o.Input); err != nil {
			return Applied{}, fmt.Errorf("redrive dead letter %d: %w", letter, err)
		}
	}
	says := machine.Order{By: o.By, Reason: o.Reason, Input: o.Input}
	return c.letterOrder(ctx, tenant, letter, machine.RedriveRequested, says)
}

// Drop gives up the work of a dead letter. Errors: ErrNotFound, *LetterError when it is not open.
func (c *Client) Drop(ctx context.Context, tenant string, letter int64, o Order) (Applied, error) {
	return c.letterOrder(ctx, tenant, letter, machine.DropRequested, machine.Order{By: o.By, Reason: o.Reason})
}

// letterOrder tells the run of a letter what is to become of it, while it is open.
func (c *Client) letterOrder(ctx context.Context, tenant string, id int64, kind machine.EventKind, says machine.Order) (Applied, error) {
	l, err := c.openLetter(ctx, tenant, id)
	if err != nil {
		return Applied{Run: l.RunID}, err
	}
	redrive := kind == machine.RedriveRequested
	if redrive && l.Kind == machine.LetterFinally {
		return Applied{Run: l.RunID}, fmt.Errorf("dead letter %d: %w", id, &machine.Refusal{
			Why: "finally is not run again: do by hand what it left undone, and then drop the letter",
		})
	}
	a, err := c.tell(ctx, engine.Order{
		Tenant: tenant, RunID: l.RunID, Ended: true, Rebuild: redrive && l.Kind == machine.LetterFailure,
		Event: machine.Event{Kind: kind, Name: string(l.Kind), Path: l.Path},
		Check: func(ctx context.Context, _ *machine.Run) error {
			_, err := c.openLetter(ctx, tenant, id)
			return err
		},
	}, says)
	if err == nil && !a.Changed {
		return a, fmt.Errorf("dead letter %d: %w", id, &machine.Refusal{
			Why: fmt.Sprintf("nothing can be done about it while run %s is %s", l.RunID, a.Status),
		})
	}
	return a, err
}

// openLetter finds a letter that is open.
func (c *Client) openLetter(ctx context.Context, tenant string, id int64) (store.Letter, error) {
	rows, err := c.st.Letters(ctx, store.LetterFilter{Tenant: tenant, IDs: []int64{id}})
	switch {
	case err != nil:
		return store.Letter{}, fmt.Errorf("dead letter %d: %w", id, err)
	case len(rows) == 0:
		return store.Letter{}, fmt.Errorf("dead letter %d: %w", id, ErrNotFound)
	case rows[0].State != machine.LetterOpen:
		return rows[0], &LetterError{ID: id, State: rows[0].State}
	}
	return rows[0], nil
}
