package machine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/millrace-go/millrace/workflow"
)

// zoo is one workflow with something of everything.
const zoo = `workflow: zoo
deadline: 2h
compensations: { void: { task: u, once: true } }
steps:
  a: { task: h, retry: { attempts: 2, jitter: 0 }, catch: { only: [x], next: c }, compensate: { task: u } }
  b: { after: a, when: "prev != 0", map: { over: "[1, 2, 3]", parallel: 2, tolerate: 1, do: { task: h } }, on_error: continue, compensate: void }
  c: { parallel: { p: { steps: [ { id: q, task: h, compensate: { task: u, retry: 2 } }, { id: r, wait: 5s } ] }, s: { do: { task: h, compensate: void } } }, need: 1, timeout: 1m, retry: 2 }
  d: { after: [b, c], join: any, cancel_rest: true, loop: { until: "prev == 7", limit: 3, every: 1s, collect: true, do: { task: h, compensate: { task: u } } }, catch: { do: { task: h, compensate: void } } }
  v: { after: d, savepoint: true }
  e: { after: a, switch: [ { when: "prev == 1", do: { task: h, compensate_unknown: false, compensate: { task: u } } }, { when: "prev == 2", steps: [ { id: m, map: { over: "[[1],[2]]", as: row, tolerate: 1, steps: { o: { task: h, compensate: { task: u } }, n: { after: o, map: { over: row, do: { task: h } } } } } } ] }, { next: f } ] }
  f: { task: h, on_error: skip, compensate: { task: u } }
  g: { after: [v, e, f], join: settled, compensate: { task: u }, steps: [ { id: x, task: h, compensate: { task: u } }, { id: y, switch: [ { when: "prev == 3", next: x } ] } ] }
finally: { steps: [ { id: k, task: h, on_error: continue }, { id: l, parallel: { p: { do: { task: h, compensate: { task: u } } } } } ] }
`

// zoos are the zoo, and what else may be said of a workflow as a whole.
var zoos = []string{zoo, zoo + "on_failure: park\n", zoo + "on_compensation_failure: continue\n"}

// FuzzApply tells a run whatever the bytes say, sensible or not: Apply never panics, never asks for what nobody stored, keeps
// the invariants, and the journal replays to the stored state.
func FuzzApply(f *testing.F) {
	defs := make([]*workflow.Definition, len(zoos))
	for i, source := range zoos {
		def, err := workflow.Read("zoo.yaml", []byte(source))
		if err != nil {
			f.Fatal(err)
		}
		defs[i] = def
	}
	f.Add([]byte{0, 0, 1, 0, 0, 2, 0, 1, 3, 1, 0, 4})
	f.Add([]byte{0, 0, 0, 0, 1, 1, 1, 2, 2, 5, 0, 0, 3, 0, 7, 0, 1, 3, 0, 0, 1})
	f.Add([]byte{1, 0, 0, 2, 0, 0, 12, 0, 1, 2, 0, 0, 13, 0, 1, 0, 0, 7, 8, 0, 0, 2, 0, 0, 12, 0, 0, 15, 0, 0})
	f.Add([]byte{2, 0, 0, 0, 0, 1, 10, 0, 0, 2, 1, 2, 11, 0, 0, 2, 0, 1, 9, 0, 0, 15, 0, 1, 14, 0, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		def := defs[0]
		if len(data) > 0 {
			def = defs[int(data[0]/16)%len(defs)]
		}
		w := newWorld(def)
		w.tell(Event{Kind: RunStarted, Payload: json.RawMessage(`{"i": 1}`)})
		for n := 0; n+2 < len(data) && n < 300; n += 3 {
			w.fuzz(data[n], data[n+1], data[n+2])
		}
		w.replayed()
		for _, bad := range w.faults {
			t.Error(bad)
		}
		if w.status.Ended() {
			return
		}
		w.finish() // invariant 8
		if !w.status.Ended() {
			t.Errorf("workers answer and time passes, and the run is %s\n%s", w.status, w.root)
		}
		for _, bad := range w.faults {
			t.Error(bad)
		}
	})
}

