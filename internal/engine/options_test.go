package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
)

const pair = `
workflow: pair
version: 1
labels: { team: blue, kind: usual }
vars: { site: { default: here }, size: {} }
steps:
  a: { task: work, with: { site: "${ vars.site }", size: "${ vars.size }" } }
  b: { after: a, task: work, with: { labels: "${ run.labels }", got: "${ prev }" } }
`

// begin starts a run with a request of its own making.
func (w *world) begin(r engine.StartRequest) string {
	w.t.Helper()
	r.Tenant = tenant
	got, err := w.starter(engine.Config{}).Start(w.ctx, []engine.StartRequest{r})
	if err != nil || got[0].Err != nil {
		w.t.Fatal(err, got)
	}
	return got[0].RunID
}

// R6
func TestRunThatIsPutOffIsPendingAndBeginsAtItsTime(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]engine.StartRequest{
		"delay": {Delay: 90 * time.Minute}, "at": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define(one)
				began := time.Now()
				r.Workflow, r.Input = "one", json.RawMessage("7")
				if name == "at" {
					r.At = began.Add(90 * time.Minute)
				}
				_, stop := w.engine(engine.Config{}, handlers{"work": echo})
				id := w.begin(r)
				pass(time.Hour)
				if run := w.state(id); run.Status != machine.Pending || w.begun() > 0 || run.StartedAt != 0 {
					t.Errorf("after an hour the run is %s and began at %s", run.Status, run.StartedAt.Std())
				}
				_ = stop()
				w.engine(engine.Config{}, handlers{"work": echo}) // a restart loses nothing
				run := w.wait(id)
				if d := run.StartedAt.Std().Sub(began); d < 90*time.Minute || d > 90*time.Minute+time.Second || run.Status != machine.Succeeded {
					t.Errorf("it began after %s and is %s", d, run.Status)
				}
				if j := w.journal(id); j[1].Kind != machine.TimerFired || j[1].Cause != 1 || string(j[2].Payload) != "7" {
					t.Errorf("the journal is\n%s", w.story(id))
				}
			})
		})
	}
}

func echo(_ context.Context, a *engine.Attempt) (json.RawMessage, error) { return a.Input, nil }

// R6
func TestStartWhoseTimeIsPastBeginsAtOnce(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		if s := w.state(w.begin(engine.StartRequest{Workflow: "one", At: time.Now().Add(-time.Hour)})).Status; s != machine.Running {
			t.Errorf("the run is %s", s)
		}
	})
}

// R6: a delay counts by the store's clock, whatever that of the process says.
func TestDelayCountsByTheStoresClock(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		e := w.starter(engine.Config{Clock: skewed{by: time.Hour}})
		got, err := e.Start(w.ctx, []engine.StartRequest{{Tenant: tenant, Workflow: "one", Delay: time.Minute}})
		if err != nil || got[0].Err != nil {
			t.Fatal(err, got)
		}
		run := w.state(got[0].RunID)
		if now := machine.TimeOf(time.Now()); run.CreatedAt > now.Add(time.Second) || run.Options.Due > now.Add(62*time.Second) {
			t.Errorf("created at %s, due at %s; it is %s", run.CreatedAt.Std(), run.Options.Due.Std(), now.Std())
		}
	})
}

// R6
func TestPriorityAndQueueOfAStartAreThoseOfItsTasks(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		var ids []string
		for _, r := range []engine.StartRequest{{}, {Priority: 5}, {Priority: -5, Queue: "night"}, {Priority: 50}} {
			r.Workflow = "one"
			ids = append(ids, w.begin(r))
		}
		live, err := w.memory.Tasks(w.ctx, tenant, ids[2], nil)
		if err != nil || len(live) != 1 || live[0].Lane.Queue != "night" || live[0].Priority != -5 {
			t.Errorf("%+v, %v", live, err)
		}
		w.engine(engine.Config{Slots: 1, Queues: map[string]int{"night": 1}}, handlers{"work": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
			pass(time.Second)
			return nil, nil
		}})
		for _, id := range ids {
			w.succeeded(id)
		}
		order := slices.DeleteFunc(slices.Clone(w.seen), func(s string) bool { return strings.HasPrefix(s, ids[2]) })
		if want := []string{ids[3] + " work", ids[1] + " work", ids[0] + " work"}; !slices.Equal(order, want) {
			t.Errorf("executed in the order %v; want %v", order, want)
		}
	})
}

// R6
func TestLabelsAndVarsAreTheStartsElseTheWorkflows(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(pair)
		id := w.begin(engine.StartRequest{
			Workflow: "pair", Labels: map[string]string{"kind": "rare", "<&>": ""},
			Vars: map[string]json.RawMessage{"size": json.RawMessage("12345678901234567890")},
		})
		w.engine(engine.Config{}, handlers{"work": echo})
		w.succeeded(id)
		j := w.journal(id)
		want := `{"got":{"site":"here","size":12345678901234567890},"labels":{"<&>":"","kind":"rare","team":"blue"}}`
		if diff := cmp.Diff(want, compact(t, j[len(j)-1].Payload)); diff != "" {
			t.Error(diff)
		}
		rows, err := w.memory.Runs(w.ctx, store.Filter{Tenant: tenant, Labels: map[string]string{"team": "blue", "kind": "rare"}})
		if err != nil || len(rows) != 1 {
			t.Errorf("%d runs have the labels, %v", len(rows), err)
		}
	})
}

