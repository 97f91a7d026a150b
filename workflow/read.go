package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/expr"
)

// Bounds of a definition.
const (
	maxSteps = 10_000
	maxDepth = 16 // bodies inside bodies, the root's included
)

// Read makes a definition of a workflow file, YAML or JSON. The file's name is for messages and origins only; nothing is
// opened. The error is a *[Mistakes] with everything that is wrong, in the order of the file. Read never panics, and takes
// bounded time and memory whatever the bytes. It keeps no reference to data.
func Read(file string, data []byte) (*Definition, error) {
	l := &ledger{file: file}
	n := l.document(data)
	if n == nil {
		return nil, l.err()
	}
	return build(l, n)
}

// reader builds a definition of a tree that goes through [ledger.check] first.
type reader struct {
	*ledger
	def        *Definition
	nodes      map[*Step]*node // where each step is written
	bodyOf     map[*Body]*node
	madeUp     map[*node]string // ids of steps of sequences that have none
	programs   []*pending
	flows      map[*Body]*flow
	doubts     []doubt
	everywhere map[string]*Step // by key, the first of that key
	unsure     map[*Body]bool   // bodies with mistakes in their edges: nothing is concluded from those
}

// build makes a definition of a document's tree: shapes first, then steps, edges and expressions.
func build(l *ledger, n *node) (*Definition, error) {
	r := &reader{
		ledger: l, def: &Definition{},
		nodes: map[*Step]*node{}, bodyOf: map[*Body]*node{}, madeUp: map[*node]string{}, flows: map[*Body]*flow{}, unsure: map[*Body]bool{},
	}
	if n.kind != objectNode {
		l.add(n, "write `workflow: NAME` and `steps:`", "a workflow file is an object, not %s", n.kind.words())
		return nil, l.err()
	}
	l.check(n, "workflow")
	r.top(n)
	r.edges()
	r.compile()
	if err := l.err(); err != nil {
		return nil, err
	}
	r.nameSteps(n)
	canonical := canonicalPlace(n, "workflow")
	r.def.canonical = canonical.raw()
	if i := canonical.find("version"); i >= 0 {
		canonical.keys, canonical.items = slices.Delete(canonical.keys, i, i+1), slices.Delete(canonical.items, i, i+1)
	}
	r.def.unversioned = canonical.raw()
	if len(r.def.canonical) > maxFileBytes {
		l.add(n, "split the workflow, or keep data in files of its own", "the workflow is larger than 1 MiB with its aliases written out")
		return nil, l.err()
	}
	return r.def, nil
}

// nameSteps writes the made-up ids into the tree, so that the canonical form does not depend on counting.
func (r *reader) nameSteps(n *node) {
	if id := r.madeUp[n]; id != "" {
		n.set("id", newText(id))
	}
	for _, item := range n.items {
		r.nameSteps(item)
	}
}

func (r *reader) top(n *node) {
	d := r.def
	d.Name, d.Title, d.Description = text(n, "workflow"), text(n, "title"), text(n, "description")
	d.Version = int(integer(n, "version"))
	if n.get("workflow") == nil && !n.broken {
		r.add(n, "write `workflow: NAME` at the top", "the workflow has no name")
	}
	if input := n.get("input"); input != nil {
		d.Input = input.raw()
		d.schema, d.root = r.compileSchema(input, d.Input), input.clone()
	}
	if steps := n.get("steps"); steps != nil {
		d.Body = r.body(steps, nil, "", 1)
	} else if !n.broken {
		r.add(n, "write `steps:` with at least one step", "the workflow has no steps")
	}
	if output := n.get("output"); output != nil {
		r.template(nil, output, outputRole, &d.OutputUses, func(t *expr.Template) { d.Output = t })
	}
}

// origin says where n was written.
func (r *reader) origin(n *node) Origin {
	pointer := n.pointer()
	if pointer == "/" {
		pointer = ""
	}
	file := r.file
	if n.line == 0 {
		file = ""
	}
	return Origin{File: file, Pointer: pointer, Line: n.line, Column: n.column}
}

