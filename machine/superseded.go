package machine

import (
	"fmt"

	"github.com/millrace-go/millrace/workflow"
)

// A step of a graph is superseded once every way on from it enters a join that has started: it goes on, its failure is
// recorded and fails nothing (MACHINE 2).

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

// cancelSuperseded stops exactly the superseded steps of a scope, for a join with cancel_rest that has just started.
func (t *turn) cancelSuperseded(p *place) {
	sc := t.scope(p)
	for i, s := range p.body.Steps {
		if !sc.States[i].unsettled() || !superseded(sc, p.body, i) {
			continue
		}
		if sc.States[i] == StepPending {
			t.mark(p, s, StepEnd)
			delete(sc.Joins, i)
			t.propagate(p, s, Data{})
			continue
		}
		t.stopStep(p, s)
	}
	t.checkDone(p)
}

func shortMessage(need, got int) string {
	return fmt.Sprintf("%d of the steps before it had to succeed, and %d did", need, got)
}
