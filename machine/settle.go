package machine

import (
	"slices"

	"github.com/millrace-go/millrace/workflow"
)

// settle ends an activation that is not to be retried or caught any more, and starts what follows from it. state is final:
// succeeded, guard, caught, failed (handled by on_error or superseded), cancelled. out is what it hands on.
func (t *turn) settle(p *place, s *workflow.Step, state State, out Data) {
	if state == StepSucceeded {
		t.did(p, s, ForSure, out)
	}
	if t.run.past != nil {
		t.run.past.handedOn(t.base(p, s), out)
	}
	t.mark(p, s, state)
	sc := t.scope(p)
	if sc.Stop != nil {
		t.checkStill(p)
		return
	}
	if p.body.Kind != workflow.Graph {
		t.settleInSequence(p, s, state, out)
		return
	}
	if keepsOutput(sc, p.body, s) {
		set(&sc.Out, s.Index, out)
	}
	t.propagate(p, s, out)
	t.checkDone(p)
}

func (t *turn) settleInSequence(p *place, s *workflow.Step, state State, out Data) {
	sc := t.scope(p)
	if s.Named || s.NamedError {
		set(&sc.Out, s.Index, out)
	}
	next, in, caught := s.NextIndex, out, Data{}
	if p.body.Kind == workflow.Single {
		next = 1
	}
	switch choice, chosen := sc.Choice[s.Index]; {
	case state == StepGuard:
		next = s.Index + 1
	case state == StepCaught && chosen && s.Catch[choice].Body == nil:
		next, in, caught = s.Catch[choice].NextTo, sc.Got[s.Index], sc.Errs[s.Index]
		delete(sc.Got, s.Index)
	case state == StepSucceeded && chosen:
		if to, ok := caseTarget(s, choice); ok {
			next = to
		}
	}
	t.later(func() { t.visit(p, next, in, caught) })
}

func caseTarget(s *workflow.Step, choice int) (int, bool) {
	a, ok := s.Action.(*workflow.Switch)
	if !ok || a.Cases[choice].Body != nil {
		return 0, false
	}
	return a.Cases[choice].NextTo, true
}

// propagate settles the edges that leave a settled step of a graph.
func (t *turn) propagate(p *place, s *workflow.Step, out Data) {
	sc := t.scope(p)
	for k := range s.Out {
		e := &s.Out[k]
		if sc.States[e.To] != StepPending {
			continue
		}
		target := p.body.Steps[e.To]
		tally := sc.Joins[e.To]
		if tally == nil {
			tally = &Tally{}
		}
		switch t.edge(p, e) {
		case edgeTaken:
			tally.Taken++
		case edgeNotChosen:
			tally.NotChosen++
		case edgeMissing:
			tally.Missing++
		case edgeOpen: // it leaves a step that is settled
		}
		if len(target.In) > 1 {
			set(&sc.Joins, e.To, tally)
		}
		t.later(func() { t.join(p, target, tally, out) })
	}
}

type edgeState int

const (
	edgeOpen edgeState = iota
	edgeTaken
	edgeNotChosen
	edgeMissing
)

// edge says what became of an edge, from the state of the step that it leaves (docs/machine.md 2).
func (t *turn) edge(p *place, e *workflow.Edge) edgeState {
	sc, from := t.scope(p), p.body.Steps[e.From]
	choice, chosen := sc.Choice[e.From]
	hit := chosen && slices.Contains(e.Cases, choice)
	switch state := sc.States[e.From]; state {
	case StepSucceeded:
		return takenIf(e.Kind == workflow.Normal || e.Kind == workflow.Next && hit)
	case StepGuard:
		return takenIf(e.Kind == workflow.Normal)
	case StepCaught:
		if e.Kind == workflow.Caught {
			return takenIf(hit)
		}
		if from.Catch[choice].Body != nil {
			return takenIf(e.Kind == workflow.Normal)
		}
		return t.missing(p, e)
	case StepFailed:
		switch {
		case e.Kind == workflow.Caught || from.OnError == workflow.OnErrorSkip:
			return edgeNotChosen
		case from.OnError == workflow.OnErrorContinue:
			return takenIf(e.Kind == workflow.Normal)
		}
		return t.missing(p, e)
	case StepMissing:
		return t.missing(p, e)
	case StepBranch, StepEnd, StepCancelled:
		return edgeNotChosen
	default:
		return edgeOpen
	}
}

