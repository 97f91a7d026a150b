package engine

import (
	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/internal/engine/internal/request"
	"github.com/millrace-go/millrace/workflow"
)

// Request is what an http step asks for, with its programs evaluated. At most one of JSON, Form and Body is set.
type Request = request.Request

// Pair is a name with its value, in a Request.
type Pair = request.Pair

// Command is what a run or shell step asks for, with its programs evaluated.
type Command = request.Command

// request evaluates what an http, run or shell step asks for. An outcome says why it cannot be.
func (a *Attempt) request(env expr.Env) *Outcome {
	budget := expr.Budget{Bytes: a.engine.cfg.MaxPayload}
	var bad *request.Broken
	switch spec := a.Step.Action.(type) {
	case *workflow.HTTP:
		a.Request, bad = request.Of(spec, env, budget)
	case *workflow.Command:
		a.Command, bad = request.CommandOf(a.Step, spec, env, budget)
	}
	if bad != nil {
		return broken(bad.Part, bad.Err)
	}
	return nil
}

// Traceparent names the attempt in W3C trace context: its run is the trace, and it is the parent of what it asks for.
func (a *Attempt) Traceparent() string { return request.Traceparent(a.ID, a.Path, a.Number) }
