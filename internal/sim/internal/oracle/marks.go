package oracle

import (
	"slices"
	"strings"

	"github.com/millrace-go/millrace/machine"
)

// Marks gives the situations that a run was in.
func (r *Run) Marks() []string {
	h := r.history()
	m := marks{history: h}
	m.flow()
	m.undoing()
	m.control()
	return m.found
}

type marks struct {
	*history

	found []string
}

func (m *marks) add(ok bool, name string) {
	if ok {
		m.found = append(m.found, name)
	}
}

// flow looks at what was started.
func (m *marks) flow() {
	for _, s := range m.Starts {
		at, ok := find(m.Plan, s.Path)
		if !ok || len(at.levels) < 2 {
			continue
		}
		inner, outer := at.levels[len(at.levels)-1], at.levels[len(at.levels)-2]
		joins := len(at.step.After) > 1
		m.add(joins && inner.step.Action == "switch" && (outer.step.Action == "parallel" || outer.step.Action == "map"),
			"a join inside a condition inside a fork")
		m.add(len(at.levels) > 2, "a task in the fourth scope")
	}
}

// undoing looks at what was undone.
func (m *marks) undoing() {
	names := map[string]int{}
	for i, u := range m.undos {
		r := m.record(u.path)
		if r == nil {
			continue
		}
		stop, stopping := m.stopped[u.path]
		e := m.last[u.path]
		m.add(stopping && e != nil && e.Kind == machine.TaskSucceeded && stop < e.Seq, "a late finisher was undone")
		m.add(e != nil && e.Kind == machine.TaskLost, "a step whose worker was lost was undone")
		m.add(e != nil && e.Kind == machine.TaskFailed, "the step that failed was undone")
		m.add(r.step.Composite(), "a composite was undone as a whole")
		m.add(u.gaveUp > 0 && u.done > 0, "a compensation that gave up was redriven and succeeded")
		m.add(m.triedAgain(tryUnit(strings.TrimSuffix(lastAct(r), "~"))) && u.end < m.openedAgain(lastAct(r)),
			"a composite was tried again after undoing")
		m.add(len(r.units) > 1 && m.Status == machine.Succeeded, "something was undone in a run that succeeded")
		m.add(i > 0 && m.undos[i-1].end > u.start && m.undos[i-1].gaveUp == 0, "two scopes were undone side by side")
		names[r.step.Undo.Name]++
	}
	users := map[string]int{}
	for _, r := range m.records {
		if r.step.Undo.Once && !r.optional {
			users[r.step.Undo.Name]++
		}
	}
	for name, n := range users {
		m.add(n > 1 && names[name] == 1, "a shared compensation ran once for several steps")
	}
	m.add(m.complete() && m.Status != machine.Succeeded && len(m.undos) > 2, "three compensations and more in order")
	m.add(m.saved(), "a savepoint protected what led up to it")
}

// lastAct is the innermost try around a record.
func lastAct(r *record) string {
	for _, l := range slices.Backward(r.levels) {
		if !l.catch {
			return l.act
		}
	}
	return ""
}

// openedAgain gives the entry that opened the next try of a composite; for ever when none did.
func (m *marks) openedAgain(act string) int64 {
	for _, s := range m.Starts {
		if act != "" && strings.HasPrefix(s.Path, act+"~2") {
			return s.Seq
		}
	}
	return never
}

// saved says whether what led to a savepoint was left alone in a run that was undone.
func (m *marks) saved() bool {
	if !m.complete() || m.Status == machine.Succeeded || len(m.undos) == 0 {
		return false
	}
	sets, known := m.savepoints()
	if !known {
		return false
	}
	x := reading{history: m.history, saved: sets[0]}
	return slices.ContainsFunc(m.records, func(r *record) bool { return !r.optional && len(r.levels) == 0 && x.safe(r) })
}

// control looks at orders in the order in which they came.
func (m *marks) control() { //nolint:funlen // a case for each order
	undoing, parked, paused, cancelled, waiting, dead := false, 0, false, false, false, false
	for i := range m.Entries {
		e := &m.Entries[i]
		undo := strings.HasSuffix(e.Path, suffix) && isOutcome(e.Kind)
		switch e.Kind {
		case machine.CancelRequested:
			m.add(waiting, "a cancel while a compensation waits for its retry")
			m.add(undoing && !cancelled, "a cancel while the run is undone")
			m.add(paused, "a cancel of a paused run")
			m.add(parked > 0, "a cancel of a run with parked steps")
			m.add(i+1 < len(m.Entries) && m.Entries[i+1].Kind == machine.TaskSucceeded && len(m.undos) > 0, "a cancel raced with a success")
			cancelled = true
		case machine.PauseRequested:
			m.add(undoing, "a pause while the run is undone")
			paused = true
		case machine.ResumeRequested:
			paused = false
		case machine.TimerFired:
			m.add(paused, "a timer came due during a pause")
			m.add(e.Path == "!deadline", "a deadline was reached")
		case machine.RedriveRequested:
			m.add(e.Name == string(machine.LetterParked), "a parked step was redriven")
			m.add(e.Name == string(machine.LetterUnknown), "what nobody knew was undone after all")
			m.add(e.Name == string(machine.LetterFailure), "an unhandled failure was redriven")
			dead = dead || e.Name == string(machine.LetterCompensation)
			parked--
		case machine.DropRequested:
			m.add(e.Name == string(machine.LetterParked), "a parked step was given up")
			m.add(e.Name == string(machine.LetterCompensation), "a compensation was given up")
			parked--
		case machine.RetryRequested:
			m.add(undoing, "a run was retried after undoing")
			m.add(m.Status == machine.Succeeded, "a retried run succeeded")
		case machine.TaskLost:
			m.add(undo, "a compensation was lost")
		case machine.TaskFailed:
			if m.Plan.OnFailure == "park" && !m.startedBy(e) && !undo {
				parked++
			}
		default:
		}
		waiting = undo && e.Kind == machine.TaskFailed && m.startedBy(e)
		undoing = undoing || undo
	}
	m.add(dead && m.complete(), "a dead run was undone after all")
}
