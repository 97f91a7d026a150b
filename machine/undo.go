package machine

import (
	"slices"
	"strings"

	"github.com/millrace-go/millrace/workflow"
)

// A unit is what fails and is undone as one (docs/machine.md 5): the root; all scopes of a try of a composite at once; or one scope
// alone whose failure its composite bears. It is undone once nothing of it runs any more, and judged after that.
type unit struct {
	at   *place         // the scope; of a composite the one that holds it
	step *workflow.Step // the composite; nil: the scope alone
}

// Undoing is the plan of a unit that is being carried out: a cursor on the undo log.
type Undoing struct {
	Top   int       `json:"t,omitempty"` // records from here on were looked at
	Mark  int       `json:"m,omitempty"` // records before are older than the unit
	First int       `json:"f,omitempty"` // 1 + the record to begin with; 0: it was looked at, or there is none
	Err   Data      `json:"e,omitzero"`  // `error` in its compensations
	Cause *Error    `json:"c,omitempty"` // the same
	Task  *UndoTask `json:"k,omitempty"` // the compensation in hand
	Once  []string  `json:"o,omitempty"` // shared compensations that run once and did
}

// UndoTask is a compensation under way.
type UndoTask struct {
	Record int  `json:"r"`
	Live   Live `json:"l"`
	Stuck  bool `json:"s,omitempty"` // it gave up, and waits for a person

	Was State `json:"w,omitempty"` // a step of the root: how it stood before
}

func (d *Undoing) clone() *Undoing {
	if d == nil {
		return nil
	}
	c := *d
	c.Once = slices.Clone(d.Once)
	if d.Task != nil {
		task := *d.Task
		live := cloneLive(map[int]*Live{0: &task.Live})
		task.Live = *live[0]
		c.Task = &task
	}
	return &c
}

// undoing gives the plan of a unit; nil when it is not being undone.
func (t *turn) undoing(u unit) *Undoing {
	if u.at.isItemTask() {
		return nil
	}
	sc := t.peek(u.at)
	if sc == nil {
		return nil
	}
	if u.step == nil {
		return sc.Undo
	}
	if live := sc.Live[u.step.Index]; live != nil && live.Box != nil {
		return live.Box.Undo
	}
	return nil
}

// undoUnit begins to undo a unit of which nothing runs any more. Without anything to undo it is judged at once.
func (t *turn) undoUnit(u unit, why *Closing) {
	mark := t.scope(u.at).Mark
	if u.step != nil {
		mark = t.scope(u.at).Live[u.step.Index].Box.Mark
	}
	d := &Undoing{Top: t.logged(), Mark: mark, First: why.First, Cause: why.Err}
	if u.step != nil && u.step.Compensate != nil && t.scope(u.at).Live[u.step.Index].Box.Catch == 0 {
		d.First = t.did(u.at, u.step, answered(why.Err), Data{}) // instead of what is inside
		d.Mark = d.Top
	}
	if d.First == 0 && d.Top <= d.Mark || u.step != nil && mutant("tries not undone") {
		t.judge(u)
		return
	}
	if why.Err != nil {
		d.Err = t.errorData(u.at.path, why.Err)
	}
	if u.step != nil {
		t.scope(u.at).Live[u.step.Index].Box.Undo = d
	} else {
		t.scope(u.at).Undo = d
	}
	t.later(func() { t.undoNext(u) })
}

// undoNext goes on with the plan of a unit: it starts the next compensation, or the unit is undone.
func (t *turn) undoNext(u unit) {
	d := t.undoing(u)
	if d == nil || d.Task != nil || t.run.Status.Ended() {
		return
	}
	for {
		n, again, ok := t.nextRecord(u, d)
		if !ok {
			break
		}
		if again || t.applies(u, d, n) {
			t.beginUndo(u, d, n)
			return
		}
	}
	if u.step != nil {
		box := t.scope(u.at).Live[u.step.Index].Box
		box.Undo, box.Undone = nil, true
	}
	t.judge(u)
}

