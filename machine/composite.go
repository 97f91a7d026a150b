package machine

import (
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow"
)

// beginComposite opens a try of a composite.
func (t *turn) beginComposite(p *place, s *workflow.Step) {
	sc := t.scope(p)
	live := sc.Live[s.Index]
	live.Box, live.Timer = &Box{Mark: t.logged()}, ""
	if t.retrying != nil && t.keeps(t.base(p, s)) {
		live.Box.Mark = 0 // what it keeps is older
	}
	if t.run.past != nil {
		t.run.past.tried(t.base(p, s), t.path(p, s))
	}
	if s.With != nil {
		raw, err := s.With.Eval(t.env(view{at: p, step: s, prev: live.In}, &s.ActionUses), expr.Budget{})
		if err != nil {
			t.failStep(p, s, expressionError(err))
			return
		}
		live.In = t.put(t.path(p, s)+"!with", 0, raw)
	}
	sc.States[s.Index] = StepOpen
	if s.Timeout > 0 {
		t.emit(SetTimer{Key: t.path(p, s) + TimerTimeout, Due: t.run.At.Add(s.Timeout)})
	}
	if hasFor(s) && live.Since == 0 {
		live.Since = t.run.At
	}
	if !t.need(p, s, live) {
		return
	}
	switch a := s.Action.(type) {
	case *workflow.Switch:
		t.beginSwitch(p, s, a)
	case *workflow.Block:
		live.Box.N, live.Box.Open = 1, 1
		t.openScope(p.block(s, t.path(p, s)), &Scope{In: live.In})
	case *workflow.Parallel:
		t.beginParallel(p, s, a)
	case *workflow.Map:
		t.beginMap(p, s, a)
	case *workflow.Loop:
		t.beginLoop(p, s, a)
	default:
		panic(fmt.Sprintf("action %s is not one that this version runs", s.Action.Name()))
	}
}

func (t *turn) need(p *place, s *workflow.Step, live *Live) bool {
	if s.Need == nil {
		return true
	}
	n, err := s.Need.Int(t.env(view{at: p, step: s, prev: live.In}, &s.NeedUses), expr.Budget{})
	if err != nil {
		t.failStep(p, s, expressionError(err))
		return false
	}
	live.Box.Need = n
	return true
}

func (t *turn) beginSwitch(p *place, s *workflow.Step, a *workflow.Switch) {
	sc := t.scope(p)
	live := sc.Live[s.Index]
	for i := range a.Cases {
		c := &a.Cases[i]
		if c.When != nil {
			ok, err := c.When.Bool(t.env(view{at: p, step: s, prev: live.In}, &c.WhenUses), expr.Budget{})
			if err != nil {
				t.failStep(p, s, expressionError(err))
				return
			}
			if !ok {
				continue
			}
		}
		set(&sc.Choice, s.Index, i)
		if c.Body == nil {
			break
		}
		live.Box.N, live.Box.Open, live.Box.Case = 1, 1, i+1
		t.openScope(p.caseBody(s, t.path(p, s), i), &Scope{In: live.In})
		return
	}
	t.finishComposite(p, s, live.In)
}

func (t *turn) beginParallel(p *place, s *workflow.Step, a *workflow.Parallel) {
	live := t.scope(p).Live[s.Index]
	box := live.Box
	box.N, box.Open = len(a.Branches), len(a.Branches)
	box.Outs = make([]Data, box.N)
	if t.outOfReach(p, s, box) {
		return
	}
	ap := t.path(p, s)
	for i := range a.Branches {
		t.openScope(p.branch(s, ap, i), &Scope{In: live.In})
	}
}

// outOfReach fails a composite whose `need` is more than it has.
func (t *turn) outOfReach(p *place, s *workflow.Step, box *Box) bool {
	if box.Need <= box.N {
		return false
	}
	box.Open = 0
	msg := fmt.Sprintf("%d have to succeed, and there are %d", box.Need, box.N)
	t.failStep(p, s, &Error{Code: CodeJoinShort, Permanent: true, Message: msg})
	return true
}

// scopeDone ends a scope with success.
func (t *turn) scopeDone(p *place, out Data) {
	if p.up == nil {
		t.rootDone(out, false)
		return
	}
	if p.final {
		t.finallyOver(p)
		return
	}
	t.run.past.scopeGave(p.path, out)
	t.dropScope(p.path)
	sc, s := t.scope(p.up), p.owner
	box := sc.Live[s.Index].Box
	box.Open--
	box.Good++
	if box.Stop != nil {
		if _, ok := s.Action.(*workflow.Map); ok && !p.catch {
			t.keepResult(p, box, out)
		}
		t.checkBox(p.up, s)
		return
	}
	if p.catch {
		t.settle(p.up, s, StepCaught, out)
		return
	}
	switch a := s.Action.(type) {
	case *workflow.Parallel:
		box.Outs[p.slot] = out
		t.branchOver(p.up, s)
	case *workflow.Map:
		t.keepResult(p, box, out)
		t.moreItems(p.up, s, a)
	case *workflow.Loop:
		t.passDone(p.up, s, a, out)
	default:
		t.finishComposite(p.up, s, out)
	}
}

// branchOver goes on after a branch of a parallel has ended.
func (t *turn) branchOver(p *place, s *workflow.Step) {
	box := t.scope(p).Live[s.Index].Box
	switch {
	case box.Open == 0:
		t.finishComposite(p, s, t.results(p, s))
	case box.Need > 0 && box.Good >= box.Need && s.CancelRest:
		t.stopBox(p, s, &Closing{Reason: Enough})
	}
}

// results is the output of a parallel or a map whose scopes have all ended.
func (t *turn) results(p *place, s *workflow.Step) Data {
	box := t.scope(p).Live[s.Index].Box
	if a, ok := s.Action.(*workflow.Parallel); ok {
		keys := make([]string, len(a.Branches))
		for i := range a.Branches {
			keys[i] = a.Branches[i].Name
		}
		return objectOf(keys, slices.Clone(box.Outs))
	}
	if box.N == 0 {
		return Data{Kind: ListOf}
	}
	return resultsOf(OutputsOf, t.path(p, s), box.N)
}

// finishComposite ends a composite with success.
func (t *turn) finishComposite(p *place, s *workflow.Step, out Data) {
	t.settle(p, s, StepSucceeded, out)
}

// endTry drops the timeout of the current try of a composite, if it is open.
func (t *turn) endTry(p *place, s *workflow.Step) {
	if s.Timeout == 0 || !s.IsComposite {
		return
	}
	if live := t.scope(p).Live[s.Index]; live != nil && live.Box != nil && live.Box.Catch == 0 && live.Box.Stop == nil {
		if key := t.path(p, s) + TimerTimeout; t.ev.Kind != TimerFired || t.ev.Path != key {
			t.cancelTimer(key)
		}
	}
}

func needMessage(box *Box, e *Error) string {
	return clip(fmt.Sprintf("%d of %d have to succeed, and %d failed, the last with %s", box.Need, box.N, box.Bad, e.Error()))
}

func tolerateMessage(box *Box, allowed int, e *Error) string {
	return clip(fmt.Sprintf("%d of %d items failed and %d are tolerated; the last: %s", box.Bad, box.N, allowed, e.Error()))
}
