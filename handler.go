package millrace

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
)

// Handler executes the tasks that carry its name. NewHandler and Commands make one.
type Handler struct {
	name    string
	execute engine.Handler
}

// Name gives the name that tasks must carry.
func (h Handler) Name() string { return h.name }

// NewHandler makes a handler of a function. Input and output go through encoding/json; an input that In cannot hold is a
// failure with code "schema", an output that cannot be written one with code "bad_output", neither tried again. do is called
// from many goroutines at once, perhaps more than once for one task, and returns soon after its context has ended.
func NewHandler[In, Out any](name string, do func(ctx context.Context, in In) (Out, error)) Handler {
	return Handler{name: name, execute: engine.HandlerFunc(func(ctx context.Context, a *engine.Attempt) (json.RawMessage, error) {
		var in In
		if err := json.Unmarshal(a.Input, &in); err != nil {
			return nil, Permanent(Fail(machine.CodeSchema, fmt.Errorf("the input does not fit handler %s: %w", name, err)))
		}
		out, err := do(context.WithValue(ctx, attemptKey{}, a), in)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(out)
		if err != nil {
			return nil, Permanent(Fail("bad_output", fmt.Errorf("the output of handler %s cannot be written as JSON: %w", name, err)))
		}
		return raw, nil
	})}
}

// Attempt is one try of a task. Nobody changes it once a handler has it: its machine.Header (the run's), Path, Number (from 1), Key
// (the task's own), Handler, Queue, StartedAt, Step and Input, the Command of run and shell steps, and the Request of http steps.
// Traceparent gives its W3C trace context, Mask a text without the secrets that it may hold.
type Attempt = engine.Attempt

// Outcome is what an attempt came to: Err, or else Output, which is JSON; or Interrupted, when its context ended first and it can say
// neither. Log is the end of what it said, Stack that of a panic: the journal keeps both.
type Outcome = engine.Outcome

// Command is what a run or shell step asks for, with its programs evaluated: Args (nil for shell), Env, Dir, and the step as it was
// written, Spec.
type Command = engine.Command

// Request is what an http step asks for, with its programs evaluated: URL, Query, Header, and JSON, Form or Body; and the step as it was
// written, Spec.
type Request = engine.Request

// Pair is a name with its value, in a Request.
type Pair = engine.Pair

// HTTP makes a handler of http steps. do is called as a function of NewHandler is, with Attempt.Request set; it owes the
// server Attempt.Key as Idempotency-Key, and Attempt.Traceparent.
func HTTP(do func(ctx context.Context, a *Attempt) Outcome) Handler {
	return Handler{name: machine.HTTPHandler, execute: outcomeFunc(do)}
}

// Commands makes a handler of the run and shell steps of the workflow files with this home. do is called as a function of
// NewHandler is, with Attempt.Command set.
func Commands(home string, do func(ctx context.Context, a *Attempt) Outcome) Handler {
	return Handler{name: machine.CommandHandler(home), execute: outcomeFunc(do)}
}

type outcomeFunc func(ctx context.Context, a *Attempt) Outcome

// Execute calls f.
func (f outcomeFunc) Execute(ctx context.Context, a *engine.Attempt) engine.Outcome { return f(ctx, a) }

// TaskInfo says which attempt of which task a handler executes.
type TaskInfo struct {
	Tenant   string
	RunID    string
	RunKey   string
	Workflow string
	Version  int
	Path     string // of the task in its run
	Attempt  int    // from 1
	Key      string // the task's own: the same for every attempt of it. Hand it on to whoever must not do things twice
}

type attemptKey struct{}

// Info says what the handler that was given ctx executes; false outside a handler of NewHandler.
func Info(ctx context.Context) (TaskInfo, bool) {
	a, ok := ctx.Value(attemptKey{}).(*engine.Attempt)
	if !ok {
		return TaskInfo{}, false
	}
	return TaskInfo{
		Tenant: a.Tenant, RunID: a.ID, RunKey: a.Header.Key, Workflow: a.Workflow, Version: a.Version,
		Path: a.Path, Attempt: a.Number, Key: a.Key,
	}, true
}

// Fail gives err a code: what retry policies, catches and people tell failures apart by. A nil err is an error of its own.
func Fail(code string, err error) error { return engine.Fail(code, err) }

// Permanent marks err as not to be tried again, whatever it wraps or is wrapped by. A catch still takes it.
func Permanent(err error) error { return engine.Permanent(err) }

// RetryAfter asks for exactly d before the next attempt, which counts like any other.
func RetryAfter(d time.Duration, err error) error { return engine.RetryAfter(d, err) }