// body reads the value of `steps`: a graph or a sequence.
func (r *reader) body(n *node, parent *Step, slot string, depth int) *Body {
	b := r.open(n, parent, slot)
	if n.kind == listNode {
		b.Kind = Sequence
		r.sequenceKeys(b, n)
	}
	if depth > maxDepth {
		r.add(n, "move the inner steps into a workflow of their own", "bodies are nested deeper than %d", maxDepth)
		return b
	}
	for i, item := range n.items {
		if len(r.def.Steps) >= maxSteps {
			r.add(item, "split the workflow", "a workflow has at most 10,000 steps")
			return b
		}
		key, at := r.madeUp[item], item
		if b.Kind == Graph {
			key, at = n.keys[i].text, n.keys[i]
			if !keyPattern.MatchString(key) {
				r.add(at, "write letters, digits, _ and - only", "%q cannot be the key of a step", clip(key))
			}
		} else if id := item.get("id"); id != nil {
			key, at = id.text, id
		}
		if key == "end" {
			r.add(at, "give it another key", "a step may not be called `end`: that is how `next` ends a scope")
		}
		r.step(b, key, item, depth)
	}
	return b
}

// single reads the value of `do`.
func (r *reader) single(n *node, parent *Step, slot string, depth int) *Body {
	b := r.open(n, parent, slot)
	b.Kind = Single
	switch {
	case depth > maxDepth:
		r.add(n, "move the inner steps into a workflow of their own", "bodies are nested deeper than %d", maxDepth)
	case len(r.def.Steps) >= maxSteps:
		r.add(n, "split the workflow", "a workflow has at most 10,000 steps")
	default:
		r.step(b, "do", n, depth)
	}
	return b
}

// inner reads the body under `do` or `steps` of n; n must have exactly one of them.
func (r *reader) inner(n *node, parent *Step, slot string, depth int, what string) *Body {
	do, steps := n.get("do"), n.get("steps")
	switch {
	case do != nil && steps != nil:
		r.add(n, "keep one of the two", "%s has both `do` and `steps`", what)
		return nil
	case do != nil:
		return r.single(do, parent, slot, depth)
	case steps != nil:
		return r.body(steps, parent, slot, depth)
	case !n.broken:
		r.add(n, "write `do:` with one step, or `steps:`", "%s has no body", what)
	}
	return nil
}

func (r *reader) open(n *node, parent *Step, slot string) *Body {
	b := &Body{ID: len(r.def.Bodies), Parent: parent, Slot: slot, Origin: r.origin(n), ByKey: map[string]int{}}
	r.def.Bodies = append(r.def.Bodies, b)
	r.bodyOf[b] = n
	if parent != nil {
		parent.Bodies = append(parent.Bodies, b)
	}
	return b
}

// sequenceKeys makes up keys for the steps of a list that have none: the n-th `run` of these is run-1, run-2 and so on.
func (r *reader) sequenceKeys(b *Body, n *node) {
	count := map[string]int{}
	for _, item := range n.items {
		action := "step"
		for i := range stepEntries {
			if stepEntries[i].action && item.get(stepEntries[i].name) != nil {
				action = stepEntries[i].name
				break
			}
		}
		if item.get("id") == nil {
			count[action]++
			r.madeUp[item] = action + "-" + strconv.Itoa(count[action])
		}
	}
}

