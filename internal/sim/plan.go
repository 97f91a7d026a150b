package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// plan is a workflow as it was drawn: what the oracle reads, and what the file that the engines get is written from.
type plan struct {
	name string
	root *body
}

type bodyKind int

const (
	graph bodyKind = iota
	sequence
	single
)

type body struct {
	kind  bodyKind
	steps []*step
}

// step is a step as drawn. Indexes are those of its body; len(steps) is the end of it.
type step struct {
	key    string
	alone  bool   // under `do`
	action string // task, set, wait, fail, end, switch, steps, parallel, map, loop

	after      []int
	join       string // "", settled, any, n
	n          int    // join n: so many edges
	cancelRest bool   // of the join, of `need` on a composite
	guard      truth
	next       int // sequence: written next; -1: none
	cases      []way
	catches    []way
	onError    string // "", continue, skip
	attempts   int    // 0: no retry of its own
	doomed     bool   // a task that always fails
	extra      []string

	inner    []*body // of the composite: block, branches, item, pass
	items    int     // map, loop over: length of the list
	tolerate int     // map: -1 none
	need     int     // 0: none
	loop     string  // over, while, until, limit
	passes   int     // while, until
	limit    int     // 0: none
	code     string  // fail
	endRun   bool
}

// way is a case of a switch or an entry of a catch.
type way struct {
	when truth
	only string // catch: this code; "": every
	next int    // -1: a body
	body *body
}

// truth is a condition whose value is known when it is drawn.
type truth string

const (
	always truth = ""
	yes    truth = "true"
	no     truth = "false"
	broken truth = "input.none.deep > 1" // its evaluation fails
	soon   truth = "(prev?.visit ?? 9) < 3"
)

const visits = 3 // of a step that is jumped back to by soon

// text writes a plan as a workflow file.
func (p *plan) text() string {
	w := &writer{}
	w.line(0, "workflow: %s", p.name)
	w.line(0, "version: 1")
	w.body(0, p.root)
	return w.String()
}

type writer struct{ strings.Builder }

func (w *writer) line(depth int, format string, args ...any) {
	w.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// body writes `steps:` or `do:` at a depth.
func (w *writer) body(depth int, b *body) {
	switch b.kind {
	case single:
		w.line(depth, "do:")
		w.step(depth+1, b, b.steps[0])
	case sequence:
		w.line(depth, "steps:")
		w.items(depth, b)
	case graph:
		w.line(depth, "steps:")
		w.items(depth, b)
	}
}

func (w *writer) items(depth int, b *body) {
	for _, s := range b.steps {
		if b.kind == graph {
			w.line(depth+1, "%s:", s.key)
		} else {
			w.line(depth+1, "- id: %s", s.key)
		}
		w.step(depth+2, b, s)
	}
}

func (b *body) target(i int) string {
	if i == len(b.steps) {
		return "end"
	}
	return b.steps[i].key
}

func (w *writer) step(d int, b *body, s *step) {
	if len(s.after) > 0 {
		keys := make([]string, len(s.after))
		for i, k := range s.after {
			keys[i] = b.steps[k].key
		}
		w.line(d, "after: [%s]", strings.Join(keys, ", "))
	}
	switch s.join {
	case "":
	case "n":
		w.line(d, "join: %d", s.n)
	default:
		w.line(d, "join: %s", s.join)
	}
	if s.guard != always {
		w.line(d, "when: %s", strconv.Quote(string(s.guard)))
	}
	if s.next >= 0 {
		w.line(d, "next: %s", b.target(s.next))
	}
	if s.attempts > 0 {
		w.line(d, "retry: { attempts: %d, delay: 2s, max_delay: 20s }", s.attempts)
	}
	if s.onError != "" {
		w.line(d, "on_error: %s", s.onError)
	}
	if s.cancelRest && s.action != "map" {
		w.line(d, "cancel_rest: true")
	}
	for _, x := range s.extra {
		w.line(d, "%s", x)
	}
	w.action(d, b, s)
	if len(s.catches) > 0 {
		w.line(d, "catch:")
		w.ways(d, b, s.catches)
	}
}

func (w *writer) ways(d int, b *body, ways []way) {
	for _, c := range ways {
		switch {
		case c.only != "":
			w.line(d+1, "- only: %s", c.only)
		case c.when != always:
			w.line(d+1, "- when: %s", strconv.Quote(string(c.when)))
		case c.next >= 0:
			w.line(d+1, "- next: %s", b.target(c.next))
			continue
		default: // a body alone: its own key begins the item
			inner := &writer{}
			inner.body(d+2, c.body)
			first := strings.Repeat("  ", d+1) + "- "
			w.WriteString(first + strings.TrimLeft(inner.String(), " "))
			continue
		}
		if c.next >= 0 {
			w.line(d+2, "next: %s", b.target(c.next))
		} else {
			w.body(d+2, c.body)
		}
	}
}

func (w *writer) action(d int, b *body, s *step) {
	switch s.action {
	case "task":
		if s.doomed {
			w.line(d, "task: fails")
		} else {
			w.line(d, "task: work")
		}
	case "set":
		w.line(d, "set: { made: 1 }")
	case "wait":
		w.line(d, "wait: %s", s.code)
	case "fail":
		w.line(d, "fail: { code: %s }", s.code)
	case "end":
		if s.endRun {
			w.line(d, "end: run")
		} else {
			w.line(d, "end: true")
		}
	case "switch":
		w.line(d, "switch:")
		w.ways(d, b, s.cases)
	case "steps":
		w.body(d, s.inner[0])
	case "parallel":
		if s.need > 0 {
			w.line(d, "need: %d", s.need)
		}
		w.line(d, "parallel:")
		for i, branch := range s.inner {
			w.line(d+1, "%s:", branchName(i))
			w.body(d+2, branch)
		}
	case "map":
		w.mapAction(d, s)
	case "loop":
		w.loopAction(d, s)
	}
}

func branchName(i int) string { return "b" + strconv.Itoa(i+1) }

func list(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strconv.Itoa(i + 1)
	}
	return strconv.Quote("[" + strings.Join(items, ", ") + "]")
}

func (w *writer) mapAction(d int, s *step) {
	w.line(d, "map:")
	w.line(d+1, "over: %s", list(s.items))
	if s.limit > 0 {
		w.line(d+1, "parallel: %d", s.limit)
	}
	if s.tolerate >= 0 {
		w.line(d+1, "tolerate: %d", s.tolerate)
	}
	if s.need > 0 {
		w.line(d+1, "need: %d", s.need)
	}
	if s.cancelRest {
		w.line(d+1, "cancel_rest: true")
	}
	w.body(d+1, s.inner[0])
}

func (w *writer) loopAction(d int, s *step) {
	w.line(d, "loop:")
	switch s.loop {
	case "over":
		w.line(d+1, "over: %s", list(s.items))
	case "while":
		w.line(d+1, "while: \"pass.number <= %d\"", s.passes)
	case "until":
		w.line(d+1, "until: \"pass.number >= %d\"", s.passes)
	}
	if s.limit > 0 {
		w.line(d+1, "limit: %d", s.limit)
	}
	for _, x := range []string{"every: 3s", "collect: true"} {
		if strings.Contains(s.code, x[:5]) {
			w.line(d+1, "%s", x)
		}
	}
	w.body(d+1, s.inner[0])
}
