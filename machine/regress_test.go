package machine

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/millrace-go/millrace/workflow"
)

// runs drives a workflow in the dumb world: told says what to tell it, entry by entry, after its start.
func runs(t *testing.T, text string, told ...Event) *world {
	t.Helper()
	def, err := workflow.Read("t.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(def)
	w.tell(Event{Kind: RunStarted, Payload: json.RawMessage("null")})
	for _, ev := range told {
		w.tell(ev)
	}
	for _, bad := range w.faults {
		t.Error(bad)
	}
	return w
}

func succeeds(path string) Event {
	return Event{Kind: TaskSucceeded, Path: path, Attempt: 1, Payload: json.RawMessage("1")}
}

func failsWith(path, code string) Event {
	return Event{Kind: TaskFailed, Path: path, Attempt: 1, Payload: encode(&Error{Code: code, Permanent: true})}
}

func TestTasksInTheCatchOfAnItemsOnlyStepAreLive(t *testing.T) {
	t.Parallel()
	w := runs(t, `workflow: t
steps:
  m: { map: { over: "[1]", do: { task: h, catch: { steps: [ { id: x, task: h } ] } } } }
`, failsWith("m[0]", "a"))
	if w.tasks["m[0]/catch-1/x"] == nil {
		t.Errorf("live are %v", sortedTasks(w))
	}
	w.tell(succeeds("m[0]/catch-1/x"))
	if w.status != Succeeded {
		t.Errorf("the run is %s", w.status)
	}
}

func TestBlockUnderDoHasAScopeOfItsOwn(t *testing.T) {
	t.Parallel()
	const text = `workflow: t
steps:
  p:
    parallel:
      a: { do: { steps: [ { id: x, task: h }, { id: y, task: h } ], retry: { attempts: 2, jitter: 0 }, catch: { do: { task: h } } } }
      b: { do: { task: h } }
`
	w := runs(t, text, succeeds("p/a/do/x"), failsWith("p/a/do/y", "broken"), Event{Kind: TimerFired, Path: "p/a!retry"})
	if w.tasks["p/a~2/do/x"] == nil {
		t.Fatalf("live are %v", sortedTasks(w))
	}
	for _, ev := range []Event{failsWith("p/a~2/do/x", "broken"), succeeds("p/a/catch-1"), succeeds("p/b")} {
		w.tell(ev)
	}
	w.replayed()
	for _, bad := range w.faults {
		t.Error(bad)
	}
	if w.status != Succeeded {
		t.Errorf("the run is %s", w.status)
	}
}

func TestFailureInTheCatchOfASupersededStepFailsNothing(t *testing.T) {
	t.Parallel()
	w := runs(t, `workflow: t
steps:
  a: { task: h }
  b: { task: h, catch: { do: { task: h } } }
  c: { after: [a, b], join: any, task: h }
`, failsWith("b", "x"), succeeds("a"), failsWith("b/catch-1", "y"), succeeds("c"))
	if w.status != Succeeded {
		t.Errorf("the run is %s", w.status)
	}
}

func TestWhatWaitsForTheCatchOfACancelledStepGoesOn(t *testing.T) {
	t.Parallel()
	const text = `workflow: t
steps:
  a: { task: h }
  b: { %s, catch: { only: x, next: d } }
  c: { after: [a, b], join: any, cancel_rest: true, task: h }
  d: { after: e, task: h }
  e: { task: h }
`
	for name, b := range map[string]string{"task": "task: h", "composite": "map: { over: '[1]', do: { task: h } }", "not reached": "after: late, task: h"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			late := ""
			if name == "not reached" {
				late = "  late: { task: h, after: e }\n"
			}
			w := runs(t, fmt.Sprintf(text, b)+late, succeeds("a"), succeeds("e"), succeeds("late"), succeeds("c"), succeeds("d"))
			if w.status != Succeeded {
				t.Errorf("the run is %s:\n%s", w.status, w.root)
			}
		})
	}
}

func TestCancelRestStopsWhatItsOwnJoinSupersedes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]string{
		"of a need":       "c: { after: a, need: 1, cancel_rest: true, parallel: { x: { do: { task: h } } } }",
		"of another join": "c: { after: [a, e], join: any, cancel_rest: true, task: h }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := runs(t, `workflow: t
steps:
  b: { task: h }
  e: { task: h }
  d: { after: [b, e], join: any, task: h }
  a: { task: h }
  `+c+"\n", succeeds("e"), succeeds("a"))
			if w.tasks["b"] == nil || w.tasks["b"].stop {
				t.Errorf("b was stopped; live are %v", sortedTasks(w))
			}
		})
	}
}
