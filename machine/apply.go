package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace-go/millrace/workflow"
)

// Limits of a run, each with its named final error.
const (
	MaxActivations = 100_000   // step_limit
	MaxVisits      = 10_000    // loop_limit: visits of one step of a sequence
	MaxPasses      = 1_000     // loop_limit: passes of a loop without a limit of its own
	MaxJournal     = 1_000_000 // journal_limit
	MaxOpenItems   = 1_000     // items of one map that are open at once
	maxFree        = 1_000     // steps without a worker in one Apply; the rest goes on by a timer for now
)

// ErrDamaged says that the run's documents and its definition do not fit together. Only this run is affected.
var ErrDamaged = errors.New("the state of the run is damaged")

// ErrNewer says that the run was begun by later rules than these (Header.MachineVersion): another program must go on with it.
// It comes as damage does, since nothing can be done with the run here.
var ErrNewer = errors.New("the run was begun by a newer version of the program")

func (h *Header) known() error {
	if h.MachineVersion > Version {
		return fmt.Errorf("%w: its rules are version %d, those of this program %d", ErrNewer, h.MachineVersion, Version)
	}
	return nil
}

// NewRun gives a run that has not started: apply RunStarted to it.
func NewRun(h Header) *Run {
	return &Run{Header: h, Status: Pending, Root: &Scope{Run: &RunDoc{}}}
}

// Apply tells a run one event and gives the run after it and the effects, in the order in which they are to be carried out.
// The argument is left as it was. An event that changes nothing gives the run back with the Seq that it had and no effects,
// and is not to be journaled. The error is a *Need (load what it names and apply again), a *Refusal (an order that would be
// unsafe: tell whoever gave it), or wraps ErrDamaged or ErrNewer; with any of them nothing has changed.
func Apply(def *workflow.Definition, run *Run, ev Event) (after *Run, effects []Effect, err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case *Need:
			after, effects, err = run, nil, x
		case *Refusal:
			after, effects, err = run, nil, x
		default:
			after, effects, err = run, nil, fmt.Errorf("%w: run %s: %s %s: %v", ErrDamaged, run.ID, ev.Kind, ev.Path, x)
		}
	}()
	if err := run.known(); err != nil {
		return run, nil, fmt.Errorf("run %s: %w", run.ID, err)
	}
	t := newTurn(def, run, ev)
	if !t.handle() {
		return run, nil, nil
	}
	if t.run.Seq >= MaxJournal {
		e := &Error{Code: CodeJournalLimit, Final: true, Message: "the journal has 1,000,000 entries"}
		t.later(func() { t.failRun(&Closing{Reason: ByFailure, Err: e}) })
	}
	t.drain()
	for t.settleDown() {
		t.drain()
	}
	t.tidyControl()
	t.run.past = nil
	return t.run, t.effects, nil
}

// drain does what is still to be done, in the order in which it came up.
func (t *turn) drain() {
	for len(t.todo) > 0 {
		next := t.todo[0]
		t.todo = t.todo[1:]
		next()
	}
}

// failRun fails the run wherever it stands.
func (t *turn) failRun(why *Closing) {
	switch {
	case t.run.Status.Ended():
	case t.run.final() != nil:
		t.stopScope(t.finallyPlace(), why)
	default:
		t.stopScope(rootPlace(t.def), why)
	}
}

// handle applies the event itself and says whether it changed anything.
func (t *turn) handle() bool {
	if t.run.Root == nil || t.run.Root.Run == nil {
		panic("the root document is missing")
	}
	switch t.ev.Kind {
	case TaskLate:
		return t.taskLate()
	case RedriveRequested:
		return t.redriveRequested()
	case DropRequested:
		return t.dropRequested()
	case AbortRequested:
		return t.abortRequested()
	case RetryRequested:
		return t.retryRequested()
	default:
		return !t.run.Status.Ended() && t.handleRunning()
	}
}

// handleRunning applies what can only be told to a run that has not ended.
func (t *turn) handleRunning() bool {
	switch t.ev.Kind {
	case CancelRequested:
		return t.cancelRequested()
	case PauseRequested:
		return t.pauseRequested()
	case ResumeRequested:
		return t.resumeRequested()
	case RunStarted:
		return t.runStarted()
	case TaskSucceeded:
		return t.taskSucceeded()
	case TaskFailed:
		return t.taskFailed()
	case TaskLost:
		return t.taskLost()
	case TaskReleased:
		return t.taskReleased()
	case TaskStopped:
		return t.taskStopped()
	case TimerFired:
		return t.timerFired()
	case EventReceived:
		return t.eventReceived()
	default:
		return false
	}
}

// turn is one application of an event: a copy of the run that may be changed, and what is still to be done.
type turn struct {
	def     *workflow.Definition
	run     *Run
	ev      Event
	loaded  map[Ref]json.RawMessage
	own     map[Ref]json.RawMessage // payloads made in this turn
	effects []Effect
	todo    []func()
	mine    map[string]bool // documents that were copied and may be changed
	errors  int             // errors stored as payloads so far

	retrying  *retrying    // set in the turn of a retry
	protected map[int]bool // steps of the root that savepoints protect; nil: not asked yet

	free int // steps without a worker so far
}

