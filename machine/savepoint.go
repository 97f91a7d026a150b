package machine

import "github.com/millrace-go/millrace/workflow"

// A savepoint protects the steps of the root from which a path of taken edges leads to it, in a sequence what came before it,
// with all inside them.

// reachSavepoint passes a savepoint, which hands on what it got.
func (t *turn) reachSavepoint(p *place, s *workflow.Step) {
	if p.up == nil && p.body.Kind != workflow.Graph && t.logged() > 0 {
		t.undoDoc().Safe = t.logged()
	}
	t.settle(p, s, StepSucceeded, t.scope(p).Live[s.Index].In)
}

// safe says whether a savepoint protects a record.
func (t *turn) safe(n int, sp spot) bool {
	root := rootPlace(t.def)
	if mutant("savepoints protect nothing") {
		return false
	}
	if root.body.Kind != workflow.Graph {
		return n < t.undoDoc().Safe
	}
	step := sp.step
	for q := sp.at; q.up != nil; q = q.up {
		step = q.owner
	}
	if t.protected == nil {
		t.protected = map[int]bool{}
		for i, s := range root.body.Steps {
			if _, ok := s.Action.(*workflow.Savepoint); ok && t.run.Root.States[i] == StepSucceeded {
				t.protect(root, i)
			}
		}
	}
	return t.protected[step.Index]
}

// protect marks step i of the root and all from which a path of taken edges leads to it.
func (t *turn) protect(root *place, i int) {
	if t.protected[i] {
		return
	}
	t.protected[i] = true
	for k := range root.body.Steps[i].In {
		if e := &root.body.Steps[i].In[k]; t.edge(root, e) == edgeTaken {
			t.protect(root, e.From)
		}
	}
}
