package plan

import (
	"fmt"
	"math/rand/v2"
)

// drawer draws plans. A tame plan has only what ends in the same way whatever the order of events.
type drawer struct {
	*rand.Rand
	tame    bool
	saga    bool    // something can be undone
	steps   int     // that may still be drawn
	shared  []*Undo // by name
	longest int     // seconds of the longest time that is written
}

const maxSteps = 22 // of a plan, roughly

// Draw draws a plan.
func Draw(r *rand.Rand, name string) *Plan {
	d := &drawer{Rand: r, tame: r.IntN(5) < 2, saga: r.IntN(4) > 0, steps: 4 + r.IntN(maxSteps-4)}
	p := &Plan{Name: name}
	if d.saga && d.one(2) {
		d.share(p)
	}
	p.Root = d.body(0, r.IntN(3) > 0)
	d.whole(p)
	p.save()
	return p
}

// one says yes once in n.
func (d *drawer) one(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d *drawer, from ...T) T { return from[d.IntN(len(from))] }

const maxNesting = 3

func (d *drawer) body(depth int, wide bool) *Body {
	b := &Body{Kind: pick(d, Graph, Graph, Sequence)}
	if depth > 0 && d.one(3) {
		b.Kind = Single
	}
	n := 1 + d.IntN(3)
	if wide {
		n = 2 + d.IntN(5)
	}
	if b.Kind == Single {
		n = 1
	}
	for i := range n {
		b.Steps = append(b.Steps, d.step(depth, i))
	}
	switch b.Kind {
	case Graph:
		d.edges(b)
	case Sequence:
		d.jumps(b)
	case Single:
		b.Steps[0].Alone = true
	}
	d.handlers(b, depth)
	return b
}

// inner draws the body of something that lies in a body at depth.
func (d *drawer) inner(depth int) *Body { return d.body(depth+1, false) }

func (d *drawer) step(depth, i int) *Step {
	d.steps--
	s := &Step{Key: fmt.Sprintf("s%d", i+1), Next: -1, Tolerate: -1, Action: "task"}
	if d.one(9) {
		s.Guard = pick(d, Yes, No, No, Broken)
	}
	if d.saga && depth == 0 && d.one(9) {
		s.Action, s.Guard = "savepoint", pick(d, Always, Always, Always, No)
		return s
	}
	if depth < maxNesting && d.steps > 0 && d.one(3) {
		d.composite(s, depth)
		return s
	}
	switch d.IntN(16) {
	case 0:
		s.Action = "set"
	case 1:
		s.Action, s.Code = "wait", pick(d, "0s", "1s", "40s", "2h")
		d.longest = max(d.longest, map[string]int{"40s": 40, "2h": 7200}[s.Code])
	case 2:
		if d.one(2) {
			s.Action, s.Code = "fail", pick(d, "chosen", "other")
		}
	case 3:
		if d.one(2) {
			s.Action = "end"
			s.EndRun = !d.tame && d.one(3)
		}
	}
	if s.Action == "task" {
		d.task(s)
	}
	return s
}

func (d *drawer) task(s *Step) {
	s.Attempts = pick(d, 0, 0, 0, 1, 2, 5)
	add := func(n int, text string) {
		if d.one(n) {
			s.Extra = append(s.Extra, text)
		}
	}
	add(8, "timeout: 8s")
	add(10, "delay: 4s")
	add(10, "lease: 12s")
	add(8, "queue: other")
	add(8, "priority: 3")
	s.AtMostOnce = d.one(8)
	add(6, "with: { got: \"${ prev }\" }")
	s.Doomed = d.one(14)
	d.undo(s, 2)
}

