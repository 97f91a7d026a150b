package machine

import (
	"cmp"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow"
)

// openScope starts the steps of a body: sc says where it is, what it got, and its item or pass.
func (t *turn) openScope(p *place, sc *Scope) {
	if t.openAgain(p, sc) {
		return
	}
	sc.Path = p.path
	sc.States = pendingStates(len(p.body.Steps))
	sc.Mark = t.logged()
	if p.path != "" {
		t.addScope(sc)
	}
	if p.body.Kind != workflow.Graph {
		t.later(func() { t.visit(p, 0, sc.In, Data{}) })
		return
	}
	sc.Left = len(p.body.Steps)
	for _, i := range p.body.First {
		t.later(func() { t.activate(p, i, sc.In, Data{}) })
	}
}

// halted says whether nothing new may start in a scope.
func (t *turn) halted(p *place) bool {
	sc := t.peek(p)
	return sc == nil || sc.Stop != nil || t.run.Status.Ended()
}

// visit makes step i of a sequence (or of a single body) the current one; len(steps) ends the scope.
func (t *turn) visit(p *place, i int, in, caught Data) {
	if t.halted(p) {
		return
	}
	sc := t.scope(p)
	if i >= len(p.body.Steps) {
		t.scopeDone(p, in)
		return
	}
	if state := sc.States[i]; state != StepPending && state != StepEnd { // StepEnd: the run began behind it
		if sc.Visits[i]+2 > MaxVisits {
			e := &Error{Code: CodeLoopLimit, Final: true, Message: "a step was visited more than 10,000 times"}
			t.failScope(p, &Closing{Reason: ByFailure, Err: t.name(p, p.body.Steps[i], e)})
			return
		}
		set(&sc.Visits, i, sc.Visits[i]+1)
		sc.forget(i)
	}
	t.activate(p, i, in, caught)
}

// forget drops what an earlier visit left.
func (s *Scope) forget(i int) {
	delete(s.Out, i)
	delete(s.Errs, i)
	delete(s.Choice, i)
	delete(s.Got, i)
}

// path is the path of the current activation of step i, without its try.
func (t *turn) base(p *place, s *workflow.Step) string {
	visit := 1
	if !p.isItemTask() {
		visit += t.scope(p).Visits[s.Index]
	}
	return p.base(s, visit)
}

// path is the path of the current activation of a step.
func (t *turn) path(p *place, s *workflow.Step) string {
	base := t.base(p, s)
	if p.isItemTask() {
		return base
	}
	if l := t.scope(p).Live[s.Index]; l != nil {
		return withTry(base, l.Try+1)
	}
	return base
}

// activate begins an activation of step i of p with what it got; caught is the error when a catch leads here.
func (t *turn) activate(p *place, i int, in, caught Data) {
	if t.halted(p) {
		return
	}
	sc, s := t.scope(p), p.body.Steps[i]
	live := &Live{In: in, Err: caught}
	set(&sc.Live, i, live)
	sc.States[i] = StepWaiting
	if t.run.past != nil {
		t.run.past.got(t.base(p, s), arrival{in: in, caught: caught})
	}
	if !t.count(p, s) {
		return
	}
	if !s.IsTask {
		if t.free++; t.free > maxFree && t.retrying == nil {
			t.await(p, s, TimerGo, t.run.At)
			return
		}
	}
	t.guard(p, s)
}

// count counts an activation and fails the run at the limit.
func (t *turn) count(p *place, s *workflow.Step) bool {
	d := t.run.Root.Run
	if d.Activations++; d.Activations <= MaxActivations {
		return true
	}
	e := &Error{Code: CodeStepLimit, Final: true, Message: "the run has more than 100,000 activations"}
	t.failStep(p, s, e)
	return false
}

// guard asks `when`, and goes on with the step if it is true.
func (t *turn) guard(p *place, s *workflow.Step) {
	live := t.scope(p).Live[s.Index]
	if s.When != nil {
		ok, err := s.When.Bool(t.env(view{at: p, step: s, prev: live.In}, &s.WhenUses), expr.Budget{})
		if err != nil {
			t.failStep(p, s, expressionError(err))
			return
		}
		if !ok {
			t.settle(p, s, StepGuard, live.In)
			return
		}
	}
	if s.Delay > 0 && !s.IsTask && !(t.retrying != nil && t.keeps(t.base(p, s))) {
		t.await(p, s, TimerDelay, t.run.At.Add(s.Delay))
		return
	}
	t.begin(p, s)
}

