package flow

import "slices"

// Kind is the sort of an edge.
type Kind int

// The kinds of edge.
const (
	Normal Kind = iota
	Chosen      // by a case of a switch
	Caught      // by a catch
)

// Edge leads from one step of a graph to another.
type Edge struct {
	From, To int
	Kind     Kind
}

// Step is what a graph must know of a step.
type Step struct {
	Out []Edge

	Gives     bool // it has succeeded whenever one of its edges is taken, unless by a catch
	Firm      bool // its failure, unless caught, ends the scope
	Skips     bool // its failure chooses none of its edges
	Ends      bool // nothing follows it, whatever happens
	EndsEarly bool // it may end the body
	All       bool // it waits for all its edges
	Some      bool // it starts before all its edges are settled: others may be left behind
}

// OfGraph gives the flow of a graph, or a cycle in it.
func OfGraph(steps []Step) (f *Flow, cycle []int) {
	sorted, left := order(steps)
	if len(sorted) < len(steps) {
		return nil, findCycle(steps, left)
	}
	n := len(steps)
	f = &Flow{sure: make([]bits, n+1), before: make([]bits, n+1), ahead: make([]bits, n), caught: make([]bits, n)}
	g := &graph{
		Flow: f, steps: steps, in: make([][]Edge, n), chain: make([]bits, n), rooted: make([]bool, n),
		catchers: newBits(n + 1), meeting: map[int]bits{},
	}
	for _, i := range sorted {
		for _, e := range steps[i].Out {
			g.in[e.To] = append(g.in[e.To], e)
		}
	}
	g.lookAhead(sorted)
	for _, i := range sorted {
		g.lookBack(i)
		f.sure[i] = g.sureOf(i)
	}
	f.before[n], f.sure[n] = newBits(n+1), g.atEnd()
	for i := range n {
		f.before[n].add(i)
	}
	return f, nil
}

// order sorts steps so that every edge leads forward, as far as that is possible; left counts the edges that are left over.
func order(steps []Step) (sorted, left []int) {
	left = make([]int, len(steps))
	for i := range steps {
		for _, e := range steps[i].Out {
			left[e.To]++
		}
	}
	for i, n := range left {
		if n == 0 {
			sorted = append(sorted, i)
		}
	}
	for k := 0; k < len(sorted); k++ {
		for _, e := range steps[sorted[k]].Out {
			if left[e.To]--; left[e.To] == 0 {
				sorted = append(sorted, e.To)
			}
		}
	}
	return sorted, left
}

// findCycle follows edges backwards between steps that are left over until one comes again.
func findCycle(steps []Step, left []int) []int {
	from := make([]int, len(steps)) // a left-over step before it
	at := -1
	for i := range steps {
		if left[i] == 0 {
			continue
		}
		at = i
		for _, e := range steps[i].Out {
			from[e.To] = i
		}
	}
	seen := map[int]int{}
	var path []int
	for {
		if k, ok := seen[at]; ok {
			cycle := path[k:]
			slices.Reverse(cycle)
			least := slices.Index(cycle, slices.Min(cycle))
			return append(slices.Clone(cycle[least:]), cycle[:least]...)
		}
		seen[at] = len(path)
		path = append(path, at)
		at = from[at]
	}
}

// graph holds what sureOf needs: chain are the steps whose running implies that the edges of this one are taken or missing,
// never just not chosen; rooted says the same of the beginning of the body.
type graph struct {
	*Flow
	steps    []Step
	in       [][]Edge
	chain    []bits
	rooted   []bool
	catchers bits         // steps with a catch that leads to a step
	meeting  map[int]bits // by step: the catchers whose catches lead to it, directly or through others
}

