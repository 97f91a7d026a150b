package machine

import (
	"encoding/json"

	"github.com/millrace-go/millrace/workflow"
)

// task finds the activation that an outcome is about; ok is false when no attempt of it is expected.
func (t *turn) task() (p *place, s *workflow.Step, live *Live, ok bool) {
	sp, err := locate(t.def, t.ev.Path)
	if err != nil || !sp.step.IsTask || sp.undone != nil {
		return nil, nil, nil, false
	}
	t.began(sp.at)
	if sp.at.isItemTask() {
		return sp.at, sp.step, nil, true
	}
	sc := t.peek(sp.at)
	if sc == nil || t.base(sp.at, sp.step) != t.ev.Path {
		return nil, nil, nil, false
	}
	live = sc.Live[sp.step.Index]
	if state := sc.States[sp.step.Index]; live == nil || state != StepReady && state != StepStopping {
		return nil, nil, nil, false
	}
	if t.ev.Kind != TaskStopped && t.ev.Attempt <= live.Attempt {
		return nil, nil, nil, false
	}
	return sp.at, sp.step, live, true
}

// began notes that an attempt began inside the composites around a scope that a compensation of their own undoes.
func (t *turn) began(p *place) {
	if t.ev.Attempt == 0 {
		return
	}
	for q := p; q.up != nil && !q.final; q = q.up {
		if q.owner.Compensate == nil || q.catch {
			continue
		}
		if sc := t.peek(q.up); sc != nil && sc.Live[q.owner.Index] != nil && sc.Live[q.owner.Index].Box != nil {
			sc.Live[q.owner.Index].Box.Began = true
		}
	}
}

func (t *turn) stopping(p *place, s *workflow.Step) bool {
	return t.scope(p).States[s.Index] == StepStopping
}

// taskSucceeded: an attempt gave an output, which is this entry's payload.
func (t *turn) taskSucceeded() bool {
	if u, d, _, ok := t.compensation(); ok {
		t.undoSucceeded(u, d)
		return true
	}
	p, s, live, ok := t.task()
	switch {
	case !ok:
		return false
	case live == nil:
		return t.itemSucceeded(p, t.ev.Attempt)
	case t.stopping(p, s):
		t.stopped(p, s, true)
	default:
		t.settle(p, s, StepSucceeded, t.output())
	}
	return true
}

// output is what this entry's payload gives.
func (t *turn) output() Data {
	if p := t.ev.Payload; p == nil || string(p) == "null" {
		return Data{}
	}
	return entryData(t.run.Seq)
}

// taskFailed: an attempt failed. It is retried by the step's policy, or the step has failed.
func (t *turn) taskFailed() bool { return t.attemptFailed(t.failure()) }

// failure is the error that this entry's payload says.
func (t *turn) failure() *Error {
	e := &Error{}
	if err := json.Unmarshal(t.ev.Payload, e); err != nil || e.Code == "" {
		e = &Error{Code: "error", Message: "an attempt failed without a readable error"}
	}
	return e
}

// taskLost: the worker of an attempt is gone. The attempt counts.
func (t *turn) taskLost() bool { return t.attemptFailed(lostError()) }

func lostError() *Error { return &Error{Code: CodeLost, Message: "the worker was lost"} }

// LostError is why an attempt failed whose worker is gone: of a step that is tried at most once, nobody knows whether it was done.
func LostError(s *workflow.Step) *Error {
	if s.AtMostOnce {
		return &Error{Code: CodeOutcomeUnknown, Message: "the worker was lost; the step may have been done and is at_most_once"}
	}
	return lostError()
}

func (t *turn) attemptFailed(e *Error) bool {
	e.Message = clip(e.Message)
	if u, d, s, ok := t.compensation(); ok {
		t.undoFailed(u, d, s, e)
		return true
	}
	p, s, live, ok := t.task()
	switch {
	case !ok:
		return false
	case live == nil:
		return t.itemFailed(p, t.ev.Attempt, e)
	case t.stopping(p, s):
		t.stopped(p, s, false)
		return true
	}
	live.Attempt = t.ev.Attempt
	live.Unknown = s.Compensate != nil && answered(e) == Unsure
	e.Step = t.ev.Path
	if due, again := t.retry(s, live, t.ev.Path, e); again {
		t.startTask(p, s, due)
		return true
	}
	t.failStep(p, s, e)
	return true
}

// taskReleased: an attempt was interrupted politely. It does not count, and the task is ready at once.
func (t *turn) taskReleased() bool {
	if _, d, _, ok := t.compensation(); ok {
		d.Task.Live.Attempt = t.ev.Attempt
		t.startUndo(d, 0)
		return true
	}
	p, s, live, ok := t.task()
	switch {
	case !ok:
		return false
	case live == nil:
		return t.itemReleased(p, t.ev.Attempt)
	case t.stopping(p, s):
		t.stopped(p, s, false)
	default:
		live.Attempt, live.Unknown = t.ev.Attempt, s.Compensate != nil
		t.startTask(p, s, 0)
	}
	return true
}

// taskStopped: a task that was told to stop is gone.
func (t *turn) taskStopped() bool {
	p, s, live, ok := t.task()
	switch {
	case !ok:
		return false
	case live == nil:
		return t.itemStopped(p)
	case !t.stopping(p, s):
		return false
	}
	t.stopped(p, s, false)
	return true
}
