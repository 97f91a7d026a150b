package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/workflow/internal/document"
	"github.com/millrace-go/millrace/workflow/internal/flow"
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
func (r *reader) target(b *Body, at *document.Node, key string) int {
	i, ok := b.ByKey[key]
	switch {
	case key == "end" && b.Kind != Graph:
		return len(b.Steps)
	case key == "end":
		r.Add(at, "write a step with `end: true` and lead to that", "`next: end` belongs to lists of steps, not to graphs")
	case ok && b.Kind != Single:
		return i
	default:
		r.unknownStep(b, at, key)
	}
	r.unsure[b] = true
	return -1
}

func (r *reader) unknownStep(b *Body, at *document.Node, key string) {
	remedy := "the steps here are " + someKeys(b)
	if b.Kind == Single {
		remedy = "write a body instead of `next`, or `next: end`"
	} else if !r.Many() {
		if word := document.Nearest(key, slices.Sorted(maps.Keys(b.ByKey))); word != "" {
			remedy = fmt.Sprintf("write `%s`", word)
		}
	}
	if other := r.elsewhere(key); other != nil && other.Body != b {
		r.Add(at, remedy, "the step `%s` is in another body, where no edge from here can lead", key)
		return
	}
	r.Add(at, remedy, "there is no step `%s`", document.Clip(key))
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
	at    *document.Node
}

// jumps gives every `next` of the cases and catches of a step.
func (r *reader) jumps(s *Step) []jump {
	var all []jump
	n := r.nodes[s]
	if w, ok := s.Action.(*Switch); ok {
		for i := range w.Cases {
			if at := n.Get("switch").Items[i].Get("next"); at != nil {
				all = append(all, jump{Next, i, &w.Cases[i].NextTo, w.Cases[i].Next, at})
			}
		}
	}
	for i := range s.Catch {
		if at := n.Get("catch").Each()[i].Get("next"); at != nil {
			all = append(all, jump{Caught, i, &s.Catch[i].NextTo, s.Catch[i].Next, at})
		}
	}
	return all
}

