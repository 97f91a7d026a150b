package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/machine"
)

// complete says whether all plans had to be carried out to their end.
func (h *history) complete() bool {
	return h.Status == machine.Failed || h.Status == machine.Cancelled || h.Status == machine.Succeeded
}

// order checks that a unit was undone newest first, one after the other, and to its end.
func (x *reading) order(unit string, plan []*record) string {
	var begun []*undo
	for _, u := range x.undos {
		if slices.ContainsFunc(plan, func(r *record) bool { return r.path == u.path }) {
			begun = append(begun, u)
		}
	}
	first := x.beginners(unit)
	once, led := map[string]bool{}, true
	for i, u := range begun {
		r := x.record(u.path)
		if r.aside { // a person asked for it
			if x.orders.redriven[""] == 0 {
				return fmt.Sprintf("%s was undone although nobody knows whether it was done", u.path)
			}
			continue
		}
		if r.doubtful() {
			once[r.step.Undo.Name] = once[r.step.Undo.Name] || r.step.Undo.Once
			continue
		}
		if c := r.step.Undo; c.Once && once[c.Name] {
			return fmt.Sprintf("%s was undone, and %s had run in this scope", u.path, c.Name)
		}
		once[r.step.Undo.Name] = r.step.Undo.Once
		leads := led && slices.Contains(first, u.path)
		led = led && r.step.Composite() // perhaps of a try that failed before, and was undone by itself
		if why := x.newest(u, r, plan, begun[i+1:], leads); why != "" {
			return why
		}
		if i == 0 && !leads && !slices.Contains(first, "") {
			return fmt.Sprintf("%s was undone first; it began with one of %v", u.path, first)
		}
		if i > 0 && begun[i-1].until() > u.start {
			return fmt.Sprintf("%s was undone at %d while %s was, until %d", u.path, u.start, begun[i-1].path, begun[i-1].until())
		}
	}
	return x.whole(unit, plan, begun, once)
}

// until is when the plan may have gone on after a compensation.
func (u *undo) until() int64 {
	if u.gaveUp > 0 {
		return u.gaveUp
	}
	return u.end
}

// newest checks that no record of the plan that ended after r was undone later, or not at all.
func (x *reading) newest(u *undo, r *record, plan []*record, later []*undo, leads bool) string {
	if leads {
		return ""
	}
	for _, o := range plan {
		if o == r || o.lo <= r.hi || o.aside || o.doubtful() {
			continue
		}
		if slices.ContainsFunc(later, func(l *undo) bool { return l.path == o.path }) {
			return fmt.Sprintf("%s, which ended at %d, was undone before %s, which ended at %d", u.path, r.hi, o.path, o.lo)
		}
		if !o.optional && x.undo(o.path) == nil && !o.step.Undo.Once {
			return fmt.Sprintf("%s was undone at %d, and %s, which ended later, was not", u.path, u.start, o.path)
		}
		if o.step.Undo.Once && o.step.Undo == r.step.Undo && !o.optional {
			return fmt.Sprintf("%s ran for %s, which ended at %d, and not for %s, which ended at %d", o.step.Undo.Name, r.path, r.hi, o.path, o.lo)
		}
	}
	return ""
}

func (x *reading) undo(path string) *undo {
	for _, u := range x.undos {
		if u.path == path {
			return u
		}
	}
	return nil
}

// whole checks that nothing of a plan was left out.
func (x *reading) whole(unit string, plan []*record, begun []*undo, once map[string]bool) string {
	if !x.complete() {
		return ""
	}
	for _, r := range plan {
		if r.optional || r.aside && x.orders.redriven[""] == 0 || r.step.Undo.Once && once[r.step.Undo.Name] {
			continue
		}
		k := slices.IndexFunc(begun, func(u *undo) bool { return u.path == r.path })
		if k < 0 {
			return fmt.Sprintf("%s ended at %d and was not undone, although %q failed", r.path, r.lo, unit)
		}
	}
	return ""
}

