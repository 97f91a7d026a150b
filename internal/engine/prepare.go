package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/internal/clock"
	"github.com/millrace-go/millrace/internal/engine/internal/content"
	"github.com/millrace-go/millrace/internal/engine/internal/recall"
	"github.com/millrace-go/millrace/internal/engine/internal/rounds"
	"github.com/millrace-go/millrace/internal/engine/internal/undone"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// Prepare evaluates what the attempt gets: its input, the words and variables of a command, a request. It reads from the store what
// the claim did not bring along, again and again while the store does not answer. An outcome other than nil is the attempt's
// end: its handler is not called. A Launcher calls it once, before the handler.
func (a *Attempt) Prepare(ctx context.Context) *Outcome {
	wait := rounds.Backoff{}
	for {
		o, err := a.prepare(ctx)
		switch {
		case err == nil:
			return o
		case errors.Is(err, store.ErrDamaged):
			a.engine.log.Error("an attempt cannot be prepared", "run", a.ID, "path", a.Path, "error", err)
			return &Outcome{Err: &machine.Error{Code: CodeError, Message: err.Error(), Permanent: true}}
		}
		if clock.Sleep(ctx, a.engine.clock, wait.Next()) != nil {
			return &Outcome{Interrupted: true, Err: &machine.Error{Code: CodeError, Message: err.Error(), Passing: true}}
		}
	}
}

// errDamaged: what is stored of the run does not fit together; only that run is affected.
var errDamaged = recall.ErrDamaged

func (a *Attempt) prepare(ctx context.Context) (*Outcome, error) {
	def, err := a.engine.definition(ctx, a.Header)
	if err != nil {
		return nil, err
	}
	if a.Step, err = machine.Locate(def, a.Path); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	a.engine.secrets.Learn(def)
	if len(a.Step.Retry) > 0 {
		a.until = machine.Until(def, a.seen, a.Path, a.task.ReadyAt)
	}
	m := &recall.Memory{Source: source{a.engine}, Run: a.seen, Payloads: a.payloads}
	var o *Outcome
	err = m.Satisfy(ctx, func() (err error) {
		o, err = a.evaluate(def, m)
		return err
	})
	if err != nil {
		return nil, err
	}
	if o == nil {
		a.seen, a.payloads = nil, nil
		a.engine.started(a)
	}
	return o, nil
}

// evaluate gives an outcome when a program failed, and a *machine.Need when something must be loaded first.
func (a *Attempt) evaluate(def *workflow.Definition, m *recall.Memory) (*Outcome, error) {
	if a.plain() {
		raw, err := m.Assemble(a.task.Env.Prev)
		a.Input = raw
		return refusal(err)
	}
	u, err := undone.Of(def, a.Header, a.task.Env, m, a.engine.cfg.MaxPayload)
	if err != nil {
		return refusal(err)
	}
	info := machine.TaskInfo{Key: a.Key, Attempt: a.Number, Path: a.Path}
	env, err := machine.Environment(a.task.Env, a.Header, &info, m.Run, m.Load)
	if err != nil {
		return refusal(err)
	}
	if u != nil {
		u.Show(env)
	}
	if o, err := a.input(m, u, env); o != nil || err != nil {
		return o, err
	}
	if o := a.reveal(env); o != nil {
		return o, nil
	}
	return a.request(env), nil
}

// plain says whether nothing has to be evaluated: the step has no program at all, and gets what came before.
func (a *Attempt) plain() bool {
	_, task := a.Step.Action.(*workflow.Task)
	return task && a.Step.With == nil && len(a.Step.Uses.Secrets) == 0 && a.task.Env.Undone == nil && a.task.Env.Redriven == nil
}

// input gives the attempt what a person gave its task, else what `with` says, else what the step that it undoes did, else
// what came before; it is also what programs see as `prev` in the first case. An outcome says why it cannot be.
func (a *Attempt) input(m *recall.Memory, u *undone.Undone, env expr.Env) (o *Outcome, err error) {
	switch again := a.task.Env.Redriven; {
	case again != nil:
		if a.Input, err = m.Assemble(again.Input); err == nil {
			env["prev"] = a.Input
		}
	case a.Step.With != nil:
		return a.with(env), nil
	case u != nil:
		a.Input = u.Whole()
	default:
		a.Input, err = m.Assemble(a.task.Env.Prev)
	}
	return refusal(err)
}

// with evaluates `with`. An outcome says why it cannot be.
func (a *Attempt) with(env expr.Env) *Outcome {
	limit := a.engine.cfg.MaxPayload
	in, err := a.Step.With.Eval(env, expr.Budget{Bytes: limit})
	if err != nil {
		return broken("with", err)
	}
	if bad := content.Refuse("input", in, limit); bad != nil {
		return &Outcome{Err: bad}
	}
	a.Input = in
	return nil
}

// refusal passes a Need on, and makes everything else that the machine says about a value an outcome.
func refusal(err error) (*Outcome, error) {
	var bad *machine.Error
	if errors.As(err, &bad) {
		return &Outcome{Err: bad}, nil
	}
	return nil, err
}

func broken(what string, err error) *Outcome {
	msg := what + ": " + err.Error()
	var e *expr.Error
	if errors.As(err, &e) && e.Remedy != "" {
		msg += "; " + e.Remedy
	}
	return &Outcome{Err: &machine.Error{Code: machine.CodeExpression, Message: msg, Permanent: true}}
}