// step reads one step into its body.
func (r *reader) step(b *Body, key string, n *node, depth int) {
	s := &Step{ID: len(r.def.Steps), Index: len(b.Steps), Body: b, Key: key, Origin: r.origin(n)}
	r.def.Steps = append(r.def.Steps, s)
	b.Steps = append(b.Steps, s)
	r.nodes[s] = n
	if first, ok := b.ByKey[key]; ok {
		at := n
		if id := n.get("id"); id != nil {
			at = id
		}
		r.add(at, "give one of them another name", "two steps here are called `%s`: line %d has the other", key, b.Steps[first].Origin.Line)
	} else {
		b.ByKey[key] = s.Index
	}
	s.Title, s.Description = text(n, "title"), text(n, "description")
	s.After, s.Next = texts(n, "after"), text(n, "next")
	s.CancelRest, s.AtMostOnce = set(n, "cancel_rest"), set(n, "at_most_once")
	s.Join = joinOf(n.get("join"))
	s.Timeout, s.Delay, s.Lease = span(n, "timeout"), span(n, "delay"), span(n, "lease")
	s.Queue, s.Priority, s.Dir = text(n, "queue"), int(integer(n, "priority")), text(n, "dir")
	s.OnError = map[string]OnError{"continue": OnErrorContinue, "skip": OnErrorSkip}[text(n, "on_error")]
	if s.Queue == "default" {
		s.Queue = ""
	}
	if meta := n.get("meta"); meta != nil {
		s.Meta = meta.raw()
	}
	s.Retry = r.retries(n.get("retry"))
	r.program(s, n.get("when"), whenRole, expr.Bool, &s.WhenUses, &s.When)
	r.program(s, n.get("need"), needRole, expr.Number, &s.NeedUses, &s.Need)
	r.belongs(s, n)
	r.action(s, n, depth)
	r.input(s, n)
	r.catches(s, n.get("catch"), depth)
}

// belongs notes keys that the kind of body or the action does not take.
func (r *reader) belongs(s *Step, n *node) {
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
		if i := n.find(key); i >= 0 {
			r.add(n.keys[i], wrong[key], "`%s` does not belong to a step of %s", key, [...]string{"a map", "a list", "`do`"}[s.Body.Kind])
		}
	}
	actions := r.actionKeys(n)
	if len(actions) != 1 {
		return
	}
	for i, key := range n.keys {
		if e := formatIndex["step"][key.text]; e.actions != nil && !slices.Contains(e.actions, actions[0].text) {
			r.add(n.keys[i], e.instead, "`%s` does not belong to `%s`", key.text, actions[0].text)
		}
	}
}

// actionKeys gives the keys of n that are actions.
func (r *reader) actionKeys(n *node) []*node {
	var found []*node
	for _, key := range n.keys {
		if formatIndex["step"][key.text].action {
			found = append(found, key)
		}
	}
	return found
}

// input reads what a step gives to its action: with, env.
func (r *reader) input(s *Step, n *node) {
	uses, role := &s.ActionUses, actionRole
	if s.IsTask {
		uses, role = &s.Uses, workerRole
	}
	if with := n.get("with"); with != nil {
		r.template(s, with, role, uses, func(t *expr.Template) { s.With = t })
	} else if c, ok := s.Action.(*Command); s.IsTask && (!ok || c.Stdin == StdinJSON) {
		s.Uses.Prev = true
	}
	if env := n.get("env"); env != nil && len(env.items) > 0 {
		s.Env = make(map[string]*expr.Template, len(env.items))
		for i, key := range env.keys {
			if key.text == "" || strings.ContainsAny(key.text, "=\x00") {
				r.add(key, "write letters, digits and _", "%q cannot be the name of a variable", clip(key.text))
			}
			r.template(s, env.items[i], role, uses, func(t *expr.Template) { s.Env[key.text] = t })
		}
	}
	if strings.ContainsRune(s.Dir, 0) || strings.HasPrefix(s.Dir, "/") || slices.Contains(strings.Split(s.Dir, "/"), "..") {
		r.add(n.get("dir"), "write a folder inside the workflow's own", "`dir` leads out of the workflow's folder")
	}
}

