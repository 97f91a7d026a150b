package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow"
)

// world is the dumbest store and engine that a machine can have: maps, no concurrency, and every document written and read
// again at every event. It checks the invariants that must hold after each.
type world struct {
	def      *workflow.Definition
	header   Header
	now      Time
	status   Status
	seq      int64
	at       Time
	started  Time
	finished Time
	root     []byte
	docs     map[string][]byte
	payloads map[Ref]json.RawMessage
	tasks    map[string]*worldTask
	timers   map[string]Time
	journal  []Event
	letters  map[string]OpenLetter // open ones by kind and path
	dropped  bool                  // a letter was
	faults   []string
	refused  string // why the last retry was refused

	applies, docBytes, rows int  // what it cost
	quick                   bool // leave out the checks that are not linear
}

type worldTask struct {
	StartTask
	held, stop bool
}

func newWorld(def *workflow.Definition) *world {
	return &world{
		def: def, now: 1_000_000_000_000, status: Pending,
		header:   Header{ID: "r", Tenant: "default", Workflow: def.Name, Version: 1, MachineVersion: Version, CreatedAt: 1_000_000_000_000},
		root:     NewRun(Header{}).EncodeRoot(),
		docs:     map[string][]byte{},
		payloads: map[Ref]json.RawMessage{},
		tasks:    map[string]*worldTask{},
		timers:   map[string]Time{},
		letters:  map[string]OpenLetter{},
	}
}

func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// load gives the run with the documents on the way to path, or with all of them.
func (w *world) load(path string, all bool) *Run {
	r := &Run{Header: w.header, Status: w.status, Seq: w.seq, At: w.at, StartedAt: w.started, FinishedAt: w.finished}
	if err := r.SetRoot(w.root); err != nil {
		panic(err)
	}
	paths := Documents(path)
	if all {
		paths = slices.Sorted(maps.Keys(w.docs))
	}
	for _, p := range paths {
		if err := r.Put(p, w.docs[p]); err != nil {
			panic(err)
		}
	}
	return r
}

// rebuilt gives the run as its journal tells it.
func (w *world) rebuilt() *Run {
	r, err := Rebuild(w.def, w.header, Recorded(w.journal), nil)
	if err != nil {
		panic(err)
	}
	return r
}

func (w *world) payload(r Ref) (json.RawMessage, bool) {
	raw, ok := w.payloads[r]
	return raw, ok
}

// tell applies one event and carries out what it leads to. It gives the effects, or nil when nothing changed.
func (w *world) tell(ev Event) []Effect {
	ev.At = w.now
	base := ev.Path
	if i := strings.LastIndexByte(base, '!'); i >= 0 {
		base = base[:i]
	}
	before := w.load(base, false)
	beforeBytes := fingerprint(before)
	if ev.Kind == RetryRequested || ev.Kind == RedriveRequested && ev.Name == string(LetterFailure) {
		before = w.rebuilt()
	}
	after, effects, err := w.apply(before, ev)
	var no *Refusal
	if errors.As(err, &no) {
		w.refused = no.Error()
		return nil
	}
	if err != nil {
		w.fault("%s %s: %v", ev.Kind, ev.Path, err)
		return nil
	}
	if !bytes.Equal(beforeBytes, fingerprint(before)) {
		w.fault("%s %s changed its argument", ev.Kind, ev.Path)
	}
	other := w.load(base, false)
	if before.past != nil {
		other = w.rebuilt()
	}
	again, effects2, err := w.apply(other, ev)
	if err != nil || !bytes.Equal(fingerprint(after), fingerprint(again)) || string(encode(effects)) != string(encode(effects2)) {
		w.fault("%s %s gives two answers", ev.Kind, ev.Path)
	}
	if after.Seq == before.Seq {
		if len(effects) > 0 || !bytes.Equal(beforeBytes, fingerprint(after)) {
			w.fault("%s %s changed something without an entry", ev.Kind, ev.Path)
		}
		return nil
	}
	w.store(after, ev)
	all := append([]Effect{}, effects...)
	var stops []string
	for _, e := range effects {
		if stop, ok := w.carryOut(e); ok {
			stops = append(stops, stop)
		}
	}
	for _, path := range stops {
		all = append(all, w.tell(Event{Kind: TaskStopped, Path: path})...)
	}
	if !w.quick {
		w.check(ev)
	}
	return all
}

func (w *world) apply(run *Run, ev Event) (*Run, []Effect, error) {
	for range 100 {
		w.applies++
		after, effects, err := Apply(w.def, run, ev)
		var need *Need
		if !errors.As(err, &need) {
			return after, effects, err
		}
		if ev.Loaded == nil {
			ev.Loaded = map[Ref]json.RawMessage{}
		}
		run = run.copyDocuments()
		for _, r := range need.Refs {
			raw, ok := w.payloads[r]
			if !ok {
				return run, nil, fmt.Errorf("needs payload %s, which nobody stored", r)
			}
			ev.Loaded[r] = raw
		}
		for _, p := range need.Scopes {
			if err := run.Put(p, w.docs[p]); err != nil {
				return run, nil, err
			}
		}
	}
	return run, nil, errors.New("asks for more and more")
}

