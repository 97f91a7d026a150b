package workflow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/workflow"
)

func step(t *testing.T, d *workflow.Definition, key string) *workflow.Step {
	t.Helper()
	for _, s := range d.Steps {
		if s.Key == key {
			return s
		}
	}
	t.Fatalf("no step %s", key)
	return nil
}

func TestEdgesAreOnePerPairAndCaughtComesBeforeNextBeforeNormal(t *testing.T) {
	t.Parallel()
	d := mustRead(t, `
workflow: w
steps:
  a: { task: a, catch: [{ only: [x, y], next: d }, { only: z, next: e }, { next: d }] }
  b: { after: a, switch: [{ when: input.x, next: c }, { when: input.y, next: d }, { next: c }] }
  c: { after: b, task: c }
  d: { after: [a, b], join: any, task: d }
  e: { after: d, join: settled, task: e }
`)
	want := map[string][]workflow.Edge{
		"a": {
			{From: 0, To: 1}, {From: 0, To: 3, Kind: workflow.Caught, Cases: []int{0, 2}}, {From: 0, To: 4, Kind: workflow.Caught, Cases: []int{1}},
		},
		"b": {{From: 1, To: 2, Kind: workflow.Next, Cases: []int{0, 2}}, {From: 1, To: 3, Kind: workflow.Next, Cases: []int{1}}},
		"c": nil,
		"d": {{From: 3, To: 4}},
		"e": nil,
	}
	for key, edges := range want {
		if diff := cmp.Diff(edges, step(t, d, key).Out); diff != "" {
			t.Errorf("edges that leave %s:\n%s", key, diff)
		}
	}
	if diff := cmp.Diff([]int{0}, d.Body.First); diff != "" {
		t.Errorf("first:\n%s", diff)
	}
	if diff := cmp.Diff([]int{2, 4}, d.Body.Last); diff != "" {
		t.Errorf("last:\n%s", diff)
	}
	if s := step(t, d, "d"); s.InputEdges != 1 || !s.CaughtHere || s.Join.Kind != workflow.JoinAny {
		t.Errorf("d: %d input edges, caught here %v, join %v", s.InputEdges, s.CaughtHere, s.Join)
	}
	if s := step(t, d, "e"); s.InputEdges != 1 || !s.CaughtHere || s.Join.Kind != workflow.JoinSettled {
		t.Errorf("e: %d input edges, caught here %v, join %v", s.InputEdges, s.CaughtHere, s.Join)
	}
}

func TestAnEdgeRejoinsWhenTheCatchOfItsSourceLeadsToItsTarget(t *testing.T) {
	t.Parallel()
	d := mustRead(t, `
workflow: w
steps:
  a: { task: a, catch: { next: mend } }
  mend: { task: mend }
  b: { after: a, task: b }
  c: { after: [a, mend], task: c }
`)
	if diff := cmp.Diff([]workflow.Edge{
		{From: 0, To: 1, Kind: workflow.Caught, Cases: []int{0}}, {From: 0, To: 2}, {From: 0, To: 3, Rejoins: true},
	}, step(t, d, "a").Out); diff != "" {
		t.Error(diff)
	}
}

func TestSequencesResolveTheirWays(t *testing.T) {
	t.Parallel()
	d := mustRead(t, `
workflow: w
steps:
  - { task: a, next: b }
  - { id: b, task: b, catch: { next: end } }
  - { task: c, next: d }
  - { id: d, switch: [{ when: input.x, next: b }, { when: input.y, next: end }, { do: { task: e } }] }
  - { end: true, when: input.z }
  - { run: [x], next: end }
`)
	var got []string
	for _, s := range d.Body.Steps {
		got = append(got, fmt.Sprintf("%s -> %d", s.Key, s.NextIndex))
	}
	if diff := cmp.Diff([]string{"task-1 -> 1", "b -> 2", "task-2 -> 3", "d -> 4", "end-1 -> 5", "run-1 -> 6"}, got); diff != "" {
		t.Error(diff)
	}
	w, _ := step(t, d, "d").Action.(*workflow.Switch)
	if w.Cases[0].NextTo != 1 || w.Cases[1].NextTo != 6 || step(t, d, "b").Catch[0].NextTo != 6 {
		t.Errorf("cases lead to %d and %d, the catch to %d", w.Cases[0].NextTo, w.Cases[1].NextTo, step(t, d, "b").Catch[0].NextTo)
	}
}

