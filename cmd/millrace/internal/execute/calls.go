package execute

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/runner/httpcall"
)

// Calls executes http steps.
type Calls struct {
	Caller *httpcall.Caller
	Log    *Log
}

// Execute makes one call.
func (c *Calls) Execute(ctx context.Context, a *engine.Attempt) engine.Outcome {
	if a.Request == nil {
		return engine.Outcome{Err: &machine.Error{
			Code: "no_request", Permanent: true, Message: fmt.Sprintf("step %s is no http step, but was offered as one", a.Path),
		}}
	}
	spec := a.Request.Spec
	call := httpcall.Call{
		Method: spec.Method, URL: a.Request.URL, Query: pairs(a.Request.Query), Header: pairs(a.Request.Header),
		JSON: a.Request.JSON, Form: pairs(a.Request.Form), Body: a.Request.Body,
		Codes: spec.Codes, Full: spec.Full, Key: a.Key, Traceparent: a.Traceparent(),
	}
	for _, status := range spec.Expect {
		call.Expect = append(call.Expect, httpcall.Statuses{From: status, To: status})
	}
	log := c.Log.begin(a)
	r := c.Caller.Do(ctx, call)
	log.end(string(r.Log))
	o := engine.Outcome{Log: lastBytes(string(r.Log), JournalBytes)}
	if r.Failure == nil {
		o.Output = r.Output
		return o
	}
	o.Interrupted = r.Stopped
	o.Err = &machine.Error{
		Code: r.Failure.Code, Message: r.Failure.Message, Data: r.Failure.Data,
		Passing: r.Failure.Passing, Permanent: r.Failure.Permanent, Final: r.Failure.Final,
	}
	if after := r.Failure.RetryAfter; after != nil {
		ms := after.Milliseconds()
		o.Err.RetryAfterMS = &ms
	}
	return o
}

// pairs keeps nothing and an empty list apart: an empty form is a body.
func pairs(all []engine.Pair) []httpcall.Pair {
	if all == nil {
		return nil
	}
	out := make([]httpcall.Pair, len(all))
	for i, p := range all {
		out[i] = httpcall.Pair(p)
	}
	return out
}
