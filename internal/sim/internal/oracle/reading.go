package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/internal/sim/internal/plan"
	"github.com/millrace-go/millrace/machine"
)

// reading is an assumption about a run: which units failed, and which savepoints were reached.
type reading struct {
	*history

	failed map[string]bool
	saved  []int // savepoints that were reached: their indexes at the root
}

const nothingFailed = ", and nothing that it belongs to failed"

const maxOpen = 9 // units of which it is not plain whether they failed

// Undoing compares what was undone with what had to be. It says whether that was clear.
func (r *Run) Undoing() (faults []string, judged bool) {
	h := r.history()
	if faults = h.plain(); len(faults) > 0 || h.orders.retry > 0 {
		return faults, false
	}
	open, failed := h.units()
	saves, known := h.savepoints()
	if len(open) > maxOpen || !known {
		return nil, false
	}
	var best string
	for _, saved := range saves {
		for set := range 1 << len(open) {
			x := reading{history: h, failed: maps.Clone(failed), saved: saved}
			for i, unit := range open {
				x.failed[unit] = set&(1<<i) > 0
			}
			why := x.wrong()
			if why == "" {
				return nil, true
			}
			if best == "" || strings.HasSuffix(best, nothingFailed) {
				best = why // the reading that comes nearest
			}
		}
	}
	return []string{best + h.list()}, true
}

// list shows records and compensations for people.
func (h *history) list() string {
	var b strings.Builder
	b.WriteString("\n  done:")
	for _, r := range h.records {
		fmt.Fprintf(&b, " %s@%d", r.path, r.lo)
	}
	b.WriteString("\n  undone:")
	for _, u := range h.undos {
		fmt.Fprintf(&b, " %s@%d", u.path, u.start)
	}
	return b.String()
}

// plain checks what holds whatever failed.
func (h *history) plain() []string {
	var out []string
	for _, u := range h.undos {
		r := h.record(u.path)
		switch {
		case r == nil && h.orders.retry == 0:
			out = append(out, fmt.Sprintf("%s was undone at %d, and needed no undoing%s", u.path, u.start, h.list()))
		case r != nil && r.lo > u.start && h.orders.retry == 0:
			out = append(out, fmt.Sprintf("%s was undone at %d, before it ended at %d", u.path, u.start, r.lo))
		case u.done > 1:
			out = append(out, fmt.Sprintf("%s was undone %d times", u.path, u.done))
		}
	}
	return out
}

func (h *history) record(path string) *record {
	for _, r := range h.records {
		if r.path == path {
			return r
		}
	}
	return nil
}

// units gives the units of which it is open whether they failed, and of the others whether they did.
func (h *history) units() (open []string, failed map[string]bool) {
	failed = map[string]bool{}
	var others []string
	for _, r := range h.records {
		for _, unit := range r.units {
			if !slices.Contains(others, unit) && unit != "" {
				others = append(others, unit)
			}
		}
	}
	for _, unit := range others {
		switch {
		case h.triedAgain(unit):
			failed[unit] = true
		case !h.mayFail(unit):
			failed[unit] = false
		default:
			open = append(open, unit)
		}
	}
	switch h.Status {
	case machine.Succeeded:
		failed[""] = false
	case machine.Aborted:
		open = append(open, "")
	default:
		failed[""] = true
	}
	return open, failed
}

// triedAgain says whether a composite's next try was seen.
func (h *history) triedAgain(unit string) bool {
	act, ok := strings.CutPrefix(unit, "try ")
	if !ok {
		return false
	}
	next := act + "~2"
	if i := strings.LastIndexByte(act, '~'); i > strings.LastIndexByte(act, '/') {
		if n, err := strconv.Atoi(act[i+1:]); err == nil { // of the activation itself, not of one around it
			next = fmt.Sprintf("%s~%d", act[:i], n+1)
		}
	}
	return slices.ContainsFunc(h.Starts, func(s Start) bool { return within(tryUnit(next), s.Path) })
}

// within says whether a path belongs to a unit.
func within(unit, path string) bool {
	if unit == "" {
		return true
	}
	kind, at, _ := strings.Cut(unit, " ")
	rest, ok := strings.CutPrefix(path, at)
	after := "/["
	if kind != "try" {
		after = "/[~#"
	} else if strings.HasPrefix(rest, "/catch-") { // the catches of a composite are around it
		return false
	}
	return ok && (rest == "" || strings.IndexByte(after, rest[0]) >= 0)
}

// mayFail says whether anything in a unit failed, or may have without a worker.
func (h *history) mayFail(unit string) bool {
	if slices.ContainsFunc(h.failures, func(f failure) bool { return within(unit, f.path) }) {
		return true
	}
	_, act, _ := strings.Cut(unit, " ")
	for _, r := range h.records {
		for _, l := range append(slices.Clone(r.levels), level{step: r.step, act: r.path}) {
			if (l.act == act || l.scope == act) && unprompted(l.step) {
				return true
			}
		}
	}
	return false
}

// unprompted says whether a step, or something in it, may fail without the failure of a task.
func unprompted(s *plan.Step) bool {
	found := false
	look := func(x *plan.Step) {
		found = found || x.Guard == plan.Broken || x.Action == "fail" || x.Join == "n" || x.Loop != "" && x.Limit > 0 || x.Need > 0 ||
			x.Composite() && len(x.Extra) > 0
	}
	look(s)
	for _, b := range s.Bodies() {
		b.Each(look)
	}
	return found
}

// unit gives the innermost unit that failed and holds a record; ok is false when there is none.
func (x *reading) unit(r *record) (string, bool) {
	for _, unit := range r.units {
		if x.failed[unit] {
			return unit, true
		}
	}
	return "", false
}

// wrong says what contradicts the reading; nothing if all that was done is right by it.
func (x *reading) wrong() string {
	plans := map[string][]*record{}
	for _, r := range x.records {
		if unit, ok := x.unit(r); ok && !(unit == "" && x.safe(r)) {
			plans[unit] = append(plans[unit], r)
		}
	}
	for _, u := range x.undos {
		r := x.record(u.path)
		if unit, ok := x.unit(r); !ok || unit == "" && x.safe(r) {
			return fmt.Sprintf("%s was undone at %d%s", u.path, u.start, nothingFailed)
		}
	}
	for _, unit := range sortedKeys(plans) {
		if why := x.order(unit, plans[unit]); why != "" {
			return why
		}
		if why := x.quiet(unit, plans[unit]); why != "" {
			return why
		}
	}
	return x.letters()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