// graph makes the edges of a graph: one from a step to another, in the order Caught, Next, Normal of precedence.
func (r *reader) graph(b *Body) {
	found := map[[2]int]*Edge{}
	for _, s := range b.Steps {
		after := r.nodes[s].Get("after")
		for i, key := range s.After {
			from, ok := b.ByKey[key]
			if !ok {
				r.unknownStep(b, after.Each()[i], key)
				r.unsure[b] = true
				continue
			}
			if found[[2]int{from, s.Index}] != nil {
				r.Add(after.Each()[i], "keep one of the two", "`after` names `%s` twice", key)
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
	steps := make([]flow.Step, len(b.Steps))
	for i, s := range b.Steps {
		steps[i] = flowStep(s)
	}
	known, cycle := flow.OfGraph(steps)
	if cycle != nil {
		r.circle(b, cycle)
	}
	for _, s := range b.Steps {
		for i := range s.Out {
			e := &s.Out[i]
			e.Rejoins = known != nil && e.Kind != Caught && known.Rejoins(e.From, e.To)
			to := b.Steps[e.To]
			to.In = append(to.In, *e)
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
	if known == nil || r.unsure[b] {
		r.unsure[b] = true
		return
	}
	r.flows[b] = known
	r.unreached(b)
}

// flowStep says of a step what its flow depends on.
func flowStep(s *Step) flow.Step {
	f := flow.Step{
		Gives: succeeds(s), Firm: s.OnError == OnErrorFail, Skips: s.OnError == OnErrorSkip, Ends: ends(s), EndsEarly: endsEarly(s),
		All: s.Join.Kind == JoinAll, Some: s.Join.Kind == JoinAny || s.Join.Kind == JoinCount,
	}
	for _, e := range s.Out {
		f.Out = append(f.Out, flow.Edge{From: e.From, To: e.To, Kind: flow.Kind(e.Kind)})
	}
	return f
}

// succeeds says whether a step has an output whenever the flow goes on after it on its own ways. A catch with a body gives one
// as well.
func succeeds(s *Step) bool {
	return s.When == nil && s.OnError != OnErrorContinue
}

// circle notes steps that wait for each other.
func (r *reader) circle(b *Body, cycle []int) {
	var names []string
	for _, i := range append(cycle, cycle[0]) {
		names = append(names, "`"+b.Steps[i].Key+"`")
	}
	if len(names) > 12 {
		names = append(append(names[:6:6], "..."), names[len(names)-5:]...)
	}
	first := b.Steps[cycle[0]]
	at := r.nodes[first].Get("after")
	if at == nil {
		at = r.nodes[first]
	}
	r.Add(at, "take one of these edges out, or use `loop` to repeat steps", "the steps wait for each other in a circle: %s", strings.Join(names, " -> "))
}

// joins checks `join` and `cancel_rest` against the edges that arrive.
func (r *reader) joins(s *Step) {
	n := r.nodes[s]
	if s.Join.Kind == JoinCount && s.Join.N > len(s.In) && !r.unsure[s.Body] {
		r.Add(n.Get("join"), fmt.Sprintf("write a number up to %d, or list more steps in `after`", len(s.In)),
			"`join: %d` waits for more steps than lead to `%s`: %d", s.Join.N, s.Key, len(s.In))
	}
	r.cancelRest(s)
}

// cancelRest notes a `cancel_rest` that has nothing to cancel.
func (r *reader) cancelRest(s *Step) {
	i := r.nodes[s].Find("cancel_rest")
	if i < 0 || s.Action == nil || s.Body.Kind == Graph && (s.Join.Kind == JoinAny || s.Join.Kind == JoinCount) {
		return
	}
	if _, ok := s.Action.(*Parallel); !ok {
		r.Add(r.nodes[s].Keys[i], "write it beside `parallel` and `need`, inside `map`, or beside `join: any` or `join: N`",
			"`cancel_rest` has nothing to cancel on `%s`", s.Key)
	}
}

// ends says whether no step follows s whatever happens.
func ends(s *Step) bool {
	switch s.Action.(type) {
	case *End, *Fail:
		return s.When == nil
	}
	return false
}

// endsEarly says whether a step may end the body, or the run from inside the step.
func endsEarly(s *Step) bool {
	_, ok := s.Action.(*End)
	return ok || endsRunInside(s)
}

func endsRunInside(s *Step) bool {
	for _, b := range s.Bodies {
		for _, inner := range b.Steps {
			if e, ok := inner.Action.(*End); ok && e.Run || endsRunInside(inner) {
				return true
			}
		}
	}
	return false
}

// unreached notes the steps of a graph that stand behind steps after which nothing comes.
func (r *reader) unreached(b *Body) {
	for _, s := range b.Steps {
		if len(s.In) > 0 && !slices.ContainsFunc(s.In, func(e Edge) bool { return !ends(b.Steps[e.From]) }) {
			from := b.Steps[s.In[0].From]
			r.Add(r.nodes[s], "take it out, or let it come after another step", "nothing reaches `%s`: `%s` ends its scope", s.Key, from.Key)
		}
	}
}

// sequence resolves the ways of a list of steps (and of the one step under `do`), and checks them.
func (r *reader) sequence(b *Body) {
	jumped := map[int]*Step{}
	for _, s := range b.Steps {
		s.NextIndex = s.Index + 1
		if next := r.nodes[s].Get("next"); next != nil && b.Kind == Sequence {
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
	known := flow.OfSequence(len(b.Steps), ways(b))
	r.flows[b] = known
	for _, s := range b.Steps[1:] {
		before := b.Steps[s.Index-1]
		runsInto := before.Next == "" && known.RunsInto(before.Index, s.Index) && known.Reached(before.Index)
		if from := jumped[s.Index]; from != nil && runsInto && from != before {
			r.Add(r.nodes[before], fmt.Sprintf("write `next: %s` on `%s` if it is meant", s.Key, before.Key),
				"`%s` is jumped to from `%s` and also run into from `%s`", s.Key, from.Key, before.Key)
		}
		if !known.Reached(s.Index) && known.Reached(before.Index) {
			r.Add(r.nodes[s], "take it out, or lead to it with `next`", "nothing reaches `%s`: `%s` goes elsewhere", s.Key, before.Key)
		}
	}
}

// ways gives how the steps of a sequence follow each other.
func ways(b *Body) []flow.Way {
	var all []flow.Way
	for _, s := range b.Steps {
		gives := succeeds(s) && s.OnError == OnErrorFail
		if w, ok := s.Action.(*Switch); ok {
			for i := range w.Cases {
				if w.Cases[i].Next != "" {
					all = append(all, flow.Way{From: s.Index, To: w.Cases[i].NextTo, Jump: true, Gives: gives})
				}
			}
		}
		for i := range s.Catch {
			if s.Catch[i].Next != "" {
				all = append(all, flow.Way{From: s.Index, To: s.Catch[i].NextTo, Jump: true})
			}
		}
		if s.GoesOn() {
			all = append(all, flow.Way{From: s.Index, To: s.NextIndex, Gives: gives})
		}
		if s.When != nil && s.Next != "" { // the guard passes over the step, and its next is not chosen
			all = append(all, flow.Way{From: s.Index, To: s.Index + 1})
		}
		if endsEarly(s) {
			all = append(all, flow.Way{From: s.Index, To: len(b.Steps), Jump: true})
		}
	}
	return all
}

// GoesOn says whether the step at NextIndex may follow s in a sequence without a jump.
func (s *Step) GoesOn() bool { return !ends(s) && !alwaysJumps(s) }

// alwaysJumps says whether a switch never goes on to the step after it.
func alwaysJumps(s *Step) bool {
	w, ok := s.Action.(*Switch)
	if !ok || s.When != nil || s.OnError != OnErrorFail || len(w.Cases) == 0 || w.Cases[len(w.Cases)-1].When != nil {
		return false
	}
	return !slices.ContainsFunc(w.Cases, func(c Case) bool { return c.Next == "" }) &&
		!slices.ContainsFunc(s.Catch, func(c Catch) bool { return c.Next == "" })
}
