package workflow_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/workflow"
)

// undoing gives the compensation that calls this handler.
func undoing(t *testing.T, d *workflow.Definition, handler string) *workflow.Step {
	t.Helper()
	for _, s := range d.Steps {
		if task, ok := s.Action.(*workflow.Task); ok && task.Handler == handler {
			return s
		}
	}
	t.Fatalf("nothing calls %s", handler)
	return nil
}

// X2: a compensation sees the names that its step saw, wherever that stands: its own body is level 0, the step's scope 1.
func TestACompensationSeesWhatItsStepSaw(t *testing.T) {
	t.Parallel()
	seen := func(keys ...string) (all []workflow.StepUse) {
		for i, key := range keys {
			all = append(all, workflow.StepUse{Key: key, Up: i + 1, Output: true})
		}
		return all
	}
	for name, c := range map[string]struct {
		steps, finally string
		with           string
		want           workflow.Uses
	}{
		"in a graph": {
			steps: `{ a: { task: a }, b: { after: a, task: b, compensate: UNDO } }`, with: `${ steps.a.output }`,
			want: workflow.Uses{Steps: seen("a")},
		},
		"in a list": {
			steps: `[{ id: a, task: a }, { task: b, compensate: UNDO }]`, with: `${ steps.a.output }`,
			want: workflow.Uses{Steps: seen("a")},
		},
		"its own step": {
			steps: `[{ task: a }, { id: b, task: b, compensate: UNDO }]`, with: `${ steps.b.status } ${ steps.b.output }`,
			want: workflow.Uses{Steps: []workflow.StepUse{{Key: "b", Up: 1, Index: 1, Output: true, Status: true}}},
		},
		"the item of a map with one step": {
			steps: `[{ map: { over: input.l, as: line, do: { task: b, compensate: UNDO } } }]`, with: `${ line } ${ line_index }`,
			want: workflow.Uses{Items: []workflow.ItemUse{{Name: "line", Up: 1}}},
		},
		"around a map with one step": {
			steps: `[{ id: a, task: a }, { map: { over: input.l, do: { task: b, compensate: UNDO } } }]`, with: `${ steps.a.output } ${ item }`,
			want: workflow.Uses{Items: []workflow.ItemUse{{Name: "item", Up: 1}}, Steps: []workflow.StepUse{{Key: "a", Up: 2, Output: true}}},
		},
		"inside a map": {
			steps: `[{ map: { over: input.l, steps: [{ id: a, task: a }, { task: b, compensate: UNDO }] } }]`, with: `${ steps.a.output } ${ item }`,
			want: workflow.Uses{Items: []workflow.ItemUse{{Name: "item", Up: 1}}, Steps: seen("a")},
		},
		"items of two maps": {
			steps: `[{ map: { over: input.l, as: outer, do: { map: { over: outer, as: inner, do: { task: b, compensate: UNDO } } } } }]`, with: `${ outer } ${ inner }`,
			want: workflow.Uses{Items: []workflow.ItemUse{{Name: "inner", Up: 1}, {Name: "outer", Up: 2}}},
		},
		"the pass of a loop": {
			steps: `[{ loop: { over: input.l, as: row, do: { task: b, compensate: UNDO } } }]`, with: `${ pass.number } ${ row }`,
			want: workflow.Uses{Items: []workflow.ItemUse{{Name: "row", Up: 1}}, Passes: []workflow.PassUse{{Up: 1}}},
		},
		"around a loop": {
			steps: `{ a: { task: a }, l: { after: a, loop: { limit: 2, steps: { b: { task: b, compensate: UNDO } } } } }`, with: `${ pass.previous } ${ steps.a.output }`,
			want: workflow.Uses{Passes: []workflow.PassUse{{Up: 1}}, Steps: []workflow.StepUse{{Key: "a", Up: 2, Output: true}}},
		},
		"in a branch": {
			steps: `{ a: { task: a }, p: { after: a, parallel: { x: { do: { task: b, compensate: UNDO } } } } }`, with: `${ steps.a.output }`,
			want: workflow.Uses{Steps: []workflow.StepUse{{Key: "a", Up: 2, Output: true}}},
		},
		"in a catch": {
			steps: `[{ id: a, task: a, catch: { do: { task: b, compensate: UNDO } } }]`, with: `${ steps.a.error }`,
			want: workflow.Uses{Steps: []workflow.StepUse{{Key: "a", Up: 2, Error: true}}},
		},
		"in a case": {
			steps: `[{ id: a, task: a }, { switch: [{ steps: [{ id: c, task: c }, { task: b, compensate: UNDO }] }] }]`, with: `${ steps.c.output } ${ steps.a.output }`,
			want: workflow.Uses{Steps: seen("c", "a")},
		},
		"of a whole composite": {
			steps: `[{ id: a, task: a }, { map: { over: input.l, do: { task: b } }, compensate: UNDO }]`, with: `${ steps.a.output }`,
			want: workflow.Uses{Steps: seen("a")},
		},
		"of an item's composite": {
			steps: `[{ map: { over: input.l, do: { steps: [{ task: b }], compensate: UNDO } } }]`, with: `${ item }`,
			want: workflow.Uses{Items: []workflow.ItemUse{{Name: "item", Up: 1}}},
		},
		"in the list of finally": {
			steps: `{ a: { task: a } }`, finally: `{ steps: [{ id: f, task: f }, { task: b, compensate: UNDO }] }`, with: `${ steps.f.output } ${ steps.a.output }`,
			want: workflow.Uses{Steps: seen("f", "a")},
		},
		"of the one step of finally": {
			steps: `{ a: { task: a } }`, finally: `{ do: { task: b, compensate: UNDO } }`, with: `${ steps.a.output } ${ run.ending }`,
			want: workflow.Uses{Run: true, Steps: []workflow.StepUse{{Key: "a", Up: 2, Output: true}}},
		},
		"what is known everywhere": {
			steps: `[{ map: { over: input.l, do: { task: b, compensate: UNDO } } }]`, with: `${ input } ${ prev } ${ task.attempt } ${ error.code } ${ step.key } ${ run.id }`,
			want: workflow.Uses{Input: true, Prev: true, Task: true, Error: true, Undone: true, Run: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "workflow: w\nsteps: " + c.steps + "\n"
			if c.finally != "" {
				text += "finally: " + c.finally + "\n"
			}
			undo := undoing(t, mustRead(t, strings.Replace(text, "UNDO", `{ task: undo, with: "`+c.with+`" }`, 1)), "undo")
			if diff := cmp.Diff(c.want, undo.Uses); diff != "" {
				t.Errorf("uses (-want +got):\n%s", diff)
			}
		})
	}
}

