package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow/internal/document"
	"github.com/millrace-go/millrace/workflow/internal/flow"
	"github.com/millrace-go/millrace/workflow/internal/format"
	"github.com/millrace-go/millrace/workflow/internal/input"
)

// Bounds of a definition.
const (
	maxSteps = 10_000
	maxDepth = 16 // bodies inside bodies, the root's included
)

// ReadAll makes the definitions of a file that may hold several workflows, separated by `---`. All else is as with [Read].
func ReadAll(file string, data []byte) ([]*Definition, error) {
	d, err := Read(file, data)
	if err != nil {
		return nil, err
	}
	return []*Definition{d}, nil
}

// Read makes a definition of a workflow file, YAML or JSON. The file's name is for messages and origins only; nothing is
// opened. The error is a *[Mistakes] with everything that is wrong, in the order of the file. Read never panics, and takes
// bounded time and memory whatever the bytes. It keeps no reference to data.
func Read(file string, data []byte) (*Definition, error) {
	l := &document.Ledger{File: file}
	n := l.Read(data)
	if n == nil {
		return nil, l.Err()
	}
	return build(l, n)
}

// reader builds a definition of a tree that goes through [format.Check] first.
type reader struct {
	*document.Ledger
	def        *Definition
	nodes      map[*Step]*document.Node // where each step is written
	bodyOf     map[*Body]*document.Node
	madeUp     map[*document.Node]string // ids of steps of sequences that have none
	programs   []*pending
	flows      map[*Body]*flow.Flow
	doubts     []doubt
	everywhere map[string]*Step // by key, the first of that key
	unsure     map[*Body]bool   // bodies with mistakes in their edges: nothing is concluded from those
}

