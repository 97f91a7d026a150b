package plan

import "fmt"

// share draws the compensations that steps share.
func (d *drawer) share(p *Plan) {
	for i := range 1 + d.IntN(2) {
		u := d.compensation()
		u.Name, u.Once = fmt.Sprintf("shared-%d", i+1), d.one(2)
		p.Shared = append(p.Shared, u)
	}
	d.shared = p.Shared
}

func (d *drawer) compensation() *Undo {
	return &Undo{Attempts: pick(d, 0, 0, 1, 2, 6), Timeout: d.one(8), With: d.one(4)}
}

// undo lets a step be undone, once in n.
func (d *drawer) undo(s *Step, n int) {
	if !d.saga || !d.one(n) {
		return
	}
	s.Undo = d.compensation()
	if len(d.shared) > 0 && d.one(2) {
		s.Undo = pick(d, d.shared...)
	}
	s.UndoKnown = d.one(8)
}

// whole draws what is said of a workflow as a whole.
func (d *drawer) whole(p *Plan) {
	switch {
	case d.one(5):
		p.OnFailure = "park"
	case !d.saga && d.one(3):
		p.OnFailure = "fail"
	}
	if p.OnFailure == "fail" && p.Sagas() {
		p.OnFailure = ""
	}
	p.Continue = d.one(3)
	if d.one(7) {
		p.Deadline = d.deadline()
	}
	if d.one(4) {
		p.Finally = d.last()
	}
}

// deadline draws one that no time in the plan exceeds.
func (d *drawer) deadline() string {
	switch {
	case d.longest < 25:
		return pick(d, "25s", "4m", "3h")
	case d.longest < 240:
		return pick(d, "4m", "3h")
	default:
		return "3h"
	}
}

// last draws the body of `finally`: tasks that are told of the ending.
func (d *drawer) last() *Body {
	b := &Body{Kind: pick(d, Single, Sequence, Graph)}
	n := 1
	if b.Kind != Single {
		n += d.IntN(2)
	}
	for i := range n {
		s := &Step{Key: fmt.Sprintf("f%d", i+1), Next: -1, Tolerate: -1, Action: "task", Attempts: pick(d, 0, 1, 2), Alone: b.Kind == Single}
		s.Extra = []string{`with: { ending: "${ run.ending }", why: "${ error }" }`}
		s.Doomed = d.one(8)
		b.Steps = append(b.Steps, s)
	}
	return b
}