// catches reads the entries of `catch`.
func (r *reader) catches(s *Step, n *node, depth int) {
	if n == nil {
		return
	}
	for i, item := range wrapped(n) {
		s.Catch = append(s.Catch, Catch{})
		c := &s.Catch[i]
		c.Only, c.Except, c.Next, c.Origin = texts(item, "only"), texts(item, "except"), text(item, "next"), r.origin(item)
	}
	for i, item := range wrapped(n) {
		c := &s.Catch[i]
		r.program(s, item.get("when"), catchRole, expr.Bool, &c.WhenUses, &c.When)
		what := fmt.Sprintf("the catch of `%s`", s.Key)
		if item.get("next") == nil {
			c.Body = r.inner(item, s, "catch-"+strconv.Itoa(i+1), depth+1, what)
		} else if item.get("do") != nil || item.get("steps") != nil {
			r.add(item, "keep one of the two", "%s has both `next` and a body", what)
		}
		if i > 0 && len(s.Catch[i-1].Only)+len(s.Catch[i-1].Except) == 0 && s.Catch[i-1].When == nil && !wrapped(n)[i-1].broken {
			r.add(item, "put it before the entry that takes everything", "no failure ever reaches this entry: the one before it takes all")
		}
	}
}

// wrapped gives the items of a list, or the lone value.
func wrapped(n *node) []*node {
	if n.kind == listNode {
		return n.items
	}
	return []*node{n}
}

// retries reads `retry`.
func (r *reader) retries(n *node) []RetryPolicy {
	if n == nil {
		return nil
	}
	var policies []RetryPolicy
	for _, item := range wrapped(n) {
		p := DefaultRetry()
		if item.kind == numberNode {
			p.Attempts = number[int](item)
			policies = append(policies, p)
			continue
		}
		r.retry(item, &p)
		policies = append(policies, p)
	}
	return policies
}

func (r *reader) retry(n *node, p *RetryPolicy) {
	if v := n.get("attempts"); v != nil {
		p.Attempts = number[int](v)
	}
	if v := n.get("factor"); v != nil {
		p.Factor = number[float64](v)
	}
	if v := n.get("jitter"); v != nil {
		p.Jitter = number[float64](v)
	}
	if v := n.get("delay"); v != nil {
		p.Delay = span(n, "delay")
	}
	if v := n.get("max_delay"); v != nil {
		p.MaxDelay = span(n, "max_delay")
	}
	if v := n.get("grow"); v != nil {
		p.Grow = Grow(v.text)
	}
	p.Only, p.Except, p.For = texts(n, "only"), texts(n, "except"), span(n, "for")
	if v := n.get("delays"); v != nil {
		for _, item := range v.items {
			d, _ := ParseDuration(item.text) // checked before
			p.Delays = append(p.Delays, d)
		}
		if i := n.find("attempts"); i >= 0 && p.Attempts != len(p.Delays)+1 {
			r.add(n.keys[i], fmt.Sprintf("leave it out, or write %d", len(p.Delays)+1), "`attempts` contradicts `delays`, which has %d entries", len(p.Delays))
		}
		p.Attempts = len(p.Delays) + 1
	}
}

// joinOf reads `join`.
func joinOf(n *node) Join {
	switch {
	case n == nil:
		return Join{}
	case n.kind == numberNode:
		return Join{Kind: JoinCount, N: number[int](n)}
	}
	return Join{Kind: map[string]JoinKind{"settled": JoinSettled, "any": JoinAny}[n.text]}
}

// The following read members that were checked before; they give the zero value for one that is not there.

func text(n *node, key string) string {
	if v := n.get(key); v != nil {
		return v.text
	}
	return ""
}

func set(n *node, key string) bool { return n.get(key).is("true") }

func texts(n *node, key string) []string {
	v := n.get(key)
	if v == nil || len(v.items) == 0 && v.kind == listNode {
		return nil
	}
	var all []string
	for _, item := range wrapped(v) {
		all = append(all, item.text)
	}
	return all
}

func span(n *node, key string) time.Duration {
	d, _ := ParseDuration(text(n, key))
	return d
}

func integer(n *node, key string) int64 {
	if v := n.get(key); v != nil {
		return number[int64](v)
	}
	return 0
}

func number[T int | int64 | float64](n *node) T {
	v, _ := strconv.ParseFloat(n.text, 64)
	return T(v)
}
