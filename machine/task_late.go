package machine

import "slices"

// taskLate: an outcome whose token was no longer current. It changes no step. While the run stops or is being undone, a success
// tells that the step was done, and what a compensation that still has its turn ahead gets as output. It is recorded once, after
// the end of the run too.
func (t *turn) taskLate() bool {
	c := t.control()
	if slices.Contains(c.Late[t.ev.Path], t.ev.Attempt) {
		return false
	}
	if c.Late == nil {
		c.Late = map[string][]int{}
	}
	c.Late[t.ev.Path] = append(slices.Clone(c.Late[t.ev.Path]), t.ev.Attempt)
	if t.run.Status.Ended() || t.run.Root.Stop == nil || t.ev.Name != LateSuccess {
		return true
	}
	for n := t.logged() - 1; n >= 0; n-- {
		if r := t.record(n); r.Path == t.ev.Path {
			t.nowSure(n, r)
			return true
		}
	}
	if c.LateOut == nil {
		c.LateOut = map[string]Data{}
	}
	c.LateOut[t.ev.Path] = t.output()
	return true
}

// nowSure notes that what a record says was done, if its compensation has not begun.
func (t *turn) nowSure(n int, r *Done) {
	if r.How == ForSure || r.Fate != Undoable && r.Fate != SetAside {
		return
	}
	if t.run.final() != nil { // the plan is over: its letter says what is left, and a redrive undoes it
		r.How, r.Out = ForSure, t.output()
		return
	}
	if r.Fate == SetAside {
		d := t.undoDoc()
		r.Fate, d.Extra = Redoing, append(d.Extra, n)
		if d.Unknown--; d.Unknown == 0 && t.open(LetterUnknown) > 0 {
			t.closeLetter(LetterUnknown, "", LetterSuperseded)
		}
	}
	if d := t.inHand(n); d == nil {
		r.How, r.Out = ForSure, t.output()
	}
}

// lateSuccess gives what a step that ended without an answer gave all the same, while the run was stopping.
func (t *turn) lateSuccess(path string) (Data, bool) {
	c := t.run.Root.Run.Control
	if c == nil {
		return Data{}, false
	}
	out, ok := c.LateOut[path]
	return out, ok
}
