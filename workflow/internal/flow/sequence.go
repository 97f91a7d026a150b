package flow

import "slices"

// Way is how one step of a sequence, or its end, follows another.
type Way struct {
	From, To int
	Jump     bool // by a `next` of a case or a catch, or by an end
	Gives    bool // From has succeeded when this way is gone
}

// OfSequence gives the flow of a sequence of n steps, which begins with step 0.
func OfSequence(n int, ways []Way) *Flow {
	f := &Flow{into: make([][]Way, n+1), sure: make([]bits, n+1), reached: newBits(n + 1), memo: map[int]bits{}}
	out := make([][]int, n+1)
	for _, w := range ways {
		f.into[w.To] = append(f.into[w.To], w)
		out[w.From] = append(out[w.From], w.To)
	}
	f.reached.add(0)
	for stack := []int{0}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, to := range out[at] {
			if !f.reached.has(to) {
				f.reached.add(to)
				stack = append(stack, to)
			}
		}
	}
	f.settle(n)
	return f
}

// Reached says whether a way leads to step i of a sequence.
func (f *Flow) Reached(i int) bool { return f.reached.has(i) }

// RunsInto says whether step i of a sequence goes on to step to without a jump.
func (f *Flow) RunsInto(i, to int) bool {
	return slices.ContainsFunc(f.into[to], func(w Way) bool { return w.From == i && !w.Jump })
}

// settle computes sure: what all ways into a step have in common, until nothing changes any more.
func (f *Flow) settle(n int) {
	everything := newBits(n + 1)
	for i := range n {
		everything.add(i)
	}
	for i := range f.sure {
		f.sure[i] = everything
	}
	const passes = 32 // a real workflow needs three; in one that needs more nothing is called unsure
	for range passes {
		changed := false
		for at := range f.sure {
			known := everything.clone()
			if at == 0 {
				known = newBits(n + 1)
			}
			for _, w := range f.into[at] {
				known.meetAlong(f.sure[w.From], w.From, w.Gives)
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
