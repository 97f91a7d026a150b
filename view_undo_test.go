package millrace_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store/memory"
)

const trip = `
workflow: trip
steps:
  - { id: reserve, task: do, compensate: { task: do } }
  - { id: note, task: do }
  - { id: charge, task: do, compensate: { task: do, with: { fail: "${ input.refund }" } } }
  - { id: ship, task: do, with: { fail: "${ input.ship }" } }
`

// X3 X4: what a run did is shown as undone, and what nothing undoes is named.
func TestAViewShowsWhatWasUndoneAndWhatWasNot(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.run()
	id := b.start(trip, "", `{"ship": "late", "refund": ""}`)
	<-b.ended
	v := b.show(id, millrace.ShowOptions{})
	if diff := cmp.Diff([]string{"reserve compensated", "note succeeded", "charge compensated", "ship failed late"}, steps(v)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"note"}, v.NotUndone); diff != "" || v.Status != machine.Failed {
		t.Errorf("%s: %s", v.Status, diff)
	}
	if u := v.Steps[0].Undo; u == nil || u.Status != "succeeded" || u.Path != "reserve~undo" || u.Attempts != 1 || u.StartedAt == nil || u.FinishedAt == nil {
		t.Errorf("the compensation is shown as %+v", u)
	}
}

// X6: a compensation that gave up is shown with its failure and the command that helps, until it was redriven.
func TestAViewShowsACompensationThatGaveUp(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.run()
	id := b.start(trip, "", `{"ship": "late", "refund": "closed"}`)
	<-b.ended
	v := b.show(id, millrace.ShowOptions{})
	if diff := cmp.Diff([]string{"reserve succeeded", "note succeeded", "charge compensating", "ship failed late"}, steps(v)); diff != "" {
		t.Error(diff)
	}
	if u := v.Steps[2].Undo; u == nil || u.Status != "failed" || u.Error == nil || u.Error.Code != "closed" || u.Error.Path != "charge~undo" {
		t.Errorf("the compensation is shown as %+v", u)
	}
	if v.Status != machine.Dead || len(v.Letters) != 1 || v.Letters[0].Help != "millrace dead redrive 1" || len(v.Waiting) != 0 {
		t.Errorf("%s with the letters %+v, waiting for %+v", v.Status, v.Letters, v.Waiting)
	}
	if _, err := b.client.Drop(t.Context(), "default", 1, millrace.Order{By: "ada"}); err != nil {
		t.Fatal(err)
	}
	<-b.ended
	v = b.show(id, millrace.ShowOptions{})
	if got := steps(v); got[0] != "reserve compensated" || v.Status != machine.Dead || len(v.Letters) != 0 {
		t.Errorf("%s with %v and the letters %+v", v.Status, got, v.Letters)
	}
}

// C1: who ordered it and why is part of the view, and what would make a paused run go on.
func TestAViewSaysWhoPausedOrCancelledItAndWhy(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil) // nobody works here
	id := b.start(trip, "", `{}`)
	ada := millrace.Order{By: "ada", Reason: "lunch"}
	if _, err := b.client.Pause(t.Context(), "default", id, ada); err != nil {
		t.Fatal(err)
	}
	v := b.show(id, millrace.ShowOptions{})
	if v.Status != machine.Paused || v.Reason != "by ada: lunch" {
		t.Errorf("%s, %q", v.Status, v.Reason)
	}
	if len(v.Waiting) != 1 || v.Waiting[0].For != millrace.ForPause || !strings.HasPrefix(v.Waiting[0].Needs, "`millrace resume ") {
		t.Errorf("it waits for %+v", v.Waiting)
	}
	if _, err := b.client.Resume(t.Context(), "default", id, millrace.Order{}); err != nil {
		t.Fatal(err)
	}
	if v = b.show(id, millrace.ShowOptions{}); v.Reason != "" || v.Waiting[0].For != millrace.ForWorker {
		t.Errorf("after the resume: %q, waiting for %+v", v.Reason, v.Waiting)
	}
	if _, err := b.client.Cancel(t.Context(), "default", id, millrace.Order{Reason: "enough"}); err != nil {
		t.Fatal(err)
	}
	if v = b.show(id, millrace.ShowOptions{}); v.Status != machine.Cancelled || v.Reason != "by somebody: enough" {
		t.Errorf("%s, %q", v.Status, v.Reason)
	}
}

// C3: a task whose workflow is paused waits for that, and the view names the command that lifts it.
func TestAViewSaysWhatIsPausedAround(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"workflow": "`millrace resume workflow:trip`", "queue": "`millrace resume queue:default`", "tenant": "`millrace resume tenant:default`",
	} {
		b := newBench(t, nil)
		id := b.start(trip, "", `{}`)
		s := millrace.Supply{Kind: kind, Name: map[string]string{"workflow": "trip", "queue": "default"}[kind]}
		if _, err := b.client.PauseSupply(t.Context(), "default", s, millrace.Order{}); err != nil {
			t.Fatal(err)
		}
		v := b.show(id, millrace.ShowOptions{})
		if len(v.Waiting) != 1 || v.Waiting[0].For != millrace.ForPause || v.Waiting[0].Needs != want {
			t.Errorf("%s: it waits for %+v", kind, v.Waiting)
		}
	}
}

