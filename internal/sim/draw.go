package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// drawer draws plans. A tame plan has only what ends in the same way whatever the order of events.
type drawer struct {
	*rand.Rand
	tame  bool
	steps int // that may still be drawn
}

const maxSteps = 22 // of a plan, roughly

func drawPlan(r *rand.Rand, name string) *plan {
	d := &drawer{Rand: r, tame: r.IntN(5) < 2, steps: 4 + r.IntN(maxSteps-4)}
	return &plan{name: name, root: d.body(0, r.IntN(3) > 0)}
}

// one says yes once in n.
func (d *drawer) one(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d *drawer, from ...T) T { return from[d.IntN(len(from))] }

const maxNesting = 3

func (d *drawer) body(depth int, wide bool) *body {
	b := &body{kind: pick(d, graph, graph, sequence)}
	if depth > 0 && d.one(3) {
		b.kind = single
	}
	n := 1 + d.IntN(3)
	if wide {
		n = 2 + d.IntN(5)
	}
	if b.kind == single {
		n = 1
	}
	for i := range n {
		b.steps = append(b.steps, d.step(depth, i))
	}
	switch b.kind {
	case graph:
		d.edges(b)
	case sequence:
		d.jumps(b)
	case single:
		b.steps[0].alone = true
	}
	d.handlers(b, depth)
	return b
}

// inner draws the body of something that lies in a body at depth.
func (d *drawer) inner(depth int) *body { return d.body(depth+1, false) }

func (d *drawer) step(depth, i int) *step {
	d.steps--
	s := &step{key: fmt.Sprintf("s%d", i+1), next: -1, tolerate: -1, action: "task"}
	if d.one(9) {
		s.guard = pick(d, yes, no, no, broken)
	}
	if depth < maxNesting && d.steps > 0 && d.one(3) {
		d.composite(s, depth)
		return s
	}
	switch d.IntN(16) {
	case 0:
		s.action = "set"
	case 1:
		s.action, s.code = "wait", pick(d, "0s", "1s", "40s", "2h")
	case 2:
		if d.one(2) {
			s.action, s.code = "fail", pick(d, "chosen", "other")
		}
	case 3:
		if d.one(2) {
			s.action = "end"
			s.endRun = !d.tame && d.one(3)
		}
	}
	if s.action == "task" {
		d.task(s)
	}
	return s
}

func (d *drawer) task(s *step) {
	s.attempts = pick(d, 0, 0, 0, 1, 2, 5)
	add := func(n int, text string) {
		if d.one(n) {
			s.extra = append(s.extra, text)
		}
	}
	add(8, "timeout: 8s")
	add(10, "delay: 4s")
	add(10, "lease: 12s")
	add(8, "queue: other")
	add(8, "priority: 3")
	add(8, "at_most_once: true")
	add(6, "with: { got: \"${ prev }\" }")
	s.doomed = d.one(14)
}

func (d *drawer) composite(s *step, depth int) {
	s.action = pick(d, "steps", "parallel", "parallel", "map", "map", "loop", "switch")
	s.attempts = pick(d, 0, 0, 0, 2, 3)
	if !d.tame && d.one(3) && s.action != "switch" {
		s.extra = append(s.extra, "timeout: "+pick(d, "3s", "8s", "20s", "2m"))
	}
	switch s.action {
	case "steps":
		s.inner = []*body{d.inner(depth)}
		for s.inner[0].kind == single {
			s.inner[0] = d.inner(depth)
		}
	case "parallel":
		for range 1 + d.IntN(3) {
			s.inner = append(s.inner, d.inner(depth))
		}
		d.needs(s, len(s.inner))
	case "map":
		s.inner = []*body{d.inner(depth)}
		s.items = d.IntN(6)
		s.limit = pick(d, 0, 0, 1, 2)
		if d.needs(s, s.items); s.need == 0 && d.one(2) {
			s.tolerate = pick(d, 0, 1, 1, 2)
		}
	case "loop":
		d.loop(s)
		s.inner = []*body{d.inner(depth)}
	case "switch":
		s.attempts = pick(d, 0, 2)
		for range 1 + d.IntN(2) {
			s.cases = append(s.cases, way{when: pick(d, yes, no, no), next: -1, body: d.inner(depth)})
		}
		if d.one(2) {
			s.cases = append(s.cases, way{next: -1, body: d.inner(depth)})
		}
	}
}

// needs draws how many of n must succeed. More than there are is drawn too.
func (d *drawer) needs(s *step, n int) {
	if !d.one(3) || n == 0 {
		return
	}
	s.need = 1 + d.IntN(n)
	if d.one(8) {
		s.need = n + 1
	}
	s.cancelRest = !d.tame && d.one(2)
}

func (d *drawer) loop(s *step) {
	s.loop = pick(d, "over", "while", "until", "limit")
	s.items, s.passes = d.IntN(4), d.IntN(4)
	switch {
	case s.loop == "limit":
		s.limit = 1 + d.IntN(3)
	case d.one(4):
		s.limit = 1 + d.IntN(4)
	}
	s.code = pick(d, "", "", "every", "colle", "every colle")
}

// edges draws what leads where in a graph. Edges lead from a lower index to a higher one.
func (d *drawer) edges(b *body) {
	for i, s := range b.steps {
		for j := range i {
			if b.steps[j].action != "end" && b.steps[j].action != "fail" && d.IntN(5) < 2 {
				s.after = append(s.after, j)
			}
		}
	}
	for i, s := range b.steps {
		if i+1 < len(b.steps) && s.action == "task" && d.one(7) {
			d.forked(s, i, len(b.steps))
		}
	}
	if len(b.steps) > 3 && d.one(2) {
		d.diamond(b)
	}
}

