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
	case n.Status == "caught": // it was undone before the catch took its failure
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
	switch n.Status { // of a composite the journal does not tell
	case "compensating", "compensated":
		return "succeeded"
	case "running":
		return "failed"
	}
	return n.Status
}

// underUndoing adds the activations that are being undone and of whose scopes nothing is left but this.
func (t *tree) underUndoing() {
	var paths []string
	for path := range t.tasks {
		of, ok := strings.CutSuffix(path, machine.UndoSuffix)
		if of = withoutTry(of); ok && t.index[of] == nil {
			paths = append(paths, of)
		}
	}
	slices.SortFunc(paths, comparePaths)
	for _, path := range paths {
		step, err := machine.Locate(t.def, path)
		if err != nil {
			continue
		}
		n := t.add(t.around(path), path, step)
		n.Status = "compensating"
	}
}

// withoutTry gives the path of a composite of which that of a try is known.
func withoutTry(path string) string {
	if i := strings.LastIndexByte(path, '~'); i >= 0 && strings.Trim(path[i+1:], "0123456789") == "" {
		return path[:i]
	}
	return path
}

// undone gives the path whose compensation has begun, of an activation or, of a composite, of its last try; empty when none has. Of a
// composite that goes on with another try, it is the compensation in hand alone.
func (t *tree) undone(n *node) string {
	goesOn := false
	switch n.Status {
	case "succeeded", "failed", "caught", "cancelled", "compensating", "compensated":
	default:
		if goesOn = n.step.IsComposite; !goesOn {
			return ""
		}
	}
	path := n.Path
	for try := 2; n.step.IsComposite; try++ {
		next := n.Path + "~" + strconv.Itoa(try)
		if _, ok := t.hist.spans[next]; !ok {
			break
		}
		path = next
	}
	h := t.hist.undos[path]
	if _, live := t.tasks[path+machine.UndoSuffix]; live || h != nil && (!goesOn || h.status == "failed") {
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