// fuzz does one thing to the run: what, to which task or timer, with which value.
func (w *world) fuzz(what, which, value byte) {
	path := "a"
	if paths := sortedTasks(w); len(paths) > 0 && which < 250 {
		path = paths[int(which)%len(paths)]
	} else if which >= 250 {
		path = []string{"", "a~2", "a~undo", "nobody", "c~2/p/q", "d[1]!go"}[which-250]
	}
	ev := Event{Path: path, Attempt: 1}
	if task := w.tasks[path]; task != nil {
		ev.Attempt = task.Attempt + 1 - int(value)/200
	}
	switch what % 16 {
	case 0, 1:
		ev.Kind, ev.Payload = TaskSucceeded, json.RawMessage(fmt.Sprint(value%8))
	case 2:
		ev.Kind, ev.Payload = TaskFailed, encode(&Error{Code: string('x' + rune(value%3)), Permanent: value%2 == 0, Final: value%16 == 3})
	case 3:
		ev.Kind = TaskLost
	case 4:
		ev.Kind = TaskReleased
	case 5:
		if task := w.tasks[path]; task != nil {
			task.held = value%2 == 0
		}
		return
	case 6:
		w.pass()
		return
	case 7:
		ev.Kind, ev.Name, ev.Payload = EventReceived, string('a'+rune(value%3)), json.RawMessage("1")
		ev.Path = ""
	default:
		if ev = w.fuzzOrder(what%16, which, value, ev); ev.Kind == "" {
			return
		}
	}
	w.tell(ev)
}

// fuzzOrder is what a person, or an outcome that comes too late, tells the run.
func (w *world) fuzzOrder(what, which, value byte, ev Event) Event {
	o := Order{By: "ann", Again: value%2 == 0}
	switch what {
	case 8:
		if value < 64 {
			return Event{Kind: CancelRequested, Payload: encode(o)}
		}
	case 9:
		if value < 32 {
			return Event{Kind: AbortRequested, Payload: encode(o)}
		}
	case 10:
		return Event{Kind: PauseRequested, Payload: encode(o)}
	case 11:
		return Event{Kind: ResumeRequested, Payload: encode(o)}
	case 12, 13:
		letter := w.letterAt(int(which))
		if value%4 == 0 {
			o.Input = json.RawMessage("5")
		}
		return Event{Kind: []EventKind{RedriveRequested, DropRequested}[what-12], Name: string(letter.Kind), Path: letter.Path, Payload: encode(o)}
	case 14:
		ev.Kind, ev.Name, ev.Payload = TaskLate, []string{LateSuccess, LateFailure}[value%2], json.RawMessage(fmt.Sprint(value%8))
		ev.Attempt = max(1, ev.Attempt-1)
		return ev
	case 15:
		if value%4 == 0 {
			o.From = w.def.Body.Steps[int(which)%len(w.def.Body.Steps)].Key
		}
		return Event{Kind: RetryRequested, Payload: encode(o)}
	}
	return Event{}
}

// letterAt gives an open letter, and one that is not open when none is.
func (w *world) letterAt(which int) OpenLetter {
	ids := slices.Sorted(maps.Keys(w.letters))
	if len(ids) == 0 || which == 255 {
		return OpenLetter{Kind: LetterParked, Path: "a"}
	}
	return w.letters[ids[which%len(ids)]]
}

// pass lets time go to the next timer, or to the next task that is due.
func (w *world) pass() {
	name, due, task := w.next()
	if name == "" {
		return
	}
	w.now = max(w.now, due)
	if !task {
		w.tell(Event{Kind: TimerFired, Path: name})
	}
}

// finish lets all workers succeed, time pass and people answer until the run has ended, within a bound.
func (w *world) finish() {
	for n := 0; n < 2000 && !w.status.Ended(); n++ {
		if w.status == Paused {
			w.tell(Event{Kind: ResumeRequested, Payload: encode(Order{})})
		}
		if paths := sortedTasks(w); len(paths) > 0 {
			w.tell(Event{
				Kind: TaskSucceeded, Path: paths[0], Attempt: w.tasks[paths[0]].Attempt + 1, Payload: json.RawMessage("7"),
			})
			continue
		}
		if w.status == Parked && len(w.timers) == 0 {
			l := w.letterAt(n)
			w.tell(Event{Kind: RedriveRequested, Name: string(l.Kind), Path: l.Path, Payload: encode(Order{})})
		}
		w.pass()
	}
}