func fingerprint(r *Run) []byte {
	b := append([]byte(nil), fmt.Sprint(r.Status, r.Seq, r.At, r.StartedAt, r.FinishedAt)...)
	b = append(b, r.EncodeRoot()...)
	for _, c := range r.Changes() {
		b = append(append(b, c.Path...), c.Doc...)
	}
	return b
}

func (w *world) store(r *Run, ev Event) {
	if r.Seq != w.seq+1 {
		w.fault("entry %d follows entry %d", r.Seq, w.seq)
	}
	w.status, w.seq, w.at, w.started, w.finished = r.Status, r.Seq, r.At, r.StartedAt, r.FinishedAt
	w.root = r.EncodeRoot()
	w.docBytes += len(w.root)
	w.rows += 2
	for _, c := range r.Changes() {
		w.rows++
		w.docBytes += len(c.Doc)
		if c.Doc == nil {
			delete(w.docs, c.Path)
		} else {
			w.docs[c.Path] = c.Doc
		}
	}
	ev.Loaded = nil
	w.journal = append(w.journal, ev)
	if ev.Payload != nil {
		w.payloads[Ref{Seq: r.Seq}] = ev.Payload
	}
	switch ev.Kind {
	case TaskSucceeded, TaskFailed, TaskLost, TaskReleased, TaskStopped:
		delete(w.tasks, ev.Path)
	case TimerFired:
		delete(w.timers, ev.Path)
	default:
	}
}

// carryOut does what an effect says. It gives the task that it stopped, when nobody held that.
func (w *world) carryOut(e Effect) (stopped string, ok bool) {
	w.rows++
	switch e := e.(type) {
	case StartTask:
		if w.tasks[e.Path] != nil {
			w.fault("task %s is started while it is live", e.Path)
		}
		w.tasks[e.Path] = &worldTask{StartTask: e}
	case StopTask:
		task := w.tasks[e.Path]
		if task == nil {
			w.fault("task %s is stopped and is not live", e.Path)
		} else if task.held {
			task.stop = true
		} else {
			return e.Path, true
		}
	case SetTimer:
		w.timers[e.Key] = e.Due
	case CancelTimer:
		if _, ok := w.timers[e.Key]; !ok {
			w.fault("timer %s is cancelled and is not set", e.Key)
		}
		delete(w.timers, e.Key)
	case PutValue:
		if _, ok := w.payloads[e.Ref]; ok {
			w.fault("value %s is put twice", e.Ref)
		}
		w.payloads[e.Ref] = e.Data
	case HoldTasks, FreeTasks:
		for _, task := range w.tasks {
			task.Held = e == HoldTasks{} && !task.held
		}
	case OpenLetter:
		if _, ok := w.letters[letterID(e.Kind, e.Path)]; ok {
			w.fault("letter %s %s is opened twice", e.Kind, e.Path)
		}
		w.letters[letterID(e.Kind, e.Path)] = e
	case CloseLetter:
		if _, ok := w.letters[letterID(e.Kind, e.Path)]; !ok && e.Kind != "" {
			w.fault("letter %s %s is closed and is not open", e.Kind, e.Path)
		}
		delete(w.letters, letterID(e.Kind, e.Path))
		w.dropped = w.dropped || e.How == LetterDropped
		maps.DeleteFunc(w.letters, func(_ string, l OpenLetter) bool { return e.Kind == "" && l.Kind != LetterFinally })
	case EndRun:
		w.end(e)
	}
	return "", false
}

func letterID(kind LetterKind, path string) string { return string(kind) + " " + path }

func (w *world) end(e EndRun) {
	if e.Status == Aborted {
		clear(w.tasks)
		clear(w.timers)
	}
	maps.DeleteFunc(w.docs, func(path string, _ []byte) bool { return !e.Keep && !HoldsResults(path) })
	for _, path := range slices.Sorted(maps.Keys(w.tasks)) {
		w.fault("the run has ended with the live task %s", path) // invariant 1
	}
	for _, key := range slices.Sorted(maps.Keys(w.timers)) {
		w.fault("the run has ended with the timer %s", key)
	}
}

// mustAnswer gives what is wrong with the open letters (invariant 7).
func (w *world) mustAnswer() {
	for id, l := range w.letters {
		ok := true
		switch l.Kind {
		case LetterParked:
			ok = !w.status.Ended()
		case LetterCompensation:
			ok = w.status == Dead || !w.status.Ended()
		case LetterUnknown:
			ok = w.status == Dead || !w.status.Ended()
		case LetterFailure:
			ok = w.status == Failed
		case LetterFinally:
		}
		if !ok {
			w.fault("letter %s is open and the run is %s", id, w.status)
		}
	}
	if w.status == Dead && len(w.letters) == 0 && !w.dropped {
		w.fault("the run is dead and no letter says why")
	}
}