func TestStepsAndBodiesAreNumberedInReadingOrder(t *testing.T) {
	t.Parallel()
	d := mustRead(t, `
workflow: w
steps:
  a:
    parallel:
      x: { do: { task: one } }
      y: { steps: [{ id: two, task: two }] }
    catch: { do: { task: three } }
  b:
    switch:
      - { when: input.x, next: c }
      - { steps: { four: { task: four } } }
  c: { map: { over: input.list, do: { loop: { limit: 2, do: { task: five } } } } }
`)
	var steps, bodies []string
	for i, s := range d.Steps {
		steps = append(steps, fmt.Sprintf("%d %s in %d", s.ID, s.Key, s.Body.ID))
		if s.ID != i {
			t.Errorf("step %d has the number %d", i, s.ID)
		}
	}
	for _, b := range d.Bodies {
		parent := "root"
		if b.Parent != nil {
			parent = b.Parent.Key
		}
		bodies = append(bodies, fmt.Sprintf("%d %s %q %d", b.ID, parent, b.Slot, b.Kind))
	}
	if diff := cmp.Diff([]string{
		"0 a in 0", "1 do in 1", "2 two in 2", "3 do in 3", "4 b in 0", "5 four in 4", "6 c in 0", "7 do in 5", "8 do in 6",
	}, steps); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		`0 root "" 0`, `1 a "x" 2`, `2 a "y" 1`, `3 a "catch-1" 2`, `4 b "case-2" 0`, `5 c "" 2`, `6 do "" 2`,
	}, bodies); diff != "" {
		t.Error(diff)
	}
	if a := step(t, d, "a"); !a.IsComposite || a.IsTask || len(a.Bodies) != 3 {
		t.Errorf("a: composite %v, task %v, %d bodies", a.IsComposite, a.IsTask, len(a.Bodies))
	}
}

