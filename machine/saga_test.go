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

// A saga is a random workflow in which one thing happens after the other, and a plain interpreter of it: it says which tasks
// are started, in which order, and how the run ends, by the words of docs/machine.md 4 to 6 and with nothing but a list of what was done.
type saga struct {
	begun     int // attempts of tasks that began
	steps     []*sagaStep
	finally   bool
	goOn      bool // on_compensation_failure: continue
	drop      bool // letters are dropped, not redriven
	cancelAt  int  // the task at whose start the run is cancelled; -1: it is not
	held      bool // a worker holds that task, and answers
	endsWell  bool // what the worker answers
	done      []*sagaRecord
	safe      int // records before are protected by a savepoint
	acts      []sagaAct
	ran       map[*sagaStep]int
	finalised bool
	doomed    bool // a compensation gave up: nothing handles a failure any more
	cancelled bool
	dropped   bool
	stuck     []*sagaRecord // with goOn: what waits for a person
}

type sagaRecord struct {
	path    string
	step    *sagaStep
	settled bool // undone, passed over, or inside what is undone as a whole
}

// sagaAct is what is expected next: a live task, and what it is told.
type sagaAct struct{ path, verb string }

// sagaFault is why a scope ends; nil when it ended well.
type sagaFault struct {
	first *sagaRecord
	stop  bool // stopped from further out: nothing is asked any more
}

// act expects a task and says whether the run is cancelled at its start.
func (s *saga) act(path, verb string) bool {
	if len(s.acts) == s.cancelAt && path != "finally" {
		s.acts = append(s.acts, sagaAct{path, "cancel"})
		s.cancelled = true
		return true
	}
	s.acts = append(s.acts, sagaAct{path, verb})
	return false
}

// run gives the status with which the run ends once its letters are answered.
func (s *saga) run() Status {
	f := s.scope("", s.steps)
	if f == nil {
		s.end()
		return Succeeded
	}
	s.undo(s.safe, f.first)
	s.end()
	for _, r := range s.stuck { // all letters are answered when the run is dead
		if !s.drop {
			s.undoing(r, false)
		}
	}
	switch {
	case s.dropped:
		return Dead
	case s.cancelled:
		return Cancelled
	}
	return Failed
}

// end is the first ending, before which finally runs.
func (s *saga) end() {
	if s.finally && !s.finalised {
		s.act("finally", "ok")
	}
	s.finalised = true
}

func (s *saga) scope(path string, steps []*sagaStep) *sagaFault {
	for _, step := range steps {
		at := step.key
		if path != "" {
			at = path + "/" + step.key
		}
		if f := s.step(at, step); f != nil {
			return f
		}
	}
	return nil
}

// body is the scope of a composite at path: its only step has the scope's path.
func (s *saga) body(path string, step *sagaStep) *sagaFault {
	if step.single {
		return s.step(path, step.body[0])
	}
	return s.scope(path, step.body)
}

func (s *saga) step(path string, step *sagaStep) *sagaFault {
	switch step.kind {
	case "savepoint":
		s.safe = len(s.done)
		return nil
	case "task":
		return s.task(path, step)
	}
	for try := 1; ; try++ {
		at := withTry(path, try)
		mark, before := len(s.done), s.begun
		f := s.composite(at, step)
		switch {
		case f == nil:
			s.record(at, step, mark)
			return nil
		case f.stop && s.begun == before: // no attempt of anything inside began
			return f
		case f.stop:
			s.record(at, step, mark)
			return f
		}
		if step.undo != "" {
			f.first = s.record(at, step, mark)
		}
		s.undo(mark, f.first)
		if s.doomed || s.cancelled {
			return &sagaFault{stop: true}
		}
		if try == step.tries {
			return s.handled(path, step, nil)
		}
	}
}

// record notes what was done; what a composite that is undone as a whole did inside belongs to it.
func (s *saga) record(path string, step *sagaStep, mark int) *sagaRecord {
	if step.undo == "" {
		return nil
	}
	for _, r := range s.done[mark:] {
		r.settled = true
	}
	r := &sagaRecord{path: path, step: step}
	s.done = append(s.done, r)
	return r
}

func (s *saga) composite(at string, step *sagaStep) *sagaFault {
	switch step.kind {
	case "block":
		if step.under {
			at += "/do"
		}
		return s.scope(at, step.body)
	case "switch":
		return s.body(at+"/case-1", step)
	case "loop":
		for i := range step.n {
			if f := s.body(fmt.Sprintf("%s[%d]", at, i+1), step); f != nil {
				return f
			}
		}
		return nil
	}
	for i, bad := 0, 0; i < step.n; i++ {
		mark := len(s.done)
		f := s.body(fmt.Sprintf("%s[%d]", at, i), step)
		if f == nil {
			continue
		}
		if bad++; f.stop || bad > step.tolerate {
			return f
		}
		s.undo(mark, f.first)
		if s.doomed || s.cancelled {
			return &sagaFault{stop: true}
		}
	}
	return nil
}