func newTurn(def *workflow.Definition, run *Run, ev Event) *turn {
	c := *run
	c.Scopes, c.Chunks, c.dirty = maps.Clone(run.Scopes), maps.Clone(run.Chunks), maps.Clone(run.dirty)
	c.Root = run.Root.clone()
	c.Seq++
	c.At = max(run.At, ev.At)
	return &turn{def: def, run: &c, ev: ev, loaded: ev.Loaded}
}

func (t *turn) keep(r Ref, raw json.RawMessage) {
	if t.own == nil {
		t.own = map[Ref]json.RawMessage{}
	}
	t.own[r] = raw
}

func (t *turn) emit(e Effect) { t.effects = append(t.effects, e) }

func (t *turn) later(f func()) { t.todo = append(t.todo, f) }

// put stores a payload that the machine computed.
func (t *turn) put(key string, index int, raw json.RawMessage) Data {
	d := valueData(key, index)
	t.keep(d.Ref, raw)
	t.emit(PutValue{Ref: d.Ref, Data: raw})
	return d
}

// stored asks for documents that were not loaded, all at once.
func (t *turn) stored(paths ...string) {
	var missing []string
	for _, p := range paths {
		if p != "" && !t.run.Known(p) {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		panic(&Need{Scopes: missing})
	}
}

// scope gives the document of p, ready to be changed.
func (t *turn) scope(p *place) *Scope {
	sc := t.peek(p)
	if sc == nil {
		panic("there is no scope at " + p.path)
	}
	return sc
}

// peek is scope that gives nil when there is none.
func (t *turn) peek(p *place) *Scope {
	if p.path == "" {
		return t.run.Root
	}
	t.stored(p.path)
	sc := t.run.Scopes[p.path]
	if sc == nil {
		return nil
	}
	if !t.mine[p.path] {
		sc = sc.clone()
		t.touch(p.path)
		t.run.Scopes[p.path] = sc
	}
	return sc
}

// touch notes that a document is this turn's own copy, and is to be saved.
func (t *turn) touch(path string) {
	if t.mine == nil {
		t.mine = map[string]bool{}
	}
	if t.run.dirty == nil {
		t.run.dirty = map[string]bool{}
	}
	t.mine[path] = true
	t.run.dirty[path] = true
}

func (t *turn) addScope(sc *Scope) {
	if t.run.Scopes == nil {
		t.run.Scopes = map[string]*Scope{}
	}
	t.touch(sc.Path)
	t.run.Scopes[sc.Path] = sc
}

func (t *turn) dropScope(path string) {
	t.run.past.dropped(path, t.run.Scopes[path])
	t.touch(path)
	t.run.Scopes[path] = nil
}

// chunk gives the document of results that item i of the box at path goes into, ready to be changed; it is made with n states
// when there is none yet.
func (t *turn) chunk(box string, i, n int) *Chunk {
	path := chunkPath(box, i)
	t.stored(path)
	c := t.run.Chunks[path]
	if c != nil && t.mine[path] {
		return c
	}
	if c == nil {
		size := min(ChunkSize, n-i/ChunkSize*ChunkSize)
		c = &Chunk{Path: path, States: pendingStates(size), Out: make([]Data, size)}
	} else {
		c = c.clone()
	}
	if t.run.Chunks == nil {
		t.run.Chunks = map[string]*Chunk{}
	}
	t.touch(path)
	t.run.Chunks[path] = c
	return c
}

func pendingStates(n int) States {
	s := make(States, n)
	for i := range s {
		s[i] = StepPending
	}
	return s
}

func (s *Scope) clone() *Scope {
	c := *s
	c.States = slices.Clone(s.States)
	c.Out, c.Errs, c.Got = maps.Clone(s.Out), maps.Clone(s.Errs), maps.Clone(s.Got)
	c.Blame, c.Choice, c.Visits = maps.Clone(s.Blame), maps.Clone(s.Choice), maps.Clone(s.Visits)
	if s.Joins != nil {
		c.Joins = make(map[int]*Tally, len(s.Joins))
		for k, v := range s.Joins {
			w := *v
			c.Joins[k] = &w
		}
	}
	c.Live = cloneLive(s.Live)
	if s.Stop != nil {
		z := *s.Stop
		c.Stop = &z
	}
	if s.Run != nil {
		r := *s.Run
		r.Events = maps.Clone(s.Run.Events)
		r.Undo, r.Control = s.Run.Undo.clone(), s.Run.Control.clone()
		c.Run = &r
	}
	c.Undo, c.Page = s.Undo.clone(), cloneLog(s.Page)
	return &c
}

func (c *Chunk) clone() *Chunk {
	d := *c
	d.States = slices.Clone(c.States)
	d.Out, d.Err, d.Live = slices.Clone(c.Out), maps.Clone(c.Err), cloneLive(c.Live)
	return &d
}

func cloneLive(m map[int]*Live) map[int]*Live {
	if m == nil {
		return nil
	}
	out := make(map[int]*Live, len(m))
	for k, v := range m {
		w := *v
		w.Counts = maps.Clone(v.Counts)
		if v.Box != nil {
			b := *v.Box
			b.Outs = slices.Clone(v.Box.Outs)
			if v.Box.Stop != nil {
				z := *v.Box.Stop
				b.Stop = &z
			}
			b.Undo = v.Box.Undo.clone()
			w.Box = &b
		}
		out[k] = &w
	}
	return out
}

// set puts into a map that may be nil.
func set[V any](m *map[int]V, k int, v V) {
	if *m == nil {
		*m = map[int]V{}
	}
	(*m)[k] = v
}
