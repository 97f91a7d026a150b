package oracle

import (
	"maps"
	"slices"

	"github.com/millrace-go/millrace/internal/sim/internal/plan"
)

// network is a graph while the oracle follows it.
type network struct {
	*plan.Body

	oracle   *flow
	scope    string
	verdicts []verdict
	blame    [][]int // for want of which failed steps a step was skipped
}

type edgeState int

const (
	edgeOpen edgeState = iota
	edgeTaken
	edgeDead
	edgeMissing
)

// graph says how a graph had to end: every step in the order of its index, since edges lead forward.
func (o *flow) graph(b *plan.Body, scope string) verdict {
	g := &network{Body: b, oracle: o, scope: scope, verdicts: make([]verdict, len(b.Steps)), blame: make([][]int, len(b.Steps))}
	for i := range b.Steps {
		g.verdicts[i] = g.step(i)
	}
	return g.verdict()
}

func (g *network) step(i int) verdict {
	s := g.Steps[i]
	count := map[edgeState]int{}
	in, undecided := 0, -1
	var blame []int
	for from := range i {
		if g.Edge(from, i) == plan.NoEdge {
			continue
		}
		in++
		state := g.state(from, i)
		count[state]++
		if state == edgeMissing {
			blame = append(blame, g.blamed(from)...)
		}
		if state == edgeOpen {
			undecided = from
		}
	}
	early := s.Join == "any" && count[edgeTaken] > 0 || s.Join == "n" && count[edgeTaken] >= s.N
	if undecided >= 0 && !early {
		return verdict{kind: g.verdicts[undecided].kind, hole: g.verdicts[undecided].hole, state: open, way: -1}
	}
	start := in == 0
	switch s.Join {
	case "":
		start = start || count[edgeTaken] > 0 && count[edgeMissing] == 0
	case "n":
		start = count[edgeTaken] >= s.N
		if !start && count[edgeTaken] > 0 {
			return g.oracle.handled(s, base(g.Body, s, g.scope, 1), failed("join_short"))
		}
	default:
		start = count[edgeTaken] > 0
	}
	switch {
	case start:
		return g.oracle.step(g.Body, s, g.scope, 1, 0, -1)
	case count[edgeMissing] > 0:
		g.blame[i] = blame
		return g.skipped(s, missed)
	}
	return g.skipped(s, branched)
}

func (g *network) skipped(s *plan.Step, state stepState) verdict {
	g.oracle.never = append(g.oracle.never, base(g.Body, s, g.scope, 1))
	return verdict{kind: good, state: state, way: -1}
}

// state says what became of an edge.
func (g *network) state(from, to int) edgeState {
	v, kind, s := g.verdicts[from], g.Edge(from, to), g.Steps[from]
	takenIf := func(b bool) edgeState {
		if b {
			return edgeTaken
		}
		return edgeDead
	}
	switch {
	case v.kind != good && v.kind != passed:
		return edgeOpen
	case v.state == reached:
		return takenIf(kind == plan.Normal || kind == plan.Chosen && v.way >= 0 && s.Cases[v.way].Next == to)
	case v.state == guarded, v.state == caughtHere:
		return takenIf(kind == plan.Normal)
	case v.state == caughtThen && kind == plan.Caught:
		return takenIf(s.Catches[v.way].Next == to)
	case v.state == caughtThen, v.state == missed:
		return g.gone(from, to)
	case v.state == failedOn:
		return takenIf(kind == plan.Normal && s.OnError == "continue")
	}
	return edgeDead
}

func (g *network) blamed(i int) []int {
	if g.verdicts[i].state == missed {
		return g.blame[i]
	}
	return []int{i}
}

// gone tells a missing edge from one that does not count, since the catch of each failed step leads to the target too.
func (g *network) gone(from, to int) edgeState {
	for _, failed := range g.blamed(from) {
		rejoins := slices.ContainsFunc(g.Steps[failed].Catches, func(c plan.Way) bool { return c.Next >= 0 && g.leads(c.Next, to) })
		if !rejoins {
			return edgeMissing
		}
	}
	return edgeDead
}

func (g *network) leads(from, to int) bool {
	if from == to {
		return true
	}
	for next := from + 1; next < len(g.Steps); next++ {
		if g.Edge(from, next) != plan.NoEdge && g.leads(next, to) {
			return true
		}
	}
	return false
}

// verdict says how the graph had to end, given how its steps had to.
func (g *network) verdict() verdict {
	count := map[kind]int{}
	codes := map[string]bool{}
	missing := ""
	early := false // a join may start before all is settled, and what it supersedes fails nothing
	for i, v := range g.verdicts {
		s := g.Steps[i]
		early = early || s.Join == "any" || s.Join == "n"
		if early && s.CancelRest {
			return verdict{kind: unclear}
		}
		count[v.kind]++
		if v.kind == hole && missing == "" {
			missing = v.hole
		}
		for _, c := range v.codes {
			codes[c] = true
		}
	}
	switch {
	case count[unclear] > 0, count[bad] > 0 && (early || count[ending]+count[endRun] > 0):
		return verdict{kind: unclear}
	case count[bad] > 0:
		return failed(slices.Sorted(maps.Keys(codes))...)
	case count[endRun] > 0 && count[ending] > 0:
		return verdict{kind: unclear}
	case count[endRun] > 0:
		return verdict{kind: endRun, way: -1}
	case count[ending] > 0:
		return verdict{kind: good, way: -1}
	case count[hole] > 0:
		return verdict{kind: hole, hole: missing, way: -1}
	}
	return verdict{kind: good, way: -1}
}
