package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// edges resolves what leads where in every body, and checks it.
func (r *reader) edges() {
	for _, b := range r.def.Bodies {
		if b.Kind == Graph {
			r.graph(b)
		} else {
			r.sequence(b)
		}
	}
}

// target finds the step that a `next` names. It gives -1, and notes why, when there is none.
func (r *reader) target(b *Body, at *node, key string) int {
	i, ok := b.ByKey[key]
	switch {
	case key == "end" && b.Kind != Graph:
		return len(b.Steps)
	case key == "end":
		r.add(at, "write a step with `end: true` and lead to that", "`next: end` belongs to lists of steps, not to graphs")
	case ok && b.Kind != Single:
		return i
	default:
		r.unknownStep(b, at, key)
	}
	r.unsure[b] = true
	return -1
}

func (r *reader) unknownStep(b *Body, at *node, key string) {
	remedy := "the steps here are " + someKeys(b)
	if b.Kind == Single {
		remedy = "write a body instead of `next`, or `next: end`"
	} else if len(r.list) < maxMistakes {
		if word := nearest(key, slices.Sorted(maps.Keys(b.ByKey))); word != "" {
			remedy = fmt.Sprintf("write `%s`", word)
		}
	}
	if other := r.elsewhere(key); other != nil && other.Body != b {
		r.add(at, remedy, "the step `%s` is in another body, where no edge from here can lead", key)
		return
	}
	r.add(at, remedy, "there is no step `%s`", clip(key))
}

// elsewhere finds a step by its key in any body.
func (r *reader) elsewhere(key string) *Step {
	if r.everywhere == nil {
		r.everywhere = map[string]*Step{}
		for _, s := range r.def.Steps {
			if s.Body.Kind != Single && r.everywhere[s.Key] == nil {
				r.everywhere[s.Key] = s
			}
		}
	}
	return r.everywhere[key]
}

func someKeys(b *Body) string {
	keys := make([]string, 0, 9)
	for _, s := range b.Steps {
		if len(keys) == 8 {
			keys = append(keys, "...")
			break
		}
		keys = append(keys, s.Key)
	}
	return strings.Join(keys, ", ")
}

// jump is a `next` of a case or of a catch entry.
type jump struct {
	kind  EdgeKind
	index int // of the case or entry
	to    *int
	key   string
	at    *node
}

// jumps gives every `next` of the cases and catches of a step.
func (r *reader) jumps(s *Step) []jump {
	var all []jump
	n := r.nodes[s]
	if w, ok := s.Action.(*Switch); ok {
		for i := range w.Cases {
			if at := n.get("switch").items[i].get("next"); at != nil {
				all = append(all, jump{Next, i, &w.Cases[i].NextTo, w.Cases[i].Next, at})
			}
		}
	}
	for i := range s.Catch {
		if at := wrapped(n.get("catch"))[i].get("next"); at != nil {
			all = append(all, jump{Caught, i, &s.Catch[i].NextTo, s.Catch[i].Next, at})
		}
	}
	return all
}