func (s *saga) task(path string, step *sagaStep) *sagaFault {
	n := s.ran[step]
	s.ran[step]++
	fails := n < len(step.fails) && step.fails[n]
	verb := "ok"
	if fails {
		verb = "fail"
	}
	if s.act(path, verb) {
		if s.held {
			s.begun++
			verb = "lost"
			if s.endsWell {
				verb = "ok"
			}
			s.acts = append(s.acts, sagaAct{path, verb})
			s.record(path, step, len(s.done))
		}
		return &sagaFault{stop: true}
	}
	s.begun++
	if fails {
		return s.handled(path, step, func() *sagaRecord { return s.record(path, step, len(s.done)) })
	}
	s.record(path, step, len(s.done))
	return nil
}

// handled asks the catch and the on_error of a step that has failed for good.
func (s *saga) handled(path string, step *sagaStep, record func() *sagaRecord) *sagaFault {
	if step.caught != nil {
		mark := len(s.done)
		f := s.scope(path+"/catch-1", step.caught)
		if f == nil || f.stop {
			return f
		}
		s.undo(mark, f.first)
		return &sagaFault{stop: s.doomed || s.cancelled}
	}
	if step.onError {
		return nil
	}
	f := &sagaFault{}
	if record != nil {
		f.first = record()
	}
	return f
}

// undo carries the plan of a unit out: what began its failure first, then the newest first.
func (s *saga) undo(mark int, first *sagaRecord) {
	once := false
	all := []*sagaRecord{}
	if first != nil {
		all = append(all, first)
	}
	for i := len(s.done) - 1; i >= mark; i-- {
		all = append(all, s.done[i])
	}
	for _, r := range all {
		if r.settled {
			continue
		}
		r.settled = true
		if r.step.undo == "once" && once {
			continue
		}
		once = once || r.step.undo == "once"
		s.undoing(r, r.step.givesUp)
	}
}

// undoing is one compensation, and what becomes of the letter that it may leave.
func (s *saga) undoing(r *sagaRecord, givesUp bool) {
	path := r.path + UndoSuffix
	verb := "ok"
	if givesUp {
		verb = "fail"
	}
	if s.act(path, verb) { // it goes on
		s.acts = append(s.acts, sagaAct{path, verb})
	}
	if !givesUp {
		return
	}
	s.doomed = true
	s.dropped = s.dropped || s.drop
	if s.goOn {
		s.stuck = append(s.stuck, r)
		slices.SortFunc(s.stuck, func(a, b *sagaRecord) int { return strings.Compare(a.path+UndoSuffix, b.path+UndoSuffix) })
		return
	}
	s.end()
	if !s.drop {
		s.undoing(r, false)
	}
}

// X1, X3, X4, X5, X6, X7, X14, C2: a run of one thing after the other does, undoes and ends as a plain interpreter of the
// workflow says, with cancels and letters on the way; the invariants hold after every event, and the journal replays.
func TestSagasRunAsThePlainInterpreterSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSaga(t)
		want := s.run()
		def, err := workflow.Read("t.yaml", s.source())
		if err != nil {
			t.Fatalf("%v\n%s", err, s.source())
		}
		w := newWorld(def)
		w.tell(Event{Kind: RunStarted, Payload: json.RawMessage("null")})
		for i, act := range s.acts {
			if wrong := s.follow(w, act); wrong != "" {
				t.Fatalf("%s at %d of %v\n%s", wrong, i, s.acts, s.source())
			}
		}
		s.rest(w)
		w.replayed()
		for _, f := range w.faults {
			t.Errorf("%s", f)
		}
		if w.status != want || len(w.tasks) > 0 {
			t.Errorf("the run is %s with %v, the interpreter says %s after %v\n%s", w.status, sortedTasks(w), want, s.acts, s.source())
		}
	})
}

// follow lets time pass and people answer until a task is live, which must be the expected one, and tells its outcome.
func (s *saga) follow(w *world, act sagaAct) (wrong string) {
	s.rest(w)
	if live := sortedTasks(w); !slices.Equal(live, []string{act.path}) {
		return fmt.Sprintf("live are %v, the interpreter says %s (%v)", live, act.path, w.faults)
	}
	task := w.tasks[act.path]
	ev := Event{Path: act.path, Attempt: task.Attempt + 1}
	switch act.verb {
	case "cancel":
		task.held = s.held
		ev = Event{Kind: CancelRequested}
	case "ok":
		ev.Kind, ev.Payload = TaskSucceeded, json.RawMessage(`"`+act.path+`"`)
	case "fail":
		ev.Kind, ev.Payload = TaskFailed, encode(&Error{Code: "x", Permanent: true})
	case "lost":
		ev.Kind = TaskLost
	}
	w.tell(ev)
	return ""
}

// rest does what needs no worker.
func (s *saga) rest(w *world) {
	kind := RedriveRequested
	if s.drop {
		kind = DropRequested
	}
	for range 100 {
		switch {
		case w.status == Dead && len(w.letters) > 0:
			var paths []string
			for _, l := range w.letters {
				paths = append(paths, l.Path)
			}
			slices.Sort(paths)
			for _, path := range paths {
				w.tell(Event{Kind: kind, Name: string(LetterCompensation), Path: path, Payload: encode(Order{})})
			}
		case len(w.tasks) == 0 && len(w.timers) > 0:
			w.pass()
		default:
			return
		}
	}
}
