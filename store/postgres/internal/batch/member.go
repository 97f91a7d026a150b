package batch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// Member is a settlement with its effects folded into what statements can do for many runs at once. What the order of effects
// decides within one run is decided here; what only the database knows is left to it: whether a task is held, a lane paused,
// a time come.
type Member struct {
	*store.Settlement
	N       int   // its number in the call
	k       int32 // its number in its batch
	ID      wire.ID
	Unknown bool  // no run has such an id, no task such a path
	Content error // why no store keeps it
	root    []byte
	changes []machine.Change

	ends    bool
	failure *machine.Error // the last EndRun's
	keep    bool           // the documents stay when it ends
	hold    holding

	rounds  []round
	timers  map[string]timerOp
	letters []letterOp
	starts  []*start // those that are there in the end, in order
	hands   int      // how many of them may be handed over

	values map[machine.Ref]json.RawMessage // that it puts; nil until asked for
}

// holding is what becomes of the tasks that the run had before.
type holding int

const (
	heldAsBefore holding = iota
	heldInTheEnd
	freedInTheEnd
)

// round is a part of the effects on tasks within which kinds come in this order: it is stopped, born, ended. Nearly every
// settlement has one.
type round struct {
	stops  []string
	births []*start // tasks that a later effect of the same settlement takes back
	ends   bool
}

type start struct {
	machine.StartTask
	of    *Member
	cause int64
	env   []byte
	lane  store.Lane // its names
	held  bool       // in the end
	hand  bool       // it may be handed over
	put   placed     // once it was sent

	number int64 // of its lane in a statement
}

type timerOp struct {
	set        bool
	due, cause int64
}

// letterOp opens a letter, or closes one, or all but those of finally.
type letterOp struct {
	opens bool
	all   bool
	kind  machine.LetterKind
	path  string
	how   machine.LetterState
	err   *machine.Error
}

// NewMember folds a settlement; content says why no store keeps it.
func NewMember(st *store.Settlement, n int, content error) *Member {
	m := &Member{Settlement: st, N: n, Content: content, root: st.Run.EncodeRoot(), keep: true}
	run, ok := wire.ParseID(st.Run.ID)
	m.ID, m.Unknown = run, !ok || m.unheard()
	if m.Content == nil {
		m.Content = m.Continues(m.before())
	}
	if m.Content != nil {
		return m
	}
	for _, key := range st.Timers {
		m.timer(key, timerOp{})
	}
	fates := m.fates()
	for i, effect := range st.Effects {
		m.Content = errors.Join(m.Content, m.fold(i, effect, fates))
	}
	m.changes = m.documents()
	return m
}

// unheard says whether tenant or guards hold text that no row does.
func (m *Member) unheard() bool {
	return store.StorableText(m.Run.Tenant) != nil ||
		slices.ContainsFunc(m.Guards, func(g store.Guard) bool { return store.StorableText(g.Path) != nil })
}

// before is the length that the journal must have.
func (m *Member) before() int64 { return m.Run.Seq - int64(len(m.Entries)) }

// fates are the places of the last effects that take tasks back, hold them or free them.
type fates struct {
	stop             map[string]int
	end, holds, free int
}

func (m *Member) fates() fates {
	f := fates{end: -1, holds: -1, free: -1}
	for i, effect := range m.Effects {
		switch e := effect.(type) {
		case machine.StopTask:
			if f.stop == nil {
				f.stop = map[string]int{}
			}
			f.stop[e.Path] = i
		case machine.HoldTasks:
			f.holds = i
		case machine.FreeTasks:
			f.free = i
		case machine.EndRun:
			f.end = i
		}
	}
	switch {
	case f.holds > f.free:
		m.hold = heldInTheEnd
	case f.free > f.holds:
		m.hold = freedInTheEnd
	}
	return f
}

func (m *Member) fold(i int, effect machine.Effect, f fates) error {
	switch e := effect.(type) {
	case machine.StartTask:
		return m.foldStart(i, e, f)
	case machine.StopTask:
		r := m.round(0)
		r.stops = append(r.stops, e.Path)
	case machine.SetTimer:
		m.timer(e.Key, timerOp{true, int64(e.Due), m.cause(i)})
	case machine.CancelTimer:
		m.timer(e.Key, timerOp{})
	case machine.PutValue:
		if m.values == nil {
			m.values = map[machine.Ref]json.RawMessage{}
		}
		if _, twice := m.values[e.Ref]; twice {
			return fmt.Errorf("%w: value %s exists already", store.ErrRefused, e.Ref)
		}
		m.values[e.Ref] = e.Data
	case machine.OpenLetter:
		m.letters = append(m.letters, letterOp{opens: true, kind: e.Kind, path: e.Path, err: e.Error})
	case machine.CloseLetter:
		m.letters = append(m.letters, letterOp{all: e.Kind == "", kind: e.Kind, path: e.Path, how: e.How})
	case machine.HoldTasks, machine.FreeTasks:
	case machine.EndRun:
		m.round(2).ends = true
		m.ends, m.failure = true, e.Error
		m.keep = m.keep && e.Keep
		for key := range m.timers { // all are deleted
			m.timers[key] = timerOp{}
		}
	default:
		return fmt.Errorf("effect %T: unknown to this store", effect)
	}
	return nil
}

