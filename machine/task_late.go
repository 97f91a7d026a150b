package machine

// taskLate: an outcome whose token was no longer current. It changes no step. While the run is being undone, a success tells
// what a compensation that still has its turn ahead gets as output. It is recorded once, after the end of the run too.
func (t *turn) taskLate() bool {
	c := t.control()
	if t.ev.Attempt <= c.Late[t.ev.Path] {
		return false
	}
	if c.Late == nil {
		c.Late = map[string]int{}
	}
	c.Late[t.ev.Path] = t.ev.Attempt
	if t.run.Status.Ended() || t.run.Root.Stop == nil || t.ev.Name != LateSuccess {
		return true
	}
	for n := t.logged() - 1; n >= 0; n-- {
		r := t.record(n)
		if r.Path != t.ev.Path {
			continue
		}
		if (r.Fate == Undoable || r.Fate == SetAside) && r.How != ForSure {
			if r.Fate == SetAside {
				r.Fate = Redoing
				t.undoDoc().Unknown--
				t.undoDoc().Extra = append(t.undoDoc().Extra, n)
			}
			r.How, r.Out = ForSure, t.output()
		}
		break
	}
	return true
}
