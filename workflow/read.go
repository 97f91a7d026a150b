package workflow

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/millrace-go/millrace/workflow/internal/document"
	"github.com/millrace-go/millrace/workflow/internal/flow"
	"github.com/millrace-go/millrace/workflow/internal/format"
)

// Bounds of a definition.
const (
	maxSteps = 10_000
	maxDepth = 16 // bodies inside bodies, the root's included
)

// ReadAll makes the definitions of a workflow file, YAML or JSON, in which several workflows may stand, separated by `---`;
// the first is the one that is run. The file's name is for messages and origins only; nothing is opened. The error is a
// *[Mistakes] with everything that is wrong, in the order of the file. A part of the format that this version does not run is
// no mistake: see [Definition.NotYet]. ReadAll never panics, and takes bounded time and memory whatever the bytes. It keeps no
// reference to data.
func ReadAll(file string, data []byte) ([]*Definition, error) {
	l := &document.Ledger{File: file}
	var all []*Definition
	for _, n := range l.Read(data) {
		d := build(l, n)
		for _, other := range all {
			if d.Name != "" && d.Name == other.Name {
				l.Add(n.Get("workflow"), "give one of them another name", "two workflows of this file are called `%s`", d.Name)
			}
		}
		all = append(all, d)
	}
	if err := l.Err(); err != nil {
		return nil, err
	}
	return all, nil
}

