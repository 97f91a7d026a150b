package flow_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/workflow/internal/flow"
)

// The oracle of these tests is a dumb run of a graph by the rules of edges and joins, in an order drawn at random.

type onError int

const (
	failScope onError = iota
	goOn
	skipEdges
)

type join int

const (
	joinAll join = iota
	joinSettled
	joinAny
)

// node is a step of a random graph.
type node struct {
	guarded   bool // has a `when`
	onError   onError
	catchBody bool
	ends      bool
	join      join
	out       []flow.Edge
}

type state int

const (
	pending state = iota
	running
	succeeded
	guardSkipped
	failedOver // failed, handled by on_error: continue or by the body of a catch
	failedSkip // failed, handled by on_error: skip
	caughtNext
	superseded // failed after a join left it behind
	branchSkipped
	missingSkipped
)

type edgeState int

const (
	open edgeState = iota
	taken
	notChosen
	missing
)

func drawGraph(t *rapid.T) []node {
	nodes := make([]node, rapid.IntRange(1, 7).Draw(t, "steps"))
	for i := range nodes {
		n := &nodes[i]
		n.guarded = rapid.IntRange(0, 5).Draw(t, "guarded") == 0
		n.onError = onError(max(0, rapid.IntRange(-4, 2).Draw(t, "on_error")))
		n.catchBody = rapid.IntRange(0, 7).Draw(t, "catch body") == 0
		n.ends = rapid.IntRange(0, 9).Draw(t, "ends") == 0
		n.join = join(max(0, rapid.IntRange(-3, 2).Draw(t, "join")))
		for to := i + 1; to < len(nodes); to++ {
			if kind := rapid.IntRange(0, 6).Draw(t, "edge"); kind <= 3 {
				n.out = append(n.out, flow.Edge{From: i, To: to, Kind: flow.Kind(max(0, kind-1))})
			}
		}
		if n.ends {
			n.onError, n.catchBody = failScope, false
			n.out = slices.DeleteFunc(n.out, func(e flow.Edge) bool { return e.Kind != flow.Normal })
		}
	}
	return nodes
}

func steps(nodes []node) []flow.Step {
	all := make([]flow.Step, len(nodes))
	for i, n := range nodes {
		all[i] = flow.Step{
			Out: n.out, Gives: !n.guarded && n.onError != goOn && !n.catchBody, Firm: n.onError == failScope, Skips: n.onError == skipEdges,
			Ends: n.ends && !n.guarded, EndsEarly: n.ends, All: n.join == joinAll, Some: n.join == joinAny,
		}
	}
	return all
}

// run is one run of a graph.
type run struct {
	t      *rapid.T
	nodes  []node
	flow   *flow.Flow
	states []state
	chosen []int   // the edge taken among those of a kind, by step
	blame  [][]int // the failed steps for want of which a step failed or was skipped
	began  []bool
	over   bool // the scope failed or ended
}

func (r *run) in(i int) []flow.Edge {
	var all []flow.Edge
	for _, n := range r.nodes {
		for _, e := range n.out {
			if e.To == i {
				all = append(all, e)
			}
		}
	}
	return all
}

func (r *run) edge(e flow.Edge) edgeState {
	if r.states[e.From] == succeeded && e.Kind != flow.Caught || r.states[e.From] == caughtNext && e.Kind == flow.Caught {
		if e.Kind == flow.Normal || r.chosen[e.From] == e.To {
			return taken
		}
		return notChosen
	}
	switch r.states[e.From] {
	case pending, running:
		return open
	case guardSkipped, failedOver:
		if e.Kind == flow.Normal {
			return taken
		}
		return notChosen
	case caughtNext, superseded, missingSkipped:
		if e.Kind != flow.Caught || r.states[e.From] == missingSkipped {
			for _, failed := range r.blame[e.From] {
				if !r.flow.Rejoins(failed, e.To) {
					return missing
				}
			}
		}
	case succeeded, failedSkip, branchSkipped:
	}
	return notChosen
}

// settle skips what can no longer start and says what can.
func (r *run) ready(i int) bool {
	if r.states[i] != pending {
		return false
	}
	in := r.in(i)
	var count [4]int
	var blame []int
	for _, e := range in {
		s := r.edge(e)
		count[s]++
		if s == missing {
			blame = append(blame, r.blame[e.From]...)
		}
	}
	settled := count[open] == 0
	starts := len(in) == 0
	switch r.nodes[i].join {
	case joinAll:
		starts = starts || settled && count[taken] > 0 && count[missing] == 0
	case joinSettled:
		starts = starts || settled && count[taken] > 0
	case joinAny:
		starts = starts || count[taken] > 0
	}
	if !starts && settled {
		r.states[i] = branchSkipped
		if count[missing] > 0 {
			r.states[i], r.blame[i] = missingSkipped, blame
		}
	}
	return starts
}