func (d *drawer) composite(s *Step, depth int) {
	s.Action = pick(d, "steps", "parallel", "parallel", "map", "map", "loop", "switch")
	s.Attempts = pick(d, 0, 0, 0, 2, 3)
	if !d.tame && d.one(3) && s.Action != "switch" {
		s.Extra = append(s.Extra, "timeout: "+pick(d, "3s", "8s", "20s", "2m"))
		d.longest = max(d.longest, 120)
	}
	d.undo(s, 6)
	switch s.Action {
	case "steps":
		s.Inner = []*Body{d.inner(depth)}
		for s.Inner[0].Kind == Single {
			s.Inner[0] = d.inner(depth)
		}
	case "parallel":
		for range 1 + d.IntN(3) {
			s.Inner = append(s.Inner, d.inner(depth))
		}
		d.needs(s, len(s.Inner))
	case "map":
		s.Inner = []*Body{d.inner(depth)}
		s.Items = d.IntN(6)
		s.Limit = pick(d, 0, 0, 1, 2)
		if d.needs(s, s.Items); s.Need == 0 && d.one(2) {
			s.Tolerate = pick(d, 0, 1, 1, 2)
		}
	case "loop":
		d.loop(s)
		s.Inner = []*Body{d.inner(depth)}
	case "switch":
		s.Attempts = pick(d, 0, 2)
		for range 1 + d.IntN(2) {
			s.Cases = append(s.Cases, Way{When: pick(d, Yes, No, No), Next: -1, Body: d.inner(depth)})
		}
		if d.one(2) {
			s.Cases = append(s.Cases, Way{Next: -1, Body: d.inner(depth)})
		}
	}
}

// needs draws how many of n must succeed. More than there are is drawn too.
func (d *drawer) needs(s *Step, n int) {
	if !d.one(3) || n == 0 {
		return
	}
	s.Need = 1 + d.IntN(n)
	if d.one(8) {
		s.Need = n + 1
	}
	s.CancelRest = !d.tame && d.one(2)
}

func (d *drawer) loop(s *Step) {
	s.Loop = pick(d, "over", "while", "until", "limit")
	s.Items, s.Passes = d.IntN(4), d.IntN(4)
	switch {
	case s.Loop == "limit":
		s.Limit = 1 + d.IntN(3)
	case d.one(4):
		s.Limit = 1 + d.IntN(4)
	}
	s.Code = pick(d, "", "", "every", "colle", "every colle")
}

// edges draws what leads where in a graph. Edges lead from a lower index to a higher one.
func (d *drawer) edges(b *Body) {
	for i, s := range b.Steps {
		for j := range i {
			if b.Steps[j].Action != "end" && b.Steps[j].Action != "fail" && d.IntN(5) < 2 {
				s.After = append(s.After, j)
			}
		}
	}
	for i, s := range b.Steps {
		if i+1 < len(b.Steps) && s.Action == "task" && d.one(7) {
			d.forked(s, i, len(b.Steps))
		}
	}
	if len(b.Steps) > 3 && d.one(2) {
		d.diamond(b)
	}
}

// diamond makes the last step join a step that fails, and is caught elsewhere, with another: the way on from the failed one
// is missing, unless the catch leads to the join too.
func (d *drawer) diamond(b *Body) {
	n := len(b.Steps)
	x, other, target, join := d.IntN(n-3), n-3, n-2, n-1
	if x == other || b.Steps[x].Action != "task" || b.Steps[other].Action != "task" || b.Steps[join].Action == "switch" || b.Steps[join].Action == "savepoint" {
		return
	}
	s := b.Steps[x]
	s.Doomed, s.Attempts, s.Guard = true, 1, Always
	s.Catches = []Way{{Next: target}}
	after := []int{x, other}
	if d.one(2) {
		after = append(after, target)
	}
	b.Steps[join].After = after
	if d.one(2) {
		b.Steps[join].Join = "settled"
	}
}

// forked makes a step of a graph a switch that leads to others.
func (d *drawer) forked(s *Step, i, n int) {
	*s = Step{Key: s.Key, Next: -1, Tolerate: -1, Action: "switch", After: s.After, Guard: s.Guard}
	for k := range 1 + d.IntN(3) {
		c := Way{When: pick(d, Yes, No), Next: i + 1 + d.IntN(n-i-1)}
		if k > 0 && d.one(3) {
			c.When = Always
		}
		s.Cases = append(s.Cases, c)
		if c.When == Always {
			break
		}
	}
}

