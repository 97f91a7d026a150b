package oracle

import (
	"slices"

	"github.com/millrace-go/millrace/internal/sim/internal/plan"
)

// savepoints gives what may have been the last savepoint that was reached: its index at the root, -1 for none.
func (h *history) savepoints() []int {
	out := []int{-1}
	for i, s := range h.Plan.Root.Steps {
		if s.Action == "savepoint" && s.Guard != plan.No {
			out = append(out, i)
		}
	}
	return out
}

// safe says whether a savepoint that was reached protects a record of the root's plan.
func (x *reading) safe(r *record) bool {
	if x.saved < 0 {
		return false
	}
	b := x.Plan.Root
	if b.Kind == plan.Sequence {
		return r.root < x.saved
	}
	return leads(b, r.root, x.saved, nil)
}

// leads says whether edges lead from one step to another.
func leads(b *plan.Body, from, to int, seen []int) bool {
	for next := from + 1; next <= to; next++ {
		if b.Edge(from, next) == plan.NoEdge || slices.Contains(seen, next) {
			continue
		}
		if next == to || leads(b, next, to, append(seen, next)) {
			return true
		}
	}
	return false
}
