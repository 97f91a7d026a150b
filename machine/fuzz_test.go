package machine

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/millrace-go/millrace/workflow"
)

// zoo is one workflow with something of everything.
const zoo = `workflow: zoo
steps:
  a: { task: h, retry: { attempts: 2, jitter: 0 }, catch: { only: [x], next: c } }
  b: { after: a, when: "prev != 0", map: { over: "[1, 2, 3]", parallel: 2, tolerate: 1, do: { task: h } }, on_error: continue }
  c: { parallel: { p: { steps: [ { id: q, task: h }, { id: r, wait: 5s } ] }, s: { do: { task: h } } }, need: 1, timeout: 1m, retry: 2 }
  d: { after: [b, c], join: any, cancel_rest: true, loop: { until: "prev == 7", limit: 3, every: 1s, collect: true, do: { task: h } }, catch: { do: { task: h } } }
  e: { after: a, switch: [ { when: "prev == 1", do: { task: h } }, { when: "prev == 2", steps: [ { id: m, map: { over: "[[1],[2]]", as: row, steps: { n: { map: { over: row, do: { task: h } } } } } } ] }, { next: f } ] }
  f: { task: h, on_error: skip }
  g: { after: [d, e, f], join: settled, steps: [ { id: x, task: h }, { id: y, switch: [ { when: "prev == 3", next: x } ] } ] }
`

// FuzzApply tells a run whatever the bytes say, sensible or not: Apply never panics, never asks for what nobody stored, keeps
// the invariants, and the journal replays to the stored state.
func FuzzApply(f *testing.F) {
	def, err := workflow.Read("zoo.yaml", []byte(zoo))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{0, 0, 1, 0, 0, 2, 0, 1, 3, 1, 0, 4})
	f.Add([]byte{0, 0, 0, 0, 1, 1, 1, 2, 2, 5, 0, 0, 3, 0, 7, 0, 1, 3, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
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
		path = []string{"", "a~2", "b[9]", "nobody", "c~2/p/q", "d[1]!go"}[which-250]
	}
	ev := Event{Path: path, Attempt: 1}
	if task := w.tasks[path]; task != nil {
		ev.Attempt = task.Attempt + 1 - int(value)/200
	}
	switch what % 8 {
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
	}
	w.tell(ev)
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

// finish lets all workers succeed and time pass until the run has ended, within a bound.
func (w *world) finish() {
	for n := 0; n < 2000 && !w.status.Ended(); n++ {
		if paths := sortedTasks(w); len(paths) > 0 {
			w.tell(Event{
				Kind: TaskSucceeded, Path: paths[0], Attempt: w.tasks[paths[0]].Attempt + 1, Payload: json.RawMessage("7"),
			})
			continue
		}
		w.pass()
	}
}
