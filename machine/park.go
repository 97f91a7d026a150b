package machine

import (
	"slices"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow"
)

// A workflow with `on_failure: park` has a failed step wait where it is for a person, when nothing outward would handle its
// failure. That is decided before anything stops.

// parks says whether a failed step waits for a person.
func (t *turn) parks(p *place, s *workflow.Step, e *Error) bool {
	live := t.scope(p).Live[s.Index]
	return t.mayPark() && s.IsTask && live != nil && live.Attempt > 0 && t.scope(p).Stop == nil && !p.inFinally() && !t.handledOutward(p, e)
}

// parksItem is parks for an item of a map whose body is one task.
func (t *turn) parksItem(q *place, box *Box, e *Error) bool {
	return t.mayPark() && box.Stop == nil && !q.inFinally() && !t.handledOutward(q, e)
}

// mayPark says whether anything may still park: once undoing has begun nothing does.
func (t *turn) mayPark() bool {
	return t.def.OnFailure == workflow.Park && t.run.Root.Stop == nil && t.run.final() == nil
}

// handledOutward says whether the failure of a scope would be handled by something around it.
func (t *turn) handledOutward(p *place, e *Error) bool {
	for p.up != nil && !p.final {
		s, sc := p.owner, t.scope(p.up)
		live := sc.Live[s.Index]
		if live.Box.Stop != nil { // it is failing already
			return true
		}
		box := *live.Box
		box.Bad++
		if e = unbearable(s, &box, e); e == nil {
			return true
		}
		if box.Catch == 0 && !e.Final && (t.triesAgain(p.up, s, live, e) || t.catches(p.up, s, e) || s.OnError != workflow.OnErrorFail) {
			return true
		}
		if sc.Stop != nil || t.superseded(p.up, s) {
			return true
		}
		p = p.up
	}
	return false
}

// triesAgain says whether a composite that fails has a retry left.
func (t *turn) triesAgain(p *place, s *workflow.Step, live *Live, e *Error) bool {
	copied := cloneLive(map[int]*Live{0: live})[0]
	copied.Attempt = live.Try + 1
	retryable := *e
	retryable.Permanent, retryable.RetryAfterMS = false, nil
	_, again := t.retry(s, copied, t.base(p, s), &retryable)
	return again
}

// catches says whether a catch of a composite takes the error. One whose condition cannot be evaluated does not.
func (t *turn) catches(p *place, s *workflow.Step, e *Error) bool {
	return slices.ContainsFunc(s.Catch, func(c workflow.Catch) bool {
		if !covers(c.Only, c.Except, e) {
			return false
		}
		if c.When == nil {
			return true
		}
		live := t.scope(p).Live[s.Index]
		ok, err := c.When.Bool(t.env(view{at: p, step: s, prev: live.In, err: t.errorValue(e)}, &c.WhenUses), expr.Budget{})
		return ok && err == nil
	})
}

// park has a failed step wait for a person.
func (t *turn) park(p *place, s *workflow.Step, e *Error) {
	sc := t.scope(p)
	sc.States[s.Index] = StepParked
	sc.Live[s.Index].Parked = e
	t.parked(t.base(p, s), e)
}

func (t *turn) parkItem(it item, live *Live, e *Error) {
	it.chunk.States[it.i] = StepParked
	it.box.Parked++
	live.Parked = e
	t.parked(it.q.path, e)
}

func (t *turn) parked(path string, e *Error) {
	t.control().Parked++
	t.emit(OpenLetter{Kind: LetterParked, Path: path, Error: e})
}

func (t *turn) unpark(path string, how LetterState) {
	t.control().Parked--
	t.emit(CloseLetter{Kind: LetterParked, Path: path, How: how})
}

// stopParkedItem ends an item that waits for a person and is no longer wanted.
func (t *turn) stopParkedItem(q *place, box *Box) {
	t.unpark(q.path, LetterSuperseded)
	c := t.chunk(q.ownerPath, q.slot, box.N)
	i := q.slot % ChunkSize
	c.States[i] = StepFailed
	set(&c.Err, i, t.errorData(q.path, c.Live[i].Parked))
	delete(c.Live, i)
	box.Open--
	box.Parked--
}

// parkedAt finds the parked step or item at a path; ok is false when none is.
func (t *turn) parkedAt(path string) (sp spot, live *Live, it item, ok bool) {
	sp, err := locate(t.def, path)
	if err != nil || sp.undone != nil || !sp.step.IsTask {
		return sp, nil, it, false
	}
	if sp.at.isItemTask() {
		if it, ok = t.openItemAt(sp.at); !ok || it.chunk.States[it.i] != StepParked {
			return sp, nil, it, false
		}
		return sp, it.chunk.Live[it.i], it, true
	}
	sc := t.peek(sp.at)
	if sc == nil || t.base(sp.at, sp.step) != path || sc.States[sp.step.Index] != StepParked {
		return sp, nil, it, false
	}
	return sp, sc.Live[sp.step.Index], it, true
}