// compact writes a document with sorted keys, numbers as they are.
func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// R6
func TestRunBeginsAtAStepWithItsInput(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(chain)
		w.engine(engine.Config{}, handlers{"work": echo})
		id := w.begin(engine.StartRequest{Workflow: "chain", From: "d", Input: json.RawMessage(`"in"`)})
		w.succeeded(id)
		if n := len(w.journal(id)); n != 3 || w.called(id, "c") > 0 || w.called(id, "e") != 1 {
			t.Errorf("the journal is\n%s", w.story(id))
		}
	})
}

// R6, D4: all at once, by name.
func TestStartSaysEverythingThatIsWrongWithItAtOnce(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(pair)
		got, err := w.starter(engine.Config{}).Start(w.ctx, []engine.StartRequest{{
			Tenant: tenant, Workflow: "pair", Delay: -time.Second, Priority: 2_000_000, Queue: "a\nb", From: "nowhere",
			Labels: map[string]string{"": "x"}, Vars: map[string]json.RawMessage{"sise": json.RawMessage("1"), "site": json.RawMessage("{")},
		}})
		if err != nil {
			t.Fatal(err)
		}
		var bad *engine.StartError
		if !errors.As(got[0].Err, &bad) {
			t.Fatalf("got %v", got[0].Err)
		}
		want := []string{"site: ", "size has no value", "no variable sise", `label ""`, "delay -1s", "priority 2000000", `queue "a\nb"`, `no step "nowhere"`}
		if len(bad.Problems) != len(want) {
			t.Fatalf("got %q", bad.Problems)
		}
		for i, part := range want {
			if !strings.Contains(bad.Problems[i], part) {
				t.Errorf("problem %d is %q; want %q in it", i, bad.Problems[i], part)
			}
		}
		if rows, _ := w.memory.Runs(w.ctx, store.Filter{Tenant: tenant}); len(rows) > 0 {
			t.Error("something was started")
		}
	})
}

func TestStartOfWhatDoesNotRunYetIsRefusedByName(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define("workflow: later\nversion: 1\nsteps:\n  a: { approve: { title: go } }\n  b: { task: work, rate: { key: k, limit: 5, per: 1m } }\n")
		got, err := w.starter(engine.Config{}).Start(w.ctx, []engine.StartRequest{{Tenant: tenant, Workflow: "later"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"approve", "rate"} {
			if got[0].Err == nil || !strings.Contains(got[0].Err.Error(), part) {
				t.Errorf("%s is not named in %v", part, got[0].Err)
			}
		}
	})
}

// A11: a first task that was handed over by a start whose answer was lost is executed, and at once.
func TestFirstTaskIsHandedOverByItsStart(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"heard": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define(one)
				e, _ := w.engine(engine.Config{}, handlers{"work": echo})
				pass(5 * time.Second)
				w.st.Replan(func(op string, n int) faulty.Fault {
					if op == "Claim" {
						return faulty.Fault{Fail: faulty.Outage(op)}
					}
					if lost && op == "Start" && n == 1 {
						return faulty.Fault{Lose: faulty.Outage(op)}
					}
					return faulty.Fault{}
				})
				before := time.Now()
				got, err := e.Start(w.ctx, []engine.StartRequest{request("one", "", "1")})
				if err != nil || got[0].Err != nil || !got[0].Created {
					t.Fatal(err, got)
				}
				w.succeeded(got[0].RunID)
				if d := time.Since(before); d > 2*time.Second {
					t.Errorf("it took %s", d)
				}
				if n := w.called(got[0].RunID, "work"); n != 1 {
					t.Errorf("the task was executed %d times", n)
				}
			})
		})
	}
}

// A1: a start does not go before what waits.
func TestStartHandsOverNothingWhileOthersWait(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		e, _ := w.engine(engine.Config{Slots: 1}, handlers{"work": func(context.Context, *engine.Attempt) (json.RawMessage, error) {
			pass(time.Minute)
			return nil, nil
		}})
		var ids []string
		for range 5 {
			got, err := e.Start(w.ctx, []engine.StartRequest{request("one", "", "1")})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, got[0].RunID)
			pass(time.Second)
		}
		for _, id := range ids {
			w.succeeded(id)
		}
		if got := w.seen; !slices.IsSorted(got) { // ids rise
			t.Errorf("executed in the order %v", got)
		}
	})
}

// A5: an attempt ends no later than the time for which its step is tried, counted from when it first became ready.
func TestAttemptEndsWithTheTimeForWhichItsStepIsTried(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: one
version: 1
steps:
  - { id: work, task: work, timeout: 40s, retry: { attempts: 9, delay: 10s, jitter: 0, factor: 1, for: 1m } }
`)
		w.engine(engine.Config{}, handlers{"work": func(ctx context.Context, _ *engine.Attempt) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		before := time.Now()
		e := w.failed(w.start("one", "null"))
		if d := time.Since(before); d < time.Minute || d > 61*time.Second || e.Code != machine.CodeTimeout || !strings.Contains(e.Message, "`for`") {
			t.Errorf("after %s: %v", d, e)
		}
	})
}