// jumps draws what leads where in a sequence: on to the next step, past some, or back.
func (d *drawer) jumps(b *Body) {
	n := len(b.Steps)
	for i, s := range b.Steps[:n-1] {
		if s.Action == "end" || s.Action == "fail" {
			s.Guard = pick(d, No, No, Yes) // or nothing would reach what follows
		}
		if after := b.Steps[i+1]; s.Action == "task" && after.Action == "task" && s.Next < 0 && d.one(3) {
			d.back(b, i)
		}
	}
}

// back makes step i+1 a switch that leads back to step i until it was visited often enough.
func (d *drawer) back(b *Body, i int) {
	a, j := b.Steps[i], b.Steps[i+1]
	a.Guard, a.OnError = Always, ""
	a.Code = "plain" // nothing may handle its failure: the switch reads its output
	*j = Step{Key: j.Key, Next: -1, Tolerate: -1, Action: "switch", Cases: []Way{{When: Soon, Next: i}, {Next: i + 2}}}
	d.lead(b, i)
}

// lead writes the way to step i down where the sequence runs into it, since it is jumped to as well.
func (d *drawer) lead(b *Body, i int) {
	if i == 0 || i >= len(b.Steps) {
		return
	}
	if before := b.Steps[i-1]; len(before.Cases) == 0 || before.Cases[0].Next < 0 {
		before.Next = i
	}
}

// handlers draws joins, and what becomes of failures.
func (d *drawer) handlers(b *Body, depth int) {
	for i, s := range b.Steps {
		d.join(b, i)
		jumpy := len(s.Cases) > 0 && s.Cases[0].Next >= 0
		if s.Action == "fail" || s.Action == "end" || jumpy || s.Code == "plain" {
			continue
		}
		if len(s.Catches) > 0 || s.Action == "savepoint" {
			continue
		}
		often := 1
		if d.saga { // let more failures travel
			often = 2
		}
		if d.one(4 * often) {
			s.OnError = pick(d, "continue", "skip")
		}
		if !d.one(3 * often) {
			continue
		}
		for range 1 + d.IntN(2) {
			c := Way{Only: pick(d, "", "", "broken", "broken", "chosen", "timeout", "lost", "join_short"), Next: -1}
			if i+1 < len(b.Steps) && b.Kind != Single && d.one(2) {
				c.Next = i + 1 + d.IntN(len(b.Steps)-i-1)
				if b.Kind == Sequence {
					d.lead(b, c.Next)
				}
			} else if c.Body = d.small(depth); c.Body == nil {
				break
			}
			s.Catches = append(s.Catches, c)
			if c.Only == "" {
				break
			}
		}
	}
}

// small draws the body of a catch.
func (d *drawer) small(depth int) *Body {
	if depth+1 > maxNesting {
		return &Body{Kind: Single, Steps: []*Step{{Key: "do", Next: -1, Tolerate: -1, Action: "set"}}}
	}
	return d.inner(depth)
}

// incoming gives the number of edges that arrive at a step of a graph.
func (b *Body) incoming(to int) int {
	n := 0
	for from := range b.Steps {
		if b.Edge(from, to) != NoEdge {
			n++
		}
	}
	return n
}

func (d *drawer) join(b *Body, i int) {
	s := b.Steps[i]
	in := b.incoming(i)
	if b.Kind != Graph || in < 2 || s.Join != "" || !d.one(2) {
		return
	}
	s.Join = "settled"
	if !d.tame {
		s.Join = pick(d, "settled", "any", "n")
	}
	if s.Join == "n" {
		s.N = 1 + d.IntN(in)
	}
	if s.Join != "settled" && s.Action != "parallel" && s.Action != "map" {
		s.CancelRest = d.one(3)
	}
}
