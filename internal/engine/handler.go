package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/crew"
	"github.com/millrace-go/millrace/internal/engine/internal/outcome"
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
type Outcome = outcome.Outcome

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

// CodeError is the code of a handler's error that was given none.
const CodeError = outcome.CodeError

// Fail gives err a code: what retry policies, catches and people tell failures apart by. A nil err is an error with the code
// alone.
func Fail(code string, err error) error { return outcome.Fail(code, err) }

// Permanent marks err as not to be tried again, whatever wraps it or is wrapped by it.
func Permanent(err error) error { return outcome.Permanent(err) }

// RetryAfter asks for exactly d before the next attempt, which counts like any other.
func RetryAfter(d time.Duration, err error) error { return outcome.RetryAfter(d, err) }

// Classify turns the error of a handler into an outcome. What Fail, Permanent and RetryAfter say is found however they wrap
// each other. Any other error is an interruption when the attempt's context, ctx, has ended, and else a plain failure.
func Classify(ctx context.Context, err error) Outcome { return outcome.Classify(ctx, err) }
