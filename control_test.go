package millrace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
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

// office is an engine that runs under virtual time, a client at its store, and what the engine's handlers are to do.
type office struct {
	t      *testing.T
	ctx    context.Context
	client *millrace.Client
	engine *millrace.Engine

	mu     sync.Mutex
	calls  []string          // paths of attempts, in order
	inputs map[string]string // the newest by path
	fail   map[string]bool   // paths whose attempts fail for good
	hang   map[string]bool   // paths whose attempts wait to be told to stop
}

const tenant = "default"

// inOffice runs a test in a bubble of virtual time. One handler, `work`, does everything.
func inOffice(t *testing.T, text string, test func(o *office)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := &office{t: t, ctx: t.Context(), inputs: map[string]string{}, fail: map[string]bool{}, hang: map[string]bool{}}
		st := memory.New(func() machine.Time { return machine.TimeOf(time.Now()) })
		var err error
		o.engine, err = millrace.New(st, millrace.Config{
			Handlers: []millrace.Handler{millrace.NewHandler("work", o.work)}, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		def, err := workflow.Read("test.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.engine.Register(o.ctx, def); err != nil {
			t.Fatal(err)
		}
		o.client = millrace.NewClient(st)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- o.engine.Run(ctx) }()
		test(o)
		cancel()
		<-done
	})
}

func (o *office) work(ctx context.Context, in json.RawMessage) (string, error) {
	info, _ := millrace.Info(ctx)
	o.mu.Lock()
	o.calls, o.inputs[info.Path] = append(o.calls, info.Path), string(in)
	fail, hang := o.fail[info.Path], o.hang[info.Path]
	o.mu.Unlock()
	switch {
	case fail:
		return "", millrace.Permanent(millrace.Fail("refused", fmt.Errorf("%s is refused", info.Path)))
	case hang:
		<-ctx.Done()
		return "", ctx.Err()
	}
	return info.Path, nil
}

// refuse has the attempts at these paths fail, and no others.
func (o *office) refuse(paths ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.fail)
	for _, path := range paths {
		o.fail[path] = true
	}
}

// hold has the attempts at a path wait to be told to stop.
func (o *office) hold(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hang[path] = true
}

// free ends hold for the attempts to come.
func (o *office) free(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.hang, path)
}

// called gives the paths of the attempts since it was last asked, in order.
func (o *office) called() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	calls := o.calls
	o.calls = nil
	return calls
}

// input gives what the newest attempt at a path got.
func (o *office) input(path string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.inputs[path]
}

// start starts a run and lets it go on for a minute.
func (o *office) start() string {
	o.t.Helper()
	got, err := o.engine.Start(o.ctx, millrace.StartRequest{Workflow: "w", Input: 1})
	if err != nil {
		o.t.Fatal(err)
	}
	o.pass()
	return got.RunID
}

func (o *office) pass() { <-time.After(time.Minute) }