func TestUsesSayWhatEachPlaceReads(t *testing.T) {
	t.Parallel()
	d := mustRead(t, `
workflow: w
steps:
  a: { task: a }
  plain: { after: a, run: [x] }
  quiet: { after: a, run: [x], stdin: none }
  asks: { after: a, run: [x, "${ prev.y }"], stdin: none, when: 'steps.a.status == "x" && input.z', env: { K: "${ task.key }" } }
  each:
    after: asks
    with: "${ prev }"
    map:
      over: steps.a.output.list
      as: row
      need: input.n
      steps:
        - id: inner
          loop:
            over: row.parts
            as: part
            while: prev != 1 && pass.number < 3
            until: part == input.stop && part_index > 1
            limit: steps.a.error.data.n ?? 3
            do:
              task: t
              with: { part: "${ part }", row: "${ row_index }", pass: "${ pass.previous }", a: "${ steps.a.output }", run: "${ run }", step: "${ steps.a }" }
        - { task: u, when: steps.inner.output != 1 }
    catch: { when: 'error.code == "x"', do: { fail: { message: "${ error.message }", data: "${ steps.each.failed }" } } }
  last: { after: each, switch: [{ when: "steps.each.failed == []", do: { end: { output: "${ steps.each.output }" } } }] }
output: "${ steps.each.output }${ run.key }"
`)
	a := workflow.StepUse{Key: "a"}
	use := func(u workflow.StepUse, up int, what string) workflow.StepUse {
		u.Up = up
		u.Output, u.Status, u.Error, u.Failed = strings.Contains(what, "o"), strings.Contains(what, "s"), strings.Contains(what, "e"), strings.Contains(what, "f")
		u.Bare = strings.Contains(what, "b")
		return u
	}
	inner := step(t, d, "inner")
	loop, _ := inner.Action.(*workflow.Loop)
	task := loop.Body.Steps[0]
	each := step(t, d, "each")
	each0 := workflow.StepUse{Key: "each", Index: 4}
	failing := each.Catch[0].Body.Steps[0]
	last, _ := step(t, d, "last").Action.(*workflow.Switch)
	for name, c := range map[string]struct{ got, want workflow.Uses }{
		"a worker without with reads prev":          {step(t, d, "plain").Uses, workflow.Uses{Prev: true}},
		"one that reads no input does not":          {step(t, d, "quiet").Uses, workflow.Uses{}},
		"unless it mentions it":                     {step(t, d, "asks").Uses, workflow.Uses{Prev: true, Task: true}},
		"when":                                      {step(t, d, "asks").WhenUses, workflow.Uses{Input: true, Steps: []workflow.StepUse{use(a, 0, "s")}}},
		"over and the with of a composite":          {each.ActionUses, workflow.Uses{Prev: true, Steps: []workflow.StepUse{use(a, 0, "ob")}}},
		"nothing is left to a worker in composites": {each.Uses, workflow.Uses{}},
		"need":                    {each.NeedUses, workflow.Uses{Input: true}},
		"a loop's list and limit": {inner.ActionUses, workflow.Uses{Steps: []workflow.StepUse{use(a, 1, "e")}, Items: []workflow.ItemUse{{Name: "row"}}}},
		"while":                   {loop.WhileUses, workflow.Uses{Prev: true, Passes: []workflow.PassUse{{Up: -1}}}},
		"until":                   {loop.UntilUses, workflow.Uses{Input: true, Items: []workflow.ItemUse{{Name: "part", Up: -1}}}},
		"what is inside a pass counts outwards": {task.Uses, workflow.Uses{
			Input: true, Run: true, Steps: []workflow.StepUse{use(a, 2, "osef")},
			Items: []workflow.ItemUse{{Name: "part", Up: 0}, {Name: "row", Up: 1}}, Passes: []workflow.PassUse{{Up: 0}},
		}},
		"the condition of a catch":  {each.Catch[0].WhenUses, workflow.Uses{Error: true}},
		"a catch sees its own step": {failing.ActionUses, workflow.Uses{Error: true, Steps: []workflow.StepUse{use(each0, 1, "f")}}},
		"a case":                    {last.Cases[0].WhenUses, workflow.Uses{Steps: []workflow.StepUse{use(each0, 0, "f")}}},
		"the output of an end":      {last.Cases[0].Body.Steps[0].ActionUses, workflow.Uses{Steps: []workflow.StepUse{use(each0, 1, "o")}}},
		"the workflow's output":     {d.OutputUses, workflow.Uses{Run: true, Steps: []workflow.StepUse{use(each0, 0, "o")}}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	named := map[string][2]bool{"a": {true, true}, "each": {true, true}, "inner": {true, false}, "plain": {}, "last": {}}
	for key, want := range named {
		if s := step(t, d, key); s.Named != want[0] || s.NamedError != want[1] {
			t.Errorf("%s: named %v, its error %v; want %v", key, s.Named, s.NamedError, want)
		}
	}
}

func TestDefaultsAreFilledIn(t *testing.T) {
	t.Parallel()
	d := mustRead(t, `
workflow: w
steps:
  a: { shell: "true", retry: 5, queue: default }
  b: { task: b, retry: [{ delays: [1s, 2s], only: x }, {}] }
  c: { map: { over: input.l, tolerate: 12.5%, do: { fail: { message: 3 } } } }
  d: { map: { over: input.l, tolerate: 2, do: { wait: PT1M30S } } }
  e: { loop: { over: input.l, do: { end: {} } } }
`)
	five := workflow.DefaultRetry()
	five.Attempts = 5
	listed := workflow.DefaultRetry()
	listed.Attempts, listed.Delays, listed.Only = 3, []time.Duration{time.Second, 2 * time.Second}, []string{"x"}
	if diff := cmp.Diff([]workflow.RetryPolicy{five}, step(t, d, "a").Retry); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]workflow.RetryPolicy{listed, workflow.DefaultRetry()}, step(t, d, "b").Retry); diff != "" {
		t.Error(diff)
	}
	c, _ := step(t, d, "a").Action.(*workflow.Command)
	if c.Stdin != workflow.StdinJSON || c.Stdout != workflow.StdoutAuto || c.Name() != "shell" || step(t, d, "a").Queue != "" {
		t.Errorf("a: %+v", c)
	}
	m, _ := step(t, d, "c").Action.(*workflow.Map)
	f, _ := m.Body.Steps[0].Action.(*workflow.Fail)
	if m.As != "item" || m.Tolerate != (workflow.Tolerate{Percent: 12.5}) || f.Code != "failed" || string(f.Message.Raw()) != `"3"` {
		t.Errorf("c: %+v %+v", m, f)
	}
	m, _ = step(t, d, "d").Action.(*workflow.Map)
	w, _ := m.Body.Steps[0].Action.(*workflow.Wait)
	if m.Tolerate != (workflow.Tolerate{Count: 2}) || w.For != 90*time.Second {
		t.Errorf("d: %+v %+v", m, w)
	}
	l, _ := step(t, d, "e").Action.(*workflow.Loop)
	if l.As != "item" || l.Limit != nil {
		t.Errorf("e: %+v", l)
	}
	var names []string
	for _, s := range d.Steps {
		names = append(names, s.Action.Name())
	}
	if diff := cmp.Diff([]string{"shell", "task", "map", "fail", "map", "wait", "loop", "end"}, names); diff != "" {
		t.Error(diff)
	}
}

