package machine

import (
	"maps"
	"slices"

	"github.com/millrace-go/millrace/workflow"
)

// Refusal says why a retry of a run would not be safe.
type Refusal struct {
	Step  string // the step that it is about; "" for the run as a whole
	Why   string
	Again bool // Order.Again would allow it
}

// Error gives the step and the reason.
func (r *Refusal) Error() string {
	if r.Step == "" {
		return r.Why
	}
	return "step " + r.Step + " " + r.Why
}

// retryRequested: an ended run does anew every step that is not both succeeded and still in force, and all that follows one.
// The rest keeps its output, and so do the children of composites that had not ended. The run must be one that Rebuild gave.
func (t *turn) retryRequested() bool {
	switch status := t.run.Status; {
	case !status.Ended():
		return false
	case status == Succeeded:
		panic(&Refusal{Why: "the run succeeded: there is nothing to do again"})
	case status == Dead && t.open(LetterCompensation) > 0:
		panic(&Refusal{Why: "a compensation waits for an answer: redrive or drop its dead letter first"})
	case t.run.past == nil:
		panic("a retry needs the run as its journal tells it")
	}
	r := &retrying{turn: t, past: t.run.past, order: t.order(), keep: map[string]string{}}
	t.retrying = r
	r.run()
	return true
}

// retrying is a retry of the run, in the turn that begins it.
type retrying struct {
	*turn
	past  *past
	order Order
	keep  map[string]string // new activations of composites, and the old ones whose children they keep
}

func (r *retrying) run() {
	t := r.turn
	root := rootPlace(t.def)
	old := r.past.root
	var again []bool
	if t.run.StartedAt != 0 {
		again = r.again(root, old)
		r.mayFrom(root, old)
		r.mayRepeat(root, old, again)
	}
	r.reset(old)
	t.run.Status, t.run.FinishedAt = Running, 0
	if t.run.StartedAt == 0 {
		t.beginRun()
		return
	}
	r.deadline()
	for i := range r.past.log {
		if d := &r.past.log[i]; d.Fate == Undoable {
			if l, ok := r.past.hands[d.Path]; ok {
				d.Live = &l
			}
			if t.log(*d); i < r.past.safe {
				t.undoDoc().Safe = t.logged()
			}
		}
	}
	r.reopen(root, t.run.Root, root, old, again)
}

// reset makes a new document of the root, with what the run as a whole keeps.
func (r *retrying) reset(old *Scope) {
	t := r.turn
	for _, path := range slices.Sorted(maps.Keys(t.run.Scopes)) {
		if sc := t.run.Scopes[path]; sc != nil {
			r.past.dropped(path, sc)
			t.dropScope(path)
		}
	}
	c := t.control()
	if t.open(LetterFailure) > 0 {
		t.closeLetter(LetterFailure, t.run.Root.Run.Error.Step, LetterRedriven)
	}
	if t.open(LetterUnknown) > 0 {
		t.closeLetter(LetterUnknown, "", LetterSuperseded)
	}
	if c.Final != nil {
		c.Finals++
	}
	c.Answered, c.Final, c.Deadline, c.Retries = false, nil, 0, c.Retries+1
	t.run.Root = &Scope{In: old.In, Run: &RunDoc{
		Activations: t.run.Root.Run.Activations, Events: old.Run.Events, Control: c,
	}}
}

// deadline sets a deadline that has passed anew, with the same length.
func (r *retrying) deadline() {
	t := r.turn
	if t.def.Deadline == 0 {
		return
	}
	c := t.control()
	if c.Deadline = t.run.StartedAt.Add(t.def.Deadline); c.Deadline <= t.run.At {
		c.Deadline = t.run.At.Add(t.def.Deadline)
	}
	t.emit(SetTimer{Key: TimerDeadline, Due: c.Deadline})
}

// oldBase is the path of the last activation of a step in an old scope.
func oldBase(p *place, old *Scope, i int) string { return p.base(p.body.Steps[i], 1+old.Visits[i]) }

// again says of each step of an old scope whether it is done anew.
func (r *retrying) again(p *place, old *Scope) []bool {
	again := make([]bool, len(p.body.Steps))
	for i := range again {
		again[i] = !r.inForce(p, old, i)
	}
	if p.up == nil && r.order.From != "" {
		if i, ok := p.body.ByKey[r.order.From]; ok {
			again[i] = true
		}
	}
	if p.body.Kind != workflow.Graph {
		if from := r.firstAgain(p, old, again); from >= 0 {
			for i := from; i < len(again); i++ {
				again[i] = true
			}
		}
		return again
	}
	for i := range again {
		if again[i] {
			for k, follows := range following(p.body, i) {
				again[k] = again[k] || follows
			}
		}
	}
	return again
}

