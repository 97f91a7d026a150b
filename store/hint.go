package store

import (
	"slices"

	"github.com/millrace-go/millrace/machine"
)

// Hint tells a watcher what may have made work. The zero value says that it may be anything, anywhere.
type Hint struct {
	// Lanes are those in which tasks became ready, by their names alone (no ID, no Paused), when nothing else happened.
	Lanes []Lane
}

const maxHinted = 16 // lanes that one hint names; more of them are anywhere

// And gives one hint of both.
func (h Hint) And(other Hint) Hint {
	if len(h.Lanes) == 0 || len(other.Lanes) == 0 {
		return Hint{}
	}
	out := Hint{Lanes: slices.Clone(h.Lanes)}
	for _, lane := range other.Lanes {
		if !slices.Contains(out.Lanes, lane) {
			out.Lanes = append(out.Lanes, lane)
		}
	}
	if len(out.Lanes) > maxHinted {
		return Hint{}
	}
	return out
}

// Send has a watcher hear a hint, with the one that it has not heard yet. The channel has room for one; nobody else sends on it at
// the same time.
func (h Hint) Send(to chan Hint) {
	select {
	case unheard := <-to:
		h = h.And(unheard)
	default:
	}
	to <- h
}

// Hints gathers what watchers are to hear of the settlements of one transaction. The zero value has nothing to tell.
type Hints struct {
	hint Hint
	some bool
}

// Add adds what a settlement made, carried out and having handed over these tasks.
func (t *Hints) Add(s *Settlement, handed []Claimed) {
	switch h, some := s.Hint(handed); {
	case !some:
	case t.some:
		t.hint = t.hint.And(h)
	default:
		t.hint, t.some = h, true
	}
}

// Tell gives tell the hint, if there is one.
func (t *Hints) Tell(tell func(Hint)) {
	if t.some {
		tell(t.hint)
	}
}

// Hint says whether the settlement, carried out, made work for others than those to whom it handed tasks over, and where.
func (s *Settlement) Hint(handed []Claimed) (h Hint, some bool) {
	for _, effect := range s.Effects {
		switch e := effect.(type) {
		case machine.StartTask:
			lane := Lane{Tenant: s.Run.Tenant, Queue: e.Queue, Handler: e.Handler, Workflow: s.Run.Workflow}
			if e.Held || slices.Contains(h.Lanes, lane) || slices.ContainsFunc(handed, func(c Claimed) bool { return c.Path == e.Path }) {
				continue
			}
			h.Lanes, some = append(h.Lanes, lane), true
		case machine.StopTask, machine.SetTimer, machine.FreeTasks:
			return Hint{}, true
		}
	}
	return h, some
}