// X2: without `with` the input of a compensation is { key, input, output, error }, and no `prev`.
func TestACompensationWithoutWithReadsTheStepItUndoes(t *testing.T) {
	t.Parallel()
	d := mustRead(t, `
workflow: w
compensations: { shared: { task: shared } }
steps:
  - { task: a, with: 1, compensate: { task: undo } }
  - { task: b, compensate: shared }
  - { run: [c], compensate: { run: [undo], stdin: none } }
  - { http: { url: "https://a.test" }, compensate: { http: { method: DELETE, url: "https://a.test/${ step.key }" } } }
`)
	both := workflow.Uses{Undone: true, Error: true}
	for i, want := range []workflow.Uses{both, both, {}, {Undone: true}} {
		if diff := cmp.Diff(want, d.Body.Steps[i].Compensate.Step.Uses); diff != "" {
			t.Errorf("uses of what undoes %s (-want +got):\n%s", d.Body.Steps[i].Key, diff)
		}
	}
}

func TestWhatAWorkflowSaysOfItsFailureIsRead(t *testing.T) {
	t.Parallel()
	d := mustRead(t, `
workflow: w
deadline: 3d
on_failure: park
on_compensation_failure: continue
compensations:
  first: { task: one, retry: 9, timeout: 1m, queue: slow, once: true }
  second: { run: [two] }
steps:
  - { id: a, task: a, compensate: second, at_most_once: true }
  - { id: b, task: b, compensate: first, compensate_unknown: false }
  - { id: c, task: c, compensate: { shell: three, env: { K: "${ step.key }" } }, compensate_unknown: true }
  - { savepoint: true }
  - { task: d }
finally: { do: { task: e } }
`)
	if d.Deadline != 3*day || d.OnFailure != workflow.Park || d.OnCompensationFailure != workflow.ContinueUndoing || d.Finally.Steps[0].Key != "do" {
		t.Errorf("read %+v", d)
	}
	a, b, c := d.Body.Steps[0], d.Body.Steps[1], d.Body.Steps[2]
	if a.Compensate != d.Compensations[1] || !a.AtMostOnce || a.CompensateUnknown != nil || a.Compensate.Once {
		t.Errorf("a: %+v", a)
	}
	if first := d.Compensations[0]; b.Compensate != first || *b.CompensateUnknown || !first.Once || first.Step.Retry[0].Attempts != 9 || first.Step.Queue != "slow" {
		t.Errorf("b: %+v", b)
	}
	if c.Compensate.Name != "" || !*c.CompensateUnknown || !c.Compensate.Step.Uses.Undone || c.Compensate.Step.Body.Parent != c {
		t.Errorf("c: %+v", c)
	}
	if _, ok := d.Body.Steps[3].Action.(*workflow.Savepoint); !ok || d.NotYet() != nil {
		t.Errorf("the mark: %+v, not yet: %v", d.Body.Steps[3], d.NotYet())
	}
	if plain := mustRead(t, "workflow: w\nsteps: [{ task: a }]\n"); plain.OnFailure != workflow.Compensate || plain.OnCompensationFailure != workflow.StopUndoing {
		t.Errorf("left out: %+v", plain)
	}
}

