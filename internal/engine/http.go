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

// request evaluates the request of an http step. An outcome says why it cannot be.
func (a *Attempt) request(env expr.Env) *Outcome {
	spec, ok := a.Step.Action.(*workflow.HTTP)
	if !ok {
		return nil
	}
	r, bad := request.Of(spec, env, expr.Budget{Bytes: a.engine.cfg.MaxPayload})
	if bad != nil {
		return broken(bad.Part, bad.Err)
	}
	a.Request = r
	return nil
}

// Traceparent names the attempt in W3C trace context: its run is the trace, and it is the parent of what it asks for.
func (a *Attempt) Traceparent() string { return request.Traceparent(a.ID, a.Path, a.Number) }
