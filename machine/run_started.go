package machine

// runStarted: the run begins with the input that is this entry's payload.
func (t *turn) runStarted() bool {
	if t.run.Status != Pending || t.run.Seq != 1 {
		return false
	}
	t.run.Status, t.run.StartedAt = Running, t.run.At
	root := t.run.Root
	root.In = entryData(1)
	t.openScope(rootPlace(t.def), root)
	return true
}
