package machine

import (
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/workflow"
)

// A step of a graph is superseded once every way on from it enters a join that has started: it goes on, its failure is
// recorded and fails nothing (docs/machine.md 2).

// superseded says so of a step under way, in a scope that is not being stopped.
func (t *turn) superseded(p *place, s *workflow.Step) bool {
	sc := t.scope(p)
	return p.body.Kind == workflow.Graph && sc.Stop == nil && superseded(sc, p.body, s.Index)
}

// superseded says so of an unfinished step.
func superseded(sc *Scope, body *workflow.Body, i int) bool {
	seen := map[int]bool{}
	var inside func(i int) bool
	inside = func(i int) bool {
		if done, ok := seen[i]; ok {
			return done
		}
		seen[i] = true
		ways := 0
		for k := range body.Steps[i].Out {
			e := &body.Steps[i].Out[k]
			if e.Kind == workflow.Caught {
				continue
			}
			ways++
			if sc.States[e.To] == StepPending && !inside(e.To) {
				seen[i] = false
				break
			}
		}
		if ways == 0 {
			seen[i] = false
		}
		return seen[i]
	}
	return inside(i)
}

// cancelSuperseded stops exactly the steps that a join with cancel_rest, which has just started, superseded: not those that
// only lead to another join.
func (t *turn) cancelSuperseded(p *place, join *workflow.Step) {
	sc := t.scope(p)
	enters := entering(sc, p.body, join.Index)
	var rest []*workflow.Step
	for i, s := range p.body.Steps {
		if sc.States[i].unsettled() && superseded(sc, p.body, i) && enters(i) {
			rest = append(rest, s)
		}
	}
	for _, s := range rest {
		if sc.States[s.Index] == StepPending {
			t.mark(p, s, StepEnd)
			delete(sc.Joins, s.Index)
			t.propagate(p, s, Data{})
			continue
		}
		t.stopStep(p, s)
	}
	t.checkDone(p)
}

// entering gives a function that says whether a way on from a step, through steps that are not reached yet, enters a join.
func entering(sc *Scope, body *workflow.Body, join int) func(i int) bool {
	known := map[int]bool{join: true}
	var enters func(i int) bool
	enters = func(i int) bool {
		in, ok := known[i]
		if !ok {
			in = slices.ContainsFunc(body.Steps[i].Out, func(e workflow.Edge) bool {
				return e.Kind != workflow.Caught && (e.To == join || sc.States[e.To] == StepPending && enters(e.To))
			})
			known[i] = in
		}
		return in
	}
	return enters
}

func shortMessage(need, got int) string {
	return fmt.Sprintf("%d of the steps before it had to succeed, and %d did", need, got)
}
