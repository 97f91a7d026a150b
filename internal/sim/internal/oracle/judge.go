// Package oracle says how a run had to end, and what had to be undone in which order, knowing nothing of the machine.
//
// Nouns: a flow follows the plan by the words of the rules, taking from the journal only what became of each task; a record is
// a step that was done, or perhaps was, and that a compensation undoes; a unit is what fails and is undone as one; a reading
// is an assumption about which units failed. Where the order of events decides, the flow is silent; the undoing is right when
// some reading explains it.
package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/internal/sim/internal/plan"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Run is what is known of a run that is over.
type Run struct {
	Plan    *plan.Plan
	Entries []store.Entry
	Starts  []Start // in order
	Stops   []Start // tasks that were asked to stop, in order
	Status  machine.Status
	Error   *machine.Error
}

// Start is a task that was started by what the entry Seq led to.
type Start struct {
	Seq  int64
	Path string
}

// orders are the things beside the flow that decide how a run ends.
type orders struct {
	cancel, abort, retry, deadline int64 // the entry; 0: none
	dropped                        map[string]int64
	redriven                       map[string]int64
	gaveUp                         bool // a compensation did not succeed on its own
}

func (r *Run) orders() orders {
	o := orders{dropped: map[string]int64{}, redriven: map[string]int64{}}
	for i := range r.Entries {
		e := &r.Entries[i]
		switch {
		case e.Kind == machine.CancelRequested:
			o.cancel = e.Seq
		case e.Kind == machine.AbortRequested:
			o.abort = e.Seq
		case isRetry(e):
			o.retry = e.Seq
		case e.Kind == machine.DropRequested:
			o.dropped[e.Path] = e.Seq
		case e.Kind == machine.RedriveRequested:
			o.redriven[e.Path] = e.Seq
		case e.Kind == machine.TimerFired && e.Path == "!deadline":
			o.deadline = e.Seq
		}
		if e.Kind == machine.TaskLate { // of a step that was passed over, since nobody knew: the run had begun to fail
			if at, ok := find(r.Plan, e.Path); ok && at.step.UndoKnown {
				o.gaveUp = true
			}
		}
		if (e.Name == string(machine.LetterCompensation) || e.Name == string(machine.LetterUnknown)) && isOrder(e.Kind) {
			o.gaveUp = true
		}
	}
	return o
}

// isRetry says whether an entry has an ended run go on from its beginning.
func isRetry(e *store.Entry) bool {
	return e.Kind == machine.RetryRequested || e.Kind == machine.RedriveRequested && e.Name == string(machine.LetterFailure)
}

func isOrder(k machine.EventKind) bool {
	return k == machine.RedriveRequested || k == machine.DropRequested
}

// Flow compares how a run ended with what the plan says. It says whether that was clear.
func (r *Run) Flow() (faults []string, judged bool) {
	o := newFlow(r.Entries)
	v := o.body(r.Plan.Root, "")
	faults = append(faults, o.wrong...)
	if r.orders().retry == 0 {
		faults = append(faults, r.skipped(o.never)...)
	}
	bad, judged := r.ending(v)
	return append(faults, bad...), judged
}

// skipped finds entries about steps that must not have been reached.
func (r *Run) skipped(never []string) []string {
	for _, path := range never {
		for i := range r.Entries {
			if p := r.Entries[i].Path; p == path || strings.HasPrefix(p, path) && strings.ContainsAny(p[len(path):len(path)+1], "/~[#!") {
				return []string{fmt.Sprintf("entry %d is about %s, which had to be skipped", r.Entries[i].Seq, p)}
			}
		}
	}
	return nil
}

// ending compares the status with a verdict.
func (r *Run) ending(v verdict) (faults []string, judged bool) {
	has := func(all ...machine.Status) bool { return slices.Contains(all, r.Status) }
	want := func(ok bool, how string) ([]string, bool) {
		if ok {
			return nil, true
		}
		return []string{fmt.Sprintf("it is %s with %v; it had to %s", r.Status, r.Error, how)}, true
	}
	o := r.orders()
	switch {
	case o.retry > 0:
		return nil, false
	case o.abort > 0:
		return want(has(machine.Aborted), "be aborted")
	case o.cancel > 0:
		return want(has(machine.Cancelled, machine.Dead), "be cancelled")
	case o.deadline > 0, o.gaveUp, r.Status == machine.Dead:
		return want(!has(machine.Aborted, machine.Cancelled), "fail")
	}
	switch v.kind {
	case unclear:
		return nil, false
	case hole:
		return want(false, fmt.Sprintf("have %s executed, since nothing stood in its way", v.hole))
	case bad:
		return want(has(machine.Failed) && r.Error != nil && slices.Contains(v.codes, r.Error.Code), fmt.Sprintf("fail with one of %v", v.codes))
	default:
		return want(has(machine.Succeeded), "succeed")
	}
}

func isOutcome(k machine.EventKind) bool {
	switch k {
	case machine.TaskSucceeded, machine.TaskFailed, machine.TaskLost, machine.TaskReleased, machine.TaskStopped:
		return true
	default:
		return false
	}
}
