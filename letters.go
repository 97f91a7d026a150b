package millrace

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/machine"
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

// Redrive has the work of a dead letter tried again, with a fresh budget of attempts. Errors: ErrNotFound, *LetterError when it
// is not open, and one that says what to do instead when letters of its kind cannot be redriven.
func (c *Client) Redrive(_ context.Context, _ string, letter int64, _ RedriveOrder) (Applied, error) {
	return Applied{}, fmt.Errorf("redrive dead letter %d: %w", letter, errNotYet)
}

// Drop gives up the work of a dead letter. Errors: ErrNotFound, *LetterError when it is not open.
func (c *Client) Drop(_ context.Context, _ string, letter int64, _ Order) (Applied, error) {
	return Applied{}, fmt.Errorf("drop dead letter %d: %w", letter, errNotYet)
}