// beginners gives what may be undone first in a unit: the step whose failure began it; "" when it may be none.
func (x *reading) beginners(unit string) []string {
	var out []string
	other := x.orders.cancel > 0 || x.orders.deadline > 0 || x.orders.abort > 0 || x.Plan.OnFailure == "park"
	for _, f := range x.failures {
		if !within(unit, f.path) {
			continue
		}
		deep, failed := x.deeper(unit, &f.place)
		if !failed && (len(out) == 0 || other) {
			out = append(out, f.path)
		}
		other = other || deep || f.maybe || x.mayBeSuperseded()
	}
	for _, r := range x.records { // a composite whose failure began it
		if x.failed[tryUnit(r.path)] && within(unit, r.path) {
			other = true
		}
	}
	if other || x.unprompted(unit) || len(out) == 0 {
		out = append(out, "")
	}
	for _, path := range out { // a step that nothing undoes begins with none
		if r := x.record(path); path != "" && (r == nil || r.aside || r.doubtful()) {
			return append(out, "")
		}
	}
	return out
}

// deeper says whether an activation lies in a smaller unit, which may have been stopping when the larger one began to fail, and
// whether the reading has that one fail by itself.
func (x *reading) deeper(unit string, p *place) (deep, failed bool) {
	for _, u := range p.around() {
		if u == unit {
			break
		}
		deep, failed = true, failed || x.failed[u]
	}
	return deep, failed
}

func (x *reading) mayBeSuperseded() bool {
	return strings.Contains(x.Plan.Text(), "join: ")
}

func (x *reading) unprompted(unit string) bool {
	if unit == "" {
		found := false
		for _, s := range x.Plan.Root.Steps {
			found = found || unprompted(s)
		}
		return found
	}
	return x.mayFailAlone(unit)
}

func (x *reading) mayFailAlone(unit string) bool {
	_, act, _ := strings.Cut(unit, " ")
	for _, r := range x.records {
		for _, l := range r.levels {
			if (l.act == act || l.scope == act) && unprompted(l.step) {
				return true
			}
		}
	}
	return strings.HasPrefix(unit, "try ") && x.record(act) != nil
}

// quiet checks that nothing of a unit ran any more when its undoing began, and that units inside it were undone before.
func (x *reading) quiet(unit string, plan []*record) string {
	began := int64(never)
	for _, r := range plan {
		if u := x.undo(r.path); u != nil {
			began = min(began, u.start)
		}
	}
	if began == never {
		return ""
	}
	for _, s := range x.Starts {
		if !within(unit, s.Path) || strings.HasPrefix(s.Path, "finally") {
			continue
		}
		path, undoing := strings.CutSuffix(s.Path, suffix)
		if undoing {
			r := x.record(path)
			if inner, ok := x.unit(r); ok && inner != unit && !r.aside && !r.doubtful() && x.undo(path).until() > began {
				return fmt.Sprintf("%q was undone from %d on, before %s was, in %q", unit, began, path, inner)
			}
			continue
		}
		if s.Seq > began {
			return fmt.Sprintf("%s was started at %d; %q was being undone since %d", s.Path, s.Seq, unit, began)
		}
		if e := x.last[s.Path]; e == nil || e.Seq > began {
			return fmt.Sprintf("%q was undone from %d on, and %s had not ended", unit, began, s.Path)
		}
	}
	return ""
}

// letters checks that a run is dead exactly when something could not be undone.
func (x *reading) letters() string {
	left := ""
	for _, u := range x.undos {
		if u.done == 0 {
			left = u.path
		}
	}
	doubt := false
	for _, r := range x.records {
		if unit, ok := x.unit(r); ok && r.aside && !r.optional && x.undo(r.path) == nil && !(unit == "" && x.safe(r)) {
			left = r.path
		}
		doubt = doubt || r.optional && r.step.UndoKnown
	}
	switch {
	case x.Status == machine.Dead && left == "" && !doubt && x.orders.cancel == 0:
		return "the run is dead, and all was undone"
	case x.complete() && left != "":
		return fmt.Sprintf("the run is %s, and %s was not undone", x.Status, left)
	}
	return ""
}