// nextRecord gives the next record that belongs to a unit and was not looked at; again: a person asked for it.
func (t *turn) nextRecord(u unit, d *Undoing) (n int, again, ok bool) {
	if d.First > 0 && !mutant("no step first") {
		n, d.First = d.First-1, 0
		return n, false, true
	}
	for d.Top > d.Mark {
		d.Top--
		if r := t.record(d.Top); r.Fate == Undoable && t.inside(u, r.where()) {
			return d.Top, false, true
		}
	}
	doc := t.undoDoc()
	if u.at.up != nil || u.step != nil || len(doc.Extra) == 0 {
		return 0, false, false
	}
	n, doc.Extra = doc.Extra[0], doc.Extra[1:]
	return n, true, true
}

// inside says whether an activation belongs to a unit.
func (t *turn) inside(u unit, path string) bool {
	prefix, next := u.at.path, "/[~#"
	if u.step != nil {
		if box := t.scope(u.at).Live[u.step.Index].Box; box.Catch > 0 {
			prefix = u.at.catchBody(u.step, t.base(u.at, u.step), box.Catch-1).path
		} else {
			prefix, next = t.path(u.at, u.step), "/["
		}
	}
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (prefix == "" || rest == "" || strings.IndexByte(next, rest[0]) >= 0)
}

// within gives what is behind an activation's path in the path of something inside it.
func within(path, ap string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, ap)
	return rest, ok && rest != "" && (rest[0] == '/' || rest[0] == '[')
}

// applies says whether a record is to be undone, and notes why it is not.
func (t *turn) applies(u unit, d *Undoing, n int) bool {
	r := t.record(n)
	sp, err := locate(t.def, r.Path)
	if err != nil || sp.step.Compensate == nil {
		r.Fate = PassedOver
		return false
	}
	if sp.at.inFinally() && !u.at.inFinally() { // of a finally before a retry: that is never undone by the run
		return false
	}
	if t.covered(u, r) && !mutant("covered undone too") || u.at.up == nil && u.step == nil && t.safe(n, sp) {
		return false
	}
	if c := sp.step.CompensateUnknown; r.How == Unsure && !mutant("unknown undone") && c != nil && !*c {
		t.setAsideUnknown(u, d, r)
		return false
	}
	c := sp.step.Compensate
	switch {
	case !c.Once, mutant("once for each"):
		return true
	case slices.Contains(d.Once, c.Name):
		t.showUndo(r.Path, StepCompensated)
	case !slices.Contains(d.Once, notDone+c.Name):
		d.Once = append(d.Once, c.Name)
		return true
	}
	r.Fate = PassedOver
	return false
}

// setAsideUnknown passes over a record of which nobody knows whether it was done. The run ends dead, wherever that happens.
func (t *turn) setAsideUnknown(u unit, d *Undoing, r *Done) {
	if u.at.inFinally() {
		r.Fate = PassedOver
		t.openLetter(LetterFinally, r.Path, &Error{Code: CodeOutcomeUnknown, Message: unknownMessage(1), Step: r.Path})
		return
	}
	r.Fate, r.Err = SetAside, d.Err
	t.undoDoc().Unknown++
	t.beginToFail(d.Cause)
}

// covered says whether an activation lies in a composite of the unit that is undone by a compensation of its own.
func (t *turn) covered(u unit, r *Done) bool {
	sp, err := locate(t.def, r.where())
	if err != nil {
		return false
	}
	for q := sp.at; q.up != nil && !q.final; q = q.up {
		if q.path == u.at.path || u.step != nil && q.owner == u.step && q.up.path == u.at.path {
			return false // what lies further out is not asked
		}
		if q.owner.Compensate != nil && !q.catch {
			return true
		}
	}
	return false
}

