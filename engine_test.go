package millrace_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/memory"
	"github.com/millrace-go/millrace/workflow"
)

// setup gives a store with a workflow of one step: task, run by the handler work.
func setup(t *testing.T, text string) *memory.Store {
	t.Helper()
	st := memory.New(func() machine.Time { return machine.TimeOf(time.Now()) })
	def, err := workflow.Read("t.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e, err := millrace.New(st, millrace.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if version, err := e.Register(t.Context(), def); err != nil || version != 1 {
		t.Fatal(version, err)
	}
	return st
}

const oneTask = "workflow: one\nversion: 1\nsteps:\n  - { id: work, task: work }\n"

// drive starts a run, executes it with h, and gives it as it ended.
func drive(t *testing.T, st *memory.Store, h millrace.Handler, r millrace.StartRequest) *machine.Run {
	t.Helper()
	done := &end{ended: make(chan *machine.Run, 1)}
	e, err := millrace.New(st, millrace.Config{Handlers: []millrace.Handler{h}, Observer: done})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- e.Run(ctx) }()
	if _, err := e.Start(ctx, r); err != nil {
		t.Fatal(err)
	}
	run := <-done.ended
	stop()
	if err := <-left; err != nil {
		t.Error(err)
	}
	return run
}

// end observes the end of a run.
type end struct{ ended chan *machine.Run }

func (*end) Claimed(*millrace.Attempt)                 {}
func (*end) Answered(*millrace.Attempt, machine.Event) {}
func (o *end) Settled(run *machine.Run) {
	if run.Status.Ended() {
		o.ended <- run
	}
}

func TestHandlerGetsItsInputAndItsOutputIsTheRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type pair struct{ A, B int }
		var info millrace.TaskInfo
		h := millrace.NewHandler("work", func(ctx context.Context, in pair) (int, error) {
			info, _ = millrace.Info(ctx)
			return in.A + in.B, nil
		})
		st := setup(t, oneTask)
		run := drive(t, st, h, millrace.StartRequest{Workflow: "one", Key: "k", Input: pair{2, 3}})
		if run.Status != machine.Succeeded {
			t.Fatalf("the run is %s", run.Status)
		}
		j, err := st.Journal(t.Context(), millrace.DefaultTenant, run.ID, 1, 1)
		if err != nil || string(j[0].Payload) != "5" {
			t.Errorf("output %s, %v", j[0].Payload, err)
		}
		want := millrace.TaskInfo{
			Tenant: "default", RunID: run.ID, RunKey: "k", Workflow: "one", Version: 1, Path: "work", Attempt: 1,
			Key: machine.TaskKey(machine.Header{ID: run.ID}, "work", nil),
		}
		if diff := cmp.Diff(want, info); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhatDoesNotFitAHandlerFailsItsStepForGood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		h    millrace.Handler
		code string
	}{
		"input":  {millrace.NewHandler("work", func(context.Context, int) (int, error) { return 0, nil }), machine.CodeSchema},
		"output": {millrace.NewHandler("work", func(context.Context, any) (func(), error) { return nil, nil }), "bad_output"},
		"error": {
			millrace.NewHandler("work", func(context.Context, any) (any, error) {
				return nil, millrace.Permanent(millrace.Fail("declined", errors.New("no")))
			}),
			"declined",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				run := drive(t, setup(t, oneTask), c.h, millrace.StartRequest{Workflow: "one", Input: "text"})
				if e := run.Root.Run.Error; run.Status != machine.Failed || e == nil || e.Code != c.code {
					t.Errorf("the run is %s: %v", run.Status, e)
				}
			})
		})
	}
}

func TestCommandGetsItsWordsVariablesAndInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setup(t, `
workflow: one
version: 1
steps:
  - id: work
    run: ["./pack.sh", "${ input.n }", "${ input.list }", "${ input.none }"]
    env: { NAME: "it is ${ input.name }", KEY: "${ task.key }" }
`)
		var got millrace.Command
		var input json.RawMessage
		h := millrace.Commands("host:/folder", func(_ context.Context, a *millrace.Attempt) millrace.Outcome {
			got, input = *a.Command, a.Input
			return millrace.Outcome{Output: json.RawMessage(`"ok"`), Log: "said"}
		})
		raw := json.RawMessage(`{"n":1.10,"list":[1,{"a":null}],"none":null,"name":"Ada"}`)
		run := drive(t, st, h, millrace.StartRequest{Workflow: "one", Input: raw, Home: "host:/folder"})
		if run.Status != machine.Succeeded {
			t.Fatalf("the run is %s: %v", run.Status, run.Root.Run.Error)
		}
		if diff := cmp.Diff([]string{"./pack.sh", "1.10", `[1,{"a":null}]`, ""}, got.Args); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]string{"NAME": "it is Ada", "KEY": machine.TaskKey(machine.Header{ID: run.ID}, "work", nil)}, got.Env); diff != "" {
			t.Error(diff)
		}
		if string(input) != string(raw) {
			t.Errorf("input is %s", input)
		}
	})
}