// leftBehind says whether every way on of a step enters a join that has started.
func (r *run) leftBehind(i int) bool {
	if len(r.nodes[i].out) == 0 {
		return false
	}
	for _, e := range r.nodes[i].out {
		if !r.began[e.To] && !(r.states[e.To] == pending && r.leftBehind(e.To)) {
			return false
		}
	}
	return true
}

func (r *run) start(i int) {
	for k := range r.nodes {
		if r.flow.Sure(k, i) && r.states[k] != succeeded {
			r.t.Fatalf("step %d is called sure when %d starts, but its state is %d", k, i, r.states[k])
		}
		if r.states[k] == succeeded && r.leads(k, i) && !r.flow.Before(k, i) {
			r.t.Fatalf("step %d led to %d, which Before denies", k, i)
		}
	}
	r.began[i], r.states[i] = true, running
	if r.nodes[i].guarded && rapid.Bool().Draw(r.t, "passed over") {
		r.states[i] = guardSkipped
	}
}

func (r *run) leads(from, to int) bool {
	return slices.ContainsFunc(r.nodes[from].out, func(e flow.Edge) bool { return e.To == to || r.leads(e.To, to) })
}

func (r *run) finish(i int) {
	n := r.nodes[i]
	targets := func(kind flow.Kind) []int {
		var all []int
		for _, e := range n.out {
			if e.Kind == kind {
				all = append(all, e.To)
			}
		}
		return append(all, -1) // or none
	}
	if n.ends {
		r.states[i], r.over = succeeded, true
		r.end()
		return
	}
	if !rapid.Bool().Draw(r.t, "fails") {
		r.states[i] = succeeded
		r.chosen[i] = rapid.SampledFrom(targets(flow.Chosen)).Draw(r.t, "case")
		return
	}
	r.blame[i] = []int{i}
	if to := rapid.SampledFrom(targets(flow.Caught)).Draw(r.t, "catch"); to >= 0 {
		r.states[i], r.chosen[i] = caughtNext, to
		return
	}
	switch {
	case n.catchBody && rapid.Bool().Draw(r.t, "caught inside"), n.onError == goOn:
		r.states[i] = failedOver
	case n.onError == skipEdges:
		r.states[i] = failedSkip
	case r.leftBehind(i):
		r.states[i] = superseded
	default:
		r.over = true // the scope fails: nothing is claimed of it any more
	}
}

// end checks what is claimed of the end of a scope that ended well.
func (r *run) end() {
	for k := range r.nodes {
		if r.flow.Sure(k, len(r.nodes)) && r.states[k] != succeeded {
			r.t.Fatalf("step %d is called sure at the end, but its state is %d", k, r.states[k])
		}
	}
}

func (r *run) drive() {
	for !r.over {
		var moves []int
		for i := range r.nodes {
			if r.ready(i) || r.states[i] == running {
				moves = append(moves, i)
			}
		}
		if len(moves) == 0 {
			if !slices.Contains(r.states, pending) {
				r.end()
				return
			}
			continue // a skipped step may have settled another
		}
		i := rapid.SampledFrom(moves).Draw(r.t, "move")
		if r.states[i] == running {
			r.finish(i)
		} else {
			r.start(i)
		}
	}
}

func TestWhatIsCalledSureHasSucceededInEveryRun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawGraph(t)
		f, cycle := flow.OfGraph(steps(nodes))
		if cycle != nil {
			t.Fatalf("a cycle in a graph whose edges lead forward: %v", cycle)
		}
		n := len(nodes)
		r := &run{t: t, nodes: nodes, flow: f, states: make([]state, n), chosen: make([]int, n), blame: make([][]int, n), began: make([]bool, n)}
		r.drive()
	})
}

func TestCyclesAreFoundAndBeginWithTheirFirstStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "steps")
		all := make([]flow.Step, n)
		lead := map[[2]int]bool{}
		for range rapid.IntRange(0, 12).Draw(t, "edges") {
			from, to := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to")
			if !lead[[2]int{from, to}] {
				lead[[2]int{from, to}] = true
				all[from].Out = append(all[from].Out, flow.Edge{From: from, To: to})
			}
		}
		reach := make([][]bool, n) // by Warshall
		for i := range reach {
			reach[i] = make([]bool, n)
			for j := range n {
				reach[i][j] = lead[[2]int{i, j}]
			}
		}
		cyclic := false
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		for i := range n {
			cyclic = cyclic || reach[i][i]
		}
		f, cycle := flow.OfGraph(all)
		if cyclic != (cycle != nil) || cyclic != (f == nil) {
			t.Fatalf("cyclic %v, found %v", cyclic, cycle)
		}
		for i, from := range cycle {
			if to := cycle[(i+1)%len(cycle)]; !lead[[2]int{from, to}] {
				t.Fatalf("no edge leads from %d to %d in %v", from, to, cycle)
			}
			if from < cycle[0] {
				t.Fatalf("%v does not begin with its first step", cycle)
			}
		}
		for i := range n {
			for j := range n {
				if f != nil && f.Before(i, j) != reach[i][j] {
					t.Fatalf("Before(%d, %d) is %v", i, j, f.Before(i, j))
				}
			}
		}
	})
}