// check asks for the invariants of ARCHITECTURE.md that concern a machine.
func (w *world) check(ev Event) {
	all := w.load("", true)
	for _, bad := range Check(w.def, all) {
		w.fault("after %s %s: %s", ev.Kind, ev.Path, bad)
	}
	if live, want := slices.Sorted(maps.Keys(w.tasks)), LiveTasks(w.def, all); !slices.Equal(live, want) {
		w.fault("after %s %s: live tasks are %v, the documents say %v", ev.Kind, ev.Path, live, want)
	}
	w.mustAnswer()
	for path, task := range w.tasks {
		if w.status == Paused && !task.held && !task.Held {
			w.fault("after %s %s: the run is paused, and %s can be claimed", ev.Kind, ev.Path, path)
		}
	}
	same, effects, err := w.apply(all, ev) // invariant 10: an event that was told already
	if err != nil || same.Seq != all.Seq || len(effects) > 0 {
		if ev.Kind != TimerFired || w.timers[ev.Path] == 0 { // a timer that was set anew has the same name
			w.fault("after %s %s: telling it again changes something (%v)", ev.Kind, ev.Path, err)
		}
	}
}

// replayed compares the stored state with what the journal gives (invariant 2).
func (w *world) replayed() {
	r, err := Replay(w.def, w.header, w.journal)
	if err != nil {
		w.fault("replay: %v", err)
		return
	}
	if !bytes.Equal(r.EncodeRoot(), w.root) || r.Status != w.status || r.Seq != w.seq {
		w.fault("replay gives another root:\n%s\n%s", r.EncodeRoot(), w.root)
	}
	for path, doc := range w.docs {
		var got []byte
		if sc := r.Scopes[path]; sc != nil {
			got = encode(sc)
		} else if k := r.Chunks[path]; k != nil {
			got = encode(k)
		}
		if !bytes.Equal(got, doc) {
			w.fault("replay gives another document %s:\n%s\n%s", path, got, doc)
		}
	}
}

// next gives the time of the next timer or delayed task, and its key or path.
func (w *world) next() (name string, due Time, task bool) {
	for _, k := range slices.Sorted(maps.Keys(w.timers)) {
		if name == "" || w.timers[k] < due {
			name, due = k, w.timers[k]
		}
	}
	for _, k := range slices.Sorted(maps.Keys(w.tasks)) {
		if d := w.tasks[k].Due; d > w.now && (name == "" || d < due) {
			name, due, task = k, d, true
		}
	}
	return name, due, task
}

// input gives what a live task's worker would get.
func (w *world) input(task *worldTask) string {
	step, err := Locate(w.def, task.Path)
	if err != nil {
		return err.Error()
	}
	run := w.load("", true)
	info := TaskInfo{Key: TaskKey(w.header, task.Path, task.Env.Redriven), Attempt: task.Attempt + 1, Path: task.Path}
	env, err := Environment(task.Env, w.header, &info, run, w.payload)
	if err != nil {
		return err.Error()
	}
	if u := task.Env.Undone; u != nil {
		if step.With == nil {
			return w.undoInput(u, env, run, task.Env)
		}
		out, _ := Assemble(u.Output, run, w.payload, MaxAssembled)
		env["step"] = expr.Env{"key": TaskKey(w.header, u.Path, u.Redriven), "input": env["prev"], "output": out}
	}
	if task.Env.Redriven != nil {
		raw, _ := Assemble(task.Env.Redriven.Input, run, w.payload, MaxAssembled)
		return string(raw) + fmt.Sprintf(" (input %d)", task.Env.Redriven.N)
	}
	if step.With != nil {
		raw, err := step.With.Eval(env, expr.Budget{})
		if err != nil {
			return err.Error()
		}
		return string(raw)
	}
	return string(env["prev"].(json.RawMessage))
}

// undoInput is short for what a compensation without `with` gets.
func (w *world) undoInput(u *UndoneEnv, env expr.Env, run *Run, e Env) string {
	out, err := Assemble(u.Output, run, w.payload, MaxAssembled)
	if err != nil {
		return err.Error()
	}
	var why struct{ Code string }
	_ = json.Unmarshal(env["error"].(json.RawMessage), &why)
	text := fmt.Sprintf("undo %s -> %s because %s", env["prev"], out, why.Code)
	if e.Redriven != nil {
		text += fmt.Sprintf(" (input %d)", e.Redriven.N)
	}
	return text
}

func (w *world) output() string {
	run := w.load("", true)
	raw, err := Assemble(run.Root.Run.Output, run, w.payload, MaxAssembled)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func (w *world) elapsed(d Time) time.Duration { return time.Duration(d-w.now) * time.Microsecond }
