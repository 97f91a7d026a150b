package machine

import (
	"slices"
	"strconv"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow"
)

// rootDone ends the run with success. given: an `end` action at the root wrote the output, which then goes before the
// workflow's own.
func (t *turn) rootDone(out Data, given bool) {
	if t.run.final() != nil { // it was told already, in this turn
		return
	}
	root := rootPlace(t.def)
	if t.def.Output != nil && !given {
		raw, err := t.def.Output.Eval(t.env(view{at: root, prev: out}, &t.def.OutputUses), expr.Budget{})
		if err != nil {
			t.rootFailed(&Closing{Reason: ByFailure, Err: expressionError(err)})
			return
		}
		out = t.put("!output", t.run.retries(), raw)
	}
	t.finish(Succeeded, nil, out)
}

// rootFailed fails a run in which nothing is under way any more.
func (t *turn) rootFailed(why *Closing) {
	root := rootPlace(t.def)
	t.run.Root.Stop = why
	t.rootStopping(why)
	t.undoUnit(unit{at: root}, why)
}

// rootStopping notes that the run has begun to fail, to be cancelled, or to end early.
func (t *turn) rootStopping(why *Closing) {
	if why.Reason != ByEnd {
		t.setStatus(Stopping)
	}
	t.dropDeadline()
}

// rootUndone ends a run that has failed or was cancelled, and of which is undone what can be.
func (t *turn) rootUndone() {
	why, d := t.run.Root.Stop, t.run.Root.Run.Undo
	if why == nil { // a run that ended and whose letter was redriven
		why = &Closing{Reason: ByFailure, Err: t.run.Root.Run.Error}
	}
	ending := Failed
	if why.Reason == ByCancel {
		ending = Cancelled
	}
	if d != nil && d.Unknown > 0 && t.open(LetterUnknown) == 0 {
		t.openLetter(LetterUnknown, "", &Error{Code: CodeOutcomeUnknown, Message: unknownMessage(d.Unknown), Step: why.Err.Step})
	}
	if d != nil && (d.Unknown > 0 || d.Dropped > 0) || t.open(LetterCompensation) > 0 {
		ending = Dead
	}
	t.finish(ending, why, Data{})
}

func unknownMessage(n int) string {
	if n == 1 {
		return "nobody knows whether a step was done, and it was not undone"
	}
	return strconv.Itoa(n) + " steps of which nobody knows whether they were done were not undone"
}

// endRun ends the run. deliberate: a `fail` action began its failure.
func (t *turn) endRun(status Status, e *Error, deliberate bool, out Data) {
	if t.run.Status.Ended() {
		return
	}
	t.run.past.ended(t)
	t.setStatus(status)
	t.run.FinishedAt = t.run.At
	root := t.run.Root
	root.Run.Error, root.Run.Output, root.Run.Events = e, out, nil
	for i, state := range root.States {
		if state == StepPending {
			root.States[i] = StepEnd
		}
	}
	if status != Dead { // a dead run goes on once somebody has answered its letter
		root.Stop, root.Joins, root.Live, root.Got, root.Undo, root.Run.Undo = nil, nil, nil, nil, nil, nil
	}
	if status == Failed && !deliberate && t.unhandled() {
		t.openLetter(LetterFailure, e.Step, e)
	}
	t.emit(EndRun{Status: status, Error: e, Keep: status == Dead})
	t.todo = nil
}

// retries counts the retries of the run.
func (r *Run) retries() int {
	if c := r.Root.Run.Control; c != nil {
		return c.Retries
	}
	return 0
}

// unhandled says whether a failure that reaches the root is one that the workflow has no answer to.
func (t *turn) unhandled() bool {
	return t.def.OnFailure != workflow.FailAtOnce && !compensates(t.def)
}

// compensates says whether a definition declares a compensation.
func compensates(def *workflow.Definition) bool {
	return len(def.Compensations) > 0 || slices.ContainsFunc(def.Steps, func(s *workflow.Step) bool { return s.Compensate != nil })
}