// build makes a definition of a document's tree: shapes first, then steps, edges and expressions.
func build(l *document.Ledger, n *document.Node) (*Definition, error) {
	r := &reader{
		Ledger: l, def: &Definition{},
		nodes: map[*Step]*document.Node{}, bodyOf: map[*Body]*document.Node{}, madeUp: map[*document.Node]string{}, flows: map[*Body]*flow.Flow{}, unsure: map[*Body]bool{},
	}
	if n.Kind != document.Object {
		l.Add(n, "write `workflow: NAME` and `steps:`", "a workflow file is an object, not %s", n.Kind)
		return nil, l.Err()
	}
	format.Check(l, n, "workflow")
	r.top(n)
	r.edges()
	r.compile()
	if err := l.Err(); err != nil {
		return nil, err
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
		return nil, l.Err()
	}
	return r.def, nil
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

func (r *reader) top(n *document.Node) {
	d := r.def
	d.Name, d.Title, d.Description = text(n, "workflow"), text(n, "title"), text(n, "description")
	d.Version = int(integer(n, "version"))
	d.OnFailure, d.OnCompensationFailure = Compensate, StopUndoing
	if n.Get("workflow") == nil && !n.Broken {
		r.Add(n, "write `workflow: NAME` at the top", "the workflow has no name")
	}
	if schema := n.Get("input"); schema != nil {
		r.schema(schema)
	}
	if steps := n.Get("steps"); steps != nil {
		d.Body = r.body(steps, nil, "", 1)
	} else if !n.Broken {
		r.Add(n, "write `steps:` with at least one step", "the workflow has no steps")
	}
	if output := n.Get("output"); output != nil {
		r.template(nil, output, outputRole, &d.OutputUses, func(t *expr.Template) { d.Output = t })
	}
}

// schema compiles the schema of the input, and notes what is wrong with it.
func (r *reader) schema(n *document.Node) {
	r.def.Input = n.Raw()
	schema, problems := input.Compile(n)
	r.def.schema = schema
	for _, p := range problems {
		r.Add(n.At(p.Path), "mend the JSON Schema; $ref may only name a part of it, as in #/$defs/NAME", "`input` is not a JSON Schema: %s", p.Message)
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
		if key == "end" {
			r.Add(at, "give it another key", "a step may not be called `end`: that is how `next` ends a scope")
		}
		r.step(b, key, item, depth)
	}
	return b
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

// step reads one step into its body.
func (r *reader) step(b *Body, key string, n *document.Node, depth int) {
	s := &Step{ID: len(r.def.Steps), Index: len(b.Steps), Body: b, Key: key, Origin: r.origin(n)}
	r.def.Steps = append(r.def.Steps, s)
	b.Steps = append(b.Steps, s)
	r.nodes[s] = n
	if first, ok := b.ByKey[key]; ok {
		at := n
		if id := n.Get("id"); id != nil {
			at = id
		}
		r.Add(at, "give one of them another name", "two steps here are called `%s`: line %d has the other", key, b.Steps[first].Origin.Line)
	} else {
		b.ByKey[key] = s.Index
	}
	s.Title, s.Description = text(n, "title"), text(n, "description")
	s.After, s.Next = texts(n, "after"), text(n, "next")
	s.CancelRest, s.AtMostOnce = set(n, "cancel_rest"), set(n, "at_most_once")
	s.Join = joinOf(n.Get("join"))
	s.Timeout, s.Delay, s.Lease = span(n, "timeout"), span(n, "delay"), span(n, "lease")
	s.Queue, s.Priority, s.Dir = text(n, "queue"), int(integer(n, "priority")), text(n, "dir")
	s.OnError = map[string]OnError{"continue": OnErrorContinue, "skip": OnErrorSkip}[text(n, "on_error")]
	if s.Queue == "default" {
		s.Queue = ""
	}
	if meta := n.Get("meta"); meta != nil {
		s.Meta = meta.Raw()
	}
	s.Retry = r.retries(n.Get("retry"))
	r.program(s, n.Get("when"), whenRole, expr.Bool, &s.WhenUses, &s.When)
	r.program(s, n.Get("need"), needRole, expr.Number, &s.NeedUses, &s.Need)
	r.belongs(s, n)
	r.action(s, n, depth)
	r.input(s, n)
	r.catches(s, n.Get("catch"), depth)
}

// belongs notes keys that the kind of body or the action does not take.
func (r *reader) belongs(s *Step, n *document.Node) {
	wrong := map[string]string{}
	switch s.Body.Kind {
	case Graph:
		wrong = map[string]string{
			"id":   "leave it out: the key is the step's name",
			"next": "write `after: " + s.Key + "` on the step that comes next, or make the steps a list",
		}
	case Sequence:
		wrong = map[string]string{
			"after": "leave it out: a list runs from top to bottom; write the steps as a map to make a graph",
			"join":  "leave it out: a list runs one step at a time",
		}
	case Single:
		remedy := "leave it out: there is one step; write `steps:` for more"
		wrong = map[string]string{"id": remedy, "next": remedy, "after": remedy, "join": remedy}
	}
	for _, key := range slices.Sorted(maps.Keys(wrong)) {
		if i := n.Find(key); i >= 0 {
			r.Add(n.Keys[i], wrong[key], "`%s` does not belong to a step of %s", key, [...]string{"a map", "a list", "`do`"}[s.Body.Kind])
		}
	}
	actions := actionKeys(n)
	if len(actions) != 1 {
		return
	}
	for i, key := range n.Keys {
		if ok, instead := format.Takes(actions[0].Text, key.Text); !ok {
			r.Add(n.Keys[i], instead, "`%s` does not belong to `%s`", key.Text, actions[0].Text)
		}
	}
}

// actionKeys gives the keys of n that are actions.
func actionKeys(n *document.Node) []*document.Node {
	var found []*document.Node
	for _, key := range n.Keys {
		if format.IsAction(key.Text) {
			found = append(found, key)
		}
	}
	return found
}

// input reads what a step gives to its action: with, env.
func (r *reader) input(s *Step, n *document.Node) {
	uses, role := &s.ActionUses, actionRole
	if s.IsTask {
		uses, role = &s.Uses, workerRole
	}
	if with := n.Get("with"); with != nil {
		r.template(s, with, role, uses, func(t *expr.Template) { s.With = t })
	} else if c, ok := s.Action.(*Command); s.IsTask && (!ok || c.Stdin == StdinJSON) {
		s.Uses.Prev = true
	}
	if env := n.Get("env"); env != nil && len(env.Items) > 0 {
		s.Env = make(map[string]*expr.Template, len(env.Items))
		for i, key := range env.Keys {
			if key.Text == "" || strings.ContainsAny(key.Text, "=\x00") {
				r.Add(key, "write letters, digits and _", "%q cannot be the name of a variable", document.Clip(key.Text))
			}
			r.template(s, env.Items[i], role, uses, func(t *expr.Template) { s.Env[key.Text] = t })
		}
	}
	if strings.ContainsRune(s.Dir, 0) || strings.HasPrefix(s.Dir, "/") || slices.Contains(strings.Split(s.Dir, "/"), "..") {
		r.Add(n.Get("dir"), "write a folder inside the workflow's own", "`dir` leads out of the workflow's folder")
	}
}

// catches reads the entries of `catch`.
func (r *reader) catches(s *Step, n *document.Node, depth int) {
	if n == nil {
		return
	}
	for i, item := range n.Each() {
		s.Catch = append(s.Catch, Catch{})
		c := &s.Catch[i]
		c.Only, c.Except, c.Next, c.Origin = texts(item, "only"), texts(item, "except"), text(item, "next"), r.origin(item)
	}
	for i, item := range n.Each() {
		c := &s.Catch[i]
		r.program(s, item.Get("when"), catchRole, expr.Bool, &c.WhenUses, &c.When)
		what := fmt.Sprintf("the catch of `%s`", s.Key)
		if item.Get("next") == nil {
			c.Body = r.inner(item, s, "catch-"+strconv.Itoa(i+1), depth+1, what)
		} else if item.Get("do") != nil || item.Get("steps") != nil {
			r.Add(item, "keep one of the two", "%s has both `next` and a body", what)
		}
		if i > 0 && len(s.Catch[i-1].Only)+len(s.Catch[i-1].Except) == 0 && s.Catch[i-1].When == nil && !n.Each()[i-1].Broken {
			r.Add(item, "put it before the entry that takes everything", "no failure ever reaches this entry: the one before it takes all")
		}
	}
}

// retries reads `retry`.
func (r *reader) retries(n *document.Node) []RetryPolicy {
	if n == nil {
		return nil
	}
	var policies []RetryPolicy
	for _, item := range n.Each() {
		p := DefaultRetry()
		if item.Kind == document.Number {
			p.Attempts = number[int](item)
		} else {
			r.retry(item, &p)
		}
		policies = append(policies, p)
	}
	return policies
}

func (r *reader) retry(n *document.Node, p *RetryPolicy) {
	if v := n.Get("attempts"); v != nil {
		p.Attempts = number[int](v)
	}
	if v := n.Get("factor"); v != nil {
		p.Factor = number[float64](v)
	}
	if v := n.Get("jitter"); v != nil {
		p.Jitter = number[float64](v)
	}
	if v := n.Get("delay"); v != nil {
		p.Delay = span(n, "delay")
	}
	if v := n.Get("max_delay"); v != nil {
		p.MaxDelay = span(n, "max_delay")
	}
	if v := n.Get("grow"); v != nil {
		p.Grow = Grow(v.Text)
	}
	p.Only, p.Except, p.For = texts(n, "only"), texts(n, "except"), span(n, "for")
	if v := n.Get("delays"); v != nil {
		for _, item := range v.Items {
			d, _ := format.ParseDuration(item.Text) // checked before
			p.Delays = append(p.Delays, d)
		}
		if i := n.Find("attempts"); i >= 0 && p.Attempts != len(p.Delays)+1 {
			r.Add(n.Keys[i], fmt.Sprintf("leave it out, or write %d", len(p.Delays)+1), "`attempts` contradicts `delays`, which has %d entries", len(p.Delays))
		}
		p.Attempts = len(p.Delays) + 1
	}
}

// joinOf reads `join`.
func joinOf(n *document.Node) Join {
	switch {
	case n == nil:
		return Join{}
	case n.Kind == document.Number:
		return Join{Kind: JoinCount, N: number[int](n)}
	}
	return Join{Kind: map[string]JoinKind{"settled": JoinSettled, "any": JoinAny}[n.Text]}
}

// The following read members that were checked before; they give the zero value for one that is not there.

func text(n *document.Node, key string) string {
	if v := n.Get(key); v != nil {
		return v.Text
	}
	return ""
}

func set(n *document.Node, key string) bool { return n.Get(key).Is("true") }

func texts(n *document.Node, key string) []string {
	v := n.Get(key)
	if v == nil || len(v.Items) == 0 && v.Kind == document.List {
		return nil
	}
	var all []string
	for _, item := range v.Each() {
		all = append(all, item.Text)
	}
	return all
}

func span(n *document.Node, key string) time.Duration {
	d, _ := format.ParseDuration(text(n, key))
	return d
}

func integer(n *document.Node, key string) int64 {
	if v := n.Get(key); v != nil {
		return number[int64](v)
	}
	return 0
}

func number[T int | int64 | float64](n *document.Node) T {
	v, _ := strconv.ParseFloat(n.Text, 64)
	return T(v)
}
