// Package plan draws workflows at random and writes them as files.
//
// Nouns: a [Plan] is a workflow as it was drawn; a [Body], a [Step] and a [Way] are its parts; an [Undo] is how a step is
// undone; a [Truth] is a condition whose value is known when it is drawn. The simulation gives the text to the engines, and
// the plan to the oracle, which so knows the workflow without its reader.
package plan

import (
	"fmt"
	"slices"
)

// Plan is a workflow as it was drawn.
type Plan struct {
	Name      string
	Root      *Body
	OnFailure string // "": what was done is undone; park, fail
	Continue  bool   // on_compensation_failure: continue
	Deadline  string // "": none
	Shared    []*Undo
	Finally   *Body // nil: nothing runs at the end
}

// BodyKind is how the steps of a body follow each other.
type BodyKind int

// The kinds of body.
const (
	Graph BodyKind = iota
	Sequence
	Single
)

// Body is a set of steps.
type Body struct {
	Kind  BodyKind
	Steps []*Step
}

// Step is a step as drawn. Indexes are those of its body; len(Steps) is the end of it.
type Step struct {
	Key    string
	Alone  bool   // under `do`
	Action string // task, set, wait, fail, end, savepoint, switch, steps, parallel, map, loop

	After      []int
	Join       string // "", settled, any, n
	N          int    // join n: so many edges
	CancelRest bool   // of the join, of `need` on a composite
	Guard      Truth
	Next       int // sequence: written next; -1: none
	Cases      []Way
	Catches    []Way
	OnError    string // "", continue, skip
	Attempts   int    // 0: no retry of its own
	Doomed     bool   // a task that always fails
	Extra      []string

	Undo       *Undo // nil: nothing undoes it
	UndoKnown  bool  // compensate_unknown: false
	AtMostOnce bool

	Inner    []*Body // of the composite: block, branches, item, pass
	Items    int     // map, loop over: length of the list
	Tolerate int     // map: -1 none
	Need     int     // 0: none
	Loop     string  // over, while, until, limit
	Passes   int     // while, until
	Limit    int     // 0: none
	Code     string  // fail; wait: how long; loop: how; task: "plain", when nothing may handle its failure
	EndRun   bool
}

// Undo is a compensation.
type Undo struct {
	Name     string // of a shared one; "": written on its step
	Once     bool
	Attempts int  // 0: no retry of its own
	Timeout  bool // some seconds
	With     bool // its input is an object of its own: `undo`, `got`, `gave`, `why`
}

// Way is a case of a switch or an entry of a catch.
type Way struct {
	When Truth
	Only string // catch: this code; "": every
	Next int    // -1: a body
	Body *Body
}

// Truth is a condition whose value is known when it is drawn.
type Truth string

// The conditions.
const (
	Always Truth = ""
	Yes    Truth = "true"
	No     Truth = "false"
	Broken Truth = "input.none.deep > 1" // its evaluation fails
	Soon   Truth = "(prev?.visit ?? 9) < 3"
)

// Visits is how often a step that is jumped back to by Soon is visited.
const Visits = 3

// EdgeKind is the sort of an edge between two steps of a graph.
type EdgeKind int

// The kinds of edge.
const (
	NoEdge EdgeKind = iota
	Normal
	Chosen // a case of a switch
	Caught // a catch
)

// Edge gives the kind of the edge from one step of a graph to another.
func (b *Body) Edge(from, to int) EdgeKind {
	f := b.Steps[from]
	for _, c := range f.Catches {
		if c.Next == to {
			return Caught
		}
	}
	for _, c := range f.Cases {
		if c.Next == to {
			return Chosen
		}
	}
	if slices.Contains(b.Steps[to].After, from) {
		return Normal
	}
	return NoEdge
}

// Composite says whether a step opens scopes.
func (s *Step) Composite() bool {
	switch s.Action {
	case "steps", "parallel", "map", "loop":
		return true
	case "switch":
		return len(s.Cases) > 0 && s.Cases[0].Body != nil
	default:
		return false
	}
}

// Each calls f with every step of a body and of the bodies inside it.
func (b *Body) Each(f func(*Step)) {
	for _, s := range b.Steps {
		f(s)
		for _, in := range s.Bodies() {
			in.Each(f)
		}
	}
}

// Bodies gives the bodies of a step: of its action, of its cases, of its catches.
func (s *Step) Bodies() []*Body {
	out := slices.Clone(s.Inner)
	for _, w := range slices.Concat(s.Cases, s.Catches) {
		if w.Body != nil {
			out = append(out, w.Body)
		}
	}
	return out
}

// Sagas says whether something of the plan can be undone.
func (p *Plan) Sagas() bool {
	found := len(p.Shared) > 0
	p.Root.Each(func(s *Step) { found = found || s.Undo != nil })
	return found
}

// Branch is the key of a branch of a parallel.
func Branch(i int) string { return "b" + string(rune('1'+i)) }

// Named gives the branch or case of a step by its name in paths, nil if there is none.
func (s *Step) Named(name string) *Body {
	for i, b := range s.Inner {
		if s.Action == "parallel" && Branch(i) == name {
			return b
		}
	}
	for i, w := range s.Cases {
		if fmt.Sprintf("case-%d", i+1) == name {
			return w.Body
		}
	}
	return nil
}
