package engine_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
)

const calling = `
workflow: calling
version: 1
vars: { base: { default: "https://x.test" } }
steps:
  - id: get
    http:
      url: "${ vars.base }/items/${ input.id }"
      query: { q: "${ input.q }", n: "${ input.n }" }
      headers: { Authorization: "Bearer ${ secrets.key }", X-N: "${ input.n }" }
      codes: { 402: declined }
      expect: [200, 404]
  - { id: post, http: { method: POST, url: https://x.test/a, json: { id: "${ input.id }", n: "${ input.n }" } } }
  - { id: form, http: { method: PUT, url: https://x.test/b, form: { b: 1, a: "${ input.q }" } } }
  - { id: text, http: { method: PATCH, url: https://x.test/c, body: "say ${ input.q }" }, retry: { attempts: 2, delay: 1s } }
`

// requests keeps what http steps asked for.
type requests struct {
	mu  sync.Mutex
	all []engine.Request
	ids []string // method, key and trace of each
}

func (r *requests) Execute(_ context.Context, a *engine.Attempt) engine.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := *a.Request
	r.ids = append(r.ids, one.Spec.Method+" "+strings.TrimPrefix(a.Key, a.ID)+" "+a.Traceparent())
	one.Spec = nil
	r.all = append(r.all, one)
	if a.Path == "text" && a.Number == 1 {
		return engine.Outcome{Err: &machine.Error{Code: "http_503", Passing: true}}
	}
	return engine.Outcome{Output: json.RawMessage("1")}
}

// R6, A15: an http step is a task of the lane "http", its programs evaluated here, with a key and a trace of its own.
func TestRequestIsEvaluatedByTheProcessThatMakesIt(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(calling)
		seen := &requests{}
		e, err := engine.New(w.st, engine.Config{
			Handlers: map[string]engine.Handler{machine.HTTPHandler: seen}, Observer: w,
			Secrets: func(string) (string, bool) { return "s3cret", true },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(w.ctx)
		left := make(chan error, 1)
		go func() { left <- e.Run(ctx) }()
		id := w.start("calling", `{"id":"a b","q":"x&y","n":1.50}`)
		w.succeeded(id)
		stop()
		if err := <-left; err != nil {
			t.Error(err)
		}
		text := engine.Request{URL: "https://x.test/c", Body: "say x&y"}
		want := []engine.Request{
			{
				URL: "https://x.test/items/a b", Query: []engine.Pair{{Name: "q", Value: "x&y"}, {Name: "n", Value: "1.50"}},
				Header: []engine.Pair{{Name: "Authorization", Value: "Bearer s3cret"}, {Name: "X-N", Value: "1.50"}},
			},
			{URL: "https://x.test/a", JSON: json.RawMessage(`{"id":"a b","n":1.50}`)},
			{URL: "https://x.test/b", Form: []engine.Pair{{Name: "b", Value: "1"}, {Name: "a", Value: "x&y"}}},
			text, text,
		}
		if diff := cmp.Diff(want, seen.all); diff != "" {
			t.Error(diff)
		}
		trace := regexp.MustCompile(`^(GET|POST|PUT|PATCH) -[0-9a-f]{16} 00-` + strings.ReplaceAll(id, "-", "") + `-[0-9a-f]{16}-01$`)
		spans := map[string]bool{}
		for _, s := range seen.ids {
			if !trace.MatchString(s) {
				t.Errorf("%q is no trace of the run", s)
			}
			spans[s[len(s)-19:]] = true
		}
		if len(spans) != len(seen.ids) {
			t.Errorf("attempts share spans: %v", seen.ids)
		}
	})
}

func TestPartOfARequestThatCannotBeEvaluatedFailsTheStepByName(t *testing.T) {
	t.Parallel()
	for part, text := range map[string]string{
		"url":      `url: "${ input.x.y.z }"`,
		"query q":  `{ url: https://x.test, query: { q: "${ input.x.y.z }" } }`,
		"header H": `{ url: https://x.test, headers: { H: "${ input.x.y.z }" } }`,
		"form f":   `{ url: https://x.test, method: POST, form: { f: "${ input.x.y.z }" } }`,
		"json":     `{ url: https://x.test, method: POST, json: { f: "${ input.x.y.z }" } }`,
		"body":     `{ url: https://x.test, method: POST, body: "${ input.x.y.z }" }`,
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				if part == "url" {
					text = "{ " + text + " }"
				}
				w.define("workflow: w\nversion: 1\nsteps: [{ id: a, http: " + text + " }]\n")
				w.engine(engine.Config{}, handlers{machine.HTTPHandler: ok})
				id := w.start("w", `{"x":1}`)
				if e := w.failed(id); e.Code != machine.CodeExpression || !strings.HasPrefix(e.Message, part+": ") || w.called(id, "a") > 0 {
					t.Errorf("failed with %v", e)
				}
			})
		})
	}
}
