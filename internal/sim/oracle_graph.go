package sim

import (
	"maps"
	"slices"
)

// network is a graph while the oracle follows it.
type network struct {
	*body

	oracle   *oracle
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
func (o *oracle) graph(b *body, scope string) verdict {
	g := &network{body: b, oracle: o, scope: scope, verdicts: make([]verdict, len(b.steps)), blame: make([][]int, len(b.steps))}
	for i := range b.steps {
		g.verdicts[i] = g.step(i)
	}
	return g.verdict()
}

func (g *network) step(i int) verdict {
	s := g.steps[i]
	count := map[edgeState]int{}
	in, undecided := 0, -1
	var blame []int
	for from := range i {
		if g.edge(from, i) == noEdge {
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
	early := s.join == "any" && count[edgeTaken] > 0 || s.join == "n" && count[edgeTaken] >= s.n
	if undecided >= 0 && !early {
		return verdict{kind: g.verdicts[undecided].kind, hole: g.verdicts[undecided].hole, state: open, way: -1}
	}
	start := in == 0
	switch s.join {
	case "":
		start = start || count[edgeTaken] > 0 && count[edgeMissing] == 0
	case "n":
		start = count[edgeTaken] >= s.n
		if !start && count[edgeTaken] > 0 {
			return g.oracle.handled(s, base(g.body, s, g.scope, 1), failed("join_short"))
		}
	default:
		start = count[edgeTaken] > 0
	}
	switch {
	case start:
		return g.oracle.step(g.body, s, g.scope, 1, 0, -1)
	case count[edgeMissing] > 0:
		g.blame[i] = blame
		return g.skipped(s, missed)
	}
	return g.skipped(s, branched)
}

func (g *network) skipped(s *step, state stepState) verdict {
	g.oracle.never = append(g.oracle.never, base(g.body, s, g.scope, 1))
	return verdict{kind: good, state: state, way: -1}
}

// state says what became of an edge.
func (g *network) state(from, to int) edgeState {
	v, kind, s := g.verdicts[from], g.edge(from, to), g.steps[from]
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
		return takenIf(kind == normal || kind == chosen && v.way >= 0 && s.cases[v.way].next == to)
	case v.state == guarded, v.state == caughtHere:
		return takenIf(kind == normal)
	case v.state == caughtThen && kind == caught:
		return takenIf(s.catches[v.way].next == to)
	case v.state == caughtThen, v.state == missed:
		return g.gone(from, to)
	case v.state == failedOn:
		return takenIf(kind == normal && s.onError == "continue")
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
		rejoins := slices.ContainsFunc(g.steps[failed].catches, func(c way) bool { return c.next >= 0 && g.leads(c.next, to) })
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
	for next := from + 1; next < len(g.steps); next++ {
		if g.edge(from, next) != noEdge && g.leads(next, to) {
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
		s := g.steps[i]
		early = early || s.join == "any" || s.join == "n"
		if early && s.cancelRest {
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
