package machine

import "github.com/millrace-go/millrace/expr"

// rootDone ends the run with success. given: an `end` action at the root wrote the output, which then goes before the
// workflow's own.
func (t *turn) rootDone(out Data, given bool) {
	root := rootPlace(t.def)
	if t.def.Output != nil && !given {
		raw, err := t.def.Output.Eval(t.env(view{at: root, prev: out}, &t.def.OutputUses), expr.Budget{})
		if err != nil {
			t.endRun(Failed, expressionError(err), false, Data{})
			return
		}
		out = t.put("!output", 0, raw)
	}
	t.endRun(Succeeded, nil, false, out)
}

func (t *turn) endRun(status Status, e *Error, deliberate bool, out Data) {
	if t.run.Status.Ended() {
		return
	}
	t.run.Status, t.run.FinishedAt = status, t.run.At
	root := t.run.Root
	root.Run.Error, root.Run.Output, root.Run.Events = e, out, nil
	for i, state := range root.States {
		if state == StepPending {
			root.States[i] = StepEnd
		}
	}
	root.Stop, root.Joins, root.Live, root.Got = nil, nil, nil, nil
	if status == Failed && !deliberate {
		t.emit(OpenLetter{Kind: LetterFailure, Path: e.Step, Error: e})
	}
	t.emit(EndRun{Status: status, Error: e})
	t.todo = nil
}
