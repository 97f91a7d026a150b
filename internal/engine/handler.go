package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/content"
	"github.com/millrace-go/millrace/internal/engine/internal/crew"
	"github.com/millrace-go/millrace/machine"
)

// Handler executes attempts of the tasks that carry its name. Execute is called from many goroutines at once. Its context
// ends when the attempt is told to stop, runs out of time, is lost or interrupted; the handler then returns soon. What it
// returns after a timeout or a loss counts no more.
type Handler interface {
	Execute(ctx context.Context, a *Attempt) Outcome
}

// HandlerFunc is a function as a Handler: its error is classed by Classify, its output must be JSON (nil: null).
type HandlerFunc func(ctx context.Context, a *Attempt) (json.RawMessage, error)

// Execute calls f.
func (f HandlerFunc) Execute(ctx context.Context, a *Attempt) Outcome {
	out, err := f(ctx, a)
	if err != nil {
		return Classify(ctx, err)
	}
	return Outcome{Output: out}
}

// Outcome is what an attempt came to: an error, or else an output.
type Outcome struct {
	Output json.RawMessage // JSON; nil is null
	Err    *machine.Error
	// Interrupted: the context ended before the attempt did, and neither output nor error says anything about the task.
	Interrupted bool
	Log         string // the last that it said; kept in the journal
	Stack       string // of a panic
}

// Launcher has an attempt executed and calls done once with its outcome, at any time and from any goroutine, also within
// Launch; further calls change nothing. Before that it calls a.Prepare, and passes on the outcome if it gives one.
type Launcher interface {
	Launch(a *Attempt, done func(Outcome))
}

// goroutines executes each attempt in a goroutine of its own.
type goroutines struct{ *crew.Crew }

// Launch gives the attempt to a goroutine.
func (g goroutines) Launch(a *Attempt, done func(Outcome)) { g.Go(func() { execute(a, done) }) }

// execute calls the handler and turns a panic, or a goroutine that the handler ended, into an outcome.
func execute(a *Attempt, done func(Outcome)) {
	o := Outcome{Err: &machine.Error{Code: machine.CodePanic, Message: "the handler ended its goroutine", Passing: true}}
	defer func() {
		if x := recover(); x != nil {
			o = Outcome{
				Err:   &machine.Error{Code: machine.CodePanic, Message: fmt.Sprint(x), Passing: true},
				Stack: string(debug.Stack()),
			}
		}
		done(o)
	}()
	if refusal := a.Prepare(a.ctx); refusal != nil {
		o = *refusal
		return
	}
	o = a.handler.Execute(a.Context(), a)
}

// Observer hears of what happens in this process, for people who watch. Its methods are called without a lock, in no
// promised order between runs; they must return soon and cannot veto.
type Observer interface {
	// Claimed is called before the attempt's handler.
	Claimed(a *Attempt)
	// Answered gives the attempt's outcome, before it is settled.
	Answered(a *Attempt, ev machine.Event)
	// Settled is called after each settlement, with the run as it is then; the caller must not change it.
	Settled(run *machine.Run)
}

// nobody is the observer of an engine without one.
type nobody struct{}

func (nobody) Claimed(*Attempt)                 {}
func (nobody) Answered(*Attempt, machine.Event) {}
func (nobody) Settled(*machine.Run)             {}

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