// Every step, case, catch and body knows where it was written.
func TestOriginsNameThePlaceInTheFile(t *testing.T) {
	t.Parallel()
	d := mustRead(t, `workflow: w
steps:
  a:
    switch:
      - { when: input.x, do: { task: one } }
    catch: [{ next: b }]
  b:
    steps:
      - { id: c, task: two }
`)
	a := step(t, d, "a")
	w, _ := a.Action.(*workflow.Switch)
	want := []workflow.Origin{
		{File: "test.yaml", Pointer: "/steps/a", Line: 3, Column: 3},
		{File: "test.yaml", Pointer: "/steps/a/switch/0", Line: 5, Column: 9},
		{File: "test.yaml", Pointer: "/steps/a/switch/0/do", Line: 5, Column: 30},
		{File: "test.yaml", Pointer: "/steps/a/catch/0", Line: 6, Column: 13},
		{File: "test.yaml", Pointer: "/steps/b/steps/0", Line: 9, Column: 9},
		{File: "test.yaml", Pointer: "/steps", Line: 3, Column: 3},
	}
	got := []workflow.Origin{a.Origin, w.Cases[0].Origin, w.Cases[0].Body.Origin, a.Catch[0].Origin, step(t, d, "c").Origin, d.Body.Origin}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The output of a step may be read into without asking exactly when every way to the reader goes through its success.
func TestOutputsThatMayBeNullMustBeAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps string
		wrong int
	}{
		"a step before": {`{ a: { task: a }, r: { after: a, task: r, with: "${ steps.a.output.x }" } }`, 0},
		"both branches of a fork that meet again": {
			`{ s: { task: s }, a: { after: s, task: a }, b: { after: s, task: b }, r: { after: [a, b], task: r, with: "${ steps.a.output.x + steps.b.output.x + steps.s.output.x }" } }`, 0,
		},
		"two first steps that meet": {`{ a: { task: a }, b: { task: b }, r: { after: [a, b], task: r, with: "${ steps.a.output.x + steps.b.output.x }" } }`, 0},
		"a fork behind a case": {
			`{ s: { switch: [{ when: input.x, next: f }, { next: o }] }, o: { task: o }, f: { task: f }, a: { after: f, task: a }, b: { after: f, task: b }, r: { after: [a, b], task: r, with: "${ steps.a.output.x + steps.f.output.x }" } }`, 0,
		},
		"one case of several": {
			`{ s: { switch: [{ when: input.x, next: a }, { next: b }] }, a: { task: a }, b: { task: b }, r: { after: [a, b], task: r, with: "${ steps.a.output.x }" } }`, 1,
		},
		"a join of any":     {`{ a: { task: a }, b: { task: b }, r: { after: [a, b], join: any, task: r, with: "${ steps.a.output.x }" } }`, 1},
		"a join of settled": {`{ a: { task: a }, b: { task: b }, r: { after: [a, b], join: settled, task: r, with: "${ steps.a.output.x }" } }`, 1},
		"what comes before a join of any on both ways": {
			`{ s: { task: s }, a: { after: s, task: a }, b: { after: s, task: b }, r: { after: [a, b], join: any, task: r, with: "${ steps.s.output.x }" } }`, 0,
		},
		"a step with when":             {`{ a: { task: a, when: input.x }, r: { after: a, task: r, with: "${ steps.a.output.x }" } }`, 1},
		"asked with ?.":                {`{ a: { task: a, when: input.x }, r: { after: a, task: r, with: "${ steps.a.output?.x }" } }`, 0},
		"asked with ??":                {`{ a: { task: a, when: input.x }, r: { after: a, task: r, with: "${ steps.a.output.x ?? 1 }" } }`, 0},
		"asked in the same program":    {`{ a: { task: a, when: input.x }, r: { after: a, task: r, with: "${ steps.a.output != nil ? steps.a.output.x : 1 }" } }`, 0},
		"asked by the reader's when":   {`{ a: { task: a, when: input.x }, r: { after: a, when: 'steps.a.status == "succeeded"', task: r, with: "${ steps.a.output.x }" } }`, 0},
		"its when does not ask itself": {`{ a: { task: a, when: input.x }, r: { after: a, when: steps.a.output.x > 1, task: r } }`, 1},
		"asked by the case that leads here": {
			`{ a: { task: a, when: input.x }, s: { after: a, switch: [{ when: steps.a.output != nil, next: r }] }, r: { task: r, with: "${ steps.a.output.x }" } }`, 0,
		},
		"asked by the case around":                  {`{ a: { task: a, when: input.x }, s: { after: a, switch: [{ when: steps.a.output != nil, do: { task: r, with: "${ steps.a.output.x }" } }] } }`, 0},
		"asked by the composite around":             {`{ a: { task: a, when: input.x }, s: { after: a, when: steps.a.output != nil, steps: [{ task: r, with: "${ steps.a.output.x }" }] } }`, 0},
		"asked by the while around":                 {`{ a: { task: a, when: input.x }, s: { after: a, loop: { while: steps.a.output != nil, do: { task: r, with: "${ steps.a.output.x }" } } } }`, 0},
		"asked by the catch around":                 {`{ a: { task: a, when: input.x }, s: { after: a, task: s, catch: { when: steps.a.output != nil, do: { task: r, with: "${ steps.a.output.x }" } } } }`, 0},
		"asked by the catch that leads":             {`{ a: { task: a, when: input.x }, s: { after: a, task: s, catch: { when: steps.a.output != nil, next: r } }, r: { task: r, with: "${ steps.a.output.x }" } }`, 0},
		"in a body, from outside":                   {`{ a: { task: a }, s: { after: a, map: { over: input.l, do: { task: r, with: "${ steps.a.output.x }" } } } }`, 0},
		"in a body, of what may be null":            {`{ a: { task: a, on_error: continue }, s: { after: a, map: { over: input.l, do: { task: r, with: "${ steps.a.output.x }" } } } }`, 1},
		"on_error skip goes on only with an output": {`{ a: { task: a, on_error: skip }, r: { after: a, task: r, with: "${ steps.a.output.x }" } }`, 0},
		"but another way does not": {
			`{ s: { task: s }, a: { after: s, task: a, on_error: skip }, b: { after: s, task: b }, r: { after: [a, b], task: r, with: "${ steps.a.output.x }" } }`, 1,
		},
		"a catch with a body":         {`{ a: { task: a, catch: { do: { task: m } } }, r: { after: a, task: r, with: "${ steps.a.output.x }" } }`, 0},
		"a catch that leads here too": {`{ a: { task: a, catch: { next: m } }, m: { task: m }, r: { after: [a, m], task: r, with: "${ steps.a.output.x }" } }`, 1},
		"a catch that leads elsewhere": {
			`{ a: { task: a, catch: { next: m } }, m: { task: m }, r: { after: a, task: r, with: "${ steps.a.output.x }" } }`, 0,
		},
		"the step whose catch leads here":  {`{ a: { task: a, catch: { next: m } }, m: { task: m, with: "${ steps.a.output.x }" } }`, 1},
		"the step from its own catch":      {`{ a: { task: a, catch: { do: { task: m, with: "${ steps.a.output.x }" } } } }`, 1},
		"the failed step's error":          {`{ a: { task: a, catch: { do: { task: m, with: "${ steps.a.error?.code }" } } } }`, 0},
		"a bare output that may be null":   {`{ a: { task: a, when: input.x }, r: { after: a, task: r, with: "${ steps.a.output }" } }`, 0},
		"a key with a dash":                {`{ a-b: { task: a, when: input.x }, r: { after: a-b, task: r, with: "${ steps[\"a-b\"].output.x }" } }`, 1},
		"in a list, a step before":         {`[{ id: a, task: a }, { task: r, with: "${ steps.a.output.x }" }]`, 0},
		"in a list, jumped over":           {`[{ switch: [{ when: input.x, next: r }] }, { id: a, task: a, next: r }, { id: r, task: r, with: "${ steps.a.output.x }" }]`, 1},
		"in a list, after a jump back":     {`[{ id: a, task: a }, { id: b, task: b, with: "${ steps.a.output.x }" }, { switch: [{ when: steps.b.output.x, next: a }] }]`, 0},
		"in a list, caught":                {`[{ id: a, task: a, catch: { next: r } }, { task: b, next: r }, { id: r, task: r, with: "${ steps.a.output.x }" }]`, 1},
		"in a list, an error that goes on": {`[{ id: a, task: a, on_error: continue }, { task: r, with: "${ steps.a.output.x }" }]`, 1},
		"a step of its own visit before":   {`[{ id: a, task: a, with: "${ steps.b.output?.x }", next: b }, { id: b, task: b }, { switch: [{ when: input.x, next: a }] }]`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Read("w.yaml", []byte("workflow: w\nsteps: "+c.steps+"\n"))
			var mistakes *workflow.Mistakes
			errors.As(err, &mistakes)
			count := 0
			if mistakes != nil {
				for _, m := range mistakes.List {
					if !strings.Contains(m.Message, "may be null") {
						t.Errorf("another mistake: %v", m)
					}
					count++
				}
			}
			if count != c.wrong {
				t.Errorf("%d outputs may be null, want %d: %v", count, c.wrong, err)
			}
		})
	}
}