func (o *office) status(id string) machine.Status {
	o.t.Helper()
	v, err := o.client.Show(o.ctx, tenant, id, millrace.ShowOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	return v.Status
}

// letters gives the ids of the open letters, oldest first.
func (o *office) letters() (ids []int64) {
	o.t.Helper()
	all, _, err := o.client.DeadLetters(o.ctx, store.LetterFilter{Tenant: tenant, State: machine.LetterOpen})
	if err != nil {
		o.t.Fatal(err)
	}
	for _, l := range all {
		ids = append(ids, l.ID)
	}
	slices.Sort(ids)
	return ids
}

// sound fails the test unless nothing is wrong with anything.
func (o *office) sound() {
	o.t.Helper()
	report, err := o.client.Doctor(o.ctx, millrace.DoctorOptions{Tenant: tenant})
	if err != nil || len(report.Findings) > 0 || report.Runs == 0 {
		o.t.Errorf("the doctor says %+v, %v", report, err)
	}
}

var who = millrace.Order{By: "ann@desk", Reason: "why not"}

const saga = `
workflow: w
version: 1
steps:
  - { id: a, task: work, compensate: { task: work } }
  - { id: b, parallel: { l: { do: { task: work, compensate: { task: work } } }, r: { do: { task: work, compensate: { task: work } } } } }
  - { id: c, task: work, compensate: { task: work } }
  - { id: d, task: work }
`

// C2
func TestCancelUndoesWhatItsPlanSaid(t *testing.T) {
	t.Parallel()
	inOffice(t, saga, func(o *office) {
		o.hold("c")
		id := o.start()
		plan, err := o.client.UndoPlan(o.ctx, tenant, id)
		if err != nil {
			t.Fatal(err)
		}
		var planned []string
		for _, p := range plan {
			planned = append(planned, p.Task)
		}
		if s, calls := o.status(id), o.called(); s != machine.Running || len(calls) != 4 {
			t.Errorf("the plan changed something: %s, %v", s, calls)
		}
		got, err := o.client.Cancel(o.ctx, tenant, id, who)
		if want := (millrace.Applied{Run: id, Status: machine.Stopping, Changed: true}); err != nil || got != want {
			t.Errorf("cancel gave %+v, %v", got, err)
		}
		o.pass()
		if s := o.status(id); s != machine.Cancelled {
			t.Errorf("the run is %s", s)
		}
		if diff := cmp.Diff(planned, o.called()); diff != "" || len(planned) != 4 {
			t.Errorf("the plan is not what was done: %s", diff)
		}
		if _, err := o.client.UndoPlan(o.ctx, tenant, id); !errors.Is(err, millrace.ErrEnded) {
			t.Errorf("a plan after the end gave %v", err)
		}
		if _, err := o.client.Cancel(o.ctx, tenant, id, who); !errors.Is(err, millrace.ErrEnded) {
			t.Errorf("a cancel after the end gave %v", err)
		}
		o.sound()
	})
}

// X6, X9
func TestLetterIsRedrivenOnceAndClearErrorsSayWhyNotAgain(t *testing.T) {
	t.Parallel()
	inOffice(t, saga, func(o *office) {
		o.refuse("d", "c~undo")
		id := o.start()
		if s, letters := o.status(id), o.letters(); s != machine.Dead || !slices.Equal(letters, []int64{1}) {
			t.Fatalf("the run is %s; open are %v", s, letters)
		}
		o.sound()
		if _, err := o.client.Redrive(o.ctx, tenant, 2, millrace.RedriveOrder{Order: who}); !errors.Is(err, millrace.ErrNotFound) {
			t.Errorf("an unknown letter gave %v", err)
		}
		if _, err := o.client.Drop(o.ctx, "another", 1, who); !errors.Is(err, millrace.ErrNotFound) { // N1
			t.Errorf("a letter of another tenant gave %v", err)
		}
		bad := millrace.RedriveOrder{Order: who, Input: json.RawMessage(`{"a":`)}
		if _, err := o.client.Redrive(o.ctx, tenant, 1, bad); err == nil || !slices.Equal(o.letters(), []int64{1}) {
			t.Errorf("an input that is not JSON gave %v", err)
		}
		o.refuse()
		got, err := o.client.Redrive(o.ctx, tenant, 1, millrace.RedriveOrder{Order: who, Input: json.RawMessage(`{"new":1}`)})
		if err != nil || !got.Changed || got.Run != id || got.Status != machine.Compensating {
			t.Errorf("redrive gave %+v, %v", got, err)
		}
		o.pass()
		if s := o.status(id); s != machine.Failed {
			t.Errorf("the run is %s", s)
		}
		if in := o.input("c~undo"); in != `{"new":1}` {
			t.Errorf("the compensation got %s", in)
		}
		for _, again := range []func() (millrace.Applied, error){
			func() (millrace.Applied, error) {
				return o.client.Redrive(o.ctx, tenant, 1, millrace.RedriveOrder{Order: who})
			},
			func() (millrace.Applied, error) { return o.client.Drop(o.ctx, tenant, 1, who) },
		} {
			var closed *millrace.LetterError
			if _, err := again(); !errors.As(err, &closed) || closed.ID != 1 || closed.State != machine.LetterRedriven {
				t.Errorf("the closed letter gave %v", err)
			}
		}
		o.sound()
	})
}

// X9: an unhandled failure of a workflow without compensations opens a letter, and redriving it is a retry of the run.
func TestUnhandledFailureIsRedrivenAsARetry(t *testing.T) {
	t.Parallel()
	inOffice(t, "workflow: w\nversion: 1\nsteps:\n  - { id: a, task: work }\n  - { id: b, task: work }\n", func(o *office) {
		o.refuse("b")
		id := o.start()
		if s, letters := o.status(id), o.letters(); s != machine.Failed || !slices.Equal(letters, []int64{1}) {
			t.Fatalf("the run is %s; open are %v", s, letters)
		}
		o.refuse()
		o.called()
		if _, err := o.client.Redrive(o.ctx, tenant, 1, millrace.RedriveOrder{Order: who}); err != nil {
			t.Fatal(err)
		}
		o.pass()
		if s, calls := o.status(id), o.called(); s != machine.Succeeded || !slices.Equal(calls, []string{"b#2"}) {
			t.Errorf("the run is %s after %v", s, calls)
		}
		if letters := o.letters(); len(letters) > 0 {
			t.Errorf("open are %v", letters)
		}
		o.sound()
	})
}

// X14
func TestLetterAboutFinallyCanOnlyBeDropped(t *testing.T) {
	t.Parallel()
	inOffice(t, `
workflow: w
version: 1
steps:
  - { id: a, task: work }
finally: { do: { task: work, with: "${ run.ending }" } }
`, func(o *office) {
		o.refuse("finally")
		id := o.start()
		if s, in := o.status(id), o.input("finally"); s != machine.Succeeded || in != `"succeeded"` {
			t.Errorf("the run is %s; finally got %s", s, in)
		}
		_, err := o.client.Redrive(o.ctx, tenant, 1, millrace.RedriveOrder{Order: who})
		if err == nil || !strings.Contains(err.Error(), "drop") {
			t.Errorf("redrive gave %v", err)
		}
		if _, err := o.client.Drop(o.ctx, tenant, 1, who); err != nil || len(o.letters()) > 0 {
			t.Errorf("drop gave %v; open are %v", err, o.letters())
		}
		if s := o.status(id); s != machine.Succeeded {
			t.Errorf("the run is %s", s)
		}
		o.sound()
	})
}

// X8: two parked steps; each redrive brings its own, the join sees both.
func TestParkedStepsAreRedrivenOneByOne(t *testing.T) {
	t.Parallel()
	inOffice(t, `
workflow: w
version: 1
on_failure: park
steps:
  x: { task: work }
  y: { task: work }
  free: { task: work }
  both: { after: [x, y], task: work }
`, func(o *office) {
		o.refuse("x", "y")
		id := o.start()
		if s, letters := o.status(id), o.letters(); s != machine.Parked || len(letters) != 2 {
			t.Fatalf("the run is %s; open are %v", s, letters)
		}
		o.refuse()
		o.called()
		letters, _, err := o.client.DeadLetters(o.ctx, store.LetterFilter{Tenant: tenant, Path: "y", State: machine.LetterOpen})
		if err != nil || len(letters) != 1 {
			t.Fatal(letters, err)
		}
		if _, err := o.client.Redrive(o.ctx, tenant, letters[0].ID, millrace.RedriveOrder{Order: who}); err != nil {
			t.Fatal(err)
		}
		o.pass()
		if s, calls := o.status(id), o.called(); s != machine.Parked || !slices.Equal(calls, []string{"y"}) {
			t.Errorf("the run is %s after %v", s, calls)
		}
		if _, err := o.client.Redrive(o.ctx, tenant, o.letters()[0], millrace.RedriveOrder{Order: who, Input: json.RawMessage(`7`)}); err != nil {
			t.Fatal(err)
		}
		o.pass()
		if s, calls := o.status(id), o.called(); s != machine.Succeeded || !slices.Equal(calls, []string{"x", "both"}) || o.input("x") != "7" {
			t.Errorf("the run is %s after %v; x got %s", s, calls, o.input("x"))
		}
		o.sound()
	})
}

// C2: both close parks.
func TestCancelAndAbortOfAParkedRunSupersedeItsLetters(t *testing.T) {
	t.Parallel()
	for _, abort := range []bool{false, true} {
		t.Run(fmt.Sprintf("abort %t", abort), func(t *testing.T) {
			t.Parallel()
			inOffice(t, "workflow: w\nversion: 1\non_failure: park\nsteps:\n  - { id: a, task: work }\n", func(o *office) {
				o.refuse("a")
				id := o.start()
				end, order := machine.Cancelled, o.client.Cancel
				if abort {
					end, order = machine.Aborted, o.client.Abort
				}
				if got, err := order(o.ctx, tenant, id, who); err != nil || got.Status != end {
					t.Errorf("it gave %+v, %v", got, err)
				}
				var closed *millrace.LetterError
				if _, err := o.client.Redrive(o.ctx, tenant, 1, millrace.RedriveOrder{Order: who}); !errors.As(err, &closed) || closed.State != machine.LetterSuperseded {
					t.Errorf("redrive gave %v", err)
				}
				o.sound()
			})
		})
	}
}

// X10
func TestRetryIsRefusedByNameWhereItWouldBeUnsafe(t *testing.T) {
	t.Parallel()
	inOffice(t, "workflow: w\nversion: 1\nsteps:\n  - { id: a, task: work }\n  - { id: b, task: work }\n  - { id: c, task: work }\n", func(o *office) {
		o.refuse("c")
		o.hold("a")
		id := o.start()
		var refusal *machine.Refusal
		if _, err := o.client.Retry(o.ctx, tenant, id, millrace.RetryOrder{Order: who}); !errors.As(err, &refusal) {
			t.Errorf("a retry of a run that goes on gave %v", err)
		}
		o.free("a")
		if _, err := o.client.Abort(o.ctx, tenant, id, who); err != nil {
			t.Fatal(err)
		}
		id = o.start()
		_, err := o.client.Retry(o.ctx, tenant, id, millrace.RetryOrder{Order: who, From: "b"})
		if !errors.As(err, &refusal) || refusal.Step != "b" {
			t.Errorf("it gave %v", err)
		}
		o.refuse()
		o.called()
		if got, err := o.client.Retry(o.ctx, tenant, id, millrace.RetryOrder{Order: who, From: "b", Again: true}); err != nil || got.Status != machine.Running {
			t.Errorf("it gave %+v, %v", got, err)
		}
		o.pass()
		if s, calls := o.status(id), o.called(); s != machine.Succeeded || len(calls) != 2 {
			t.Errorf("the run is %s after %v", s, calls)
		}
		if _, err := o.client.Retry(o.ctx, tenant, id, millrace.RetryOrder{Order: who}); !errors.As(err, &refusal) {
			t.Errorf("a retry of a run that succeeded gave %v", err)
		}
		o.sound()
	})
}

// C3
func TestSuppliesArePausedByNameWithWhoAndWhy(t *testing.T) {
	t.Parallel()
	inOffice(t, saga, func(o *office) {
		w := millrace.Supply{Kind: "workflow", Name: "w"}
		for _, want := range []bool{true, false} {
			if changed, err := o.client.PauseSupply(o.ctx, tenant, w, who); err != nil || changed != want {
				t.Errorf("pause gave %t, %v", changed, err)
			}
		}
		id := o.start()
		if calls := o.called(); len(calls) > 0 {
			t.Errorf("attempts have begun: %v", calls)
		}
		got, err := o.client.Pauses(o.ctx, tenant)
		if err != nil || len(got) != 1 || got[0].Kind != "workflow" || got[0].Name != "w" || got[0].By != who.By || got[0].Reason != who.Reason || got[0].PausedAt == nil {
			t.Errorf("paused are %+v, %v", got, err)
		}
		for _, want := range []bool{true, false} {
			if changed, err := o.client.ResumeSupply(o.ctx, tenant, w, who); err != nil || changed != want {
				t.Errorf("resume gave %t, %v", changed, err)
			}
		}
		o.pass()
		if s := o.status(id); s != machine.Succeeded {
			t.Errorf("the run is %s", s)
		}
		for _, wrong := range []millrace.Supply{{Kind: "moon"}, {Kind: "queue"}, {Kind: "workflow", Name: "x"}, {Kind: "tenant", Name: "x"}} {
			if _, err := o.client.PauseSupply(o.ctx, tenant, wrong, who); err == nil {
				t.Errorf("%+v was paused", wrong)
			}
		}
		if changed, err := o.client.PauseSupply(o.ctx, tenant, millrace.Supply{Kind: "tenant", Name: tenant}, who); err != nil || !changed {
			t.Errorf("pause of the tenant gave %t, %v", changed, err)
		}
	})
}

// C1
func TestTextsOfAnOrderAreMadeStorable(t *testing.T) {
	t.Parallel()
	inOffice(t, saga, func(o *office) {
		o.hold("a")
		id := o.start()
		odd := millrace.Order{By: "a\x00b\xff", Reason: strings.Repeat("x", 100_000)}
		if got, err := o.client.Pause(o.ctx, tenant, id, odd); err != nil || got.Status != machine.Paused {
			t.Errorf("pause gave %+v, %v", got, err)
		}
		if got, err := o.client.Resume(o.ctx, tenant, id, who); err != nil || got.Status != machine.Running {
			t.Errorf("resume gave %+v, %v", got, err)
		}
		o.sound()
	})
}
