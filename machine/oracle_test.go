package machine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/workflow"
)

// plan is a random graph of steps, as the oracle sees it: in the order of a topological sort.
type plan struct {
	steps []planStep
	from  int // n: the run begins at step n-1; 0: at the first steps
}

type planStep struct {
	after   []int
	join    string // "", all, settled, any, or a number
	n       int
	guard   string // "", true, false
	onError string // "", continue, skip
	catch   int    // index of the target, -1 for none
	inPlace bool   // a catch with a body
	cases   []int  // a switch: targets in order
	truth   []bool
	fails   bool
}

func drawPlan(t *rapid.T) plan {
	n := rapid.IntRange(2, 10).Draw(t, "n")
	p := plan{steps: make([]planStep, n)}
	for i := range p.steps {
		s := &p.steps[i]
		s.catch = -1
		for j := range i {
			if rapid.IntRange(0, 3).Draw(t, "after") == 0 {
				s.after = append(s.after, j)
			}
		}
		s.guard = rapid.SampledFrom([]string{"", "", "", "true", "false"}).Draw(t, "guard")
		if i+1 < n && rapid.IntRange(0, 4).Draw(t, "switch") == 0 {
			for range rapid.IntRange(1, 3).Draw(t, "cases") {
				s.cases = append(s.cases, rapid.IntRange(i+1, n-1).Draw(t, "to"))
				s.truth = append(s.truth, rapid.Bool().Draw(t, "truth"))
			}
			continue
		}
		s.fails = rapid.IntRange(0, 2).Draw(t, "fails") == 0
		s.onError = rapid.SampledFrom([]string{"continue", "skip"}).Draw(t, "on_error")
		switch k := rapid.IntRange(0, 3).Draw(t, "catch"); {
		case k == 0 && i+1 < n:
			s.catch = rapid.IntRange(i+1, n-1).Draw(t, "target")
		case k == 1:
			s.inPlace = true
		}
	}
	for i := range p.steps {
		s := &p.steps[i]
		if in := len(p.incoming(i)); in > 0 {
			s.join = rapid.SampledFrom([]string{"", "", "settled", "any", "n"}).Draw(t, "join")
			if s.join == "n" {
				s.n = rapid.IntRange(1, in).Draw(t, "count")
			}
		}
		if s.cases != nil && s.join == "n" { // its failure would need a handler
			s.join = "any"
		}
	}
	return p
}

func (p plan) yaml() string {
	var b strings.Builder
	b.WriteString("workflow: t\nsteps:\n")
	for i, s := range p.steps {
		fmt.Fprintf(&b, "  s%d:\n", i)
		if len(s.after) > 0 {
			fmt.Fprintf(&b, "    after: [%s]\n", names(s.after))
		}
		switch {
		case s.join == "n":
			fmt.Fprintf(&b, "    join: %d\n", s.n)
		case s.join != "":
			fmt.Fprintf(&b, "    join: %s\n", s.join)
		}
		if s.guard != "" {
			fmt.Fprintf(&b, "    when: %q\n", s.guard)
		}
		if s.cases != nil {
			b.WriteString("    switch:\n")
			for k, to := range s.cases {
				fmt.Fprintf(&b, "      - { when: \"%t\", next: s%d }\n", s.truth[k], to)
			}
			continue
		}
		fmt.Fprintf(&b, "    task: h\n    on_error: %s\n", s.onError)
		switch {
		case s.catch >= 0:
			fmt.Fprintf(&b, "    catch: { next: s%d }\n", s.catch)
		case s.inPlace:
			b.WriteString("    catch: { do: { set: { caught: true } } }\n")
		}
	}
	return b.String()
}

func names(ix []int) string {
	out := make([]string, len(ix))
	for k, i := range ix {
		out[k] = fmt.Sprintf("s%d", i)
	}
	return strings.Join(out, ", ")
}

// kind says which edge leads from one step to another: error, next, normal or none.
func (p plan) kind(from, to int) string {
	f := p.steps[from]
	switch {
	case f.catch == to:
		return "error"
	case slices.Contains(f.cases, to):
		return "next"
	case slices.Contains(p.steps[to].after, from):
		return "normal"
	}
	return ""
}

func (p plan) incoming(to int) []int {
	var out []int
	for from := range p.steps {
		if p.kind(from, to) != "" {
			out = append(out, from)
		}
	}
	return out
}

// leads says whether a path of any edges leads from one step to another.
func (p plan) leads(from, to int) bool {
	if from == to {
		return true
	}
	for next := from + 1; next < len(p.steps); next++ {
		if p.kind(from, next) != "" && p.leads(next, to) {
			return true
		}
	}
	return false
}

// fate is what the oracle says of a step: its final state, the case chosen, and for want of which failed steps it was skipped.
type fate struct {
	state  State
	chosen int
	blame  []int
	input  []string // keys of the object that it gets, when it gets one
}

// oracle says how every step ends, whatever the order in which workers answer: by the words of docs/machine.md 2, step by step.
func (p plan) oracle() []fate {
	out := make([]fate, len(p.steps))
	for i, s := range p.steps {
		out[i] = p.fateOf(i, s, out)
	}
	return out
}

