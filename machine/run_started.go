package machine

import "github.com/millrace-go/millrace/workflow"

// runStarted: the run has the input that is this entry's payload, and begins when it is due.
func (t *turn) runStarted() bool {
	if t.run.Status != Pending || t.run.Seq != 1 {
		return false
	}
	root := t.run.Root
	root.In = entryData(1)
	if due := t.run.Options.Due; due > t.run.At {
		root.States = pendingStates(len(t.def.Body.Steps))
		t.emit(SetTimer{Key: TimerStart, Due: due})
		return true
	}
	t.beginRun()
	return true
}

// startDue: the time has come at which a run begins that was started before it.
func (t *turn) startDue() bool {
	if t.run.Status != Pending || t.run.Seq == 1 {
		return false
	}
	t.beginRun()
	return true
}

func (t *turn) beginRun() {
	t.run.Status, t.run.StartedAt = Running, t.run.At
	t.setDeadline()
	p, root := rootPlace(t.def), t.run.Root
	if from := t.run.Options.From; from != "" {
		i, ok := p.body.ByKey[from]
		if !ok {
			panic("the run begins at a step that the workflow has not: " + from)
		}
		t.openFrom(p, root, i)
		return
	}
	t.openScope(p, root)
}

// openFrom begins a scope with step from: what does not follow from it is over before it began, and the edges that leave that
// are not chosen.
func (t *turn) openFrom(p *place, sc *Scope, from int) {
	follows := following(p.body, from)
	sc.States = pendingStates(len(follows))
	for i, yes := range follows {
		if !yes {
			sc.States[i] = StepEnd
			continue
		}
		sc.Left++
		if i == from {
			continue
		}
		dead := 0
		for _, e := range p.body.Steps[i].In {
			if !follows[e.From] {
				dead++
			}
		}
		if dead > 0 {
			set(&sc.Joins, i, &Tally{NotChosen: dead})
		}
	}
	if p.body.Kind != workflow.Graph {
		sc.Left = 0
		t.later(func() { t.visit(p, from, sc.In, Data{}) })
		return
	}
	t.later(func() { t.activate(p, from, sc.In, Data{}) })
}

// following says of each step of a body whether it is step from or may come after it: in a graph what its edges lead to, in a
// sequence what stands behind it, and what that jumps back to.
func following(body *workflow.Body, from int) []bool {
	out := make([]bool, len(body.Steps))
	if body.Kind != workflow.Graph {
		for i := from; i < len(out); i++ {
			out[i] = true
		}
		return out
	}
	todo := []int{from}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if out[i] {
			continue
		}
		out[i] = true
		for _, e := range body.Steps[i].Out {
			todo = append(todo, e.To)
		}
	}
	return out
}
