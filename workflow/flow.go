package workflow

import "slices"

// This file works out, for the steps of one body, which others may have run before a step and which must have succeeded by
// then, so that an expression which reads an output can be checked before anything runs.

// bits is a set of step indexes.
type bits []uint64

func newBits(n int) bits      { return make(bits, (n+63)/64) }
func (b bits) add(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bits) remove(i int)   { b[i>>6] &^= 1 << (i & 63) }
func (b bits) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bits) clone() bits    { return slices.Clone(b) }

// keep adds or removes i.
func (b bits) keep(i int, in bool) {
	b.remove(i)
	if in {
		b.add(i)
	}
}

// meetAlong keeps what is known along a way from step i as well: what was sure there, and i itself if the way gives it.
func (b bits) meetAlong(sure bits, i int, gives bool) {
	had := b.has(i)
	b.meet(sure)
	b.keep(i, had && gives)
}

func (b bits) join(other bits) {
	for i := range b {
		b[i] |= other[i]
	}
}

func (b bits) meet(other bits) {
	for i := range b {
		b[i] &= other[i]
	}
}

func (b bits) meets(other bits) bool {
	for i := range b {
		if b[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

// flow is what is known about the order in a body. Index len(Steps) stands for the end of the body.
type flow struct {
	before  []bits // graph: the steps from which an edge leads here, directly or through others
	sure    []bits // the steps that have succeeded whenever this one starts
	into    [][]way
	reached bits
	from    map[int]bits // sequence: memo of reaching
}

// way is how a step of a sequence follows another.
type way struct {
	from  int
	jump  bool // by `next` of a case or a catch
	fails bool // by a catch
}

// succeeds says whether a step has an output whenever the flow goes on after it on its own ways.
func succeeds(s *Step) bool {
	if s.When != nil || s.OnError == OnErrorContinue {
		return false
	}
	return !slices.ContainsFunc(s.Catch, func(c Catch) bool { return c.Next == "" })
}

// mayRunBefore says whether step i may have run before step at (len(Steps): the end of the body).
func (f *flow) mayRunBefore(i, at int) bool {
	if f.before != nil {
		return f.before[at].has(i)
	}
	reaching, ok := f.from[at]
	if !ok {
		reaching = f.reaching(at)
		f.from[at] = reaching
	}
	return reaching.has(i)
}

// reaching gives the steps of a sequence from which there is a way to step at.
func (f *flow) reaching(at int) bits {
	found, stack := newBits(len(f.into)), []int{at}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, w := range f.into[i] {
			if !found.has(w.from) {
				found.add(w.from)
				stack = append(stack, w.from)
			}
		}
	}
	return found
}

// graphFlow computes the flow of a graph without cycles, in topological order.
func graphFlow(b *Body, topological []int, ahead []bits) *flow {
	n := len(b.Steps)
	f := &flow{before: make([]bits, n+1), sure: make([]bits, n+1)}
	g := &graphSure{body: b, flow: f, chain: make([]bits, n), rooted: make([]bool, n), catchers: newBits(n + 1), meeting: map[int]bits{}}
	g.findCatchers(ahead)
	for _, i := range topological {
		f.before[i], g.chain[i] = newBits(n+1), newBits(n+1)
		g.rooted[i] = len(b.Steps[i].In) == 0
		for _, e := range b.Steps[i].In {
			f.before[i].join(f.before[e.From])
			f.before[i].add(e.From)
			if g.sureEdge(&e) {
				g.chain[i].join(g.chain[e.From])
				g.chain[i].add(e.From)
				g.rooted[i] = g.rooted[i] || g.rooted[e.From]
			}
		}
		f.sure[i] = g.sure(b.Steps[i])
	}
	f.before[n], f.sure[n] = newBits(n+1), g.atEnd()
	for i := range n {
		f.before[n].add(i)
	}
	return f
}

// graphSure holds what sure needs: chain are the steps whose running implies that the edges of this one are taken or
// missing, never just not chosen; rooted says the same of the beginning of the body.
type graphSure struct {
	body     *Body
	flow     *flow
	chain    []bits
	rooted   []bool
	catchers bits         // steps with a catch that leads to a step
	meeting  map[int]bits // by step: the catchers whose catches lead to it, directly or through others
}

func (g *graphSure) findCatchers(ahead []bits) {
	for _, s := range g.body.Steps {
		for _, e := range s.Out {
			if e.Kind != Caught {
				continue
			}
			g.catchers.add(s.Index)
			for to := range g.body.Steps {
				if to == e.To || ahead[e.To].has(to) {
					if g.meeting[to] == nil {
						g.meeting[to] = newBits(len(g.body.Steps) + 1)
					}
					g.meeting[to].add(s.Index)
				}
			}
		}
	}
}

// sureEdge says whether an edge is taken or missing once its source has been reached: nothing chooses against it.
func (g *graphSure) sureEdge(e *Edge) bool {
	from := g.body.Steps[e.From]
	return e.Kind == Normal && !e.Rejoins && from.OnError != OnErrorSkip && !ends(from)
}

// gives says whether the source of an edge has succeeded when the edge is taken.
func (g *graphSure) gives(e *Edge) bool { return e.Kind != Caught && succeeds(g.body.Steps[e.From]) }

// sure gives the steps that have succeeded whenever s starts: what all its edges have in common; and of a join of all also
// what those edges bring that must be taken when another is.
func (g *graphSure) sure(s *Step) bits {
	known := newBits(len(g.body.Steps) + 1)
	for i := range s.In {
		e := &s.In[i]
		if i == 0 {
			known.join(g.flow.sure[e.From])
			known.keep(e.From, g.gives(e))
			continue
		}
		known.meetAlong(g.flow.sure[e.From], e.From, g.gives(e))
	}
	if s.Join.Kind != JoinAll || len(s.In) < 2 {
		return known
	}
	used := make([]bool, len(s.In))
	const passes = 4 // what one edge brings may imply another
	for range passes {
		changed := false
		for i := range s.In {
			if e := &s.In[i]; !used[i] && g.implied(e, known) {
				used[i], changed = true, true
				known.join(g.flow.sure[e.From])
				if g.gives(e) {
					known.add(e.From)
				}
			}
		}
		if !changed {
			break
		}
	}
	return known
}

// implied says whether the edge must have been taken when its target starts and the steps in known have succeeded. It is not
// when a step on the way there has a catch that leads to the target as well: then this edge does not count.
func (g *graphSure) implied(e *Edge, known bits) bool {
	if !g.sureEdge(e) {
		return false
	}
	if meeting := g.meeting[e.To]; meeting != nil && (meeting.has(e.From) || meeting.meets(g.chain[e.From])) {
		return false
	}
	return g.rooted[e.From] || known.has(e.From) || g.chain[e.From].meets(known)
}

// atEnd gives the steps that have succeeded whenever the body has ended well.
func (g *graphSure) atEnd() bits {
	n := len(g.body.Steps)
	late := newBits(n + 1) // those that a join may leave behind
	for _, s := range g.body.Steps {
		if s.Join.Kind == JoinAny || s.Join.Kind == JoinCount {
			late.join(g.flow.before[s.Index])
		}
	}
	known := newBits(n + 1)
	for i, s := range g.body.Steps {
		self := g.flow.before[i].clone()
		self.add(i)
		if g.rooted[i] && succeeds(s) && s.OnError == OnErrorFail && !late.has(i) && !self.meets(g.catchers) {
			known.add(i)
		}
	}
	for _, s := range g.body.Steps {
		if endsEarly(s) {
			known.meet(g.flow.sure[s.Index])
		}
	}
	return known
}

// endsEarly says whether a step may end the body, or the run from inside the step.
func endsEarly(s *Step) bool {
	if _, ok := s.Action.(*End); ok {
		return true
	}
	return endsEarlyInside(s)
}

// endsEarlyInside says whether something inside a composite ends the run.
func endsEarlyInside(s *Step) bool {
	for _, b := range s.Bodies {
		for _, inner := range b.Steps {
			if e, ok := inner.Action.(*End); ok && e.Run || endsEarlyInside(inner) {
				return true
			}
		}
	}
	return false
}

// sequenceFlow computes the flow of a list of steps, jumps included.
func sequenceFlow(b *Body) *flow {
	n := len(b.Steps)
	f := &flow{into: make([][]way, n+1), sure: make([]bits, n+1), reached: newBits(n + 1), from: map[int]bits{}}
	out := make([][]int, n)
	lead := func(s *Step, to int, w way) {
		f.into[to] = append(f.into[to], w)
		out[s.Index] = append(out[s.Index], to)
	}
	for _, s := range b.Steps {
		if w, ok := s.Action.(*Switch); ok {
			for i := range w.Cases {
				if w.Cases[i].Next != "" {
					lead(s, w.Cases[i].NextTo, way{from: s.Index, jump: true})
				}
			}
		}
		for i := range s.Catch {
			if s.Catch[i].Next != "" {
				lead(s, s.Catch[i].NextTo, way{from: s.Index, jump: true, fails: true})
			}
		}
		if !ends(s) && !alwaysJumps(s) {
			lead(s, s.NextIndex, way{from: s.Index})
		}
		if endsEarly(s) {
			lead(s, n, way{from: s.Index, jump: true, fails: true})
		}
	}
	stack := []int{0}
	f.reached.add(0)
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if at == n {
			continue
		}
		for _, to := range out[at] {
			if !f.reached.has(to) {
				f.reached.add(to)
				stack = append(stack, to)
			}
		}
	}
	f.settle(b)
	return f
}

// alwaysJumps says whether a switch never goes on to the step after it.
func alwaysJumps(s *Step) bool {
	w, ok := s.Action.(*Switch)
	if !ok || s.When != nil || s.OnError != OnErrorFail || len(w.Cases) == 0 || w.Cases[len(w.Cases)-1].When != nil {
		return false
	}
	return !slices.ContainsFunc(w.Cases, func(c Case) bool { return c.Next == "" }) &&
		!slices.ContainsFunc(s.Catch, func(c Catch) bool { return c.Next == "" })
}

// settle computes sure for a sequence: what all ways into a step have in common, until nothing changes any more.
func (f *flow) settle(b *Body) {
	n := len(b.Steps)
	everything := newBits(n + 1)
	for i := range n {
		everything.add(i)
	}
	for i := range f.sure {
		f.sure[i] = everything
	}
	const passes = 32 // a real workflow needs three; one that needs more is not warned about
	for range passes {
		changed := false
		for at := range f.sure {
			known := everything.clone()
			if at == 0 {
				known = newBits(n + 1)
			}
			for _, w := range f.into[at] {
				s := b.Steps[w.from]
				known.meetAlong(f.sure[w.from], w.from, !w.fails && succeeds(s) && s.OnError == OnErrorFail)
			}
			if !slices.Equal(known, f.sure[at]) {
				f.sure[at], changed = known, true
			}
		}
		if !changed {
			return
		}
	}
	for i := range f.sure {
		f.sure[i] = everything
	}
}