func (m *Member) timer(key string, op timerOp) {
	if m.timers == nil {
		m.timers = map[string]timerOp{}
	}
	m.timers[key] = op
}

// round gives the round in which an effect of this kind belongs: 0 stops, 1 births, 2 ends.
func (m *Member) round(kind int) *round {
	if n := len(m.rounds); n > 0 && m.rounds[n-1].last() <= kind {
		return &m.rounds[n-1]
	}
	m.rounds = append(m.rounds, round{})
	return &m.rounds[len(m.rounds)-1]
}

func (r *round) last() int {
	switch {
	case r.ends:
		return 2
	case len(r.births) > 0:
		return 1
	}
	return 0
}

func (m *Member) foldStart(i int, e machine.StartTask, f fates) error {
	s := &start{StartTask: e, of: m, cause: m.cause(i), held: e.Held, lane: store.Lane{
		Tenant: m.Run.Tenant, Queue: e.Queue, Handler: e.Handler, Workflow: m.Run.Workflow,
	}}
	var err error
	if s.env, err = machine.EncodeEnv(&s.Env); err != nil {
		return fmt.Errorf("%w: task %s: %w", store.ErrRefused, e.Path, err)
	}
	if last := max(f.holds, f.free); last > i {
		s.held = last == f.holds
	}
	if stop, stopped := f.stop[e.Path]; f.end > i || stopped && stop > i {
		r := m.round(1)
		r.births = append(r.births, s)
		return nil
	}
	s.hand = m.Hand.Limit > 0 && !s.held && slices.Contains(m.Hand.Handlers, e.Handler)
	if s.hand {
		m.hands++
	}
	m.starts = append(m.starts, s)
	return nil
}

func (m *Member) cause(i int) int64 {
	if i < len(m.Causes) {
		return m.Causes[i]
	}
	return 0
}

// documents gives the changes but those that the run's end undoes.
func (m *Member) documents() []machine.Change {
	changes := m.Run.Changes()
	if m.ends && !m.keep {
		changes = slices.DeleteFunc(changes, func(c machine.Change) bool { return !machine.HoldsResults(c.Path) })
	}
	return changes
}

// sequential says whether the order of the letters' effects matters, so that they are carried out one by one.
func (m *Member) sequential() bool {
	seen := map[[3]string]bool{}
	opened := false
	for i, op := range m.letters {
		name := [3]string{fmt.Sprint(op.opens), string(op.kind), op.path}
		if seen[name] || opened && !op.opens || op.all && i > 0 {
			return true
		}
		seen[name] = true
		opened = opened || op.opens
	}
	return len(m.letters) > 1 && m.letters[0].all && !m.letters[1].opens
}

// payload gives one that the settlement itself carries.
func (m *Member) payload(ref machine.Ref) (json.RawMessage, bool) {
	if ref.Key == "" {
		if len(m.Entries) == 0 {
			return nil, false
		}
		i := ref.Seq - m.Entries[0].Seq // they are numbered without a gap
		if i >= 0 && i < int64(len(m.Entries)) {
			return m.Entries[i].Payload, true
		}
		return nil, false
	}
	value, ok := m.values[ref]
	return value, ok
}

func encodeFailure(e *machine.Error) []byte {
	if e == nil {
		return nil
	}
	b, err := json.Marshal(e)
	if err != nil { // its data was found storable, or the settlement is refused
		return nil
	}
	return b
}

func stepOf(e *machine.Error) (step, code *string) {
	if e == nil {
		return nil, nil
	}
	return &e.Step, &e.Code
}

// Refusal is the answer for content that the database does not keep.
func (m *Member) Refusal(err error) store.Settled {
	return store.Settled{Result: store.Refused, Err: fmt.Errorf("settlement of run %s: %w", m.Run.ID, err)}
}

// Verdict is what stands in the way of one member.
type Verdict struct {
	Version, Seq int64
	Guards       int // those that hold
	Now          machine.Time
}

// GuardColumns gives paths and tokens of the guards.
func (m *Member) GuardColumns() (paths []string, tokens []int64) {
	for _, g := range m.Guards {
		paths, tokens = append(paths, g.Path), append(tokens, g.Token)
	}
	return paths, tokens
}

// Judge says why a Member did not win.
func (m *Member) Judge(v Verdict) store.Settled {
	switch {
	case v.Version == 0 || v.Version != m.From || v.Guards != len(m.Guards):
		return store.Settled{Result: store.Lost}
	case store.IsSkewed(m.At, v.Now):
		return store.Settled{Result: store.Skewed}
	}
	if err := errors.Join(m.Content, m.Continues(v.Seq)); err != nil {
		return m.Refusal(err)
	}
	return store.Settled{Result: store.Lost} // a task that nobody held was claimed just now
}
