package machine

import (
	"maps"
	"slices"
	"strconv"

	"github.com/millrace-go/millrace/workflow"
)

// The undo log lists what was done, or may have been, and what a compensation undoes, in the order in which it ended. The
// newest records lie in the root's document, older ones in pages of their own, so that a record costs the same late in a long
// run as early in a short one.

// UndoDoc is what the root's document holds of undoing.
type UndoDoc struct {
	Base    int    `json:"b,omitempty"` // number of the first record here; those before lie in pages
	Log     []Done `json:"l,omitempty"`
	Safe    int    `json:"m,omitempty"` // sequence at the root: records before are protected by a savepoint
	Unknown int    `json:"g,omitempty"` // records passed over because nobody knows whether they were done
	Dropped int    `json:"x,omitempty"` // compensations that were given up for good
	Stuck   int    `json:"s,omitempty"` // units whose compensation gave up and waits for a person
	Extra   []int  `json:"r,omitempty"` // records to undo when the plan is through: redriven ones
}

// Done is a record of the undo log.
type Done struct {
	Path    string `json:"p"`           // the task; of a composite its activation
	Attempt int    `json:"a,omitempty"` // number of its last attempt
	How     How    `json:"h,omitempty"`
	Fate    Fate   `json:"s,omitempty"`
	Out     Data   `json:"o,omitzero"`  // null if it did not succeed
	Now     string `json:"n,omitempty"` // after a retry: where Path belongs now, when it was kept by a composite that is done anew
	Live    *Live  `json:"l,omitempty"` // its compensation gave up: what goes on when it is redriven
	Err     Data   `json:"x,omitzero"`  // what its compensation sees as `error`, when that is not the error of the unit in hand
	Env     Env    `json:"e,omitzero"`  // what the step's programs saw, and what the compensation's see beside
}

// where gives the path by which a record belongs to a unit.
func (r *Done) where() string {
	if r.Now != "" {
		return r.Now
	}
	return r.Path
}

// How says how sure it is that something was done.
type How string

// How sure it is.
const (
	ForSure  How = ""  // it succeeded
	Answered How = "f" // its last attempt answered that it failed
	Unsure   How = "u" // its last attempt gave no answer: lost, timed out, stopped
)

// Fate is what became of a record.
type Fate string

// The fates of a record.
const (
	Undoable   Fate = ""
	Undone     Fate = "c"
	PassedOver Fate = "n" // undone together with another, or no longer known to the definition
	SetAside   Fate = "g" // passed over because nobody knows whether it was done
	GaveUp     Fate = "w" // its compensation gave up; a letter is open
	Redoing    Fate = "r" // redriven, and waits for its turn
	GivenUp    Fate = "x" // its letter was dropped
)

const (
	pageSize  = 16
	maxInline = 2 * pageSize
)

func pagePath(n int) string { return "~log[" + strconv.Itoa(n/pageSize*pageSize) + "]" }

func (d *UndoDoc) clone() *UndoDoc {
	if d == nil {
		return nil
	}
	c := *d
	c.Log, c.Extra = cloneLog(d.Log), slices.Clone(d.Extra)
	return &c
}

func cloneLog(log []Done) []Done {
	out := slices.Clone(log)
	for i := range out {
		if out[i].Live != nil {
			live := *out[i].Live
			out[i].Live = &live
		}
	}
	return out
}

// length is the number of records, pages included.
func (d *UndoDoc) length() int {
	if d == nil {
		return 0
	}
	return d.Base + len(d.Log)
}

func (t *turn) undoDoc() *UndoDoc {
	d := t.run.Root.Run
	if d.Undo == nil {
		d.Undo = &UndoDoc{}
	}
	return d.Undo
}

// logged is the length of the undo log.
func (t *turn) logged() int { return t.run.Root.Run.Undo.length() }

// record gives record n, ready to be changed.
func (t *turn) record(n int) *Done {
	d := t.undoDoc()
	if n >= d.Base {
		return &d.Log[n-d.Base]
	}
	sc := t.peek(&place{path: pagePath(n)})
	if sc == nil || n%pageSize >= len(sc.Page) {
		panic("the undo log has no record " + strconv.Itoa(n))
	}
	return &sc.Page[n%pageSize]
}

