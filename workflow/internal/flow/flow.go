// Package flow works out, for the steps of one body, which others may have run before a step and which must have succeeded
// by then, so that an expression which reads an output can be checked before anything runs. Steps are numbers here.
//
// Nouns: a graph has [Step]s and [Edge]s; a sequence has [Way]s; a [Flow] answers questions about either. The number of
// steps stands for the end of the body. The package is pure and imports nothing of Millrace.
package flow

import "slices"

// bits is a set of steps.
type bits []uint64

func newBits(n int) bits      { return make(bits, (n+63)/64) }
func (b bits) add(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bits) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bits) clone() bits    { return slices.Clone(b) }

// keep adds or removes i.
func (b bits) keep(i int, in bool) {
	b[i>>6] &^= 1 << (i & 63)
	if in {
		b.add(i)
	}
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

func (b bits) drop(other bits) {
	for i := range b {
		b[i] &^= other[i]
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

// meetAlong keeps what is known along a way from step i as well: what was sure there, and i itself if the way gives it.
func (b bits) meetAlong(sure bits, i int, gives bool) {
	had := b.has(i)
	b.meet(sure)
	b.keep(i, had && gives)
}

// Flow is what is known about the order in a body.
type Flow struct {
	sure    []bits // by step and for the end: those that have succeeded whenever it starts
	before  []bits // graph: those from which edges lead to it, directly or through others
	ahead   []bits // graph: those that its edges lead to
	caught  []bits // graph: those that its catches lead to
	into    [][]Way
	reached bits         // sequence: those that a way leads to
	memo    map[int]bits // sequence: by step, those that may have run before
}

// Sure says whether step i has succeeded whenever step at starts.
func (f *Flow) Sure(i, at int) bool { return f.sure[at].has(i) }

// Before says whether step i may have run before step at starts.
func (f *Flow) Before(i, at int) bool {
	if f.before != nil {
		return f.before[at].has(i)
	}
	found, ok := f.memo[at]
	if !ok {
		found = newBits(len(f.into))
		for stack := []int{at}; len(stack) > 0; {
			last := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, w := range f.into[last] {
				if !found.has(w.From) {
					found.add(w.From)
					stack = append(stack, w.From)
				}
			}
		}
		f.memo[at] = found
	}
	return found.has(i)
}

// Rejoins says whether a catch of step from leads to step to as well, directly or through others. Graphs only.
func (f *Flow) Rejoins(from, to int) bool { return f.caught[from] != nil && f.caught[from].has(to) }