// graph makes the edges of a graph: one from a step to another, in the order Caught, Next, Normal of precedence.
func (r *reader) graph(b *Body) {
	found := map[[2]int]*Edge{}
	for _, s := range b.Steps {
		after := r.nodes[s].get("after")
		for i, key := range s.After {
			from, ok := b.ByKey[key]
			if !ok {
				r.unknownStep(b, wrapped(after)[i], key)
				r.unsure[b] = true
				continue
			}
			if found[[2]int{from, s.Index}] != nil {
				r.add(wrapped(after)[i], "keep one of the two", "`after` names `%s` twice", key)
			}
			found[[2]int{from, s.Index}] = &Edge{From: from, To: s.Index}
		}
	}
	for _, kind := range []EdgeKind{Next, Caught} {
		for _, s := range b.Steps {
			for _, j := range r.jumps(s) {
				if j.kind != kind {
					continue
				}
				if *j.to = r.target(b, j.at, j.key); *j.to < 0 {
					continue
				}
				pair := [2]int{s.Index, *j.to}
				if e := found[pair]; e == nil || e.Kind != kind {
					found[pair] = &Edge{From: s.Index, To: *j.to, Kind: kind}
				}
				found[pair].Cases = append(found[pair].Cases, j.index)
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(found), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for _, pair := range order {
		from := b.Steps[pair[0]]
		from.Out = append(from.Out, *found[pair])
	}
	r.index(b)
}

// index fills in what follows from the edges of a graph, and checks them.
func (r *reader) index(b *Body) {
	topological, ok := r.order(b)
	var ahead []bits
	if ok {
		ahead = leadTo(b, topological)
		rejoins(b, ahead)
	}
	for _, s := range b.Steps {
		for _, e := range s.Out {
			to := b.Steps[e.To]
			to.In = append(to.In, e)
			if e.Kind != Caught {
				to.InputEdges++
			} else {
				to.CaughtHere = true
			}
		}
	}
	for _, s := range b.Steps {
		if len(s.In) == 0 {
			b.First = append(b.First, s.Index)
		}
		if !slices.ContainsFunc(s.Out, func(e Edge) bool { return e.Kind != Caught }) {
			b.Last = append(b.Last, s.Index)
		}
		s.NextIndex = len(b.Steps)
		r.joins(s)
	}
	if ok && !r.unsure[b] {
		r.flows[b] = graphFlow(b, topological, ahead)
		r.unreached(b, topological)
	} else {
		r.unsure[b] = true
	}
}

// joins checks `join` and `cancel_rest` against the edges that arrive.
func (r *reader) joins(s *Step) {
	n := r.nodes[s]
	if s.Join.Kind == JoinCount && s.Join.N > len(s.In) && !r.unsure[s.Body] {
		r.add(n.get("join"), fmt.Sprintf("write a number up to %d, or list more steps in `after`", len(s.In)),
			"`join` waits for %d steps, but only %d lead to `%s`", s.Join.N, len(s.In), s.Key)
	}
	r.cancelRest(s)
}

// cancelRest notes a `cancel_rest` that has nothing to cancel.
func (r *reader) cancelRest(s *Step) {
	i := r.nodes[s].find("cancel_rest")
	if i < 0 || s.Action == nil || s.Body.Kind == Graph && (s.Join.Kind == JoinAny || s.Join.Kind == JoinCount) {
		return
	}
	if _, ok := s.Action.(*Parallel); !ok {
		r.add(r.nodes[s].keys[i], "write it beside `parallel` and `need`, inside `map`, or beside `join: any` or `join: N`",
			"`cancel_rest` has nothing to cancel on `%s`", s.Key)
	}
}

// order sorts a graph so that every edge leads forward; it notes a cycle when there is one.
func (r *reader) order(b *Body) (sorted []int, ok bool) {
	left := make([]int, len(b.Steps))
	for _, s := range b.Steps {
		for _, e := range s.Out {
			left[e.To]++
		}
	}
	for i, n := range left {
		if n == 0 {
			sorted = append(sorted, i)
		}
	}
	for k := 0; k < len(sorted); k++ {
		for _, e := range b.Steps[sorted[k]].Out {
			if left[e.To]--; left[e.To] == 0 {
				sorted = append(sorted, e.To)
			}
		}
	}
	if len(sorted) == len(b.Steps) {
		return sorted, true
	}
	cycle := findCycle(b, left)
	var names []string
	for _, i := range append(cycle, cycle[0]) {
		names = append(names, "`"+b.Steps[i].Key+"`")
	}
	if len(names) > 12 {
		names = append(append(names[:6:6], "..."), names[len(names)-5:]...)
	}
	first := b.Steps[cycle[0]]
	at := r.nodes[first].get("after")
	if at == nil {
		at = r.nodes[first]
	}
	r.add(at, "take one of these edges out, or use `loop` to repeat steps", "the steps wait for each other in a circle: %s", strings.Join(names, " -> "))
	return nil, false
}

// findCycle follows edges between steps that are left over until one comes again.
func findCycle(b *Body, left []int) []int {
	into := make([]int, len(b.Steps)) // a left-over step before it
	for i := range into {
		into[i] = -1
	}
	at := -1
	for i := range b.Steps {
		if left[i] == 0 {
			continue
		}
		at = i
		for _, e := range b.Steps[i].Out {
			if left[e.To] > 0 && into[e.To] < 0 {
				into[e.To] = i
			}
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
		at = into[at]
	}
}

// rejoins marks the edges whose target a catch of their source leads to as well.
func rejoins(b *Body, ahead []bits) {
	for _, s := range b.Steps {
		reached := newBits(len(b.Steps) + 1)
		for _, e := range s.Out {
			if e.Kind == Caught {
				reached.join(ahead[e.To])
				reached.add(e.To)
			}
		}
		for i := range s.Out {
			s.Out[i].Rejoins = s.Out[i].Kind != Caught && reached.has(s.Out[i].To)
		}
	}
}

// leadTo gives, for each step of a graph, the steps that its edges lead to, directly or through others.
func leadTo(b *Body, topological []int) []bits {
	ahead := make([]bits, len(b.Steps))
	for _, i := range slices.Backward(topological) {
		ahead[i] = newBits(len(b.Steps) + 1)
		for _, e := range b.Steps[i].Out {
			ahead[i].join(ahead[e.To])
			ahead[i].add(e.To)
		}
	}
	return ahead
}

// ends says whether no step follows s whatever happens.
func ends(s *Step) bool {
	switch s.Action.(type) {
	case *End, *Fail:
		return s.When == nil
	}
	return false
}

// unreached notes the steps of a graph that stand behind steps after which nothing comes.
func (r *reader) unreached(b *Body, topological []int) {
	for _, i := range topological {
		s := b.Steps[i]
		if len(s.In) > 0 && !slices.ContainsFunc(s.In, func(e Edge) bool { return !ends(b.Steps[e.From]) }) {
			from := b.Steps[s.In[0].From]
			r.add(r.nodes[s], "take it out, or let it come after another step", "nothing reaches `%s`: `%s` ends its scope", s.Key, from.Key)
		}
	}
}

// sequence resolves the ways of a list of steps (and of the one step under `do`), and checks them.
func (r *reader) sequence(b *Body) {
	jumped := map[int]*Step{}
	for _, s := range b.Steps {
		s.NextIndex = s.Index + 1
		if next := r.nodes[s].get("next"); next != nil && b.Kind == Sequence {
			if to := r.target(b, next, s.Next); to >= 0 {
				s.NextIndex = to
				jumped[to] = s
			}
		}
		for _, j := range r.jumps(s) {
			if *j.to = r.target(b, j.at, j.key); *j.to < 0 {
				continue
			}
			jumped[*j.to] = s
			if j.kind == Caught && *j.to < len(b.Steps) {
				b.Steps[*j.to].CaughtHere = true
			}
		}
		r.cancelRest(s)
	}
	if b.Kind == Single {
		b.First, b.Last = []int{0}, []int{0}
	}
	if r.unsure[b] || len(b.Steps) == 0 {
		return
	}
	flow := sequenceFlow(b)
	r.flows[b] = flow
	for _, s := range b.Steps[1:] {
		before := b.Steps[s.Index-1]
		runsInto := before.Next == "" && slices.ContainsFunc(flow.into[s.Index], func(w way) bool { return w.from == before.Index && !w.jump })
		if from := jumped[s.Index]; from != nil && runsInto && flow.reached.has(before.Index) && from != before {
			r.add(r.nodes[before], fmt.Sprintf("write `next: %s` on `%s` if it is meant", s.Key, before.Key),
				"`%s` is jumped to from `%s` and also run into from `%s`", s.Key, from.Key, before.Key)
		}
		if !flow.reached.has(s.Index) && (s.Index == 0 || flow.reached.has(s.Index-1)) {
			r.add(r.nodes[s], "take it out, or lead to it with `next`", "nothing reaches `%s`: `%s` goes elsewhere", s.Key, before.Key)
		}
	}
}