func takenIf(b bool) edgeState {
	if b {
		return edgeTaken
	}
	return edgeNotChosen
}

// missing says whether an edge that is missing counts as such: not if the catch of every failed step at the root of it leads
// to the target too.
func (t *turn) missing(p *place, e *workflow.Edge) edgeState {
	for _, failed := range t.blame(p, e.From) {
		if !catchLeadsTo(p.body, failed, e.To) {
			return edgeMissing
		}
	}
	return edgeNotChosen
}

// blame gives the failed steps for want of which step i failed or was skipped.
func (t *turn) blame(p *place, i int) []int {
	if sc := t.scope(p); sc.States[i] == StepMissing {
		return sc.Blame[i]
	}
	return []int{i}
}

func catchLeadsTo(body *workflow.Body, failed, target int) bool {
	seen := make([]bool, len(body.Steps))
	var reach func(i int) bool
	reach = func(i int) bool {
		if i == target {
			return true
		}
		if seen[i] {
			return false
		}
		seen[i] = true
		for _, e := range body.Steps[i].Out {
			if reach(e.To) {
				return true
			}
		}
		return false
	}
	for _, e := range body.Steps[failed].Out {
		if e.Kind == workflow.Caught && reach(e.To) {
			return true
		}
	}
	return false
}

// join decides whether a step into which edges lead starts, is skipped, fails, or waits for more.
func (t *turn) join(p *place, s *workflow.Step, tally *Tally, out Data) {
	if t.halted(p) {
		return
	}
	sc := t.scope(p)
	if sc.States[s.Index] != StepPending {
		return
	}
	settled := tally.Taken+tally.NotChosen+tally.Missing == len(s.In)
	start := false
	switch s.Join.Kind {
	case workflow.JoinAll:
		start = settled && tally.Taken > 0 && tally.Missing == 0
	case workflow.JoinSettled:
		start = settled && tally.Taken > 0
	case workflow.JoinAny:
		start = tally.Taken > 0
	case workflow.JoinCount:
		start = tally.Taken >= s.Join.N
	}
	if !start && !settled {
		return
	}
	delete(sc.Joins, s.Index)
	short := s.Join.Kind == workflow.JoinCount && tally.Taken > 0
	if !start && !short {
		t.skip(p, s, tally.Missing > 0)
		return
	}
	in, caught := t.joinInput(p, s, out)
	t.releaseOutputs(p, s)
	if !start {
		t.joinShort(p, s, in, tally.Taken)
		return
	}
	t.activate(p, s.Index, in, caught)
	t.unparkSuperseded(p)
	if s.CancelRest && (s.Join.Kind == workflow.JoinAny || s.Join.Kind == workflow.JoinCount) { // else it belongs to `need`
		t.cancelSuperseded(p, s)
	}
}

func (t *turn) joinShort(p *place, s *workflow.Step, in Data, taken int) {
	set(&t.scope(p).Live, s.Index, &Live{In: in})
	t.run.past.got(t.base(p, s), arrival{in: in})
	t.failStep(p, s, &Error{Code: CodeJoinShort, Permanent: true, Message: shortMessage(s.Join.N, taken)})
}

func (t *turn) skip(p *place, s *workflow.Step, missing bool) {
	sc := t.scope(p)
	if missing {
		var blame []int
		for k := range s.In {
			if t.edge(p, &s.In[k]) == edgeMissing {
				blame = append(blame, t.blame(p, s.In[k].From)...)
			}
		}
		slices.Sort(blame)
		set(&sc.Blame, s.Index, slices.Compact(blame))
		t.settle(p, s, StepMissing, Data{})
		return
	}
	t.settle(p, s, StepBranch, Data{})
}