// beginUndo starts the compensation of a record.
func (t *turn) beginUndo(u unit, d *Undoing, n int) {
	d.Task = &UndoTask{Record: n}
	if r := t.record(n); r.Live != nil { // it was tried before
		d.Task.Live, r.Live = *r.Live, nil
	}
	if u.at.up == nil && u.step == nil {
		t.setStatus(Compensating)
	}
	d.Task.Was = t.showUndo(t.record(n).Path, StepCompensating)
	if n > d.Mark && mutant("two at once") {
		t.startUndo(&Undoing{Task: &UndoTask{Record: n - 1}, Err: d.Err}, 0)
	}
	t.startUndo(d, 0)
}

// showUndo shows in the root's document how the undoing of one of its steps stands, and gives what stood there; 0 for others.
func (t *turn) showUndo(path string, state State) (was State) {
	if sp, err := locate(t.def, path); err == nil && sp.at.path == "" && withTry(t.base(sp.at, sp.step), sp.try) == path {
		if i := sp.step.Index; !t.run.Root.States[i].Live() {
			was, t.run.Root.States[i] = t.run.Root.States[i], state
		}
	}
	return was
}

// startUndo makes the task of the compensation in hand claimable.
func (t *turn) startUndo(d *Undoing, due Time) {
	r := t.record(d.Task.Record)
	sp, err := locate(t.def, r.Path+UndoSuffix)
	if err != nil {
		panic(err.Error())
	}
	live := &d.Task.Live
	if live.Since == 0 && hasFor(sp.step) {
		live.Since = max(t.run.At, due)
	}
	env := r.Env
	env.Undone = &UndoneEnv{Path: r.Path, Attempt: r.Attempt, Output: r.Out, Done: r.How == ForSure, Redriven: env.Redriven, Error: env.Error}
	env.Error, env.Redriven = d.Err, live.Redriven.given()
	if !r.Err.IsZero() {
		env.Error = r.Err
	}
	t.run.past.undoing(r.Path, live)
	t.emitTask(r.Path+UndoSuffix, sp.step, env, live.Attempt, due)
}

// compensation finds the unit whose compensation in hand an outcome is about; ok is false when none is expected.
func (t *turn) compensation() (u unit, d *Undoing, s *workflow.Step, ok bool) {
	sp, err := locate(t.def, t.ev.Path)
	if err != nil || sp.undone == nil {
		return unit{}, nil, nil, false
	}
	u, d = t.undoer(sp)
	if d == nil || d.Task.Stuck || t.ev.Kind != TaskStopped && t.ev.Attempt <= d.Task.Live.Attempt {
		return unit{}, nil, nil, false
	}
	return u, d, sp.step, true
}

// undoer finds the unit that has a compensation in hand.
func (t *turn) undoer(sp spot) (unit, *Undoing) {
	path := strings.TrimSuffix(sp.at.path, UndoSuffix)
	has := func(u unit) *Undoing {
		if d := t.undoing(u); d != nil && d.Task != nil && t.record(d.Task.Record).Path == path {
			return d
		}
		return nil
	}
	u := t.nearest(sp, path)
	for {
		if d := has(u); d != nil {
			return u, d
		}
		switch {
		case u.step != nil:
			u.step = nil
		case u.at.up == nil:
			return unit{}, nil
		default:
			u = unit{at: u.at.up, step: u.at.owner}
		}
	}
}

// nearest is the innermost unit that the compensation of a path may belong to. A record that a retry kept lies elsewhere: it is
// found by going through the log.
func (t *turn) nearest(sp spot, path string) unit {
	if c := t.run.Root.Run.Control; c != nil && c.Retries > 0 {
		for n := t.logged() - 1; n >= 0; n-- {
			if r := t.record(n); r.Path == path && r.Now != "" {
				if now, err := locate(t.def, r.Now); err == nil {
					return unit{at: now.at, step: now.step}
				}
			}
		}
	}
	return unit{at: sp.undone.at, step: sp.undone.step}
}

