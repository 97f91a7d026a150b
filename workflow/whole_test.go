package workflow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/workflow"
	"github.com/millrace-go/millrace/workflow/draw"
)

// stepCalled gives the step of the root's body with this key.
func stepCalled(t *testing.T, d *workflow.Definition, key string) *workflow.Step {
	t.Helper()
	i, ok := d.Body.ByKey[key]
	if !ok {
		t.Fatalf("no step %s", key)
	}
	return d.Body.Steps[i]
}

func TestDefaultsFillWhatStepsOfWorkersLeaveOut(t *testing.T) {
	t.Parallel()
	d := mustRead(t, `
workflow: w
defaults: { retry: { attempts: 9, delay: 40s }, timeout: 30s, queue: mail, env: { A: "${ input.a }", B: two } }
steps:
  plain: { shell: x }
  own: { shell: x, retry: 2, timeout: 5s, queue: default, env: { A: mine } }
  task: { task: t }
  block: { steps: [{ http: { url: "https://a.test" } }] }
`)
	plain, own, task, block := stepCalled(t, d, "plain"), stepCalled(t, d, "own"), stepCalled(t, d, "task"), stepCalled(t, d, "block")
	if plain.Retry[0].Attempts != 9 || plain.Retry[0].MaxDelay != 40*time.Second || plain.Timeout != 30*time.Second || plain.Queue != "mail" || len(plain.Env) != 2 || !plain.Uses.Input {
		t.Errorf("plain: %+v", plain)
	}
	if own.Retry[0].Attempts != 2 || own.Timeout != 5*time.Second || own.Queue != "" || string(own.Env["A"].Raw()) != `"mine"` || string(own.Env["B"].Raw()) != `"two"` || own.Uses.Input {
		t.Errorf("own: %+v", own)
	}
	if task.Env != nil || task.Queue != "mail" {
		t.Errorf("task: %+v", task)
	}
	if block.Retry != nil || block.Timeout != 0 || block.Queue != "" || block.Bodies[0].Steps[0].Timeout != 30*time.Second {
		t.Errorf("block: %+v", block)
	}
}

// D5: what every command gets is bounded, because it is read once for each.
func TestSharedVariablesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 101 {
		fmt.Fprintf(&b, "A%d: x, ", i)
	}
	_, err := workflow.Read("w.yaml", []byte("workflow: w\ndefaults: { env: { "+b.String()+"Z: x } }\nsteps: { a: { shell: x } }\n"))
	if err == nil || err.Error() != "w.yaml:2:18: `env` in `defaults` has more than 100 variables; write them on the steps that need them, or into a file" {
		t.Errorf("got %v", err)
	}
}

func TestRetriesGetTheirLongestDelayAndTheirNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]workflow.RetryPolicy{
		`{ delay: 5m }`:                  {Attempts: 4, Delay: 5 * time.Minute, MaxDelay: 5 * time.Minute},
		`{ delay: 5m, max_delay: 30s }`:  {Attempts: 4, Delay: 5 * time.Minute, MaxDelay: 30 * time.Second},
		`{ delay: 5s }`:                  {Attempts: 4, Delay: 5 * time.Second, MaxDelay: 30 * time.Second},
		`{ for: 1d }`:                    {Attempts: 10_000, Delay: time.Second, MaxDelay: 30 * time.Second, For: day},
		`{ for: 1d, attempts: 4 }`:       {Attempts: 4, Delay: time.Second, MaxDelay: 30 * time.Second, For: day},
		`{ only: [http_4xx, passing] }`:  {Attempts: 4, Delay: time.Second, MaxDelay: 30 * time.Second, Only: []string{"http_4xx", "passing"}},
		`{ for: 1d, delays: [1s, 100s]}`: {Attempts: 3, Delay: time.Second, MaxDelay: 30 * time.Second, For: day, Delays: []time.Duration{time.Second, 100 * time.Second}},
	} {
		want.Factor, want.Grow, want.Jitter = 2, workflow.Exponential, 0.2
		d := mustRead(t, "workflow: w\nsteps: { a: { task: t, retry: "+text+" } }\n")
		if diff := cmp.Diff(want, d.Steps[0].Retry[0]); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
		again, err := workflow.Read("c.json", d.Canonical())
		if err != nil || !cmp.Equal(again.Steps[0].Retry, d.Steps[0].Retry) {
			t.Errorf("%s becomes another when it is written: %s", text, d.Canonical())
		}
	}
}