// keeps says whether a composite that begins keeps what its children did before a retry.
func (t *turn) keeps(base string) bool {
	if t.retrying == nil {
		return false
	}
	_, ok := t.retrying.keep[base]
	return ok
}

func (t *turn) env(v view, uses *workflow.Uses) expr.Env { return t.values(t.references(v, uses)) }

// begin does the action, or has it done.
func (t *turn) begin(p *place, s *workflow.Step) {
	switch a := s.Action.(type) {
	case *workflow.Task, *workflow.Command, *workflow.HTTP:
		t.startTask(p, s, 0)
	case *workflow.Set:
		t.beginSet(p, s, a)
	case *workflow.Wait:
		t.beginWait(p, s, a)
	case *workflow.Savepoint:
		t.reachSavepoint(p, s)
	case *workflow.Fail:
		t.beginFail(p, s, a)
	case *workflow.End:
		t.beginEnd(p, s, a)
	default:
		t.beginComposite(p, s)
	}
}

func (t *turn) beginSet(p *place, s *workflow.Step, a *workflow.Set) {
	live := t.scope(p).Live[s.Index]
	raw, err := a.Value.Eval(t.env(view{at: p, step: s, prev: live.In}, &s.ActionUses), expr.Budget{})
	if err != nil {
		t.failStep(p, s, expressionError(err))
		return
	}
	t.settle(p, s, StepSucceeded, t.put(t.base(p, s), 0, raw))
}

func (t *turn) beginFail(p *place, s *workflow.Step, a *workflow.Fail) {
	live := t.scope(p).Live[s.Index]
	e := &Error{Code: a.Code, Permanent: true}
	env := t.env(view{at: p, step: s, prev: live.In}, &s.ActionUses)
	if a.CodeExpr != nil {
		code, err := a.CodeExpr.Text(env, expr.Budget{Bytes: maxCode})
		if err != nil {
			t.failStep(p, s, expressionError(err))
			return
		}
		e.Code = code
	}
	e.Code = cmp.Or(e.Code, "failed")
	if a.Message != nil {
		msg, err := a.Message.Text(env, expr.Budget{})
		if err != nil {
			t.failStep(p, s, expressionError(err))
			return
		}
		e.Message = clip(msg)
	}
	if a.Data != nil {
		data, err := a.Data.Eval(env, expr.Budget{})
		if err != nil {
			t.failStep(p, s, expressionError(err))
			return
		}
		e.Data = data
	}
	t.failStep(p, s, e)
}

const maxCode = 255 // bytes of a code that an expression makes

func (t *turn) beginEnd(p *place, s *workflow.Step, a *workflow.End) {
	live := t.scope(p).Live[s.Index]
	out := live.In
	if a.Output != nil {
		raw, err := a.Output.Eval(t.env(view{at: p, step: s, prev: live.In}, &s.ActionUses), expr.Budget{})
		if err != nil {
			t.failStep(p, s, expressionError(err))
			return
		}
		out = t.put(t.base(p, s), 0, raw)
	}
	t.mark(p, s, StepSucceeded)
	end := &Closing{Reason: ByEnd, Given: a.Output != nil, Output: out}
	switch {
	case a.Run && p.inFinally():
		p = t.finallyPlace()
	case a.Run:
		p = rootPlace(t.def)
	}
	t.stopScope(p, end)
}

// mark gives a step its final state without telling anything that follows.
func (t *turn) mark(p *place, s *workflow.Step, state State) {
	sc := t.scope(p)
	t.endTry(p, s)
	if p.body.Kind == workflow.Graph && sc.States[s.Index].unsettled() {
		sc.Left--
	}
	sc.States[s.Index] = state
	delete(sc.Live, s.Index)
}

func (s State) unsettled() bool { return s == StepPending || s.Live() }

// name puts the path of the step that failed first into an error.
func (t *turn) name(p *place, s *workflow.Step, e *Error) *Error {
	if e.Step == "" {
		e.Step = t.path(p, s)
	}
	return e
}