// recordPath gives the path of record n; "" when its page is not loaded.
func (r *Run) recordPath(n int) string {
	d := r.Root.Run.Undo
	if d != nil && n >= d.Base && n < d.length() {
		return d.Log[n-d.Base].Path
	}
	if sc := r.Scopes[pagePath(n)]; sc != nil && n%pageSize < len(sc.Page) {
		return sc.Page[n%pageSize].Path
	}
	return ""
}

// log appends a record and gives its number.
func (t *turn) log(r Done) int {
	d := t.undoDoc()
	if len(d.Log) == maxInline {
		t.addScope(&Scope{Path: pagePath(d.Base), Page: slices.Clone(d.Log[:pageSize])})
		d.Base, d.Log = d.Base+pageSize, slices.Clone(d.Log[pageSize:])
	}
	d.Log = append(d.Log, r)
	if n := len(d.Log); n > 1 && mutant("records swapped") {
		d.Log[n-1], d.Log[n-2] = d.Log[n-2], d.Log[n-1]
	}
	return d.length() - 1
}

// did records that a step ended which a compensation undoes, and gives 1 + the number of the record; 0 when it needs none. The
// step is still remembered as under way. A step of which no attempt started was not done.
func (t *turn) did(p *place, s *workflow.Step, how How, out Data) int {
	if s.Compensate == nil || p.isItemTask() || how != ForSure && mutant("perhaps done forgotten") {
		return 0
	}
	live := t.scope(p).Live[s.Index]
	attempt := live.Attempt
	if s.IsComposite && how != ForSure && (live.Box == nil || !live.Box.Began) {
		return 0
	}
	if s.IsTask {
		if t.ev.isOutcome() && t.ev.Path == t.base(p, s) {
			attempt = max(attempt, t.ev.Attempt)
		}
		if attempt == 0 {
			return 0
		}
	}
	if late, ok := t.lateSuccess(t.base(p, s)); ok && how != ForSure {
		how, out = ForSure, late
	}
	r := Done{Path: t.path(p, s), Attempt: attempt, How: how, Out: out}
	r.Env = t.references(view{at: p, step: s, prev: live.In}, &s.Uses)
	r.Env.Prev, r.Env.Redriven = live.In, live.Redriven.of(attempt)
	r.Env = r.Env.with(t.seenUndoing(p, s, how, out, r.Path))
	return t.log(r) + 1
}

// seenUndoing gives what the programs of a compensation see beside those of the step: the step too, as it has ended.
func (t *turn) seenUndoing(p *place, s *workflow.Step, how How, out Data, path string) Env {
	sc := t.scope(p)
	state, had := sc.States[s.Index], sc.Out[s.Index]
	sc.States[s.Index] = StepFailed
	if how == ForSure {
		sc.States[s.Index] = StepSucceeded
	}
	if !out.IsZero() {
		set(&sc.Out, s.Index, out)
	}
	env := t.references(view{at: p.undo(s, path), err: Data{Kind: ListOf}}, &s.Compensate.Step.Uses) // its error is not known yet
	sc.States[s.Index] = state
	if !out.IsZero() {
		if delete(sc.Out, s.Index); !had.IsZero() {
			set(&sc.Out, s.Index, had)
		}
	}
	return env
}

// isOutcome says whether an event tells how an attempt ended.
func (e *Event) isOutcome() bool {
	switch e.Kind {
	case TaskSucceeded, TaskFailed, TaskLost, TaskReleased, TaskStopped:
		return true
	default:
		return false
	}
}

// with gives an environment that has the names of other too. Error is left alone.
func (e Env) with(other Env) Env {
	if e.Input.IsZero() {
		e.Input = other.Input
	}
	if e.Pass == nil {
		e.Pass = other.Pass
	}
	for name, it := range other.Items {
		if e.Items == nil {
			e.Items = map[string]ItemEnv{}
		}
		e.Items[name] = it
	}
	if len(other.Steps) == 0 {
		return e
	}
	all := maps.Clone(e.Steps)
	if all == nil {
		all = map[string]StepEnv{}
	}
	for key, o := range other.Steps {
		all[key] = all[key].with(o)
	}
	e.Steps = all
	return e
}

func (e StepEnv) with(o StepEnv) StepEnv {
	if !o.Output.IsZero() {
		e.Output = o.Output
	}
	if o.Status != "" {
		e.Status = o.Status
	}
	if !o.Error.IsZero() {
		e.Error = o.Error
	}
	if !o.Failed.IsZero() {
		e.Failed = o.Failed
	}
	return e
}
