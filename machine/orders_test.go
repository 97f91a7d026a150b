package machine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/workflow"
)

// ledger is what a plain bookkeeper notes of a run from outside: what was told and what was started.
type ledger struct {
	w      *world
	ended  map[string]int    // when the last thing happened that ended an activation, by path
	began  map[string]bool   // an attempt was answered, or somebody held it when it was stopped
	failed map[string]bool   // it ended with a failure
	undone map[string]bool   // its compensation succeeded
	by     map[string]string // the unit in whose plan that was
	last   map[string]int    // by unit: when what was undone last in it had ended
	lines  []string

	cancelled bool
}

func newLedger(w *world) *ledger {
	return &ledger{
		w: w, ended: map[string]int{}, began: map[string]bool{}, failed: map[string]bool{}, undone: map[string]bool{},
		by: map[string]string{}, last: map[string]int{},
	}
}

// tell tells the world an event and notes what came of it.
func (l *ledger) tell(ev Event) {
	held := map[string]bool{}
	for path, task := range l.w.tasks {
		held[path] = task.held
	}
	seq := l.w.seq
	effects := l.w.tell(ev)
	if l.w.seq == seq {
		return
	}
	l.lines = append(l.lines, fmt.Sprintf("%s %s %s", ev.Kind, ev.Name, ev.Path))
	l.cancelled = l.cancelled || ev.Kind == CancelRequested
	if ev.Kind == AbortRequested && l.w.status != Aborted {
		l.w.fault("an abort was heard, and the run is %s", l.w.status)
	}
	for n := seq; n < l.w.seq; n++ { // with what the stops led to
		e := l.w.journal[n]
		switch e.Kind {
		case TaskSucceeded, TaskFailed, TaskLost, TaskReleased, TaskStopped:
			l.ended[e.Path] = int(n)
			l.began[e.Path] = l.began[e.Path] || e.Kind != TaskStopped || held[e.Path]
			l.failed[e.Path] = e.Kind != TaskSucceeded
			if undone, ok := strings.CutSuffix(e.Path, UndoSuffix); ok && e.Kind == TaskSucceeded {
				if l.undone[undone] {
					l.w.fault("%s was undone twice", undone)
				}
				l.undone[undone] = true
			}
		default:
		}
	}
	for _, e := range effects {
		switch e := e.(type) {
		case CloseLetter:
			if e.Kind == LetterParked && e.How != LetterRedriven {
				l.ended[e.Path] = int(seq)
			}
		case StartTask:
			l.started(e)
		}
	}
}

// started looks at the start of a compensation: it undoes what began and is not undone, after what ended later.
func (l *ledger) started(e StartTask) {
	path, ok := strings.CutSuffix(e.Path, UndoSuffix)
	if !ok || e.Attempt > 0 {
		return
	}
	step, err := Locate(l.w.def, path)
	if err != nil || !step.IsTask {
		return
	}
	switch {
	case l.undone[path]:
		l.w.fault("%s is undone again", path)
	case !l.began[path]:
		l.w.fault("%s is undone, and no attempt of it began", path)
	}
	unit := l.unit(path)
	l.by[path] = unit
	if before, ok := l.last[unit]; ok && before < l.ended[path] {
		l.w.fault("%s is undone in the unit %q after what ended before it", path, unit)
	}
	if _, ok := l.last[unit]; !ok && l.failed[path] { // perhaps what began the failure, which comes first
		l.last[unit] = int(l.w.seq)
		return
	}
	l.last[unit] = l.ended[path]
}

// unit names the plan that has the compensation of a path in hand.
func (l *ledger) unit(path string) string {
	run := l.w.load("", true)
	has := func(d *Undoing) bool {
		return d != nil && d.Task != nil && run.recordPath(d.Task.Record) == path
	}
	scopes := map[string]*Scope{"": run.Root}
	maps.Copy(scopes, run.Scopes)
	for at, sc := range scopes {
		if sc == nil {
			continue
		}
		if has(sc.Undo) {
			return at
		}
		for i, live := range sc.Live {
			if live.Box != nil && has(live.Box.Undo) {
				return fmt.Sprintf("%s %d visit %d try %d catch %d", at, i, sc.Visits[i], live.Try, live.Box.Catch)
			}
		}
	}
	l.w.fault("nobody undoes %s", path)
	return "?"
}

