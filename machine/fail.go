package machine

import (
	"encoding/json"
	"slices"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow"
)

// failStep takes the failure of a step whose retries are over: its catch, on_error, or outward to the composite around it.
func (t *turn) failStep(p *place, s *workflow.Step, e *Error) {
	_, deliberate := s.Action.(*workflow.Fail)
	t.fail(p, s, e, deliberate)
}

// fail is failStep for a failure of which is known whether a `fail` action began it.
func (t *turn) fail(p *place, s *workflow.Step, e *Error, deliberate bool) {
	e = t.name(p, s, e)
	if !e.Final {
		caught, bad := t.catch(p, s, e)
		if caught {
			return
		}
		if bad != nil {
			e = t.name(p, s, bad)
		}
	}
	t.recordError(p, s, e)
	if s.OnError != workflow.OnErrorFail && mutant("handled undone") {
		t.didFail(p, s, e)
	}
	switch sc := t.scope(p); {
	case s.OnError == workflow.OnErrorContinue && !e.Final:
		t.settle(p, s, StepFailed, Data{})
	case s.OnError == workflow.OnErrorSkip && !e.Final && p.body.Kind == workflow.Graph:
		t.settle(p, s, StepFailed, Data{})
	case s.OnError == workflow.OnErrorSkip && !e.Final:
		t.settle(p, s, StepFailed, sc.Live[s.Index].In) // a sequence goes on with what the step got
	case t.superseded(p, s):
		t.didFail(p, s, e)
		t.settle(p, s, StepFailed, Data{})
	case t.parks(p, s, e):
		t.park(p, s, e)
	default:
		t.failForGood(p, s, e, deliberate)
	}
}

// failForGood takes the failure of a step that nothing handles outward.
func (t *turn) failForGood(p *place, s *workflow.Step, e *Error, deliberate bool) {
	why := &Closing{Reason: ByFailure, Err: e, NoLetter: deliberate, First: t.didFail(p, s, e)}
	t.mark(p, s, StepFailed)
	t.failScope(p, why)
}

// didFail records that a task may have been done although its last attempt failed. What a composite did is undone already.
func (t *turn) didFail(p *place, s *workflow.Step, e *Error) int {
	if s.IsComposite {
		return 0
	}
	return t.did(p, s, answered(e), Data{})
}

// Catches says whether a catch of the step takes an error by its code; what a catch asks besides (`when`) is not looked at.
func Catches(s *workflow.Step, e *Error) bool {
	return !e.Final && slices.ContainsFunc(s.Catch, func(c workflow.Catch) bool { return covers(c.Only, c.Except, e) })
}

func (t *turn) recordError(p *place, s *workflow.Step, e *Error) {
	if s.NamedError {
		set(&t.scope(p).Errs, s.Index, t.errorData(t.path(p, s), e))
	}
}

// catch looks for a catch that takes the error. A condition that cannot be evaluated is an error of its own.
func (t *turn) catch(p *place, s *workflow.Step, e *Error) (bool, *Error) {
	sc := t.scope(p)
	live := sc.Live[s.Index]
	for i := range s.Catch {
		c := &s.Catch[i]
		if !covers(c.Only, c.Except, e) {
			continue
		}
		data := t.errorData(t.path(p, s), e)
		if c.When != nil {
			ok, err := c.When.Bool(t.env(view{at: p, step: s, prev: live.In, err: data}, &c.WhenUses), expr.Budget{})
			if err != nil {
				return false, expressionError(err)
			}
			if !ok {
				continue
			}
		}
		t.endTry(p, s)
		set(&sc.Choice, s.Index, i)
		set(&sc.Errs, s.Index, data)
		if c.Body == nil {
			set(&sc.Got, s.Index, live.In)
			t.settle(p, s, StepCaught, Data{})
			return true, nil
		}
		sc.States[s.Index] = StepOpen
		live.Box = &Box{Catch: i + 1, Open: 1, Mark: t.logged()}
		t.openScope(p.catchBody(s, t.base(p, s), i), &Scope{In: live.In, Caught: data})
		return true, nil
	}
	return false, nil
}

const maxLiteral = 1 << 10

// errorData gives an error as `error` shows it. A large one is stored as a payload, named after the activation at path.
func (t *turn) errorData(path string, e *Error) Data {
	d := t.errorValue(e)
	raw := d.made().Const
	if len(raw) <= maxLiteral {
		return d
	}
	t.errors++
	return t.put(path+"!error", int(t.run.Seq)<<10+t.errors, raw)
}

// errorValue is errorData for what is not kept.
func (t *turn) errorValue(e *Error) Data {
	return literal(encode(struct {
		Code    string          `json:"code"`
		Message string          `json:"message"`
		Step    string          `json:"step"`
		Data    json.RawMessage `json:"data"`
	}{e.Code, e.Message, e.Step, e.Data}))
}

