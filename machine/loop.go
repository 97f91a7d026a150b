package machine

import (
	"fmt"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow"
)

func (t *turn) beginLoop(p *place, s *workflow.Step, a *workflow.Loop) {
	live := t.scope(p).Live[s.Index]
	box := live.Box
	ap := t.path(p, s)
	box.Limit = MaxPasses
	env := t.env(view{at: p, step: s, prev: live.In}, &s.ActionUses)
	if a.Limit != nil {
		n, err := a.Limit.Int(env, expr.Budget{})
		if err != nil {
			t.loopFailed(p, s, expressionError(err))
			return
		}
		box.Limit = n
	}
	if a.Over != nil {
		items, err := a.Over.List(env, expr.Budget{Bytes: MaxAssembled})
		if err != nil {
			t.loopFailed(p, s, expressionError(err))
			return
		}
		box.N = len(items)
		for i, raw := range items {
			t.put(ap, i, raw)
		}
	}
	t.nextPass(p, s, a)
}

// loopFailed fails a loop none of whose passes is open.
func (t *turn) loopFailed(p *place, s *workflow.Step, e *Error) {
	t.stopBox(p, s, &Closing{Reason: ByFailure, Err: t.name(p, s, e)})
}

// passView is what the conditions of a loop see about pass number n.
func (t *turn) passView(p *place, s *workflow.Step, a *workflow.Loop, n int, prev, previous Data) view {
	v := view{at: p, step: s, prev: prev, pass: &PassEnv{Number: n, Previous: previous}}
	if a.Over != nil {
		v.items = map[string]ItemEnv{a.As: {Value: valueData(t.path(p, s), n-1), Index: n - 1}}
	}
	return v
}

// nextPass begins the next pass, or ends the loop.
func (t *turn) nextPass(p *place, s *workflow.Step, a *workflow.Loop) {
	live := t.scope(p).Live[s.Index]
	box := live.Box
	n := box.Next + 1
	in := box.Prev
	if n == 1 {
		in = live.In
	}
	if a.Over != nil && n > box.N {
		t.loopDone(p, s, a)
		return
	}
	if a.While != nil {
		ok, err := a.While.Bool(t.env(t.passView(p, s, a, n, in, box.Prev), &a.WhileUses), expr.Budget{})
		if err != nil {
			t.loopFailed(p, s, expressionError(err))
			return
		}
		if !ok {
			t.loopDone(p, s, a)
			return
		}
	}
	if n > box.Limit {
		e := &Error{Code: CodeLoopLimit, Message: fmt.Sprintf("more than %d passes", box.Limit)}
		e.Final = a.Limit == nil // a limit that somebody wrote may be caught
		e.Permanent = true
		t.loopFailed(p, s, e)
		return
	}
	box.Next, box.Open = n, 1
	ap := t.path(p, s)
	sc := &Scope{In: in, Pass: &PassEnv{Number: n, Previous: box.Prev}}
	if a.Over != nil {
		sc.Item = &ItemEnv{Value: valueData(ap, n-1), Index: n - 1}
	}
	t.openScope(p.indexed(s, ap, a.Body, n), sc)
}

// passDone goes on after a pass.
func (t *turn) passDone(p *place, s *workflow.Step, a *workflow.Loop, out Data) {
	live := t.scope(p).Live[s.Index]
	box := live.Box
	previous := box.Prev
	box.Prev = out
	if a.Collect {
		c := t.chunk(t.path(p, s), box.Next-1, MaxActivations)
		c.States[(box.Next-1)%ChunkSize] = StepSucceeded
		c.Out[(box.Next-1)%ChunkSize] = out
	}
	if a.Until != nil {
		done, err := a.Until.Bool(t.env(t.passView(p, s, a, box.Next, out, previous), &a.UntilUses), expr.Budget{})
		if err != nil {
			t.loopFailed(p, s, expressionError(err))
			return
		}
		if done {
			t.loopDone(p, s, a)
			return
		}
	}
	if a.Every > 0 && !(a.Over != nil && box.Next == box.N) && !t.keptPass(p, s, a, box.Next+1) {
		live.Timer = TimerEvery
		t.emit(SetTimer{Key: t.path(p, s) + TimerEvery, Due: t.run.At.Add(a.Every)})
		return
	}
	t.later(func() {
		if sc := t.peek(p); sc != nil && sc.Live[s.Index] != nil && sc.Live[s.Index].Box != nil && sc.Live[s.Index].Box.Stop == nil {
			t.nextPass(p, s, a)
		}
	})
}

// keptPass says whether a pass had begun before a retry that keeps it: there is no pause before it.
func (t *turn) keptPass(p *place, s *workflow.Step, a *workflow.Loop, n int) bool {
	_, old := t.oldScope(p.indexed(s, t.path(p, s), a.Body, n))
	return old != nil
}

// stopPause ends the pause between two passes.
func (t *turn) stopPause(p *place, s *workflow.Step, ap string) {
	if live := t.scope(p).Live[s.Index]; live.Timer == TimerEvery {
		live.Timer = ""
		t.cancelTimer(ap + TimerEvery)
	}
}

func (t *turn) loopDone(p *place, s *workflow.Step, a *workflow.Loop) {
	live := t.scope(p).Live[s.Index]
	out := live.Box.Prev
	switch n := live.Box.Next; {
	case a.Collect && n == 0:
		out = Data{Kind: ListOf}
	case a.Collect:
		out = resultsOf(OutputsOf, t.path(p, s), n)
	case n == 0:
		out = live.In // no pass: what the loop got is handed on
	}
	t.finishComposite(p, s, out)
}