// random tells the run something, sensible or not.
func (l *ledger) random(t *rapid.T) {
	w := l.w
	path := "s0"
	if paths := sortedTasks(w); len(paths) > 0 {
		path = rapid.SampledFrom(paths).Draw(t, "path")
	}
	ev := Event{Path: path, Attempt: 1}
	if task := w.tasks[path]; task != nil {
		ev.Attempt = task.Attempt + 1
	}
	order := func(kind EventKind) {
		ev = Event{Kind: kind, Payload: encode(Order{By: "ann"})}
	}
	switch rapid.IntRange(0, 31).Draw(t, "what") {
	default:
		ev.Kind, ev.Payload = TaskSucceeded, json.RawMessage("1")
	case 1, 2, 3, 16:
		ev.Kind, ev.Payload = TaskFailed, encode(&Error{Code: "x", Permanent: rapid.Bool().Draw(t, "permanent")})
	case 4:
		ev.Kind = TaskLost
	case 5, 6, 17, 18:
		if task := w.tasks[path]; task != nil && !task.Held {
			task.held = true
		}
		return
	case 7, 19, 20:
		l.pass()
		return
	case 8:
		if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
			return
		}
		order(rapid.SampledFrom([]EventKind{CancelRequested, CancelRequested, CancelRequested, AbortRequested}).Draw(t, "order"))
	case 9:
		order(rapid.SampledFrom([]EventKind{PauseRequested, ResumeRequested}).Draw(t, "order"))
	case 10, 11:
		l.answer(rapid.SampledFrom([]EventKind{RedriveRequested, DropRequested}).Draw(t, "answer"))
		return
	case 12:
		ev.Kind, ev.Name, ev.Payload = TaskLate, rapid.SampledFrom([]string{LateSuccess, LateFailure}).Draw(t, "late"), json.RawMessage("7")
		if ev.Attempt--; ev.Attempt == 0 {
			return
		}
	case 13:
		ev.Kind = TaskReleased
	case 14:
		ev.Kind, ev.Payload = TaskFailed, encode(&Error{Code: CodeTimeout, Final: rapid.IntRange(0, 5).Draw(t, "final") == 0})
	}
	if task := w.tasks[path]; task != nil && (task.Held || task.Due > w.now) && ev.Kind != TaskStopped && ev.Path != "" && ev.Kind != TaskLate {
		return // nobody can have taken it
	}
	l.tell(ev)
}

func (l *ledger) pass() {
	name, due, task := l.w.next()
	if name == "" {
		return
	}
	l.w.now = max(l.w.now, due)
	if !task {
		l.tell(Event{Kind: TimerFired, Path: name})
	}
}

// answer answers the first letter.
func (l *ledger) answer(kind EventKind) bool {
	for _, id := range slices.Sorted(maps.Keys(l.w.letters)) {
		letter := l.w.letters[id]
		if letter.Kind == LetterFailure || letter.Kind == LetterFinally {
			continue
		}
		l.tell(Event{Kind: kind, Name: string(letter.Kind), Path: letter.Path, Payload: encode(Order{By: "ann"})})
		return true
	}
	return false
}

// finish has workers succeed (or, when the run is doomed, those of compensations alone), time pass and people answer until the
// run has ended for good, and gives in how many events.
func (l *ledger) finish(doomed bool) (n int) {
	w, answer := l.w, RedriveRequested
	if doomed {
		answer = DropRequested
	}
	for n = range 3000 {
		switch paths := sortedTasks(w); {
		case w.status == Paused:
			l.tell(Event{Kind: ResumeRequested, Payload: encode(Order{})})
		case len(paths) > 0 && w.tasks[paths[0]].Due <= w.now:
			ev := Event{Kind: TaskSucceeded, Path: paths[0], Attempt: w.tasks[paths[0]].Attempt + 1, Payload: json.RawMessage("7")}
			if doomed && !strings.HasSuffix(ev.Path, UndoSuffix) {
				ev.Kind, ev.Payload = TaskFailed, encode(&Error{Code: "y", Permanent: true})
			}
			l.tell(ev)
		case !w.status.Ended() && len(w.tasks)+len(w.timers) > 0:
			l.pass()
		case !l.answer(answer):
			return n
		}
		if len(w.faults) > 0 {
			return n
		}
	}
	return n
}

