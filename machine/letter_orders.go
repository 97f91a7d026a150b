package machine

import "slices"

// redriveRequested: the work of an open letter is tried again.
func (t *turn) redriveRequested() bool {
	switch LetterKind(t.ev.Name) {
	case LetterParked:
		return !t.run.Status.Ended() && t.redriveParked()
	case LetterCompensation:
		return t.redriveCompensation()
	case LetterUnknown:
		return t.redriveUnknown()
	case LetterFailure:
		return t.open(LetterFailure) > 0 && t.ev.Path == t.run.Root.Run.Error.Step && t.retryRequested()
	default:
		return false
	}
}

// dropRequested: the work of an open letter is given up.
func (t *turn) dropRequested() bool {
	switch kind := LetterKind(t.ev.Name); kind {
	case LetterParked:
		return !t.run.Status.Ended() && t.dropParked()
	case LetterCompensation:
		return t.dropCompensation()
	case LetterUnknown:
		return t.dropUnknown()
	case LetterFailure:
		if t.open(kind) == 0 || t.ev.Path != t.run.Root.Run.Error.Step {
			return false
		}
	case LetterFinally:
		if c := t.run.Root.Run.Control; c == nil || !slices.Contains(c.Finally, t.ev.Path) {
			return false
		}
	default:
		return false
	}
	t.closeLetter(LetterKind(t.ev.Name), t.ev.Path, LetterDropped)
	return true
}

// dropUnknown gives the compensations that were passed over up for good.
func (t *turn) dropUnknown() bool {
	if t.open(LetterUnknown) == 0 || t.ev.Path != "" {
		return false
	}
	t.closeLetter(LetterUnknown, "", LetterDropped)
	for _, n := range t.setAsideRecords() {
		t.record(n).Fate = GivenUp
	}
	d := t.undoDoc()
	d.Dropped, d.Unknown = d.Dropped+d.Unknown, 0
	return true
}

// setAsideRecords are those passed over because nobody knows whether they were done, newest first.
func (t *turn) setAsideRecords() (all []int) {
	for n := t.logged() - 1; n >= 0; n-- {
		if t.record(n).Fate == SetAside {
			all = append(all, n)
		}
	}
	return all
}

// stuck finds the unit that waits for an answer to the letter at the event's path.
func (t *turn) stuck() (unit, *Undoing) {
	sp, err := locate(t.def, t.ev.Path)
	if err != nil || sp.undone == nil {
		return unit{}, nil
	}
	u, d := t.undoer(sp)
	if d == nil || !d.Task.Stuck {
		return unit{}, nil
	}
	return u, d
}

// gaveUp finds the record of a compensation that gave up and was passed over; ok is false when there is none.
func (t *turn) gaveUp() (n int, ok bool) {
	for n = t.logged() - 1; n >= 0; n-- {
		if r := t.record(n); r.Fate == GaveUp && r.Path+UndoSuffix == t.ev.Path {
			return n, true
		}
	}
	return 0, false
}

// resurrect has a dead run go on with its undoing.
func (t *turn) resurrect() {
	if t.run.Status == Dead {
		t.run.Status, t.run.FinishedAt = Compensating, 0
	}
}

// redriveCompensation tries a compensation that gave up again: at once when its unit waits for it, else when the plan is through.
func (t *turn) redriveCompensation() bool {
	if !t.mayAnswer() {
		return false
	}
	if _, d := t.stuck(); d != nil {
		t.closeLetter(LetterCompensation, t.ev.Path, LetterRedriven)
		t.resurrect()
		t.undoDoc().Stuck--
		live := &d.Task.Live
		d.Task.Stuck, live.Counts, live.Since = false, nil, 0
		t.newInput(live)
		t.showUndo(t.record(d.Task.Record).Path, StepCompensating)
		t.startUndo(d, 0)
		return true
	}
	n, ok := t.gaveUp()
	if !ok {
		return false
	}
	t.closeLetter(LetterCompensation, t.ev.Path, LetterRedriven)
	t.newInput(t.record(n).Live)
	t.redo(n)
	return true
}

// mayAnswer says whether the run stands where a letter about undoing may be answered.
func (t *turn) mayAnswer() bool {
	return t.open(LetterKind(t.ev.Name)) > 0 && t.run.final() == nil && (!t.run.Status.Ended() || t.run.Status == Dead)
}

// redo has records undone when the plan of the root is through, which it is when the run is dead.
func (t *turn) redo(records ...int) {
	doc := t.undoDoc()
	for _, n := range records {
		t.record(n).Fate = Redoing
		doc.Extra = append(doc.Extra, n)
	}
	if t.run.Status != Dead {
		return
	}
	t.resurrect()
	if doc.Stuck == 0 {
		t.later(func() { t.undoNext(unit{at: rootPlace(t.def)}) })
	}
}

// redriveUnknown runs the compensations that were passed over because nobody knew whether their steps were done.
func (t *turn) redriveUnknown() bool {
	if !t.mayAnswer() || t.ev.Path != "" {
		return false
	}
	all := t.setAsideRecords()
	t.closeLetter(LetterUnknown, t.ev.Path, LetterRedriven)
	t.undoDoc().Unknown = 0
	t.redo(all...)
	return true
}

// dropCompensation gives a compensation up for good: it is passed over, the rest of the plan runs, and the run ends dead.
func (t *turn) dropCompensation() bool {
	if !t.mayAnswer() {
		return false
	}
	u, d := t.stuck()
	n, ok := 0, false
	if d != nil {
		n, ok = d.Task.Record, true
	} else {
		n, ok = t.gaveUp()
	}
	if !ok {
		return false
	}
	t.closeLetter(LetterCompensation, t.ev.Path, LetterDropped)
	t.record(n).Fate = GivenUp
	t.undoDoc().Dropped++
	if d != nil {
		t.undoDoc().Stuck--
		d.Task = nil
		t.resurrect()
		t.later(func() { t.undoNext(u) })
	}
	return true
}
