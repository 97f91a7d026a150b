package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/workflow"
)

// Request is what an http step asks for, with its programs evaluated. At most one of JSON, Form and Body is set.
type Request struct {
	Spec   *workflow.HTTP
	URL    string
	Query  []Pair // in the order written
	Header []Pair
	JSON   json.RawMessage // nil: none
	Form   []Pair          // nil: none
	Body   string          // "": none
}

// Pair is a name with its value.
type Pair struct{ Name, Value string }

// requesting evaluates the programs of one http step.
type requesting struct {
	env    expr.Env
	budget expr.Budget
	broken *Outcome // the first that failed
}

// request evaluates the request of an http step. An outcome says why it cannot be.
func (a *Attempt) request(env expr.Env) *Outcome {
	spec, ok := a.Step.Action.(*workflow.HTTP)
	if !ok {
		return nil
	}
	r := requesting{env: env, budget: expr.Budget{Bytes: a.engine.cfg.MaxPayload}}
	out := &Request{
		Spec: spec, URL: r.text("url", spec.URL), Query: r.pairs("query", spec.Query), Header: r.pairs("header", spec.Header),
		Form: r.pairs("form", spec.Form), Body: r.text("body", spec.Body),
	}
	if spec.JSON != nil && r.broken == nil {
		raw, err := spec.JSON.Eval(env, r.budget)
		if err != nil {
			r.broken = broken("json", err)
		}
		out.JSON = raw
	}
	a.Request = out
	return r.broken
}

func (r *requesting) text(what string, t *expr.Template) string {
	if t == nil || r.broken != nil {
		return ""
	}
	text, err := t.Text(r.env, r.budget)
	if err != nil {
		r.broken = broken(what, err)
	}
	return text
}

func (r *requesting) pairs(what string, all []workflow.Pair) []Pair {
	if all == nil {
		return nil
	}
	out := make([]Pair, 0, len(all))
	for _, p := range all {
		out = append(out, Pair{Name: p.Name, Value: r.text(fmt.Sprintf("%s %s", what, p.Name), p.Value)})
	}
	return out
}

// Traceparent names the attempt in W3C trace context (version 00, sampled): all attempts of a run lie in one trace, whose id is
// the run's, and the parent is the attempt. It is made of names alone, so that whoever reads a journal can find the trace.
func (a *Attempt) Traceparent() string { return traceparent(&a.Header, a.Path, a.Number) }

func traceparent(h *machine.Header, path string, attempt int) string {
	trace := strings.ReplaceAll(h.ID, "-", "")
	if b, err := hex.DecodeString(trace); err != nil || len(b) != 16 || strings.Trim(trace, "0") == "" {
		sum := sha256.Sum256([]byte(h.ID))
		trace = hex.EncodeToString(sum[:16])
	}
	sum := sha256.Sum256([]byte(h.ID + "\x00" + path + "\x00" + strconv.Itoa(attempt)))
	return "00-" + strings.ToLower(trace) + "-" + hex.EncodeToString(sum[:8]) + "-01"
}