// X5: a savepoint that protects nothing, or that cannot say what, is a mistake; so is undoing that is never asked for.
func TestMistakesAboutUndoing(t *testing.T) {
	t.Parallel()
	const outside = "a savepoint stands at the root only; put it among the steps at the top"
	const nothing = "`on_failure: fail` undoes nothing, and here are compensations; leave it out, or take the compensations out"
	for name, c := range map[string]struct{ text, want string }{
		"a savepoint in a block":          {"steps: [{ steps: [{ savepoint: true }] }]", outside},
		"a savepoint in a branch":         {"steps: [{ parallel: { x: { do: { savepoint: true } } } }]", outside},
		"a savepoint in an item":          {"steps: [{ map: { over: input.l, do: { savepoint: true } } }]", outside},
		"a savepoint in a case":           {"steps: [{ switch: [{ do: { savepoint: true } }] }]", outside},
		"a savepoint in a catch":          {"steps: [{ task: a, catch: { do: { savepoint: true } } }]", outside},
		"a savepoint in finally":          {"steps: [{ task: a }]\nfinally: { do: { savepoint: true } }", outside},
		"a savepoint in a list finally":   {"steps: [{ task: a }]\nfinally: { steps: [{ savepoint: true }] }", outside},
		"fail with a compensation":        {"on_failure: fail\nsteps: [{ task: a, compensate: { task: u } }]", nothing},
		"fail with one deep inside":       {"on_failure: fail\nsteps: [{ map: { over: input.l, do: { task: a, compensate: { task: u } } } }]", nothing},
		"fail with one that is shared":    {"on_failure: fail\ncompensations: { u: { task: u } }\nsteps: [{ task: a, compensate: u }]", nothing},
		"fail with one that nobody names": {"on_failure: fail\ncompensations: { u: { task: u } }\nsteps: [{ task: a }]", nothing},
		"a compensation that is undone":   {"steps: [{ task: a, compensate: { task: u, compensate: { task: v } } }]", "`compensate` is not a key of a compensation"},
		"a compensation of a wait":        {"steps: [{ wait: 1s, compensate: { task: u } }]", "`compensate` does not belong to `wait`"},
		"a savepoint with a compensation": {"steps: [{ savepoint: true, compensate: { task: u } }]", "`compensate` does not belong to `savepoint`"},
		"a later step of the list":        {"steps: [{ task: a, compensate: { task: u, with: \"${ steps.b.output }\" } }, { id: b, task: b }]", "`b` cannot have run before"},
		"a step in a shared one":          {"compensations: { u: { task: u, with: \"${ steps.a.output }\" } }\nsteps: [{ id: a, task: a, compensate: u }]", "it belongs to a body that this expression does not stand in"},
		"an unknown left to nobody":       {"steps: [{ task: a, compensate_unknown: false }]", "`compensate_unknown` says nothing where nothing undoes the step"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := message(t, "w.yaml", "workflow: w\n"+c.text+"\n"); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