func TestUsesOfTheWholeFormat(t *testing.T) {
	t.Parallel()
	d := readFile(t, "testdata/valid/whole.yaml")
	charge := stepCalled(t, d, "charge")
	if !charge.IsTask || !charge.Uses.Vars || charge.Uses.Prev || !charge.LimitUses.Input {
		t.Errorf("charge reads %+v and its limits %+v", charge.Uses, charge.LimitUses)
	}
	if diff := cmp.Diff([]string{"payments"}, charge.Uses.Secrets); diff != "" {
		t.Error(diff)
	}
	undo := charge.Compensate.Step
	if !undo.Uses.Undone || undo.Body.Parent != charge || undo.Body.Slot != "compensate" || undo.Key != "do" || len(charge.Bodies) != 1 {
		t.Errorf("the compensation is %+v", undo)
	}
	reserve, hold := stepCalled(t, d, "reserve"), stepCalled(t, d, "hold")
	if shared := reserve.Compensate; shared != hold.Compensate || shared != d.Compensations[0] || !shared.Once || shared.Step.Body.Parent != nil || !shared.Step.Uses.Error {
		t.Errorf("the shared compensation is %+v", shared)
	}
	if reserve.CompensateUnknown == nil || *reserve.CompensateUnknown {
		t.Error("compensate_unknown is lost")
	}
	notify := stepCalled(t, d, "review").Action.(*workflow.Approve).Notify
	if !notify.Uses.Approval || notify.Uses.Steps[0].Key != "charge" || notify.Uses.Steps[0].Up != 1 {
		t.Errorf("the notification reads %+v", notify.Uses)
	}
	note := d.Finally.Steps[0]
	if !note.Uses.Run || !note.Uses.Error || note.Uses.Steps[0].Up != 1 || d.Finally.Slot != "finally" || d.Finally.Parent != nil {
		t.Errorf("finally reads %+v", note.Uses)
	}
	if again := stepCalled(t, d, "again"); len(d.OutputUses.Steps) != 2 || !d.OutputUses.Steps[1].Children || again.Named {
		t.Errorf("the output reads %+v", d.OutputUses)
	}
	if raise := stepCalled(t, d, "raise").Action.(*workflow.Fail); raise.Code != "" || raise.CodeExpr == nil {
		t.Errorf("the code is %+v", raise)
	}
	names := map[string]string{"charge": "http", "heard": "await", "tell": "emit", "review": "approve", "child": "workflow", "mark": "savepoint"}
	for key, want := range names {
		if got := stepCalled(t, d, key).Action.Name(); got != want {
			t.Errorf("%s is called %s", key, got)
		}
	}
}

// A workflow may use what this version does not run: it is told, with the place, and is no mistake.
func TestWhatDoesNotRunYetIsTold(t *testing.T) {
	t.Parallel()
	d := mustRead(t, "workflow: w\non_failure: compensate\nsteps:\n  a: { http: { url: \"https://a.test\" } }\n  b: { after: a, approve: { title: ok } }\n")
	var lines []string
	for _, m := range d.NotYet() {
		lines = append(lines, m.String())
	}
	want := []string{"test.yaml:5:18: `approve` is part of the format but does not run in this version yet; leave it out, or wait for the version that runs it"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if d := mustRead(t, "workflow: w\nlabels: { a: b }\nvars: { v: 1 }\nsteps: { a: { task: t, with: \"${ vars.v }\" } }\n"); d.NotYet() != nil {
		t.Errorf("told of %v", d.NotYet())
	}
}

func TestSeveralWorkflowsInOneFile(t *testing.T) {
	t.Parallel()
	text := "---\nworkflow: a\nsteps: { x: { await: { event: e } } }\n---\n# nothing\n---\nworkflow: b\nsteps: { y: { task: t } }\n"
	all, err := workflow.ReadAll("two.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Name != "a" || all[1].Name != "b" || len(all[0].NotYet()) != 1 || len(all[1].NotYet()) != 0 || all[1].Steps[0].Origin.Line != 8 {
		t.Errorf("read %+v", all)
	}
	first, err := workflow.Read("two.yaml", []byte(text))
	if err != nil || !workflow.Equal(first, all[0]) {
		t.Errorf("the first is %v, %v", first, err)
	}
	_, err = workflow.Read("two.yaml", []byte(text+"---\nworkflow: c\n"))
	var mistakes *workflow.Mistakes
	if !errors.As(err, &mistakes) || !strings.Contains(err.Error(), "two.yaml:10:1: the workflow has no steps") {
		t.Errorf("a mistake in a later one gave %v", err)
	}
}

// A guard passes over its step, and the step's `next` with it.
func TestAGuardGoesOnToTheStepAfterIt(t *testing.T) {
	t.Parallel()
	text := "workflow: w\nsteps:\n  - { id: a, when: input.x, task: t, next: c }\n  - { id: b, task: t, next: c }\n  - { id: c, task: t, with: \"${ steps.b.output%s }\" }\n"
	d := mustRead(t, strings.Replace(text, "%s", "", 1))
	if drawn := draw.Mermaid(d, nil); !strings.Contains(drawn, `s0 -->|"passed over"| s1`) {
		t.Errorf("drawn as\n%s", drawn)
	}
	if _, err := workflow.Read("w.yaml", []byte(strings.Replace(text, "%s", ".n", 1))); err == nil || !strings.Contains(err.Error(), "steps.b.output may be null here") {
		t.Errorf("got %v", err)
	}
}
