package machine

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow"
)

// The kinds of timers: the end of a timer's key, behind the path of the activation that it is about.
const (
	TimerStart   = "!start"   // the start of the run, of no activation
	TimerGo      = "!go"      // a step that was put off because one Apply had done enough
	TimerDelay   = "!delay"   // a step's delay
	TimerWait    = "!wait"    // a wait action
	TimerRetry   = "!retry"   // the next try of a composite
	TimerTimeout = "!timeout" // a composite's timeout; the path has the try
	TimerEvery   = "!every"   // the pause between two passes; the path has the try

	TimerDeadline = "!deadline" // of the run, of no activation
)

// await makes a step wait for a timer.
func (t *turn) await(p *place, s *workflow.Step, kind string, due Time) {
	t.scope(p).Live[s.Index].Timer = kind
	t.emit(SetTimer{Key: t.base(p, s) + kind, Due: due})
}

func (t *turn) beginWait(p *place, s *workflow.Step, a *workflow.Wait) {
	live := t.scope(p).Live[s.Index]
	due := t.run.At.Add(a.For)
	if a.Until != nil {
		raw, err := a.Until.Eval(t.env(view{at: p, step: s, prev: live.In}, &s.ActionUses), expr.Budget{})
		if err != nil {
			t.failStep(p, s, expressionError(err))
			return
		}
		at, err := parseTime(raw)
		if err != nil {
			t.failStep(p, s, &Error{Code: CodeExpression, Permanent: true, Message: clip(err.Error())})
			return
		}
		due = at
	}
	if due <= t.run.At {
		t.settle(p, s, StepSucceeded, live.In)
		return
	}
	t.await(p, s, TimerWait, due)
}

func parseTime(raw json.RawMessage) (Time, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return 0, fmt.Errorf("wait until: %s is not a time: write RFC 3339 text such as \"2026-03-01T08:00:00Z\"", clip(string(raw)))
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, fmt.Errorf("wait until: %q is not a time: write RFC 3339 text such as \"2026-03-01T08:00:00Z\"", clip(text))
	}
	return TimeOf(at), nil
}

// timerFired: a time has come. A timer that is no longer waited for changes nothing; one that comes due in a pause is kept for
// the resume.
func (t *turn) timerFired() bool {
	act := t.awaited()
	switch {
	case act == nil:
		return false
	case t.run.paused():
		return t.setAside()
	}
	return act()
}

// awaited gives what is to be done when the event's timer fires; nil when nothing waits for it.
func (t *turn) awaited() func() bool {
	cut := strings.LastIndexByte(t.ev.Path, '!')
	switch {
	case cut < 0 || t.ev.Path == TimerDeadline && t.run.paused():
		return nil
	case t.ev.Path == TimerStart:
		if t.status() != Pending || t.run.Seq == 1 {
			return nil
		}
		return t.startDue
	case t.ev.Path == TimerDeadline:
		return t.deadlineReached
	}
	path, kind := t.ev.Path[:cut], t.ev.Path[cut:]
	sp, err := locate(t.def, path)
	if err != nil || sp.at.isItemTask() || sp.undone != nil {
		return nil
	}
	p, s := sp.at, sp.step
	sc := t.peek(p)
	if sc == nil || sc.Live[s.Index] == nil {
		return nil
	}
	live := sc.Live[s.Index]
	if kind == TimerTimeout {
		if live.Box == nil || live.Box.Stop != nil || live.Box.Catch > 0 || t.path(p, s) != path {
			return nil
		}
		return func() bool { return t.timedOut(p, s) }
	}
	if live.Timer != kind || kind == TimerEvery && t.path(p, s) != path || kind != TimerEvery && t.base(p, s) != path {
		return nil
	}
	return func() bool { return t.waited(p, s, kind) }
}

// waited goes on with a step that waited for a timer.
func (t *turn) waited(p *place, s *workflow.Step, kind string) bool {
	live := t.scope(p).Live[s.Index]
	live.Timer = ""
	switch kind {
	case TimerGo:
		t.guard(p, s)
	case TimerDelay:
		t.begin(p, s)
	case TimerWait:
		t.settle(p, s, StepSucceeded, live.In)
	case TimerRetry:
		live.Try++
		t.beginComposite(p, s)
	case TimerEvery:
		t.nextPass(p, s, s.Action.(*workflow.Loop))
	}
	return true
}

func (t *turn) timedOut(p *place, s *workflow.Step) bool {
	msg := fmt.Sprintf("not done within %s", s.Timeout)
	e := t.name(p, s, &Error{Code: CodeTimeout, Message: msg})
	t.stopBox(p, s, &Closing{Reason: ByFailure, Err: e})
	return true
}