// joinInput is what a step gets: from two or more normal or next edges an object of outputs by step, however many were taken
// and in whatever order they came; from one the value; a catch's target, when nothing else led to it, what the failed step
// got, and its error.
func (t *turn) joinInput(p *place, s *workflow.Step, out Data) (in, caught Data) {
	sc := t.scope(p)
	var object Made
	normal := false
	for k := range s.In {
		e := &s.In[k]
		if t.edge(p, e) != edgeTaken {
			continue
		}
		if e.Kind == workflow.Caught {
			if caught.IsZero() {
				caught = sc.Errs[e.From]
				if !normal {
					in = sc.Got[e.From]
				}
			}
			continue
		}
		value := out
		if len(s.In) > 1 {
			value = sc.Out[e.From]
		}
		normal, in = true, value
		object.Keys = append(object.Keys, p.body.Steps[e.From].Key)
		object.List = append(object.List, value)
	}
	if s.InputEdges > 1 && (normal || caught.IsZero()) {
		in = Data{Kind: ObjectOf, Made: &object}
	}
	return in, caught
}

// releaseOutputs drops outputs that only the join that was just decided still needed.
func (t *turn) releaseOutputs(p *place, s *workflow.Step) {
	sc := t.scope(p)
	for k := range s.In {
		from := p.body.Steps[s.In[k].From]
		if _, ok := sc.Out[from.Index]; ok && !stillNeeded(sc, p.body, from, s.Index) {
			delete(sc.Out, from.Index)
		}
	}
}

func keepsOutput(sc *Scope, body *workflow.Body, s *workflow.Step) bool {
	return stillNeeded(sc, body, s, -1)
}

// stillNeeded says whether an output may still be read: by an expression, as the scope's own, or by an undecided join.
func stillNeeded(sc *Scope, body *workflow.Body, s *workflow.Step, decided int) bool {
	if s.Named || s.NamedError || isLast(s) {
		return true
	}
	for k := range s.Out {
		to := s.Out[k].To
		if to != decided && len(body.Steps[to].In) > 1 && sc.States[to] == StepPending {
			return true
		}
	}
	return false
}

// isLast says whether no normal or next edge leaves a step: its output is part of the scope's.
func isLast(s *workflow.Step) bool {
	for k := range s.Out {
		if s.Out[k].Kind != workflow.Caught {
			return false
		}
	}
	return true
}

// checkDone ends a graph's scope when nothing of it is open.
func (t *turn) checkDone(p *place) {
	t.later(func() {
		sc := t.peek(p)
		if sc == nil || sc.Stop != nil || sc.Left > 0 {
			return
		}
		t.scopeDone(p, graphOutput(sc, p.body))
	})
}

// graphOutput is that of the last steps: of one itself, of several an object of those that did not fail and were not skipped.
func graphOutput(sc *Scope, body *workflow.Body) Data {
	var only Data
	var out Made
	lasts := 0
	for _, s := range body.Steps {
		if !isLast(s) {
			continue
		}
		lasts++
		only = sc.Out[s.Index]
		if handsOn(sc, s) {
			out.Keys = append(out.Keys, s.Key)
			out.List = append(out.List, only)
		}
	}
	if lasts == 1 {
		return only
	}
	return Data{Kind: ObjectOf, Made: &out}
}

// handsOn says whether an output of a last step goes into the scope's.
func handsOn(sc *Scope, s *workflow.Step) bool {
	switch sc.States[s.Index] {
	case StepSucceeded, StepGuard:
		return true
	case StepCaught:
		return s.Catch[sc.Choice[s.Index]].Body != nil
	case StepFailed:
		return s.OnError == workflow.OnErrorContinue
	default:
		return false
	}
}
