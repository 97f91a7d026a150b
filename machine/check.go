package machine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/millrace-go/millrace/workflow"
)

// Check gives what is wrong with the documents of a run as far as they are loaded, in words: nothing for a sound run. It is
// what property tests, the simulation and repair tools ask after every event (the invariants of ARCHITECTURE.md).
func Check(def *workflow.Definition, run *Run) []string {
	c := checker{def: def, run: run}
	if run.Root == nil || run.Root.Run == nil {
		return []string{"the root document is missing"}
	}
	if run.Status.Ended() {
		c.ended()
		return c.found
	}
	if run.StartedAt == 0 && run.Root.Stop == nil {
		return nil
	}
	c.scope(rootPlace(def), run.Root)
	if run.final() != nil {
		p := finallyPlace(def, run.finals())
		if sc, known := run.Scopes[p.path]; known && sc == nil {
			c.say("finally runs and has no document")
		} else if known {
			c.scope(p, sc)
		}
	}
	return c.found
}

type checker struct {
	def   *workflow.Definition
	run   *Run
	found []string
}

func (c *checker) say(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

func (c *checker) ended() {
	if c.run.Status == Dead { // it goes on when somebody answers its letter
		return
	}
	if n := len(c.run.Root.Live); n > 0 {
		c.say("the run has ended and has %d activations under way", n)
	}
	for path, sc := range c.run.Scopes {
		if sc != nil {
			c.say("the run has ended and the scope %s has a document", path)
		}
	}
	for i, s := range c.run.Root.States {
		if s.unsettled() {
			c.say("the run has ended and step %d is %c", i, s)
		}
	}
}

func (c *checker) scope(p *place, sc *Scope) {
	if len(sc.States) != len(p.body.Steps) {
		c.say("scope %q has %d states for %d steps", p.path, len(sc.States), len(p.body.Steps))
		return
	}
	left, live := 0, 0
	for i, s := range sc.States {
		if s.unsettled() {
			left++
		}
		if s.Live() {
			live++
			c.step(p, sc, p.body.Steps[i])
		} else if sc.Live[i] != nil {
			c.say("step %d of scope %q is %c and is remembered as under way", i, p.path, s)
		}
	}
	if p.body.Kind == workflow.Graph && left != sc.Left {
		c.say("scope %q counts %d steps left and has %d", p.path, sc.Left, left)
	}
	if live == 0 && sc.Undo == nil && !(p.up == nil && c.run.final() != nil) {
		c.say("nothing is under way in the open scope %q", p.path) // invariant 9: it would never go on
	}
	if p.body.Kind != workflow.Graph && sc.Stop == nil && live > 1 {
		c.say("%d steps of the sequence %q are under way", live, p.path)
	}
}

func (c *checker) step(p *place, sc *Scope, s *workflow.Step) {
	l := sc.Live[s.Index]
	if l == nil {
		c.say("step %d of scope %q is under way and nothing is remembered of it", s.Index, p.path)
		return
	}
	switch state := sc.States[s.Index]; state {
	case StepOpen:
		if l.Box == nil {
			c.say("step %d of scope %q is open without a box", s.Index, p.path)
			return
		}
		c.box(p, sc, s, l)
	case StepParked:
		if l.Parked == nil {
			c.say("step %d of scope %q is parked without a failure", s.Index, p.path)
		}
	case StepWaiting, StepRetrying:
		if l.Timer == "" {
			c.say("step %d of scope %q waits for no timer", s.Index, p.path)
		}
	default:
	}
}

func (c *checker) box(p *place, sc *Scope, s *workflow.Step, l *Live) {
	base := p.base(s, 1+sc.Visits[s.Index])
	ap := withTry(base, l.Try+1)
	if a, ok := s.Action.(*workflow.Map); ok && l.Box.Catch == 0 {
		c.items(p, s, a, ap, l.Box)
		return
	}
	if l.Box.Open == 0 && l.Timer == "" && l.Box.Undo == nil {
		c.say("%s is open, and none of its scopes is", ap)
	}
	open := 0
	for _, q := range openScopesOf(p, s, ap, base, l.Box) {
		sub, known := c.run.Scopes[q.path]
		if !known {
			return // not loaded: nothing can be said
		}
		if sub != nil {
			open++
			c.scope(q, sub)
		}
	}
	if open != l.Box.Open {
		c.say("%s counts %d open scopes and has %d", ap, l.Box.Open, open)
	}
}

func (c *checker) items(p *place, s *workflow.Step, a *workflow.Map, ap string, box *Box) {
	open := 0
	for from := 0; from < box.reach(); from += ChunkSize {
		k, known := c.run.Chunks[chunkPath(ap, from)]
		if !known {
			return
		}
		if k == nil && box.Kept {
			continue
		}
		if k == nil {
			c.say("results %s are missing", chunkPath(ap, from))
			return
		}
		for i, state := range k.States {
			if !state.Live() {
				continue
			}
			open++
			q := p.indexed(s, ap, a.Body, from+i)
			if sub := c.run.Scopes[q.path]; sub != nil && state == StepOpen {
				c.scope(q, sub)
			}
		}
	}
	if open != box.Open {
		c.say("%s counts %d open items and has %d", ap, box.Open, open)
	}
	if box.Open == 0 && box.Undo == nil {
		c.say("%s is open, and none of its items is", ap)
	}
}

// LiveTasks gives the paths of the tasks that must exist for the loaded documents of a run, sorted.
func LiveTasks(def *workflow.Definition, run *Run) []string {
	var out []string
	add := func(d *Undoing) {
		if d != nil && d.Task != nil && !d.Task.Stuck {
			if path := run.recordPath(d.Task.Record); path != "" {
				out = append(out, path+UndoSuffix)
			}
		}
	}
	walkScopes(def, run, func(p *place, sc *Scope) {
		add(sc.Undo)
		for _, l := range sc.Live {
			if l.Box != nil {
				add(l.Box.Undo)
			}
		}
		for i, s := range sc.States {
			if s == StepReady || s == StepStopping {
				out = append(out, p.base(p.body.Steps[i], 1+sc.Visits[i]))
			}
		}
	}, func(q *place, state State) {
		if state == StepReady || state == StepStopping {
			out = append(out, q.path)
		}
	})
	slices.Sort(out)
	return out
}

// isOpen says whether the activation that a path names is a composite that is open in its action.
func (r *Run) isOpen(sp spot) bool {
	sc := r.Root
	if sp.at.path != "" {
		sc = r.Scopes[sp.at.path]
	}
	if sc == nil || sc.Visits[sp.step.Index]+1 != sp.visit {
		return false
	}
	l := sc.Live[sp.step.Index]
	return l != nil && l.Box != nil && l.Box.Catch == 0 && l.Try+1 == sp.try
}

// walkScopes visits the open scopes of a run and the items of maps without documents.
func walkScopes(def *workflow.Definition, run *Run, scope func(*place, *Scope), item func(*place, State)) {
	if run.Status.Ended() || run.StartedAt == 0 && run.Root.Stop == nil { // it may be cancelled before it begins
		return
	}
	scope(rootPlace(def), run.Root)
	for _, path := range slices.Sorted(maps.Keys(run.Scopes)) {
		if sc := run.Scopes[path]; sc != nil {
			if p := scopeAt(def, path); p != nil {
				scope(p, sc)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(run.Chunks)) {
		k := run.Chunks[path]
		if k == nil {
			continue
		}
		box, from, ok := boxOf(path)
		if !ok {
			continue
		}
		sp, err := locate(def, box)
		if err != nil {
			continue
		}
		if a, ok := sp.step.Action.(*workflow.Map); ok && run.isOpen(sp) {
			for i, state := range k.States {
				if q := sp.at.indexed(sp.step, box, a.Body, from+i); q.isItemTask() {
					item(q, state)
				}
			}
		}
	}
}
