package millrace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/workflow"
)

// dressUndo adds how the compensation of an activation stands. The root's document says of the root's steps that they are being
// undone; of those further in, only the journal and the live tasks do.
func (t *tree) dressUndo(n *node) {
	path := t.undone(n)
	if path == "" {
		return
	}
	u := &UndoView{Path: path + machine.UndoSuffix}
	if h := t.hist.undos[path]; h != nil {
		u.Status, u.Attempts, u.StartedAt, u.FinishedAt = h.status, h.attempts, moment(h.started), moment(h.finished)
		if c := n.step.Compensate; c != nil {
			u.Error = errorView(h.failure(c.Step), u.Path, h.errAt)
		}
	}
	if task, ok := t.tasks[u.Path]; ok {
		live := node{StepView: StepView{StartedAt: u.StartedAt}}
		t.dressLive(&live, task)
		u.Status, u.Due, u.AttemptAt, u.Hold, u.StartedAt = live.Status, live.Due, live.AttemptAt, live.Hold, live.StartedAt
		u.Attempts, u.FinishedAt = max(u.Attempts, live.Attempts), nil
	}
	n.Undo, n.Before = u, t.before(n)
	switch {
	case n.Depth == 0 && n.Status == "cancelled": // the run was aborted meanwhile
	case u.Status == "succeeded":
		n.Status, n.Reason = "compensated", ""
	default:
		n.Status, n.Reason = "compensating", ""
	}
}

// before is the status that a compensation covers.
func (t *tree) before(n *node) string {
	if h := t.hist.steps[n.Path]; h != nil && h.status != "" {
		return h.status
	}
	if n.Status == "compensating" || n.Status == "compensated" { // a composite, of which the journal does not tell
		return "succeeded"
	}
	return n.Status
}

// underUndoing adds the activations that are being undone and of whose scopes nothing is left but this.
func (t *tree) underUndoing() {
	var paths []string
	for path := range t.tasks {
		of, ok := strings.CutSuffix(path, machine.UndoSuffix)
		if ok && t.index[of] == nil {
			paths = append(paths, of)
		}
	}
	slices.SortFunc(paths, comparePaths)
	for _, path := range paths {
		step, err := machine.Locate(t.def, path)
		if err != nil || step.IsComposite { // the composite itself is there, without its try
			continue
		}
		n := t.add(t.around(path), path, step)
		n.Status = "compensating"
	}
}

// undone gives the path whose compensation has begun, of an activation or, of a composite, of its last try; empty when none has.
func (t *tree) undone(n *node) string {
	switch n.Status {
	case "succeeded", "failed", "cancelled", "compensating", "compensated":
	default:
		return ""
	}
	path := n.Path
	for try := 2; n.step.IsComposite; try++ {
		next := n.Path + "~" + strconv.Itoa(try)
		if _, ok := t.hist.spans[next]; !ok {
			break
		}
		path = next
	}
	if _, live := t.tasks[path+machine.UndoSuffix]; live || t.hist.undos[path] != nil {
		return path
	}
	return ""
}

// notUndone gives the paths of the steps that succeeded and that nothing undoes, of a run that ended otherwise.
func notUndone(roots []*node, run *machine.Run) []string {
	switch run.Status {
	case machine.Failed, machine.Cancelled, machine.Dead:
	default:
		return nil
	}
	var out []string
	var walk func(n *node)
	walk = func(n *node) {
		if n.step.Compensate != nil || finally(n.step) {
			return
		}
		if n.step.IsTask && n.Status == "succeeded" {
			out = append(out, n.Path)
		}
		for _, c := range n.children {
			walk(c)
		}
	}
	for _, n := range roots {
		walk(n)
	}
	return out
}

// finally says whether a step is one of finally itself.
func finally(step *workflow.Step) bool { return step.Body.Parent == nil && step.Body.Slot == "finally" }
