// Package request evaluates what a step asks of those who execute it: an http request, or a command. It names attempts for those
// who trace requests.
//
// It is pure, and imports workflow and expr.
package request

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/expr"
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

// Broken is a part of a request or a command that cannot be evaluated.
type Broken struct {
	Part string // url, query NAME, header NAME, form NAME, json, body; word N of the command, variable NAME
	Err  error
}

// evaluation is one request or command under way.
type evaluation struct {
	env    expr.Env
	budget expr.Budget
	broken *Broken // the first
}

// Of evaluates the request of a step. broken says which part of it cannot be; nil: none.
func Of(spec *workflow.HTTP, env expr.Env, budget expr.Budget) (r *Request, broken *Broken) {
	e := evaluation{env: env, budget: budget}
	r = &Request{
		Spec: spec, URL: e.text("url", spec.URL), Query: e.pairs("query", spec.Query), Header: e.pairs("header", spec.Header),
		Form: e.pairs("form", spec.Form), Body: e.text("body", spec.Body),
	}
	if spec.JSON != nil && e.broken == nil {
		raw, err := spec.JSON.Eval(env, budget)
		r.JSON = raw
		e.note("json", err)
	}
	return r, e.broken
}

func (e *evaluation) note(part string, err error) {
	if err != nil {
		e.broken = &Broken{Part: part, Err: err}
	}
}

func (e *evaluation) text(part string, t *expr.Template) string {
	if t == nil || e.broken != nil {
		return ""
	}
	text, err := t.Text(e.env, e.budget)
	e.note(part, err)
	return text
}

func (e *evaluation) pairs(part string, all []workflow.Pair) []Pair {
	if all == nil {
		return nil
	}
	out := make([]Pair, 0, len(all))
	for _, p := range all {
		out = append(out, Pair{Name: p.Name, Value: e.text(part+" "+p.Name, p.Value)})
	}
	return out
}

// Traceparent names an attempt in W3C trace context (version 00, sampled): all attempts of a run lie in one trace, whose id is
// the run's, and the parent is the attempt. It is made of names alone, so that whoever reads a journal can find the trace.
func Traceparent(run, path string, attempt int) string {
	trace := strings.ToLower(strings.ReplaceAll(run, "-", ""))
	if b, err := hex.DecodeString(trace); err != nil || len(b) != 16 || strings.Trim(trace, "0") == "" {
		sum := sha256.Sum256([]byte(run))
		trace = hex.EncodeToString(sum[:16])
	}
	sum := sha256.Sum256([]byte(run + "\x00" + path + "\x00" + strconv.Itoa(attempt)))
	return "00-" + trace + "-" + hex.EncodeToString(sum[:8]) + "-01"
}