func TestCommandsOfAnotherHomeAreLeftToTheirOwnProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setup(t, "workflow: one\nversion: 1\nsteps:\n  - { id: work, run: [\"true\"] }\n")
		h := millrace.Commands("host:/other", func(context.Context, *millrace.Attempt) millrace.Outcome {
			t.Error("it was executed here")
			return millrace.Outcome{}
		})
		e, err := millrace.New(st, millrace.Config{Handlers: []millrace.Handler{h}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Start(t.Context(), millrace.StartRequest{Workflow: "one", Home: "host:/folder"}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestStartsAreReportedOneByOne(t *testing.T) {
	t.Parallel()
	st := setup(t, oneTask)
	e, err := millrace.New(st, millrace.Config{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.StartMany(t.Context(), []millrace.StartRequest{
		{Workflow: "one", Input: 1},
		{Workflow: "one", Input: func() {}},
		{Workflow: "two"},
		{Workflow: "one", Input: json.RawMessage(`{`)},
		{Workflow: "one"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, wrong := range []bool{false, true, true, true, false} {
		if wrong != (got[i].Err != nil) || wrong == got[i].Created {
			t.Errorf("item %d: %+v", i, got[i])
		}
	}
	if !errors.Is(got[2].Err, store.ErrNotFound) {
		t.Errorf("item 2: %v", got[2].Err)
	}
}

// R6
func TestStartSaysWhenWhereAndWithWhatARunBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setup(t, `
workflow: order
version: 1
labels: { team: blue }
vars: { size: {} }
steps:
  - { id: first, task: other }
  - { id: work, task: work, with: { size: "${ vars.size }", team: "${ run.labels.team }", who: "${ run.labels.who }", got: "${ prev }" } }
`)
		began := time.Now()
		h := millrace.NewHandler("work", func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil })
		run := drive(t, st, h, millrace.StartRequest{
			Workflow: "order", Input: 7, Delay: time.Hour, From: "work", Priority: 3, Queue: "night",
			Labels: map[string]string{"who": "me"}, Vars: map[string]any{"size": json.RawMessage("1.50")},
		})
		entries, err := st.Journal(t.Context(), "default", run.ID, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"size":1.50,"team":"blue","who":"me","got":7}`
		if got := string(entries[len(entries)-1].Payload); got != want || time.Since(began) < time.Hour {
			t.Errorf("after %s: %s; want %s", time.Since(began), got, want)
		}
	})
}

func TestStartThatCannotBeIsRefusedWithAllItsReasons(t *testing.T) {
	t.Parallel()
	e, err := millrace.New(setup(t, `
workflow: one
version: 1
vars: { a: {}, b: {} }
steps: [{ task: work, with: "${ vars.a }${ vars.b }" }]
`), millrace.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var bad *millrace.StartError
	_, err = e.Start(t.Context(), millrace.StartRequest{Workflow: "one", From: "two"})
	if !errors.As(err, &bad) || len(bad.Problems) != 3 {
		t.Errorf("got %v", err)
	}
	_, err = e.Start(t.Context(), millrace.StartRequest{Workflow: "one", Vars: map[string]any{"a": func() {}, "b": 1}})
	if err == nil || !strings.Contains(err.Error(), "variable a") {
		t.Errorf("got %v", err)
	}
}

// O5
func TestRequestOfAnHTTPStepHasItsSecretsAndNothingThatIsStoredDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setup(t, `
workflow: one
version: 1
steps: [{ http: { url: https://x.test, headers: { A: "${ secrets.key }" } } }]
`)
		h := millrace.HTTP(func(_ context.Context, a *millrace.Attempt) millrace.Outcome {
			out, _ := json.Marshal(a.Request.Header[0].Value)
			return millrace.Outcome{Output: out, Log: "sent " + a.Request.Header[0].Value}
		})
		done := &end{ended: make(chan *machine.Run, 1)}
		e, err := millrace.New(st, millrace.Config{
			Handlers: []millrace.Handler{h}, Observer: done, Secrets: func(name string) (string, bool) { return name + "-value", true },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- e.Run(ctx) }()
		if _, err := e.Start(ctx, millrace.StartRequest{Workflow: "one"}); err != nil {
			t.Fatal(err)
		}
		run := <-done.ended
		stop()
		if err := <-left; err != nil {
			t.Error(err)
		}
		entries, err := st.Journal(t.Context(), "default", run.ID, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		last := entries[len(entries)-1]
		if string(last.Payload) != `"***"` || !strings.Contains(string(last.Facts), "sent ***") || e.Mask("key-value") != "***" {
			t.Errorf("stored is %s with %s", last.Payload, last.Facts)
		}
	})
}

func TestConfigIsCheckedAtOnce(t *testing.T) {
	t.Parallel()
	h := millrace.NewHandler("work", func(context.Context, any) (any, error) { return nil, nil })
	_, err := millrace.New(setup(t, oneTask), millrace.Config{Handlers: []millrace.Handler{h, h, {}}, Slots: -1})
	if err == nil {
		t.Fatal("nothing is reported")
	}
	for _, want := range []string{`"work" twice`, "an empty one", "Slots is -1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

func TestInfoOutsideOfAHandlerIsNone(t *testing.T) {
	t.Parallel()
	if _, ok := millrace.Info(t.Context()); ok {
		t.Error("there is one")
	}
}
