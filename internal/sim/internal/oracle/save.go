package oracle

import (
	"slices"

	"github.com/millrace-go/millrace/internal/sim/internal/plan"
	"github.com/millrace-go/millrace/machine"
)

// savepoints gives the sets of savepoints that may have been reached, by their indexes at the root; in a sequence only the last
// one counts. known is false when the flow of the root does not tell which edges were taken.
func (h *history) savepoints() (sets [][]int, known bool) {
	b := h.Plan.Root
	var all, sure []int
	for i, s := range b.Steps {
		if s.Action != "savepoint" || s.Guard == plan.No {
			continue
		}
		if all = append(all, i); h.passed(i) || h.reached(i) {
			sure = append(sure, i)
		}
	}
	if len(all) == 0 {
		return [][]int{nil}, true
	}
	if b.Kind == plan.Sequence {
		if len(sure) == 0 {
			sets = append(sets, nil)
		}
		for _, i := range all {
			if len(sure) == 0 || i >= sure[len(sure)-1] {
				sets = append(sets, []int{i})
			}
		}
		return sets, true
	}
	for mask := range 1 << len(all) {
		var set []int
		for k, i := range all {
			if mask&(1<<k) > 0 {
				set = append(set, i)
			}
		}
		if !slices.ContainsFunc(sure, func(i int) bool { return !slices.Contains(set, i) }) {
			sets = append(sets, set)
		}
	}
	return sets, h.edges()
}

// reached says whether all that leads to a savepoint were tasks that succeeded before anything went wrong. What fails without
// a task may have failed in the moment in which the last of them succeeded, before the savepoint's turn came.
func (h *history) reached(at int) bool {
	b := h.Plan.Root
	if slices.ContainsFunc(b.Steps, unprompted) {
		return false
	}
	var from []int
	for i := range at {
		switch kind := b.Edge(i, at); {
		case b.Kind == plan.Sequence && i == at-1, kind == plan.Normal:
			from = append(from, i)
		case kind != plan.NoEdge:
			return false
		}
	}
	wrong := h.trouble()
	for _, i := range from {
		s := b.Steps[i]
		e := h.last[s.Key]
		if s.Action != "task" || s.Guard != plan.Always || s.Next >= 0 || e == nil || e.Kind != machine.TaskSucceeded || e.Seq >= wrong {
			return false
		}
	}
	return len(from) > 0
}

// trouble gives the entry at which a run may have begun to stop; for ever when there is none.
func (h *history) trouble() int64 {
	first := int64(never)
	for _, seq := range []int64{h.orders.cancel, h.orders.abort, h.orders.deadline} {
		if seq > 0 {
			first = min(first, seq)
		}
	}
	for _, f := range h.failures {
		first = min(first, f.seq)
	}
	for _, s := range h.Stops {
		first = min(first, s.Seq)
	}
	return first
}

// passed says whether something was started that only a savepoint leads to.
func (h *history) passed(at int) bool {
	b := h.Plan.Root
	for _, s := range b.Steps[:at] { // a jump over it
		for _, w := range slices.Concat(s.Cases, s.Catches) {
			if b.Kind == plan.Sequence && w.Next > at {
				return false
			}
		}
		if b.Kind == plan.Sequence && s.Next > at {
			return false
		}
	}
	for _, s := range h.Starts {
		p, ok := find(h.Plan, s.Path)
		if !ok || p.root <= at {
			continue
		}
		if step := b.Steps[p.root]; b.Kind == plan.Sequence || slices.Contains(step.After, at) && step.Join == "" {
			return true
		}
	}
	return false
}

// edges follows the flow of the root, so that it is known which edges were taken.
func (h *history) edges() bool {
	if h.root == nil {
		b := h.Plan.Root
		h.root = &network{Body: b, oracle: newFlow(h.Entries), verdicts: make([]verdict, len(b.Steps)), blame: make([][]int, len(b.Steps))}
		for i := range b.Steps {
			h.root.verdicts[i] = h.root.step(i)
		}
	}
	return !slices.ContainsFunc(h.root.verdicts, func(v verdict) bool { return v.kind == unclear })
}

// safe says whether a savepoint that was reached protects a record of the root's plan.
func (x *reading) safe(r *record) bool {
	for _, at := range x.saved {
		if x.Plan.Root.Kind == plan.Sequence && r.root < at || x.Plan.Root.Kind == plan.Graph && x.leads(r.root, at) {
			return true
		}
	}
	return false
}

// leads says whether taken edges lead from one step of the root to another.
func (x *reading) leads(from, to int) bool {
	for next := from + 1; next <= to; next++ {
		if x.root.Edge(from, next) == plan.NoEdge || x.root.state(from, next) != edgeTaken {
			continue
		}
		if next == to || x.leads(next, to) {
			return true
		}
	}
	return false
}