// failScope begins the failure of a scope: it stops alone if the composite around it bears that, else all of its scopes do.
func (t *turn) failScope(p *place, why *Closing) {
	if p.up == nil || p.final {
		t.stopScope(p, why)
		return
	}
	if t.scope(p).Stop != nil {
		return
	}
	box := t.scope(p.up).Live[p.owner.Index].Box
	box.Bad++
	t.stopScope(p, why)
	if all := unbearable(p.owner, box, why.Err); all != nil {
		t.stopBox(p.up, p.owner, &Closing{Reason: ByFailure, Err: all, NoLetter: why.NoLetter, First: why.First})
	}
}

// unbearable gives the error with which a composite fails now that one more of its scopes has failed; nil if it bears that.
func unbearable(s *workflow.Step, box *Box, e *Error) *Error {
	if box.Catch > 0 {
		return e
	}
	if box.Need > 0 {
		if box.N-box.Bad >= box.Need {
			return nil
		}
		return &Error{Code: CodeJoinShort, Permanent: true, Step: e.Step, Message: needMessage(box, e)}
	}
	a, ok := s.Action.(*workflow.Map)
	if !ok || a.Tolerate == (workflow.Tolerate{}) {
		return e
	}
	allowed := max(a.Tolerate.Count, int(a.Tolerate.Percent*float64(box.N)/100))
	if box.Bad <= allowed {
		return nil
	}
	return &Error{Code: CodeTolerate, Permanent: true, Step: e.Step, Message: tolerateMessage(box, allowed, e)}
}

// scopeFailed ends a scope that was stopped and is still.
func (t *turn) scopeFailed(p *place, why *Closing) {
	t.dropScope(p.path)
	sc := t.scope(p.up)
	box := sc.Live[p.owner.Index].Box
	box.Open--
	if a, ok := p.owner.Action.(*workflow.Map); ok && !p.catch {
		c := t.chunk(p.ownerPath, p.slot, box.N)
		c.States[p.slot%ChunkSize] = StepCancelled
		if why.Reason == ByFailure {
			c.States[p.slot%ChunkSize] = StepFailed
			set(&c.Err, p.slot%ChunkSize, t.errorData(p.path, why.Err))
		}
		if box.Stop == nil {
			t.moreItems(p.up, p.owner, a)
			return
		}
	}
	if box.Stop == nil { // a branch that `need` bears
		t.branchOver(p.up, p.owner)
		return
	}
	t.checkBox(p.up, p.owner)
}

// checkBox ends a composite that is being stopped once none of its scopes is open.
func (t *turn) checkBox(p *place, s *workflow.Step) {
	t.later(func() {
		sc := t.peek(p)
		if sc == nil || sc.Live[s.Index] == nil {
			return
		}
		box := sc.Live[s.Index].Box
		if box == nil || box.Stop == nil || box.Open > 0 || box.Undo != nil {
			return
		}
		if box.Stop.Reason == ByFailure {
			t.undoUnit(unit{at: p, step: s}, box.Stop)
			return
		}
		t.boxStill(p, s)
	})
}

// boxStill ends a composite none of whose scopes is open, and which was undone if it failed.
func (t *turn) boxStill(p *place, s *workflow.Step) {
	switch stop := t.scope(p).Live[s.Index].Box.Stop; stop.Reason {
	case Enough:
		t.finishComposite(p, s, t.results(p, s))
	case ByFailure:
		t.compositeFailed(p, s, stop)
	default:
		t.stopped(p, s, false)
	}
}

// compositeFailed judges a composite whose scopes are still: its retry, its catch, its on_error, or outward.
func (t *turn) compositeFailed(p *place, s *workflow.Step, why *Closing) {
	sc := t.scope(p)
	live := sc.Live[s.Index]
	e := *why.Err
	if live.Box.Catch > 0 { // the body of a catch failed: no catch of the same step is asked again
		t.recordError(p, s, &e)
		if t.superseded(p, s) {
			t.settle(p, s, StepFailed, Data{})
			return
		}
		t.mark(p, s, StepFailed)
		t.failScope(p, &Closing{Reason: ByFailure, Err: &e, NoLetter: why.NoLetter})
		return
	}
	live.Attempt = live.Try + 1
	retryable := e
	retryable.Permanent, retryable.RetryAfterMS = false, nil // that was said of an attempt of a task inside
	if due, again := t.retry(s, live, t.base(p, s), &retryable); again {
		live.Box = nil
		sc.States[s.Index] = StepRetrying
		live.Timer = TimerRetry
		t.emit(SetTimer{Key: t.base(p, s) + TimerRetry, Due: due})
		return
	}
	t.fail(p, s, &e, why.NoLetter)
}
