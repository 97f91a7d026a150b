package oracle

import (
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/machine"
)

// Last checks that finally ran once, at the first ending but an abort, when all else of the run was over.
func (r *Run) Last() []string {
	o := r.orders()
	if r.Plan.Finally == nil || o.retry > 0 {
		return nil
	}
	began := map[string]int64{}
	first := int64(never)
	for _, s := range r.Starts {
		if !strings.HasPrefix(s.Path, "finally") {
			continue
		}
		if _, again := began[s.Path]; again && !r.outcomeAt(s) {
			return []string{fmt.Sprintf("%s was started at %d, and had run", s.Path, s.Seq)}
		}
		began[s.Path] = s.Seq
		first = min(first, s.Seq)
	}
	if first == never && r.Status != machine.Aborted {
		return []string{fmt.Sprintf("the run is %s, and finally did not run", r.Status)}
	}
	return r.overBefore(first)
}

// outcomeAt says whether a start is another attempt of its task.
func (r *Run) outcomeAt(s Start) bool {
	e := &r.Entries[s.Seq-1]
	return e.Path == s.Path && isOutcome(e.Kind)
}

// overBefore checks that what had begun before finally had ended before it, and that nothing began after it unless somebody
// redrove a letter.
func (r *Run) overBefore(first int64) []string {
	open := map[string]bool{}
	redriven := false
	next := 0
	for i := range r.Entries {
		e := &r.Entries[i]
		if isOutcome(e.Kind) {
			delete(open, e.Path)
		}
		redriven = redriven || e.Kind == machine.RedriveRequested || e.Kind == machine.DropRequested
		for ; next < len(r.Starts) && r.Starts[next].Seq <= e.Seq; next++ {
			s := r.Starts[next]
			if strings.HasPrefix(s.Path, "finally") {
				continue
			}
			if s.Seq > first && !redriven {
				return []string{fmt.Sprintf("%s was started at %d, and finally had run since %d", s.Path, s.Seq, first)}
			}
			open[s.Path] = true
		}
		if e.Seq == first {
			for _, path := range sortedKeys(open) {
				return []string{fmt.Sprintf("finally began at %d, and %s had not ended", first, path)}
			}
		}
	}
	return nil
}
