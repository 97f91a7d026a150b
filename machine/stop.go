package machine

import "github.com/millrace-go/millrace/workflow"

// stopScope stops what runs in a scope: nothing new starts in it, and when it is still it ends as why says.
func (t *turn) stopScope(p *place, why *Closing) {
	sc := t.scope(p)
	if sc.Stop != nil {
		if why.Reason == FromOuter && sc.Stop.Reason != FromOuter {
			sc.Stop = why
		}
		return
	}
	sc.Stop = why
	if p.up == nil {
		t.rootStopping(why)
	}
	for i, s := range p.body.Steps {
		switch state := sc.States[i]; {
		case state == StepPending:
			t.mark(p, s, StepEnd)
		case state.Live():
			t.stopStep(p, s)
		}
	}
	sc.Joins = nil
	t.checkStill(p)
}

// stopStep stops one activation under way.
func (t *turn) stopStep(p *place, s *workflow.Step) {
	sc := t.scope(p)
	switch sc.States[s.Index] {
	case StepReady:
		sc.States[s.Index] = StepStopping
		t.emit(StopTask{Path: t.base(p, s)})
	case StepOpen:
		t.stopBox(p, s, &Closing{Reason: FromOuter})
	case StepWaiting, StepRetrying:
		t.cancelTimer(t.base(p, s) + sc.Live[s.Index].Timer)
		t.settle(p, s, StepCancelled, Data{})
	case StepParked:
		t.unpark(t.base(p, s), LetterSuperseded)
		t.didFail(p, s, sc.Live[s.Index].Parked)
		t.settle(p, s, StepFailed, Data{})
	default:
	}
}

// stopBox stops the scopes of an open composite.
func (t *turn) stopBox(p *place, s *workflow.Step, why *Closing) {
	box := t.scope(p).Live[s.Index].Box
	if box.Stop != nil {
		if why.Reason == FromOuter {
			box.Stop = why
		}
		return
	}
	t.endTry(p, s)
	box.Stop = why
	ap := t.path(p, s)
	switch a := s.Action.(type) {
	case *workflow.Map:
		if box.Catch == 0 {
			t.stopItems(p, s, a, ap)
			break
		}
		t.stopOpen(p, s, ap)
	case *workflow.Loop:
		t.stopPause(p, s, ap)
		t.stopOpen(p, s, ap)
	default:
		t.stopOpen(p, s, ap)
	}
	t.checkBox(p, s)
}

// stopOpen stops the open scopes of everything but a map.
func (t *turn) stopOpen(p *place, s *workflow.Step, ap string) {
	for _, q := range t.openScopes(p, s, ap) {
		if t.peek(q) != nil {
			t.stopScope(q, &Closing{Reason: FromOuter})
		}
	}
}

// openScopes are the scopes that may be open, of everything but a map.
func (t *turn) openScopes(p *place, s *workflow.Step, ap string) []*place {
	return openScopesOf(p, s, ap, t.base(p, s), t.scope(p).Live[s.Index].Box)
}

func openScopesOf(p *place, s *workflow.Step, ap, base string, box *Box) []*place {
	if box.Catch > 0 {
		return []*place{p.catchBody(s, base, box.Catch-1)}
	}
	switch a := s.Action.(type) {
	case *workflow.Block:
		return []*place{p.block(s, ap)}
	case *workflow.Switch:
		return []*place{p.caseBody(s, ap, box.Case-1)}
	case *workflow.Loop:
		return []*place{p.indexed(s, ap, a.Body, box.Next)}
	case *workflow.Parallel:
		out := make([]*place, len(a.Branches))
		for i := range a.Branches {
			out[i] = p.branch(s, ap, i)
		}
		return out
	}
	return nil
}

// stopItems stops the open items of a map, and forgets those that were not opened.
func (t *turn) stopItems(p *place, s *workflow.Step, a *workflow.Map, ap string) {
	box := t.scope(p).Live[s.Index].Box
	var chunks, scopes []string
	for i := 0; i < box.reach(); i += ChunkSize {
		chunks = append(chunks, chunkPath(ap, i))
	}
	t.stored(chunks...)
	for i := range box.reach() {
		if t.run.Chunks[chunkPath(ap, i)] != nil && t.run.Chunks[chunkPath(ap, i)].States[i%ChunkSize] == StepOpen {
			scopes = append(scopes, p.indexed(s, ap, a.Body, i).path)
		}
	}
	t.stored(scopes...)
	for i := range box.reach() {
		if t.run.Chunks[chunkPath(ap, i)] == nil {
			continue
		}
		switch t.run.Chunks[chunkPath(ap, i)].States[i%ChunkSize] {
		case StepReady:
			t.chunk(ap, i, box.N).States[i%ChunkSize] = StepStopping
			t.emit(StopTask{Path: p.indexed(s, ap, a.Body, i).path})
		case StepOpen:
			t.stopScope(p.indexed(s, ap, a.Body, i), &Closing{Reason: FromOuter})
		case StepParked:
			t.stopParkedItem(p.indexed(s, ap, a.Body, i), box)
		default:
		}
	}
}

// stopped takes the end of an activation that was told to stop.
func (t *turn) stopped(p *place, s *workflow.Step, done bool) {
	state := StepCancelled
	if done {
		state = StepSucceeded
	}
	t.didStop(p, s, done)
	if done {
		t.run.past.handedOn(t.base(p, s), t.output())
	}
	t.mark(p, s, state)
	if t.scope(p).Stop != nil {
		t.checkStill(p)
		return
	}
	t.propagate(p, s, Data{}) // stopped by cancel_rest: what follows has started without it, but for where a catch leads
	t.checkDone(p)
}

// didStop records what an activation that was told to stop did, or may have done.
func (t *turn) didStop(p *place, s *workflow.Step, done bool) {
	live := t.scope(p).Live[s.Index]
	how, out := Unsure, Data{}
	if live.Box != nil && live.Box.Catch > 0 {
		return // its failure belongs to the catch
	}
	switch {
	case s.IsComposite:
		if live.Box == nil || live.Box.Undone {
			return // it was undone when it failed
		}
	case done:
		how, out = ForSure, t.output()
	case t.ev.Path != t.base(p, s), t.ev.Attempt <= live.Attempt: // nobody held it
		if !live.Unknown {
			how = Answered
		}
	case t.ev.Kind == TaskFailed:
		how = answered(t.failure())
	}
	t.did(p, s, how, out)
}

// checkStill ends a scope that is being stopped once nothing in it is under way.
func (t *turn) checkStill(p *place) {
	t.later(func() {
		sc := t.peek(p)
		if sc == nil || sc.Stop == nil || sc.Undo != nil || p.up == nil && t.run.final() != nil {
			return
		}
		for _, state := range sc.States {
			if state.Live() && !(state == StepStopping && p.up == nil && mutant("undone too early")) {
				return
			}
		}
		t.still(p, sc.Stop)
	})
}

// still says how a stopped scope ends.
func (t *turn) still(p *place, why *Closing) {
	switch {
	case why.Reason == ByEnd && p.up == nil:
		t.rootDone(why.Output, why.Given)
	case why.Reason == ByEnd:
		t.scopeDone(p, why.Output)
	case p.final:
		t.finallyOver(p)
	case p.up == nil:
		t.undoUnit(unit{at: p}, why)
	case why.Reason == ByFailure && t.scope(p.up).Live[p.owner.Index].Box.Stop == nil:
		t.undoUnit(unit{at: p}, why) // what is around it bears its failure
	default:
		t.scopeFailed(p, why)
	}
}
