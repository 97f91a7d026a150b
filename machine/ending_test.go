package machine

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs/machine.md 1: a run whose journal is full fails wherever it stands, and so does its finally.
func TestAFullJournalEndsTheRun(t *testing.T) {
	t.Parallel()
	w := runs(t, "workflow: t\nfinally: { do: { task: h } }\nsteps:\n  - { id: a, task: h, compensate: { task: u } }\n  - { id: b, task: h }\n")
	w.seq = MaxJournal
	w.tell(succeeds("a"))
	if w.tasks["a~undo"] == nil || w.tasks["b"] != nil {
		t.Fatalf("live are %v", sortedTasks(w))
	}
	for _, path := range []string{"a~undo", "finally"} {
		w.tell(succeeds(path))
	}
	e := w.load("", true).Root.Run.Error
	if w.status != Failed || e == nil || e.Code != CodeJournalLimit {
		t.Errorf("the run is %s: %v", w.status, e)
	}
}

// X2: what a compensation sees of other steps, of its item and of its pass is what they were, by the names of its own programs.
func TestCompensationsSeeWhatTheirStepsSawAndMore(t *testing.T) {
	t.Parallel()
	w := runs(t, `workflow: t
steps:
  - { id: a, task: h }
  - { id: b, task: h, on_error: continue }
  - id: c
    task: h
    with: { a: "${ steps.a.output }" }
    compensate: { task: u, with: { b: "${ steps.b.status } ${ steps.b.error?.code }", a: "${ steps.a.output }", by: "${ input }", of: "${ step.output }" } }
  - { id: m, map: { over: "[7]", as: it, steps: [ { id: x, task: h, compensate: { task: u, with: "${ it } ${ it_index } ${ steps.a.status }" } }, { id: y, task: h } ] } }
`, succeeds("a"), failsWith("b", "x"), succeeds("c"), succeeds("m[0]/x"), failsWith("m[0]/y", "y"))
	got := []string{w.input(w.tasks["m[0]/x~undo"])}
	w.tell(succeeds("m[0]/x~undo"))
	got = append(got, w.input(w.tasks["c~undo"]))
	want := []string{`"7 0 succeeded"`, `{"b":"failed x","a":1,"by":null,"of":1}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}

func TestOutcomesThatCannotBeReadAreFailures(t *testing.T) {
	t.Parallel()
	w := runs(t, "workflow: t\nsteps:\n  - { id: a, task: h }\n", Event{Kind: TaskFailed, Path: "a", Attempt: 1, Payload: json.RawMessage(`"?"`)})
	if e := w.load("", true).Root.Run.Error; w.status != Failed || e.Code != "error" {
		t.Errorf("the run is %s: %v", w.status, e)
	}
}