// Read is [ReadAll] for who wants the first workflow of a file alone; the error covers all.
func Read(file string, data []byte) (*Definition, error) {
	all, err := ReadAll(file, data)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// purpose says what a body without a place in the flow is for.
type purpose uint8

const (
	undoing   purpose = iota + 1 // a compensation
	notifying                    // an approval's notification
	finishing                    // finally
)

// reader builds a definition of a tree that goes through [format.Check] first.
type reader struct {
	*document.Ledger
	def        *Definition
	nodes      map[*Step]*document.Node // where each step is written
	bodyOf     map[*Body]*document.Node
	madeUp     map[*document.Node]string // ids of steps of sequences that have none
	purposes   map[*Body]purpose
	shared     map[string]*Compensation
	defaults   *document.Node // of the steps; nil: none
	usualRetry []RetryPolicy  // of defaults, shared by the steps that say nothing
	programs   []*pending
	flows      map[*Body]*flow.Flow
	doubts     []doubt
	everywhere map[string]*Step // by key, the first of that key
	unsure     map[*Body]bool   // bodies with mistakes in their edges: nothing is concluded from those
}

// build makes a definition of a document's tree: shapes first, then steps, edges and expressions. It is whole when the ledger
// holds no mistake.
func build(l *document.Ledger, n *document.Node) *Definition {
	r := &reader{
		Ledger: l, def: &Definition{OnFailure: Compensate, OnCompensationFailure: StopUndoing},
		nodes: map[*Step]*document.Node{}, bodyOf: map[*Body]*document.Node{}, madeUp: map[*document.Node]string{}, flows: map[*Body]*flow.Flow{}, unsure: map[*Body]bool{},
		purposes: map[*Body]purpose{}, shared: map[string]*Compensation{},
	}
	if n.Kind != document.Object {
		l.Add(n, "write `workflow: NAME` and `steps:`", "a workflow file is an object, not %s", n.Kind)
		return r.def
	}
	before := l.Count()
	format.Check(l, n, "workflow")
	r.top(n)
	r.edges()
	r.compile()
	r.def.notYet = l.TakeLater()
	if l.Count() > before {
		return r.def
	}
	r.nameSteps(n)
	canonical := format.Canonical(n, "workflow")
	r.def.canonical = canonical.Raw()
	if i := canonical.Find("version"); i >= 0 {
		canonical.Keys, canonical.Items = slices.Delete(canonical.Keys, i, i+1), slices.Delete(canonical.Items, i, i+1)
	}
	r.def.unversioned = canonical.Raw()
	if len(r.def.canonical) > document.MaxBytes {
		l.Add(n, "split the workflow, or keep data in files of its own", "the workflow is larger than 1 MiB with its aliases written out")
	}
	return r.def
}

// nameSteps writes the made-up ids into the tree, so that the canonical form does not depend on counting.
func (r *reader) nameSteps(n *document.Node) {
	if id := r.madeUp[n]; id != "" {
		n.Set("id", document.NewText(id))
	}
	for _, item := range n.Items {
		r.nameSteps(item)
	}
}

// origin says where n was written.
func (r *reader) origin(n *document.Node) Origin {
	return Origin{File: r.File, Pointer: n.Pointer(), Line: n.Line, Column: n.Column}
}

// body reads the value of `steps`: a graph or a sequence.
func (r *reader) body(n *document.Node, parent *Step, slot string, depth int) *Body {
	b := r.open(n, parent, slot)
	if n.Kind == document.List {
		b.Kind = Sequence
		r.sequenceKeys(b, n)
	}
	if depth > maxDepth {
		r.Add(n, "move the inner steps into a workflow of their own", "bodies are nested deeper than %d", maxDepth)
		return b
	}
	for i, item := range n.Items {
		if len(r.def.Steps) >= maxSteps {
			r.Add(item, "split the workflow", "a workflow has at most 10,000 steps")
			return b
		}
		key, at := r.madeUp[item], item
		if b.Kind == Graph {
			key, at = n.Keys[i].Text, n.Keys[i]
			item.Line, item.Column = at.Line, at.Column // a step of a graph begins with its key
			if !format.IsKey(key) {
				r.Add(at, "write letters, digits, _ and - only", "%q cannot be the key of a step", document.Clip(key))
			}
		} else if id := item.Get("id"); id != nil {
			key, at = id.Text, id
		}
		r.ambiguous(at, key, parent == nil && slot == "")
		r.step(b, key, item, depth)
	}
	return b
}

// pathPart is what stands in the paths of cases and catches with a body.
var pathPart = regexp.MustCompile(`^(case|catch)-[0-9]+$`)

// ambiguous notes a key that means something else where a path or a `next` names a step.
func (r *reader) ambiguous(at *document.Node, key string, root bool) {
	switch {
	case key == "end":
		r.Add(at, "give it another key", "a step may not be called `end`: that is how `next` ends a scope")
	case key == "finally" && root:
		r.Add(at, "give it another key, or write `finally` at the top of the file", "a step here may not be called `finally`: paths name what runs at the end so")
	case pathPart.MatchString(key):
		r.Add(at, "give it another key, such as one that says what is done", "`%s` may not be a key: paths name the bodies of switches and catches so", key)
	}
}

// single reads the value of `do`.
func (r *reader) single(n *document.Node, parent *Step, slot string, depth int) *Body {
	b := r.open(n, parent, slot)
	b.Kind = Single
	switch {
	case depth > maxDepth:
		r.Add(n, "move the inner steps into a workflow of their own", "bodies are nested deeper than %d", maxDepth)
	case len(r.def.Steps) >= maxSteps:
		r.Add(n, "split the workflow", "a workflow has at most 10,000 steps")
	default:
		r.step(b, "do", n, depth)
	}
	return b
}

// inner reads the body under `do` or `steps` of n; n must have exactly one of them.
func (r *reader) inner(n *document.Node, parent *Step, slot string, depth int, what string) *Body {
	do, steps := n.Get("do"), n.Get("steps")
	switch {
	case do != nil && steps != nil:
		r.Add(n, "keep one of the two", "%s has both `do` and `steps`", what)
		return nil
	case do != nil:
		return r.single(do, parent, slot, depth)
	case steps != nil:
		return r.body(steps, parent, slot, depth)
	case !n.Broken:
		r.Add(n, "write `do:` with one step, or `steps:`", "%s has no body", what)
	}
	return nil
}

// alone reads the one step of a compensation or a notification.
func (r *reader) alone(n *document.Node, parent *Step, slot string, of purpose) *Step {
	b := &Body{ID: len(r.def.Bodies), Kind: Single, Parent: parent, Slot: slot, Origin: r.origin(n), ByKey: map[string]int{}}
	r.def.Bodies = append(r.def.Bodies, b)
	r.bodyOf[b], r.purposes[b] = n, of
	if len(r.def.Steps) >= maxSteps {
		r.Add(n, "split the workflow", "a workflow has at most 10,000 steps")
		return nil
	}
	r.step(b, "do", n, 1)
	return b.Steps[0]
}

func (r *reader) open(n *document.Node, parent *Step, slot string) *Body {
	b := &Body{ID: len(r.def.Bodies), Parent: parent, Slot: slot, Origin: r.origin(n), ByKey: map[string]int{}}
	r.def.Bodies = append(r.def.Bodies, b)
	r.bodyOf[b] = n
	if parent != nil {
		parent.Bodies = append(parent.Bodies, b)
	}
	return b
}

// sequenceKeys makes up keys for the steps of a list that have none: the n-th `run` of these is run-1, run-2 and so on.
func (r *reader) sequenceKeys(b *Body, n *document.Node) {
	count := map[string]int{}
	for _, item := range n.Items {
		action := "step"
		if keys := actionKeys(item); len(keys) > 0 {
			action = keys[0].Text
		}
		if item.Get("id") == nil {
			count[action]++
			r.madeUp[item] = action + "-" + strconv.Itoa(count[action])
		}
	}
}