// diamond makes the last step join a step that fails, and is caught elsewhere, with another: the way on from the failed one
// is missing, unless the catch leads to the join too.
func (d *drawer) diamond(b *body) {
	n := len(b.steps)
	x, other, target, join := d.IntN(n-3), n-3, n-2, n-1
	if x == other || b.steps[x].action != "task" || b.steps[other].action != "task" || b.steps[join].action == "switch" {
		return
	}
	s := b.steps[x]
	s.doomed, s.attempts, s.guard = true, 1, always
	s.catches = []way{{next: target}}
	after := []int{x, other}
	if d.one(2) {
		after = append(after, target)
	}
	b.steps[join].after = after
	if d.one(2) {
		b.steps[join].join = "settled"
	}
}

// forked makes a step of a graph a switch that leads to others.
func (d *drawer) forked(s *step, i, n int) {
	*s = step{key: s.key, next: -1, tolerate: -1, action: "switch", after: s.after, guard: s.guard}
	for k := range 1 + d.IntN(3) {
		c := way{when: pick(d, yes, no), next: i + 1 + d.IntN(n-i-1)}
		if k > 0 && d.one(3) {
			c.when = always
		}
		s.cases = append(s.cases, c)
		if c.when == always {
			break
		}
	}
}

// jumps draws what leads where in a sequence: on to the next step, past some, or back.
func (d *drawer) jumps(b *body) {
	n := len(b.steps)
	for i, s := range b.steps[:n-1] {
		if s.action == "end" || s.action == "fail" {
			s.guard = pick(d, no, no, yes) // or nothing would reach what follows
		}
		if after := b.steps[i+1]; s.action == "task" && after.action == "task" && s.next < 0 && d.one(3) {
			d.back(b, i)
		}
	}
}

// back makes step i+1 a switch that leads back to step i until it was visited often enough.
func (d *drawer) back(b *body, i int) {
	a, j := b.steps[i], b.steps[i+1]
	a.guard, a.onError = always, ""
	a.code = "plain" // nothing may handle its failure: the switch reads its output
	*j = step{key: j.key, next: -1, tolerate: -1, action: "switch", cases: []way{{when: soon, next: i}, {next: i + 2}}}
	d.lead(b, i)
}

// lead writes the way to step i down where the sequence runs into it, since it is jumped to as well.
func (d *drawer) lead(b *body, i int) {
	if i == 0 || i >= len(b.steps) {
		return
	}
	if before := b.steps[i-1]; len(before.cases) == 0 || before.cases[0].next < 0 {
		before.next = i
	}
}

// handlers draws joins, and what becomes of failures.
func (d *drawer) handlers(b *body, depth int) {
	for i, s := range b.steps {
		d.join(b, i)
		jumpy := len(s.cases) > 0 && s.cases[0].next >= 0
		if s.action == "fail" || s.action == "end" || jumpy || s.code == "plain" {
			continue
		}
		if len(s.catches) > 0 {
			continue
		}
		if d.one(4) {
			s.onError = pick(d, "continue", "skip")
		}
		if !d.one(3) {
			continue
		}
		for range 1 + d.IntN(2) {
			c := way{only: pick(d, "", "", "broken", "broken", "chosen", "timeout", "lost", "join_short"), next: -1}
			if i+1 < len(b.steps) && b.kind != single && d.one(2) {
				c.next = i + 1 + d.IntN(len(b.steps)-i-1)
				if b.kind == sequence {
					d.lead(b, c.next)
				}
			} else if c.body = d.small(depth); c.body == nil {
				break
			}
			s.catches = append(s.catches, c)
			if c.only == "" {
				break
			}
		}
	}
}

// small draws the body of a catch.
func (d *drawer) small(depth int) *body {
	if depth+1 > maxNesting {
		return &body{kind: single, steps: []*step{{key: "do", next: -1, tolerate: -1, action: "set"}}}
	}
	return d.inner(depth)
}

// incoming gives the number of edges that arrive at a step of a graph.
func (b *body) incoming(to int) int {
	n := 0
	for from := range b.steps {
		if b.edge(from, to) != noEdge {
			n++
		}
	}
	return n
}

func (d *drawer) join(b *body, i int) {
	s := b.steps[i]
	in := b.incoming(i)
	if b.kind != graph || in < 2 || s.join != "" || !d.one(2) {
		return
	}
	s.join = "settled"
	if !d.tame {
		s.join = pick(d, "settled", "any", "n")
	}
	if s.join == "n" {
		s.n = 1 + d.IntN(in)
	}
	if s.join != "settled" && s.action != "parallel" && s.action != "map" {
		s.cancelRest = d.one(3)
	}
}

type edgeKind int

const (
	noEdge edgeKind = iota
	normal
	chosen // a case of a switch
	caught // a catch
)

// edge gives the kind of the edge from one step of a graph to another.
func (b *body) edge(from, to int) edgeKind {
	f := b.steps[from]
	for _, c := range f.catches {
		if c.next == to {
			return caught
		}
	}
	for _, c := range f.cases {
		if c.next == to {
			return chosen
		}
	}
	if slices.Contains(b.steps[to].after, from) {
		return normal
	}
	return noEdge
}