// lookAhead finds what leads to what.
func (g *graph) lookAhead(sorted []int) {
	n := len(g.steps)
	for _, i := range slices.Backward(sorted) {
		g.ahead[i] = newBits(n + 1)
		for _, e := range g.steps[i].Out {
			g.ahead[i].join(g.ahead[e.To])
			g.ahead[i].add(e.To)
			if e.Kind == Caught {
				if g.caught[i] == nil {
					g.caught[i] = newBits(n + 1)
				}
				g.caught[i].join(g.ahead[e.To])
				g.caught[i].add(e.To)
				g.catchers.add(i)
			}
		}
	}
	for i := range g.steps {
		for to := range n {
			if g.Rejoins(i, to) {
				if g.meeting[to] == nil {
					g.meeting[to] = newBits(n + 1)
				}
				g.meeting[to].add(i)
			}
		}
	}
}

// lookBack finds what leads to step i.
func (g *graph) lookBack(i int) {
	n := len(g.steps)
	g.before[i], g.chain[i], g.rooted[i] = newBits(n+1), newBits(n+1), len(g.in[i]) == 0
	for _, e := range g.in[i] {
		g.before[i].join(g.before[e.From])
		g.before[i].add(e.From)
		if g.firm(e) {
			g.chain[i].join(g.chain[e.From])
			g.chain[i].add(e.From)
			g.rooted[i] = g.rooted[i] || g.rooted[e.From]
		}
	}
}

// firm says whether an edge is taken or missing once its source has been reached: nothing chooses against it.
func (g *graph) firm(e Edge) bool {
	from := &g.steps[e.From]
	return e.Kind == Normal && !from.Skips && !from.Ends && !g.Rejoins(e.From, e.To)
}

// gives says whether the source of an edge has succeeded when the edge is taken.
func (g *graph) gives(e Edge) bool { return e.Kind != Caught && g.steps[e.From].Gives }

// sureOf gives the steps that have succeeded whenever step i starts: what all its edges have in common; and of a join of all
// also what those edges bring that must be taken when another is.
func (g *graph) sureOf(i int) bits {
	known := newBits(len(g.steps) + 1)
	for k, e := range g.in[i] {
		if k == 0 {
			known.join(g.sure[e.From])
			known.keep(e.From, g.gives(e))
		} else {
			known.meetAlong(g.sure[e.From], e.From, g.gives(e))
		}
	}
	if !g.steps[i].All || len(g.in[i]) < 2 {
		return known
	}
	used := make([]bool, len(g.in[i]))
	const passes = 4 // what one edge brings may imply another
	for range passes {
		changed := false
		for k, e := range g.in[i] {
			if used[k] || !g.implied(e, known) {
				continue
			}
			used[k], changed = true, true
			known.join(g.sure[e.From])
			if g.gives(e) {
				known.add(e.From)
			}
		}
		if !changed {
			break
		}
	}
	return known
}

// implied says whether the edge must have been taken when its target starts and the steps in known have succeeded. It is not
// when a step before it has a catch that leads to the target as well: for want of that step this edge may not count.
func (g *graph) implied(e Edge, known bits) bool {
	if !g.firm(e) {
		return false
	}
	if meeting := g.meeting[e.To]; meeting != nil && (meeting.has(e.From) || meeting.meets(g.before[e.From])) {
		return false
	}
	return g.rooted[e.From] || known.has(e.From) || g.chain[e.From].meets(known)
}

// atEnd gives the steps that have succeeded whenever the body has ended well.
func (g *graph) atEnd() bits {
	n := len(g.steps)
	late := newBits(n + 1) // those that a join may leave behind
	for i := range g.steps {
		if g.steps[i].Some {
			left := g.before[i].clone()
			left.drop(g.sure[i])
			late.join(left)
		}
	}
	known := newBits(n + 1)
	for i := range g.steps {
		self := g.before[i].clone()
		self.add(i)
		if g.rooted[i] && g.steps[i].Gives && g.steps[i].Firm && !late.has(i) && !self.meets(g.catchers) {
			known.add(i)
		}
	}
	for i := range g.steps {
		if g.steps[i].EndsEarly {
			known.meet(g.sure[i])
		}
	}
	return known
}