func (p plan) fateOf(i int, s planStep, out []fate) fate {
	in := p.incoming(i)
	taken, missing, plain := 0, 0, 0
	var blame []int
	var input []string
	for _, from := range in {
		if p.kind(from, i) != "error" {
			plain++
		}
		switch p.edge(from, i, out) {
		case "taken":
			taken++
			if p.kind(from, i) != "error" {
				input = append(input, fmt.Sprintf("s%d", from))
			}
		case "missing":
			missing++
			blame = append(blame, p.blame(from, out)...)
		}
	}
	start := len(in) == 0
	short := false
	if p.from > 0 && !p.leads(p.from-1, i) {
		return fate{state: StepEnd}
	}
	switch s.join {
	case "":
		start = start || taken > 0 && missing == 0
	case "settled", "any":
		start = taken > 0
	case "n":
		start = taken >= s.n
		short = taken > 0 && !start
	}
	if i == p.from-1 {
		start, short, plain = true, false, 0
	}
	switch {
	case short:
		return p.failed(i, s)
	case !start && missing > 0:
		return fate{state: StepMissing, blame: blame}
	case !start:
		return fate{state: StepBranch}
	case s.guard == "false":
		return fate{state: StepGuard, chosen: -1}
	case s.cases != nil:
		return fate{state: StepSucceeded, chosen: slices.Index(s.truth, true)}
	case s.fails:
		return p.failed(i, s)
	}
	f := fate{state: StepSucceeded, chosen: -1}
	if plain > 1 && (len(input) > 0 || taken == 0) && (s.join == "" || s.join == "settled") {
		f.input = input
	}
	return f
}

func (p plan) failed(_ int, s planStep) fate {
	if s.catch >= 0 || s.inPlace {
		return fate{state: StepCaught, chosen: -1}
	}
	return fate{state: StepFailed, chosen: -1}
}

func (p plan) blame(i int, out []fate) []int {
	if out[i].state == StepMissing {
		return out[i].blame
	}
	return []int{i}
}

func (p plan) edge(from, to int, out []fate) string {
	kind, f := p.kind(from, to), out[from]
	s := p.steps[from]
	gone := func() string {
		for _, failed := range p.blame(from, out) {
			c := p.steps[failed].catch
			if c < 0 || !p.leads(c, to) {
				return "missing"
			}
		}
		return "dead"
	}
	switch f.state {
	case StepSucceeded:
		if kind == "normal" || kind == "next" && s.cases[max(f.chosen, 0)] == to && f.chosen >= 0 {
			return "taken"
		}
		return "dead"
	case StepGuard:
		if kind == "normal" {
			return "taken"
		}
		return "dead"
	case StepCaught:
		switch {
		case kind == "error":
			return "taken"
		case s.inPlace:
			return "taken"
		}
		return gone()
	case StepFailed:
		if kind == "normal" && s.onError == "continue" {
			return "taken"
		}
		return "dead"
	case StepMissing:
		return gone()
	default:
		return "dead"
	}
}

// F1, F2, F3, F4, F5, F10, F12: joins and dead paths of any graph end as the oracle says, in whatever order workers answer;
// invariants 1-4, 6, 9 and 10 hold after every event, and the journal replays to the stored state (invariant 2).
func TestGraphsEndAsTheOracleSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { drawPlan(t).endsAsTheOracleSays(t) })
}

// R6: so do those of which a run begins in the middle.
func TestGraphsThatBeginInTheMiddleEndAsTheOracleSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		p.from = rapid.IntRange(1, len(p.steps)).Draw(t, "from")
		p.endsAsTheOracleSays(t)
	})
}

func (p plan) endsAsTheOracleSays(t *rapid.T) {
	def, err := workflow.Read("t.yaml", []byte(p.yaml()))
	if err != nil {
		t.Fatalf("%v\n%s", err, p.yaml())
	}
	w := newWorld(def)
	if p.from > 0 {
		w.header.Options.From = def.Body.Steps[p.from-1].Key
	}
	inputs := map[string]string{}
	w.tell(Event{Kind: RunStarted, Payload: json.RawMessage(`{"i":1}`)})
	for n := 0; len(w.tasks) > 0 && n < 1000; n++ {
		paths := sortedTasks(w)
		path := rapid.SampledFrom(paths).Draw(t, "answers")
		inputs[path] = w.input(w.tasks[path])
		var i int
		_, _ = fmt.Sscanf(path, "s%d", &i)
		if p.steps[i].fails {
			w.tell(Event{Kind: TaskFailed, Path: path, Attempt: 1, Payload: encode(&Error{Code: "broken", Permanent: true})})
		} else {
			w.tell(Event{Kind: TaskSucceeded, Path: path, Attempt: 1, Payload: json.RawMessage(`"` + path + `"`)})
		}
	}
	w.replayed()
	for _, f := range w.faults {
		t.Errorf("%s", f)
	}
	if w.status != Succeeded {
		t.Fatalf("the run is %s\n%s\n%s", w.status, w.root, p.yaml())
	}
	run := w.load("", true)
	for i, want := range p.oracle() {
		if got := run.Root.States[i]; got != want.state {
			t.Errorf("s%d is %c, the oracle says %c\n%s", i, got, want.state, p.yaml())
		}
		if want.input != nil {
			p.compareInput(t, i, want.input, inputs)
		}
	}
}

func (p plan) compareInput(t *rapid.T, i int, want []string, inputs map[string]string) {
	raw, ok := inputs[fmt.Sprintf("s%d", i)]
	if !ok {
		return
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal([]byte(raw), &got); err != nil {
		t.Errorf("s%d got %s, not an object", i, raw)
		return
	}
	var keys []string
	for k := range got {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	slices.Sort(want)
	if !slices.Equal(keys, want) {
		t.Errorf("s%d got the outputs of %v, the oracle says %v\n%s", i, keys, want, p.yaml())
	}
}

func sortedTasks(w *world) []string {
	var out []string
	for path := range w.tasks {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}
