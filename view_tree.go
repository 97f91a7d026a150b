package millrace

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// tree makes the steps of a view out of what is stored: documents say where the activations under way and the root's steps
// stand, live tasks what is held or delayed, the journal how the attempts went.
type tree struct {
	def   *workflow.Definition
	run   *machine.Run
	hist  *history
	tasks map[string]store.Live
	nodes []*node
	index map[string]*node
}

// node is one activation of a step.
type node struct {
	StepView
	step     *workflow.Step
	children []*node
}

// roots gives the activations of the root's steps, with all others below them. Ended says whether to add activations of
// scopes that are gone, of which only the journal tells.
func (t *tree) roots(ended bool) []*node {
	t.index = map[string]*node{}
	t.scope(nil, t.def.Body, t.run.Root)
	if t.def.Finally != nil {
		t.inside(nil, t.def.Finally, t.run.FinallyPath(t.def))
	}
	switch {
	case ended:
		t.remembered("")
	case t.def.Finally != nil:
		t.remembered(t.run.FinallyPath(t.def))
	}
	t.underUndoing()
	for _, n := range t.index {
		t.dress(n)
	}
	for _, n := range t.nodes {
		t.span(n)
	}
	return t.nodes
}

func (t *tree) scope(parent *node, body *workflow.Body, sc *machine.Scope) {
	for i, step := range body.Steps {
		state := machine.StepPending
		if i < len(sc.States) {
			state = sc.States[i]
		}
		n := t.add(parent, stepPath(body, sc, i), step)
		n.Status, n.Reason = state.Status()
		if live := sc.Live[i]; live != nil {
			n.Attempts = live.Attempt
			if live.Box != nil {
				t.box(n, live.Try+1, live.Box)
			}
		}
	}
}

func stepPath(body *workflow.Body, sc *machine.Scope, i int) string {
	if body.Kind == workflow.Single {
		return sc.Path
	}
	path := machine.EscapeKey(body.Steps[i].Key)
	if visits := sc.Visits[i]; visits > 0 {
		path += "#" + strconv.Itoa(visits+1)
	}
	if sc.Path != "" {
		path = sc.Path + "/" + path
	}
	return path
}

func (t *tree) add(parent *node, path string, step *workflow.Step) *node {
	n := &node{step: step}
	n.Path = path
	if parent == nil {
		t.nodes = append(t.nodes, n)
	} else {
		n.Depth = parent.Depth + 1
		parent.children = append(parent.children, n)
	}
	t.index[path] = n
	return n
}

// box adds what lies in an open composite, on its given try.
func (t *tree) box(n *node, try int, box *machine.Box) {
	base := n.Path
	if try > 1 {
		base += "~" + strconv.Itoa(try)
	}
	if box.Catch > 0 && box.Catch <= len(n.step.Catch) {
		t.inside(n, n.step.Catch[box.Catch-1].Body, n.Path+"/catch-"+strconv.Itoa(box.Catch)) // not of a try
		return
	}
	switch a := n.step.Action.(type) {
	case *workflow.Block:
		if n.step.Body.Kind == workflow.Single {
			base += "/do"
		}
		t.inside(n, a.Body, base)
	case *workflow.Parallel:
		for _, b := range a.Branches {
			t.inside(n, b.Body, base+"/"+machine.EscapeKey(b.Name))
		}
	case *workflow.Switch:
		if box.Case > 0 && box.Case <= len(a.Cases) {
			t.inside(n, a.Cases[box.Case-1].Body, base+"/case-"+strconv.Itoa(box.Case))
		}
	case *workflow.Loop:
		t.inside(n, a.Body, base+"["+strconv.Itoa(box.Next)+"]")
	case *workflow.Map:
		n.Items = &ItemsView{Total: box.N, Done: box.Good + box.Bad, Failed: box.Bad}
		for i := range box.Next {
			t.inside(n, a.Body, base+"["+strconv.Itoa(i)+"]")
		}
	}
}

// inside adds the scope at path: its document's steps, or its one live task when it has no document.
func (t *tree) inside(n *node, body *workflow.Body, path string) {
	if body == nil {
		return
	}
	if sc := t.run.Scopes[path]; sc != nil {
		t.scope(n, body, sc)
		return
	}
	if body.Kind != workflow.Single {
		return
	}
	for i, c := range body.Steps[0].Catch { // an item that is one task has no document, but the body of its catch has
		if at := path + "/catch-" + strconv.Itoa(i+1); c.Body != nil && t.run.Scopes[at] != nil {
			item := t.add(n, path, body.Steps[0])
			item.Status = "running"
			t.inside(item, c.Body, at)
			return
		}
	}
	if task, ok := t.tasks[path]; ok {
		c := t.add(n, path, body.Steps[0])
		c.Status = "ready"
		if task.Attempt > 0 && task.State == store.Delayed {
			c.Status = "retrying"
		}
	}
}