// inHand gives the plan that has the compensation of record n in hand.
func (t *turn) inHand(n int) *Undoing {
	sp, err := locate(t.def, t.record(n).Path+UndoSuffix)
	if err != nil {
		return nil
	}
	_, d := t.undoer(sp)
	return d
}

// undoSucceeded: a compensation has done its work.
func (t *turn) undoSucceeded(u unit, d *Undoing) {
	r := t.record(d.Task.Record)
	if r.Fate = Undone; mutant("undone twice") {
		r.Fate = Undoable
	}
	t.markOnce(d, r, "", notDone)
	t.showUndo(r.Path, StepCompensated)
	d.Task = nil
	t.later(func() { t.undoNext(u) })
}

// undoFailed: an attempt of a compensation failed. It is tried again by its own policy, or gives up.
func (t *turn) undoFailed(u unit, d *Undoing, s *workflow.Step, e *Error) {
	live := &d.Task.Live
	live.Attempt = t.ev.Attempt
	e.Step = t.ev.Path
	if due, again := t.retry(s, live, t.ev.Path, e); again {
		t.startUndo(d, due)
		return
	}
	t.undoGaveUp(u, d, e)
}

// undoGaveUp: a compensation needs a person. A failure in finally does not change how the run ends.
func (t *turn) undoGaveUp(u unit, d *Undoing, e *Error) {
	r := t.record(d.Task.Record)
	t.markOnce(d, r, notDone, "")
	if u.at.inFinally() {
		t.openLetter(LetterFinally, t.ev.Path, e)
		r.Fate, d.Task = PassedOver, nil
		t.later(func() { t.undoNext(u) })
		return
	}
	t.openLetter(LetterCompensation, t.ev.Path, e)
	if d.Task.Was != 0 {
		t.showUndo(r.Path, d.Task.Was)
	}
	if t.def.OnCompensationFailure == workflow.ContinueUndoing {
		live := d.Task.Live
		live.Counts, live.Since = nil, 0
		if r.Err.IsZero() {
			r.Err = d.Err
		}
		r.Fate, r.Live, d.Task = GaveUp, &live, nil
		t.later(func() { t.undoNext(u) })
	} else {
		d.Task.Stuck = true
		t.undoDoc().Stuck++
	}
	t.beginToFail(d.Cause)
}

// markOnce remembers whether a shared compensation that runs once did its work: when it gave up, what it was to undo is not undone.
func (t *turn) markOnce(d *Undoing, r *Done, now, before string) {
	sp, err := locate(t.def, r.Path)
	if err != nil || sp.step.Compensate == nil || !sp.step.Compensate.Once {
		return
	}
	if i := slices.Index(d.Once, before+sp.step.Compensate.Name); i >= 0 {
		d.Once[i] = now + sp.step.Compensate.Name
	}
}

const notDone = "!" // before the name of a shared compensation that gave up

// beginToFail has the whole run fail, because something inside it could not be undone.
func (t *turn) beginToFail(e *Error) {
	switch why := t.run.Root.Stop; {
	case why == nil:
		t.stopScope(rootPlace(t.def), &Closing{Reason: ByFailure, Err: e})
	case why.Reason == ByEnd:
		*why = Closing{Reason: ByFailure, Err: e}
		t.setStatus(Stopping)
	}
}

// judge says what becomes of a unit that is undone.
func (t *turn) judge(u unit) {
	switch {
	case u.step == nil && u.at.up == nil:
		t.rootUndone()
	case u.step == nil:
		t.scopeFailed(u.at, t.scope(u.at).Stop)
	default:
		t.boxStill(u.at, u.step)
	}
}

// answered says how sure it is that a step that failed with an error was not done.
func answered(e *Error) How {
	switch {
	case e == nil:
		return Unsure
	case e.Code == CodeLost || e.Code == CodeTimeout || e.Code == CodeOutcomeUnknown:
		return Unsure
	}
	return Answered
}
