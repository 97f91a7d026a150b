// Package load is the work that processes do while things break, and the oracle that says how each piece of it must end.
//
// Nouns: a [Case] is one run as it was asked for, drawn from a seed and a number, with what is [Want]ed of it; a plan is the
// part of a run's input that says which attempts fail; the driver starts cases at a steady rate and repeats each start until
// it was accepted; the robot redrives what waits for a person; [Seen] is all that can be known of a run afterwards, and
// [Judge] compares the two. The oracle knows workflows by what their texts mean, and nothing of the machine.
//
// It imports the root, machine, store and internal/fleet.
package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
)

// Workflows are the texts of all workflows. Attempts are cheap: a fault costs one, and nobody counts them.
var Workflows = []string{chain, fan, saga, park, wait, loop, each}

const head = `
defaults: { retry: { attempts: 100000, delay: 50ms, factor: 2, max_delay: 500ms, except: [refused] } }
`

const (
	chain = `workflow: chain` + head + `
steps:
  - { id: a, task: add, with: { n: "${ input.n }", plan: "${ input.plan }" } }
  - { id: b, task: add, with: { n: "${ steps.a.output.n }", plan: "${ input.plan }" } }
  - { id: c, task: add, with: { n: "${ steps.b.output.n }", plan: "${ input.plan }" } }
  - { id: d, task: add, with: { n: "${ steps.c.output.n }", plan: "${ input.plan }" } }
output: { n: "${ steps.d.output.n }" }
`
	fan = `workflow: fan` + head + `
steps:
  a: { task: add, with: { n: "${ input.n }", plan: "${ input.plan }" } }
  b1: { after: a, task: add, with: { n: "${ steps.a.output.n }", plan: "${ input.plan }" } }
  b2: { after: a, task: add, with: { n: "${ steps.a.output.n }", plan: "${ input.plan }" } }
  b3: { after: a, task: add, with: { n: "${ steps.a.output.n }", plan: "${ input.plan }" } }
  z:
    after: [b1, b2, b3]
    task: add
    with: { n: "${ steps.b1.output.n + steps.b2.output.n + steps.b3.output.n }", plan: "${ input.plan }" }
output: { n: "${ steps.z.output.n }" }
`
	saga = `workflow: saga` + head + `
steps:
  - id: a
    task: add
    with: { n: "${ input.n }", plan: "${ input.plan }" }
    compensate: { task: add, with: { n: 0, plan: "${ input.plan }" } }
  - id: b
    task: add
    with: { n: "${ steps.a.output.n }", plan: "${ input.plan }" }
    compensate: { task: add, with: { n: 0, plan: "${ input.plan }" } }
  - id: c
    task: add
    with: { n: "${ steps.b.output.n }", plan: "${ input.plan }" }
    compensate: { task: add, with: { n: 0, plan: "${ input.plan }" } }
output: { n: "${ steps.c.output.n }" }
`
	park = `workflow: park
on_failure: park` + head + `
steps:
  - { id: a, task: add, with: { n: "${ input.n }", plan: "${ input.plan }" } }
  - { id: b, task: add, with: { n: "${ steps.a.output.n }", plan: "${ input.plan }" } }
  - { id: c, task: add, with: { n: "${ steps.b.output.n }", plan: "${ input.plan }" } }
output: { n: "${ steps.c.output.n }" }
`
	wait = `workflow: wait` + head + `
steps:
  - { id: a, task: add, with: { n: "${ input.n }", plan: "${ input.plan }" } }
  - { id: w, wait: 700ms }
  - { id: b, task: add, with: { n: "${ steps.a.output.n }", plan: "${ input.plan }" } }
output: { n: "${ steps.b.output.n }" }
`
	loop = `workflow: loop` + head + `
steps:
  - id: l
    loop:
      until: "prev.n >= input.upto"
      do: { task: add, with: { n: "${ pass.previous?.n ?? input.n }", plan: "${ input.plan }" } }
output: { n: "${ steps.l.output.n }" }
`
	each = `workflow: each` + head + `
steps:
  - id: m
    map:
      over: input.items
      as: item
      parallel: 3
      do: { task: add, with: { n: "${ item }", plan: "${ input.plan }" } }
  - { id: z, task: add, with: { n: "${ len(steps.m.output) }", plan: "${ input.plan }" } }
output: { n: "${ steps.z.output.n }", items: "${ steps.m.output }" }
`
)

// work is what a task gets.
type work struct {
	N    int             `json:"n"`
	Plan map[string]fate `json:"plan"` // by path
}

// fate says how attempts at a path go.
type fate struct {
	Fail  int `json:"fail,omitempty"`  // attempts up to this number fail in passing
	Final int `json:"final,omitempty"` // attempts up to this number fail for good
	MS    int `json:"ms,omitempty"`    // how long each takes
}

type result struct {
	N int `json:"n"`
}

// refused is the code of a failure for good.
const refused = "refused"

// Handlers gives what an engine serves: one task that adds 1, unless the plan says otherwise, and writes it in the ledger.
func Handlers(w *fleet.Workplace) []millrace.Handler {
	return []millrace.Handler{millrace.NewHandler("add", func(ctx context.Context, in work) (result, error) {
		if err := w.Ledger.Write(ctx, fleet.Begun, ""); err != nil {
			return result{}, err
		}
		err := follow(ctx, in)
		what := fleet.Succeeded
		switch {
		case err != nil && ctx.Err() != nil:
			what = fleet.Interrupted
		case err != nil:
			what = fleet.Failed
		}
		return result{in.N + 1}, errors.Join(err, w.Ledger.Write(ctx, what, ""))
	})}
}

func follow(ctx context.Context, in work) error {
	i, _ := millrace.Info(ctx)
	f := in.Plan[i.Path]
	t := time.NewTimer(time.Duration(f.MS) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch {
	case i.Attempt <= f.Final:
		return millrace.Permanent(millrace.Fail(refused, fmt.Errorf("%s is refused", i.Path)))
	case i.Attempt <= f.Fail:
		return millrace.Fail("passing", fmt.Errorf("attempt %d at %s fails", i.Attempt, i.Path))
	}
	return nil
}