// The same for the workflow's output, which is read at the end.
func TestTheWorkflowsOutputReadsWhatIsSureAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps string
		wrong bool
	}{
		"a step that always runs":           {`{ a: { task: a }, b: { after: a, task: b } }`, false},
		"a step of one case":                {`{ s: { switch: [{ when: input.x, next: a }, { next: b }] }, a: { task: a }, b: { task: b } }`, true},
		"a step with a catch":               {`{ a: { task: a, catch: { next: m } }, m: { task: m } }`, true},
		"a step behind one with a catch":    {`{ s: { task: s, catch: { next: m } }, a: { after: s, task: a }, m: { task: m } }`, true},
		"one that a join left behind":       {`{ a: { task: a }, b: { task: b }, r: { after: [a, b], join: any, task: r } }`, true},
		"an end before it":                  {`{ a: { after: b, task: a }, b: { task: b }, e: { when: input.x, end: true } }`, true},
		"an end behind it":                  {`{ a: { task: a }, e: { after: a, end: true } }`, false},
		"the run ended from inside a block": {`{ a: { task: a }, e: { steps: [{ end: run }] } }`, true},
		"an end of an inner scope":          {`{ a: { task: a }, e: { steps: [{ steps: [{ end: true }] }] } }`, false},
		"in a list":                         {`[{ id: a, task: a }, { task: b }]`, false},
		"in a list, jumped over":            {`[{ switch: [{ when: input.x, next: end }] }, { id: a, task: a }]`, true},
		"in a list, ended before":           {`[{ end: true, when: input.x }, { id: a, task: a }]`, true},
		"in a list, ended behind":           {`[{ id: a, task: a }, { end: true }]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Read("w.yaml", []byte("workflow: w\nsteps: "+c.steps+"\noutput: \"${ steps.a.output.x }\"\n"))
			if wrong := err != nil && strings.Contains(err.Error(), "may be null"); wrong != c.wrong || err != nil && !wrong {
				t.Errorf("got %v, want a mistake: %v", err, c.wrong)
			}
		})
	}
}