// X8: a parked step waits for a person.
func TestAViewShowsParkedSteps(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	id := b.start("workflow: w\non_failure: park\nsteps: { a: { task: do, with: { fail: odd } }, b: { task: do } }\n", "", `{}`)
	b.run()
	v := b.until(id, func(v *millrace.View) bool { return v.Status == machine.Parked })
	if diff := cmp.Diff([]string{"a parked odd", "b succeeded"}, steps(v)); diff != "" {
		t.Error(diff)
	}
	if len(v.Waiting) != 1 || v.Waiting[0].For != millrace.ForPerson || v.Waiting[0].Needs != "`millrace dead redrive 1`" {
		t.Errorf("it waits for %+v", v.Waiting)
	}
	if _, err := b.client.Redrive(t.Context(), "default", 1, millrace.RedriveOrder{Input: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	<-b.ended
	if v := b.show(id, millrace.ShowOptions{}); steps(v)[0] != "a succeeded attempt 2" || v.Status != machine.Succeeded {
		t.Errorf("%s with %v", v.Status, steps(v))
	}
}

// X1 F13: each try of a composite is undone, and the view tells them apart; finally stands behind everything.
func TestAViewShowsTheUndoingOfEachTryAndFinally(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.run()
	id := b.start(`
workflow: w
finally: { do: { task: do } }
steps:
  - id: lines
    retry: { attempts: 2, delay: 1ms }
    compensate: { task: do }
    steps:
      - { id: pick, task: do, compensate: { task: do } }
      - { id: pack, task: do, with: { fail: odd } }
`, "", `{}`)
	<-b.ended
	v := b.show(id, millrace.ShowOptions{})
	want := []string{
		"lines compensated", "lines/pick succeeded", "lines~2/pick succeeded", "lines/pack failed odd", "lines~2/pack failed odd",
		"finally succeeded",
	}
	got := steps(v)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(v.NotUndone) != 0 {
		t.Errorf("%v are covered by the composite's own compensation", v.NotUndone)
	}
	if u := v.Steps[0].Undo; u == nil || u.Path != "lines~2~undo" {
		t.Errorf("the last try is undone by %+v", u)
	}
}

// O3: a failure that a catch took is shown as caught when its scope is gone too, whether the catch names its code or its family.
func TestAViewShowsWhatWasCaughtInAScopeThatIsGone(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.run()
	id := b.start(`
workflow: w
steps:
  - id: box
    steps:
      - { id: ask, task: do, with: { fail: http_404 }, catch: { only: [http_4xx], next: look } }
      - { id: look, task: do, with: { fail: odd }, catch: { except: [passing], next: tell } }
      - { id: tell, task: do }
`, "", `{}`)
	<-b.ended
	v := b.show(id, millrace.ShowOptions{})
	want := []string{"box succeeded", "box/ask caught http_404", "box/look caught odd", "box/tell succeeded"}
	if diff := cmp.Diff(want, steps(v)); diff != "" {
		t.Error(diff)
	}
}

// O3: finally runs once more after a retry, and is shown while it does, as it was before.
func TestAViewShowsFinallyOfARetriedRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ body, first, second string }{
		"one step":  {"{ do: { task: do } }", "finally", "finally#2"},
		"two steps": {"{ steps: [ { id: count, task: do }, { id: sweep, task: do } ] }", "finally/count", "finally#2/count"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			id := b.start("workflow: w\nfinally: "+test.body+"\nsteps: [ { id: a, task: do, with: { fail: odd } } ]\n", "", `{}`)
			b.run()
			<-b.ended
			gate := make(chan struct{})
			b.gates.Store(test.second, gate)
			if _, err := b.client.Retry(t.Context(), "default", id, millrace.RetryOrder{}); err != nil {
				t.Fatal(err)
			}
			for path := ""; path != test.second; path = <-b.begun {
			}
			for _, o := range []millrace.ShowOptions{{}, {Live: true}} {
				shown := map[string]string{}
				for _, s := range b.show(id, o).Steps {
					shown[s.Path] = s.Status
				}
				if before := shown[test.first]; shown[test.second] != "running" || !o.Live && before != "succeeded" {
					t.Errorf("with %+v: %v", o, shown)
				}
			}
			close(gate)
			<-b.ended
		})
	}
}

// A6 O3: a step that is tried at most once and whose worker was lost is shown with the error that the run has, and as caught by who
// asks for that.
func TestAViewShowsALostStepAsTheMachineJudgesIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.run()
	const path = "box/ask"
	gate := make(chan struct{})
	b.gates.Store(path, gate)
	id := b.start(`
workflow: w
steps:
  - id: box
    steps:
      - { id: ask, task: do, at_most_once: true, catch: { only: [outcome_unknown], next: tell } }
      - { id: tell, task: do }
`, "", `{}`)
	for begun := ""; begun != path; begun = <-b.begun {
	}
	b.st.(*memory.Store).Bury(b.eng.Owner())
	heir, err := engine.New(b.st, engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n == 0; {
		if n, err = heir.SweepOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := heir.SettleOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-b.ended
	v := b.show(id, millrace.ShowOptions{})
	close(gate)
	if diff := cmp.Diff([]string{"box succeeded", "box/ask caught outcome_unknown", "box/tell succeeded"}, steps(v)); diff != "" {
		t.Error(diff)
	}
}
