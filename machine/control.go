package machine

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/millrace-go/millrace/workflow"
)

// ControlDoc is what the root's document holds of people's orders, of letters, and of the run's last steps.
type ControlDoc struct {
	Under    Status             `json:"u,omitempty"` // paused: the status that the pause covers
	PausedAt Time               `json:"p,omitempty"`
	SetAside []string           `json:"t,omitempty"` // timers that came due while it was paused
	Deadline Time               `json:"d,omitempty"` // the run fails then; 0: it has no bound, or is past it
	Parked   int                `json:"y,omitempty"` // steps that wait for a person
	Letters  map[LetterKind]int `json:"k,omitempty"` // open letters about undoing
	Finally  []string           `json:"i,omitempty"` // paths of the open letters of finally
	Answered bool               `json:"a,omitempty"` // the letter of the unhandled failure was closed
	Final    *Final             `json:"f,omitempty"` // set once finally has begun
	Late     map[string][]int   `json:"l,omitempty"` // late outcomes: attempts by path
	LateOut  map[string]Data    `json:"o,omitempty"` // what late successes gave, of steps that had not ended when the run began to stop
	Finals   int                `json:"n,omitempty"` // times that finally ran before the retries
	Retries  int                `json:"r,omitempty"` // of the run
}

// Final is finally, and what comes after it.
type Final struct {
	Ending   Status `json:"s"`           // how the run ends
	Err      *Error `json:"e,omitempty"` // why
	NoLetter bool   `json:"n,omitempty"` // a `fail` action began it
	Output   Data   `json:"o,omitzero"`
	Over     bool   `json:"r,omitempty"` // it has run
}

func (c *ControlDoc) clone() *ControlDoc {
	if c == nil {
		return nil
	}
	d := *c
	d.SetAside, d.Letters, d.Late = slices.Clone(c.SetAside), maps.Clone(c.Letters), maps.Clone(c.Late)
	d.LateOut, d.Finally = maps.Clone(c.LateOut), slices.Clone(c.Finally)
	if c.Final != nil {
		f := *c.Final
		d.Final = &f
	}
	return &d
}

func (t *turn) control() *ControlDoc {
	d := t.run.Root.Run
	if d.Control == nil {
		d.Control = &ControlDoc{}
	}
	return d.Control
}

// tidyControl drops the part again when it says nothing, so that a run costs nothing for what it never met.
func (t *turn) tidyControl() {
	d := t.run.Root.Run
	if c := d.Control; c != nil && c.Under == "" && c.PausedAt == 0 && len(c.SetAside) == 0 && c.Deadline == 0 && c.Parked == 0 &&
		len(c.Letters) == 0 && len(c.Finally) == 0 && !c.Answered && c.Final == nil && len(c.Late) == 0 && c.Retries == 0 {
		d.Control = nil
	}
}

// paused says whether a pause covers the run's status.
func (r *Run) paused() bool {
	c := r.Root.Run.Control
	return c != nil && c.Under != ""
}

// final gives finally while it runs.
func (r *Run) final() *Final {
	if c := r.Root.Run.Control; c != nil && c.Final != nil && !c.Final.Over {
		return c.Final
	}
	return nil
}

// setStatus changes the run's status, or the one under its pause.
func (t *turn) setStatus(s Status) {
	switch {
	case !t.run.paused():
		t.run.Status = s
	case s.Ended():
		t.run.Status = s
		c := t.control()
		c.Under, c.PausedAt, c.SetAside = "", 0, nil
	default:
		t.control().Under = s
	}
}

// status is the run's, as it is without a pause.
func (t *turn) status() Status {
	if t.run.paused() {
		return t.control().Under
	}
	return t.run.Status
}

// order is what a person asked for.
func (t *turn) order() Order {
	var o Order
	_ = json.Unmarshal(t.ev.Payload, &o) // one that cannot be read says nothing
	return o
}

// open counts the open letters of a kind.
func (t *turn) open(kind LetterKind) int {
	if kind == LetterFailure {
		if c := t.run.Root.Run.Control; t.run.Status == Failed && t.unhandled() && !t.deliberate() && (c == nil || !c.Answered) {
			return 1
		}
		return 0
	}
	if c := t.run.Root.Run.Control; c != nil {
		return c.Letters[kind]
	}
	return 0
}

// deliberate says whether a `fail` action began the run's failure.
func (t *turn) deliberate() bool {
	sp, err := locate(t.def, t.run.Root.Run.Error.Step)
	if err != nil {
		return false
	}
	_, yes := sp.step.Action.(*workflow.Fail)
	return yes
}

func (t *turn) openLetter(kind LetterKind, path string, e *Error) {
	switch kind {
	case LetterFailure:
	case LetterFinally:
		c := t.control()
		c.Finally = append(c.Finally, path)
	default:
		c := t.control()
		if c.Letters == nil {
			c.Letters = map[LetterKind]int{}
		}
		c.Letters[kind]++
	}
	t.emit(OpenLetter{Kind: kind, Path: path, Error: e})
}