// balance says what was not undone that should have been, of a run that is undone.
func (l *ledger) balance() {
	if l.cancelled != (l.w.status == Cancelled) {
		l.w.fault("cancelled: %t, and the run is %s", l.cancelled, l.w.status)
	}
	safe := l.protected()
	for path, began := range l.began {
		step, err := Locate(l.w.def, path)
		if err != nil || !began || strings.HasSuffix(path, UndoSuffix) || step.Compensate == nil || strings.HasPrefix(path, "finally") {
			continue
		}
		if safe[l.rootStep(path)] {
			if l.undone[path] && l.by[path] == "" {
				l.w.fault("%s leads to a savepoint, and was undone", path)
			}
			continue
		}
		handled := l.failed[path] && (len(step.Catch) > 0 || step.OnError != workflow.OnErrorFail)
		if !handled && !l.undone[path] && !l.covered(path) {
			l.w.fault("%s began, and was not undone", path)
		}
	}
}

// protected gives the steps of the root from which a way of taken edges leads to a savepoint that was reached.
func (l *ledger) protected() map[*workflow.Step]bool {
	safe, root := map[*workflow.Step]bool{}, l.w.load("", false).Root
	steps := l.w.def.Body.Steps
	for range steps { // as often as the longest way is long
		for i, s := range steps {
			if _, ok := s.Action.(*workflow.Savepoint); ok && root.States[i] == StepSucceeded {
				safe[s] = true
			}
			for _, e := range s.Out {
				taken := root.States[i] == StepFailed && s.OnError == workflow.OnErrorContinue
				switch root.States[i] {
				case StepSucceeded, StepCompensated, StepCaught:
					taken = true
				default:
				}
				safe[s] = safe[s] || taken && safe[steps[e.To]]
			}
		}
	}
	return safe
}

func (l *ledger) rootStep(path string) *workflow.Step {
	sp, err := locate(l.w.def, path)
	if err != nil {
		return nil
	}
	step := sp.step
	for q := sp.at; q.up != nil; q = q.up {
		step = q.owner
	}
	return step
}

// covered says whether something around a path has a compensation of its own.
func (l *ledger) covered(path string) bool {
	sp, err := locate(l.w.def, path)
	if err != nil {
		return false
	}
	for q := sp.at; q.up != nil; q = q.up {
		if q.owner.Compensate != nil {
			return true
		}
	}
	return false
}

// X1, X3, X4, X6, X8, X11, X14, C1, C2, C3, C4: whatever is told at whatever moment (outcomes, losses, orders, answers to
// letters, time), the invariants hold after every event, nothing is undone twice, without need or in another order than that of
// its unit's plan; when workers succeed, time passes and people answer, the run ends within a bound, with everything undone
// that must be; and the journal replays to the stored state.
func TestWhateverIsToldARunEndsDoneOrUndone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := &thicket{t: t}
		source := k.source()
		def, err := workflow.Read("t.yaml", source)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		w := newWorld(def)
		l := newLedger(w)
		l.tell(Event{Kind: RunStarted, Payload: json.RawMessage(`{"i": 1}`)})
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			if l.random(t); len(w.faults) > 0 {
				break
			}
		}
		w.replayed()
		if len(w.faults) == 0 {
			n := l.finish(rapid.Bool().Draw(t, "doomed"))
			w.replayed()
			if !w.status.Ended() || n > 2000 {
				w.fault("the run is %s after %d events", w.status, n)
			}
			if w.status == Failed || w.status == Cancelled {
				l.balance()
			}
		}
		for _, f := range w.faults {
			t.Errorf("%s", f)
		}
		if len(w.faults) > 0 {
			t.Fatalf("%s\n%s", source, strings.Join(l.lines, "\n"))
		}
	})
}