// redriveParked tries a parked step again, with a fresh budget; the numbers of its attempts go on.
func (t *turn) redriveParked() bool {
	sp, live, it, ok := t.parkedAt(t.ev.Path)
	if !ok {
		return false
	}
	t.unpark(t.ev.Path, LetterRedriven)
	live.Parked, live.Counts, live.Since = nil, nil, 0
	t.newInput(live)
	if it.q != nil {
		it.box.Parked--
		it.chunk.States[it.i] = StepReady
		if hasFor(sp.step) {
			live.Since = t.run.At
		}
		t.startItem(it.q, live, 0)
		return true
	}
	t.startTask(sp.at, sp.step, 0)
	return true
}

// newInput gives a task the input that a person wrote, if there is one.
func (t *turn) newInput(live *Live) {
	in := t.order().Input
	if in == nil {
		return
	}
	n := 1
	if live.Redriven != nil {
		n += live.Redriven.N
	}
	before := live.Redriven
	if before != nil && live.Attempt <= before.After { // no attempt had it
		before = before.Before
	}
	live.Redriven = &Redriven{N: n, Input: t.put(t.ev.Path+"!input", n, in), After: live.Attempt, Before: before}
}

// dropParked has a parked step fail for good.
func (t *turn) dropParked() bool {
	sp, live, it, ok := t.parkedAt(t.ev.Path)
	if !ok {
		return false
	}
	t.unpark(t.ev.Path, LetterDropped)
	e := live.Parked
	live.Parked = nil
	if it.q != nil {
		it.box.Parked--
		t.itemFailedForGood(it, e)
		return true
	}
	t.failForGood(sp.at, sp.step, e, false)
	return true
}

// unparkSuperseded ends the parked steps that a join which has just started can do without: their failures fail nothing, and
// nobody need be asked.
func (t *turn) unparkSuperseded(p *place) {
	if c := t.run.Root.Run.Control; c == nil || c.Parked == 0 || p.body.Kind != workflow.Graph {
		return
	}
	sc := t.scope(p)
	for i, s := range p.body.Steps {
		if sc.States[i] == StepParked && t.superseded(p, s) {
			t.unpark(t.base(p, s), LetterSuperseded)
			t.didFail(p, s, sc.Live[i].Parked)
			t.settle(p, s, StepFailed, Data{})
		}
	}
}

// settleDown finds out, when nothing is left to do in this turn, whether only people can help: the run is parked, or it is dead.
// It says whether there is more to do.
func (t *turn) settleDown() bool {
	d := t.run.Root.Run
	if t.run.Status.Ended() || t.run.final() != nil {
		return false
	}
	root := rootPlace(t.def)
	switch c := d.Control; {
	case t.run.Root.Stop != nil:
		if d.Undo != nil && d.Undo.Stuck > 0 && !t.setOff() && t.quiet(root) {
			t.finish(Dead, t.run.Root.Stop, Data{})
			return true
		}
	case c != nil && c.Parked > 0 && !t.setOff() && t.quiet(root):
		t.setStatus(Parked)
	case t.status() == Parked:
		t.setStatus(Running)
	}
	return false
}

// setOff says whether this turn has started what will bring an event by itself: then nobody need look further.
func (t *turn) setOff() bool {
	timers := 0
	for _, effect := range t.effects {
		switch e := effect.(type) {
		case StartTask:
			return true
		case SetTimer:
			if e.Key != TimerDeadline {
				timers++
			}
		case CancelTimer: // perhaps of one that was set in this turn: look
			timers = 0
		default:
		}
	}
	return timers > 0
}

// quiet says whether only what waits for a person is under way in a scope.
func (t *turn) quiet(p *place) bool {
	sc := t.peek(p)
	if sc == nil {
		return true
	}
	if sc.Undo != nil {
		return sc.Undo.Task != nil && sc.Undo.Task.Stuck
	}
	for i, state := range sc.States {
		if state.Live() && state != StepParked && !(state == StepOpen && t.quietBox(p, p.body.Steps[i])) {
			return false
		}
	}
	return true
}

func (t *turn) quietBox(p *place, s *workflow.Step) bool {
	live := t.scope(p).Live[s.Index]
	box := live.Box
	if box.Undo != nil {
		return box.Undo.Task != nil && box.Undo.Task.Stuck
	}
	a, ok := s.Action.(*workflow.Map)
	if !ok || box.Catch > 0 {
		open := t.openScopes(p, s, t.path(p, s))
		return box.Open > 0 && !slices.ContainsFunc(open, func(q *place) bool { return !t.quiet(q) })
	}
	ap := t.path(p, s)
	if p.indexed(s, ap, a.Body, 0).isItemTask() {
		return box.Open == box.Parked
	}
	for i := range box.reach() {
		path := chunkPath(ap, i)
		t.stored(path)
		if t.run.Chunks[path] == nil {
			continue
		}
		switch t.run.Chunks[path].States[i%ChunkSize] {
		case StepReady, StepStopping:
			return false
		case StepOpen:
			if !t.quiet(p.indexed(s, ap, a.Body, i)) {
				return false
			}
		default:
		}
	}
	return true
}
