package plan

// Cut takes pieces out of a plan: those of which gone says yes, counted from first in the order of the file. It gives the
// number of the piece after the last. What is left may be no workflow any more.
func (p *Plan) Cut(first int, gone func(piece int) bool) (next int) {
	c := &cutter{next: first, gone: gone}
	c.piece(func() { p.OnFailure = "" })
	c.piece(func() { p.Continue = false })
	c.piece(func() { p.Deadline = "" })
	c.piece(func() { p.Finally = nil })
	for _, u := range p.Shared {
		c.undo(u)
	}
	c.body(p.Root)
	return c.next
}

// cutter counts pieces.
type cutter struct {
	next int
	gone func(piece int) bool
}

func (c *cutter) piece(cut func()) {
	if c.gone(c.next) {
		cut()
	}
	c.next++
}

func (c *cutter) undo(u *Undo) {
	c.piece(func() { u.Attempts = 0 })
	c.piece(func() { u.Timeout, u.With = false, false })
	c.piece(func() { u.Once = false })
}

func (c *cutter) body(b *Body) {
	for i := len(b.Steps) - 1; i > 0; i-- { // the last of those that are left
		c.piece(func() {
			if i == len(b.Steps)-1 {
				b.drop(i)
			}
		})
	}
	for _, s := range b.Steps {
		c.step(s)
	}
}

// drop takes the last step out, and what leads to it.
func (b *Body) drop(last int) {
	b.Steps = b.Steps[:last]
	for _, s := range b.Steps {
		if s.Next >= last {
			s.Next = -1
		}
		s.Cases, s.Catches = before(s.Cases, last), before(s.Catches, last)
	}
}

// before gives the ways that lead to steps before one, or to bodies.
func before(ways []Way, last int) (out []Way) {
	for _, w := range ways {
		if w.Next < last {
			out = append(out, w)
		}
	}
	return out
}

func (c *cutter) step(s *Step) {
	bodies := s.Bodies()
	c.piece(func() {
		*s = Step{Key: s.Key, Alone: s.Alone, Action: "set", After: s.After, Next: s.Next, Tolerate: -1}
	})
	c.piece(func() { s.Catches = nil })
	c.piece(func() { s.Undo, s.UndoKnown = nil, false })
	c.piece(func() { s.Extra = nil })
	c.piece(func() { s.Guard = Always })
	c.piece(func() { s.OnError = "" })
	c.piece(func() { s.Attempts = 0 })
	c.piece(func() { s.UndoKnown, s.AtMostOnce = false, false })
	c.piece(func() { s.Join, s.N, s.CancelRest = "", 0, false })
	c.piece(func() { s.Need, s.Tolerate, s.CancelRest = 0, -1, false })
	c.piece(func() { s.Items = min(s.Items, 1) })
	c.piece(func() {
		if s.Action == "parallel" {
			s.Inner = s.Inner[:1]
		}
	})
	if s.Undo != nil && s.Undo.Name == "" {
		c.undo(s.Undo)
	}
	for _, b := range bodies {
		c.body(b)
	}
}