// firstAgain is where a sequence goes on: the first step that was reached and is not in force, else the first never reached.
func (r *retrying) firstAgain(p *place, old *Scope, again []bool) int {
	first := -1
	for i, yes := range again {
		if !yes {
			continue
		}
		if _, reached := r.past.ins[oldBase(p, old, i)]; reached {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

// inForce says whether what a step did, or was decided of it, still stands.
func (r *retrying) inForce(p *place, old *Scope, i int) bool {
	s := p.body.Steps[i]
	if from := r.turn.run.Options.From; p.up == nil && from != "" && !following(p.body, p.body.ByKey[from])[i] {
		return true // it was never part of the run
	}
	switch old.States[i] {
	case StepSucceeded, StepCaught:
		return !r.past.undone[oldBase(p, old, i)]
	case StepGuard, StepBranch:
		return true
	case StepFailed:
		return s.OnError != workflow.OnErrorFail || joined(p, old, s)
	case StepCancelled:
		return joined(p, old, s)
	default:
		return false
	}
}

// joined says whether the joins that a step leads to started without it.
func joined(p *place, old *Scope, s *workflow.Step) bool {
	ways := 0
	for k := range s.Out {
		e := &s.Out[k]
		if e.Kind == workflow.Caught {
			continue
		}
		ways++
		switch old.States[e.To] {
		case StepPending, StepEnd, StepMissing, StepBranch:
			return false
		default:
		}
	}
	return ways > 0 && p.body.Kind == workflow.Graph
}

// mayFrom refuses to begin at a step before which something was undone or never ended.
func (r *retrying) mayFrom(p *place, old *Scope) {
	from := r.order.From
	if from == "" {
		return
	}
	i, ok := p.body.ByKey[from]
	if !ok {
		panic(&Refusal{Step: from, Why: "is not a step of the workflow itself"})
	}
	for k, s := range p.body.Steps {
		before := k < i
		if p.body.Kind == workflow.Graph {
			before = k != i && following(p.body, k)[i]
		}
		if before && !r.inForce(p, old, k) {
			panic(&Refusal{Step: s.Key, Why: "comes before " + from + ", and was undone or has not ended: retry without it"})
		}
	}
}

// mayRepeat refuses a retry from a step that would do again what succeeded and was not undone. Without such a step, what follows
// one that must be done again is too.
func (r *retrying) mayRepeat(p *place, old *Scope, again []bool) {
	if r.order.Again || r.order.From == "" {
		return
	}
	for i, s := range p.body.Steps {
		if done := old.States[i] == StepSucceeded || old.States[i] == StepCaught; again[i] && done && (s.IsTask || s.IsComposite) && r.inForce(p, old, i) {
			panic(&Refusal{Step: oldBase(p, old, i), Why: "succeeded, was not undone, and would be done again", Again: true})
		}
	}
}

// reopen opens a scope again: old is what it was, at the place was. What is not done anew keeps its state and its output.
func (r *retrying) reopen(p *place, sc *Scope, was *place, old *Scope, again []bool) {
	t := r.turn
	sc.Path, sc.Mark = p.path, 0
	sc.States = pendingStates(len(again))
	if p.path == was.path {
		sc.Visits = r.visits(was, old, again)
	}
	if p.path != "" {
		t.addScope(sc)
	}
	for i := range again {
		if !again[i] {
			sc.States[i] = old.States[i]
			r.keepStep(sc, old, i)
		}
	}
	for i, s := range p.body.Steps {
		if again[i] {
			r.keepChildren(p, sc, was, old, s)
			if p.body.Kind == workflow.Graph {
				sc.Left++
			}
		}
	}
	if p.body.Kind != workflow.Graph {
		r.goOn(p, sc, was, old, again)
		return
	}
	for i, s := range p.body.Steps {
		if !again[i] && keepsOutput(sc, p.body, s) {
			set(&sc.Out, i, r.past.outs[oldBase(was, old, i)])
		}
	}
	for i, s := range p.body.Steps {
		if again[i] {
			r.begin(p, sc, was, old, s, again)
		}
	}
	t.checkDone(p)
}

// visits counts the new activations of the steps that were reached before.
func (r *retrying) visits(was *place, old *Scope, again []bool) map[int]int {
	var out map[int]int
	for i := range again {
		n := old.Visits[i]
		if _, reached := r.past.ins[oldBase(was, old, i)]; again[i] && reached {
			n++
		}
		if n > 0 {
			set(&out, i, n)
		}
	}
	return out
}

// keepStep keeps what is known of a step that is not done anew.
func (r *retrying) keepStep(sc, old *Scope, i int) {
	if d, ok := old.Errs[i]; ok {
		set(&sc.Errs, i, d)
	}
	if n, ok := old.Choice[i]; ok {
		set(&sc.Choice, i, n)
	}
}

// keepChildren has a composite that is done anew, and follows nothing that is, keep what its children did.
func (r *retrying) keepChildren(p *place, sc *Scope, was *place, old *Scope, s *workflow.Step) {
	base := oldBase(was, old, s.Index)
	ap, tried := r.past.tries[base]
	if !s.IsComposite || !tried || s.Compensate != nil && r.past.undone[base] || old.States[s.Index] == StepCompensated {
		return
	}
	if p.body.Kind == workflow.Graph {
		for k := range s.In {
			if sc.States[s.In[k].From] == StepPending {
				return
			}
		}
	} else if s.Index > 0 && sc.States[s.Index-1] == StepPending {
		return
	}
	now := p.base(s, 1+sc.Visits[s.Index])
	r.keep[now] = ap
	for n := range r.turn.logged() {
		d := r.turn.record(n)
		if rest, ok := within(d.where(), ap); ok {
			d.Now = now + rest
		}
	}
}

// goOn visits the step at which a sequence goes on.
func (r *retrying) goOn(p *place, sc *Scope, was *place, old *Scope, again []bool) {
	t := r.turn
	for i, s := range p.body.Steps {
		if !again[i] && (s.Named || s.NamedError) {
			set(&sc.Out, i, r.past.outs[oldBase(was, old, i)])
		}
	}
	from := r.firstAgain(was, old, again)
	if from < 0 {
		t.later(func() { t.scopeDone(p, r.past.gave[was.path]) })
		return
	}
	a, reached := r.past.ins[oldBase(was, old, from)]
	switch {
	case reached:
	case from == 0:
		a = arrival{in: sc.In}
	default:
		a = arrival{in: r.past.outs[oldBase(was, old, from-1)]}
	}
	t.later(func() { t.visit(p, from, a.in, a.caught) })
}

// begin starts a step of a graph that is done anew, as far as what leads to it is settled.
func (r *retrying) begin(p *place, sc *Scope, was *place, old *Scope, s *workflow.Step, again []bool) {
	t := r.turn
	if slices.Contains(p.body.First, s.Index) || t.run.Options.From == s.Key && p.up == nil {
		t.later(func() { t.activate(p, s.Index, sc.In, Data{}) })
		return
	}
	tally, out := &Tally{}, Data{}
	for k := range s.In {
		e := &s.In[k]
		if again[e.From] {
			continue
		}
		if sc.States[e.From] == StepCaught {
			set(&sc.Got, e.From, r.past.ins[oldBase(was, old, e.From)].in)
		}
		switch t.edge(p, e) {
		case edgeTaken:
			tally.Taken++
		case edgeMissing:
			tally.Missing++
		default:
			tally.NotChosen++
		}
		out = r.past.outs[oldBase(was, old, e.From)]
	}
	if *tally == (Tally{}) {
		return
	}
	if len(s.In) > 1 {
		set(&sc.Joins, s.Index, tally)
	}
	t.later(func() { t.join(p, s, tally, out) })
}

// oldScope finds what a scope that is being opened was before the retry; nil when it begins from nothing.
func (t *turn) oldScope(p *place) (*place, *Scope) {
	if t.retrying == nil || p.owner == nil || p.catch {
		return nil, nil
	}
	ap, ok := t.retrying.keep[p.ownerPath]
	if !ok {
		return nil, nil
	}
	was := *p
	was.path = ap + p.path[len(p.ownerPath):]
	return &was, t.retrying.past.scopes[was.path]
}

// openAgain opens a scope that was open before the retry, and says whether it was.
func (t *turn) openAgain(p *place, sc *Scope) bool {
	was, old := t.oldScope(p)
	if old == nil {
		return false
	}
	r := t.retrying
	again := r.again(was, old)
	r.mayRepeat(was, old, again)
	r.reopen(p, sc, was, old, again)
	return true
}

// keepItems gives a map that is done anew the results of the items that are still in force, and opens those that had begun at
// once, whatever `parallel` says: there are no more of them than were open together, and those that were tolerated.
func (t *turn) keepItems(p *place, s *workflow.Step, a *workflow.Map, ap string, box *Box) {
	if t.retrying == nil {
		return
	}
	r := t.retrying
	old, ok := r.keep[ap]
	if !ok {
		return
	}
	box.Kept = true
	for i := range box.N {
		path := chunkPath(old, i)
		t.stored(path)
		k := t.run.Chunks[path]
		if k == nil || i%ChunkSize >= len(k.States) {
			continue
		}
		q := p.indexed(s, ap, a.Body, i)
		was := old + q.path[len(ap):]
		switch {
		case k.States[i%ChunkSize] == StepSucceeded && !r.past.undone[was]:
			c := t.chunk(ap, i, box.N)
			c.States[i%ChunkSize], c.Out[i%ChunkSize] = StepSucceeded, k.Out[i%ChunkSize]
			box.Good++
		case !q.isItemTask() && r.past.scopes[was] != nil:
			t.openItemAs(q, ap, i, box)
		}
	}
}
