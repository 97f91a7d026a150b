// Package outcome is what attempts come to: how a handler says it, and how its error is classed.
//
// It is pure, and imports machine.
package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/content"
	"github.com/millrace-go/millrace/machine"
)

// Outcome is what an attempt came to: an error, or else an output.
type Outcome struct {
	Output json.RawMessage // JSON; nil is null
	Err    *machine.Error
	// Interrupted: the context ended before the attempt did, and neither output nor error says anything about the task.
	Interrupted bool
	Log         string // the last that it said; kept in the journal
	Stack       string // of a panic
}

// Fail gives err a code: what retry policies, catches and people tell failures apart by. A nil err is an error with the code
// alone.
func Fail(code string, err error) error { return &codedError{code: code, err: err} }

// Permanent marks err as not to be tried again, whatever wraps it or is wrapped by it.
func Permanent(err error) error { return &permanentError{err: err} }

// RetryAfter asks for exactly d before the next attempt, which counts like any other.
func RetryAfter(d time.Duration, err error) error { return &retryAfterError{after: d, err: err} }

type codedError struct {
	code string
	err  error
}

func (e *codedError) Error() string {
	if e.err == nil {
		return e.code
	}
	return e.err.Error()
}
func (e *codedError) Unwrap() error { return e.err }

type permanentError struct{ err error }

func (e *permanentError) Error() string {
	if e.err == nil {
		return "permanent failure"
	}
	return e.err.Error()
}
func (e *permanentError) Unwrap() error { return e.err }

type retryAfterError struct {
	after time.Duration
	err   error
}

func (e *retryAfterError) Error() string {
	if e.err == nil {
		return "try again later"
	}
	return e.err.Error()
}
func (e *retryAfterError) Unwrap() error { return e.err }

// CodeError is the code of a handler's error that was given none.
const CodeError = content.NoCode

// Classify turns the error of a handler into an outcome. What Fail, Permanent and RetryAfter say is found however they wrap
// each other. Any other error is an interruption when the attempt's context, ctx, has ended, and else a plain failure, a
// context error of the handler's own making included.
func Classify(ctx context.Context, err error) Outcome {
	e := &machine.Error{Code: CodeError, Message: err.Error()}
	said := false
	var coded *codedError
	if errors.As(err, &coded) {
		e.Code, said = coded.code, true
	}
	var permanent *permanentError
	if errors.As(err, &permanent) {
		e.Permanent, said = true, true
	}
	var after *retryAfterError
	if errors.As(err, &after) {
		ms := max(0, after.after.Milliseconds())
		e.RetryAfterMS, said = &ms, true
	}
	if !said && ctx.Err() != nil {
		return Outcome{Interrupted: true, Err: e}
	}
	e.Passing = !e.Permanent
	return Outcome{Err: e}
}