func (t *turn) closeLetter(kind LetterKind, path string, how LetterState) {
	switch c := t.control(); kind {
	case LetterFailure:
		c.Answered = true
	case LetterFinally:
		c.Finally = slices.DeleteFunc(c.Finally, func(p string) bool { return p == path })
	default:
		if c.Letters[kind]--; c.Letters[kind] <= 0 {
			delete(c.Letters, kind)
		}
	}
	t.emit(CloseLetter{Kind: kind, Path: path, How: how})
}

// cancelRequested: the run stops, is undone, and ends cancelled. While it stops or is undone only its ending changes.
func (t *turn) cancelRequested() bool {
	root := t.run.Root
	if mutant("cancel ignored") || t.run.Status.Ended() || t.run.final() != nil || root.Stop != nil && root.Stop.Reason == ByCancel {
		return false
	}
	if root.Stop != nil {
		if root.Stop.Reason = ByCancel; root.Stop.Err == nil { // it was about to end with success
			root.Stop.Err = t.cancelError()
			t.setStatus(Stopping)
		}
		return true
	}
	if t.run.StartedAt == 0 {
		t.cancelTimer(TimerStart)
		root.States = pendingStates(len(t.def.Body.Steps))
		root.Left = len(root.States)
	}
	t.stopScope(rootPlace(t.def), &Closing{Reason: ByCancel, Err: t.cancelError()})
	return true
}

func (t *turn) cancelError() *Error {
	return &Error{Code: CodeCancelled, Message: clip(t.order().Reason)}
}

// abortRequested: the run ends at once. Nothing is awaited and nothing undone.
func (t *turn) abortRequested() bool {
	if t.run.Status.Ended() {
		return false
	}
	if mutant("abort undoes") {
		return t.cancelRequested()
	}
	c := t.control()
	if c.Parked > 0 || len(c.Letters) > 0 {
		t.emit(CloseLetter{How: LetterSuperseded})
	}
	c.Parked = 0
	c.Letters = nil
	root := t.run.Root
	for i, state := range root.States {
		if state.Live() || state == StepCompensating {
			root.States[i] = StepCancelled
		}
	}
	root.Left = 0
	e := &Error{Code: CodeAborted, Message: clip(t.order().Reason)}
	if root.Stop != nil && root.Stop.Err != nil {
		e = root.Stop.Err
	}
	t.endRun(Aborted, e, true, Data{})
	return true
}

// pauseRequested: nothing of the run is claimed until it is resumed.
func (t *turn) pauseRequested() bool {
	if t.run.Status.Ended() || t.run.paused() {
		return false
	}
	c := t.control()
	c.Under, c.PausedAt = t.run.Status, t.run.At
	t.run.Status = Paused
	t.emit(HoldTasks{})
	if c.Deadline != 0 {
		t.cancelTimer(TimerDeadline)
	}
	return true
}

// resumeRequested: what the pause held goes on, and what came due meanwhile is due now.
func (t *turn) resumeRequested() bool {
	if !t.run.paused() {
		return false
	}
	c := t.control()
	t.run.Status = c.Under
	t.emit(FreeTasks{})
	for _, key := range c.SetAside {
		t.emit(SetTimer{Key: key, Due: t.run.At})
	}
	if c.Deadline != 0 {
		c.Deadline += t.run.At - c.PausedAt
		t.emit(SetTimer{Key: TimerDeadline, Due: c.Deadline})
	}
	c.Under, c.PausedAt, c.SetAside = "", 0, nil
	return true
}

// setAside keeps a timer that came due during a pause for the resume.
func (t *turn) setAside() bool {
	c := t.control()
	if slices.Contains(c.SetAside, t.ev.Path) {
		return false
	}
	c.SetAside = append(c.SetAside, t.ev.Path)
	return true
}

// cancelTimer removes a timer, or forgets that a pause has set it aside.
func (t *turn) cancelTimer(key string) {
	if c := t.run.Root.Run.Control; c != nil {
		if i := slices.Index(c.SetAside, key); i >= 0 {
			c.SetAside = slices.Delete(c.SetAside, i, i+1)
			return
		}
	}
	t.emit(CancelTimer{Key: key})
}

// setDeadline has the run fail when it has taken as long as its definition allows.
func (t *turn) setDeadline() {
	if t.def.Deadline == 0 {
		return
	}
	c := t.control()
	c.Deadline = t.run.At.Add(t.def.Deadline)
	t.emit(SetTimer{Key: TimerDeadline, Due: c.Deadline})
}

// dropDeadline: a run that stops, is undone, or is in its finally has no deadline any more.
func (t *turn) dropDeadline() {
	if c := t.run.Root.Run.Control; c != nil && c.Deadline != 0 {
		c.Deadline = 0
		if !t.run.paused() && (t.ev.Kind != TimerFired || t.ev.Path != TimerDeadline) {
			t.cancelTimer(TimerDeadline)
		}
	}
}

// deadlineReached fails the run at its root.
func (t *turn) deadlineReached() bool {
	c := t.run.Root.Run.Control
	if c == nil || c.Deadline == 0 || t.run.Root.Stop != nil {
		return false
	}
	e := &Error{Code: CodeDeadline, Message: "not done within " + t.def.Deadline.String()}
	t.stopScope(rootPlace(t.def), &Closing{Reason: ByFailure, Err: e})
	return true
}
