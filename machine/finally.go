package machine

// finish ends a run of which all but finally is over: finally runs first, once.
func (t *turn) finish(ending Status, why *Closing, out Data) {
	f := &Final{Ending: ending, Output: out}
	if why != nil {
		f.Err, f.NoLetter = why.Err, why.NoLetter
	}
	if t.run.final() != nil {
		return
	}
	t.dropDeadline()
	if c := t.run.Root.Run.Control; t.def.Finally == nil || mutant("finally skipped") || c != nil && c.Final != nil {
		t.endAs(f)
		return
	}
	t.control().Final = f
	t.openScope(t.finallyPlace(), &Scope{In: t.run.Root.In})
}

func (t *turn) endAs(f *Final) { t.endRun(f.Ending, f.Err, f.NoLetter, f.Output) }

// finallyOver ends the run after finally, whose failure does not change how.
func (t *turn) finallyOver(p *place) {
	if why := t.scope(p).Stop; why != nil && why.Reason == ByFailure {
		t.openLetter(LetterFinally, why.Err.Step, why.Err)
	}
	t.dropScope(p.path)
	f := t.run.final()
	f.Over = true
	t.endAs(f)
}