// remembered adds the activations that only the journal knows, below the nearest activation around them: those inside of scope,
// all of them when it is empty.
func (t *tree) remembered(scope string) {
	gone := func(path string) bool {
		return t.index[path] == nil && (scope == "" || path == scope || strings.HasPrefix(path, scope+"/"))
	}
	var paths []string
	for path := range t.hist.steps {
		if gone(path) {
			paths = append(paths, path)
		}
	}
	for path := range t.hist.undos {
		if path = withoutTry(path); gone(path) && t.hist.steps[path] == nil {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, comparePaths)
	for _, path := range slices.Compact(paths) {
		step, err := machine.Locate(t.def, path)
		if err != nil { // an activation of a definition that was mended by hand: it has no place to be shown in
			continue
		}
		n := t.add(t.around(path), path, step)
		h := t.hist.steps[path]
		if h == nil { // a composite that was undone by its own compensation
			n.Status = "compensating"
			continue
		}
		n.Status = h.status
		if e := h.failure(step); n.Status == "failed" && e != nil && machine.Catches(step, e) {
			n.Status = "caught"
		}
	}
	slices.SortStableFunc(t.nodes, func(a, b *node) int {
		return cmp.Or(cmp.Compare(a.step.ID, b.step.ID), comparePaths(a.Path, b.Path))
	})
	for _, n := range t.index {
		slices.SortStableFunc(n.children, func(a, b *node) int {
			return cmp.Or(compareIndexes(a.Path, b.Path), cmp.Compare(a.step.ID, b.step.ID), comparePaths(a.Path, b.Path))
		})
	}
}

// around finds the nearest activation that is known around path.
func (t *tree) around(path string) *node {
	for path, ok := outer(path); ok; path, ok = outer(path) {
		if n := t.index[path]; n != nil {
			return n
		}
	}
	return nil
}

// compareIndexes compares the numbers in brackets of two paths, outermost first.
func compareIndexes(a, b string) int {
	for {
		i, j := strings.IndexByte(a, '['), strings.IndexByte(b, '[')
		if i < 0 || j < 0 {
			return 0
		}
		a, b = a[i+1:], b[j+1:]
		n, m := leadingNumber(a), leadingNumber(b)
		if n != m {
			return cmp.Compare(n, m)
		}
	}
}

// comparePaths orders paths as text, with the numbers in them as numbers.
func comparePaths(a, b string) int {
	for a != "" && b != "" {
		if isDigit(a[0]) && isDigit(b[0]) {
			n, m := leadingNumber(a), leadingNumber(b)
			if n != m {
				return cmp.Compare(n, m)
			}
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func leadingNumber(s string) int {
	n := 0
	for i := 0; i < len(s) && isDigit(s[i]) && n < 1<<40; i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// dress adds what live tasks, the journal and the stored results say of an activation.
func (t *tree) dress(n *node) {
	if h := t.hist.steps[n.Path]; h != nil {
		n.Attempts, n.StartedAt = max(n.Attempts, h.attempts), moment(h.started)
		n.Error = errorView(h.failure(n.step), n.Path, h.errAt)
		if n.Status != "ready" && n.Status != "retrying" && n.Status != "running" {
			n.FinishedAt = moment(h.finished)
		}
	}
	if task, ok := t.tasks[n.Path]; ok {
		t.dressLive(n, task)
	}
	t.dressUndo(n)
	if _, ok := n.step.Action.(*workflow.Map); ok && n.Items == nil {
		n.Items = t.results(n.Path)
	}
}

// span gives composites the times of what lies in them.
func (t *tree) span(n *node) {
	for _, c := range n.children {
		t.span(c)
	}
	if !n.step.IsComposite {
		return
	}
	s := t.hist.spans[n.Path]
	if began := moment(s.first); began != nil && (n.StartedAt == nil || began.Before(*n.StartedAt)) {
		n.StartedAt = began
	}
	for _, c := range n.children {
		if c.StartedAt != nil && (n.StartedAt == nil || c.StartedAt.Before(*n.StartedAt)) {
			n.StartedAt = c.StartedAt
		}
	}
	if n.Status != "running" && n.Status != "retrying" && n.FinishedAt == nil {
		n.FinishedAt = moment(s.last)
	}
}

func (t *tree) dressLive(n *node, task store.Live) {
	n.Attempts = max(n.Attempts, task.Attempt)
	switch task.State {
	case store.Leased:
		n.Status, n.AttemptAt = "running", moment(task.ClaimedAt)
		n.Hold = &HoldView{By: task.Owner, Until: task.LeaseUntil.Std()}
		if n.StartedAt == nil {
			n.StartedAt = moment(task.ClaimedAt)
		}
		if task.Stop {
			n.Reason = "stopping"
		}
	case store.Delayed:
		n.Status, n.Due = "waiting", moment(task.Due)
		if task.Attempt > 0 {
			n.Status = "retrying"
		}
	case store.Ready, store.OnHold:
		n.Status = "ready"
	}
}

// results counts the items of a finished map in its stored results, those of its last try.
func (t *tree) results(path string) *ItemsView {
	var items *ItemsView
	last := 0
	for at, chunk := range t.run.Chunks {
		try, ok := chunkTry(path, at)
		if !ok || chunk == nil || try < last {
			continue
		}
		if items == nil || try > last {
			items, last = &ItemsView{}, try
		}
		items.Total += len(chunk.States)
		for _, s := range chunk.States {
			if s == machine.StepPending || s.Live() {
				continue
			}
			items.Done++
			if s == machine.StepFailed {
				items.Failed++
			}
		}
	}
	return items
}

// chunkTry says whether the document at chunk holds results of the composite at path itself, and of which try.
func chunkTry(path, chunk string) (int, bool) {
	rest, ok := strings.CutPrefix(chunk, path)
	if !ok {
		return 0, false
	}
	try := 1
	if s, found := strings.CutPrefix(rest, "~"); found {
		try = leadingNumber(s)
		rest = strings.TrimLeft(s, "0123456789")
	}
	return try, strings.HasPrefix(rest, "[") && strings.IndexByte(rest, ']') == len(rest)-1
}
