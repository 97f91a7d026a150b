package millrace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/memory"
	"github.com/millrace-go/millrace/workflow"
)

// bench is a memory store with an engine and a client of it.
type bench struct {
	t      *testing.T
	st     store.Store
	eng    *engine.Engine
	client *millrace.Client
	ended  chan *machine.Run
	gates  sync.Map // path -> chan struct{}: an attempt there waits
	begun  chan string
}

func newBench(t *testing.T, change func(*engine.Config)) *bench {
	t.Helper()
	b := &bench{
		t: t, st: memory.New(func() machine.Time { return machine.TimeOf(time.Now()) }),
		ended: make(chan *machine.Run, 100), begun: make(chan string, 1000),
	}
	c := engine.Config{Handlers: map[string]engine.Handler{"do": engine.HandlerFunc(b.do)}, Observer: b}
	if change != nil {
		change(&c)
	}
	var err error
	if b.eng, err = engine.New(b.st, c); err != nil {
		t.Fatal(err)
	}
	b.client = millrace.NewClient(b.st)
	return b
}

func (b *bench) Claimed(*engine.Attempt)                 {}
func (b *bench) Answered(*engine.Attempt, machine.Event) {}

func (b *bench) Settled(run *machine.Run) {
	if run.Status.Ended() {
		b.ended <- run
	}
}

// do gives its input back, or fails with the code that the input names, for good or for now; it waits at a gate.
func (b *bench) do(ctx context.Context, a *engine.Attempt) (json.RawMessage, error) {
	b.begun <- a.Path
	if gate, ok := b.gates.Load(a.Path); ok {
		select {
		case <-gate.(chan struct{}):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var in struct{ Fail, Again string }
	_ = json.Unmarshal(a.Input, &in) // other inputs name no failure
	switch {
	case in.Fail != "":
		return nil, engine.Permanent(engine.Fail(in.Fail, errors.New("as told")))
	case in.Again != "":
		return nil, engine.Fail(in.Again, errors.New("as told"))
	}
	return a.Input, nil
}

// run lets the engine run until the test ends.
func (b *bench) run() {
	ctx, stop := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	go func() { done <- b.eng.Run(ctx) }()
	b.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			b.t.Errorf("the engine ended with %v", err)
		}
	})
}

// start registers a file and starts a run of it.
func (b *bench) start(file, key, input string) string {
	b.t.Helper()
	def, err := workflow.Read("test.yaml", []byte(file))
	if err != nil {
		b.t.Fatal(err)
	}
	if _, _, err := b.eng.Register(b.t.Context(), "default", def); err != nil {
		b.t.Fatal(err)
	}
	started, err := b.eng.Start(b.t.Context(), []engine.StartRequest{{
		Tenant: "default", Workflow: def.Name, Key: key, Input: json.RawMessage(input),
	}})
	if err = errors.Join(err, started[0].Err); err != nil {
		b.t.Fatal(err)
	}
	return started[0].RunID
}

func (b *bench) show(id string, o millrace.ShowOptions) *millrace.View {
	b.t.Helper()
	v, err := b.client.Show(b.t.Context(), "default", id, o)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// steps gives the steps of a view as "PATH STATUS", with more where there is more.
func steps(v *millrace.View) []string {
	out := make([]string, 0, len(v.Steps))
	for _, s := range v.Steps {
		text := s.Path + " " + s.Status
		if s.Reason != "" {
			text += " " + s.Reason
		}
		if s.Attempts > 1 {
			text += fmt.Sprint(" attempt ", s.Attempts)
		}
		if s.Error != nil {
			text += " " + s.Error.Code
		}
		if s.Items != nil {
			text += fmt.Sprintf(" %d/%d-%d", s.Items.Done, s.Items.Total, s.Items.Failed)
		}
		out = append(out, text)
	}
	return out
}

const one = "workflow: one\nsteps: [{ id: a, task: do, with: 1 }]\n"

func TestRunsAreFoundByIdEndingAndKey(t *testing.T) {
	t.Parallel()
	ids := []string{
		"01981234-0000-7000-8000-00000000aaaa", "01981234-0000-7000-8000-00000001aaaa", "01981235-0000-7000-8000-00000000bbbb",
	}
	next := 0
	b := newBench(t, func(c *engine.Config) { c.NewID = func() string { next++; return ids[next-1] } })
	for _, key := range []string{"k", "", "a/b"} {
		b.start(one, key, "{}")
	}
	for ref, want := range map[string]string{
		ids[0]: ids[0], "0001aaaa": ids[1], "0000-bbbb": ids[2], "BBBB": ids[2],
		"one/k": ids[0], "one/a/b": ids[2], "@last": ids[2], "": ids[2],
	} {
		if got, err := b.client.Find(t.Context(), "default", ref); got != want || err != nil {
			t.Errorf("Find(%q) = %s, %v; want %s", ref, got, err, want)
		}
	}
	for ref, want := range map[string]error{
		"aaaa": millrace.ErrAmbiguous, "aaa": millrace.ErrNotFound, "cccc": millrace.ErrNotFound, "one/": millrace.ErrNotFound,
		"two/k": millrace.ErrNotFound, "hello": millrace.ErrNotFound, "000000000000000000000000000000000000aaaa": millrace.ErrNotFound,
	} {
		if got, err := b.client.Find(t.Context(), "default", ref); !errors.Is(err, want) {
			t.Errorf("Find(%q) = %s, %v; want %v", ref, got, err, want)
		}
	}
}

// N1
func TestOtherTenantsSeeNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	id := b.start(one, "k", "{}")
	ctx := t.Context()
	_, find := b.client.Find(ctx, "other", id)
	_, byKey := b.client.Find(ctx, "other", "one/k")
	_, show := b.client.Show(ctx, "other", id, millrace.ShowOptions{})
	_, journal := b.client.Journal(ctx, "other", id, 0, 10)
	_, def := b.client.Definition(ctx, "other", "one", 0)
	for name, err := range map[string]error{"Find": find, "Find by key": byKey, "Show": show, "Journal": journal, "Definition": def} {
		if !errors.Is(err, millrace.ErrNotFound) {
			t.Errorf("%s gives %v, want ErrNotFound", name, err)
		}
	}
	if runs, _, err := b.client.Runs(ctx, store.Filter{Tenant: "other"}); len(runs) != 0 || err != nil {
		t.Errorf("Runs gives %v, %v", runs, err)
	}
}

func TestRunsAreListedInPages(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	var want []string
	for range 5 {
		want = append([]string{b.start(one, "", "{}")}, want...)
	}
	var got []string
	f := store.Filter{Tenant: "default", Limit: 2}
	for pages := 1; ; pages++ {
		runs, next, err := b.client.Runs(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			got = append(got, r.ID)
		}
		if f.Before = next; next == "" {
			if pages != 3 {
				t.Errorf("%d pages, want 3", pages)
			}
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("newest first (-want +got):\n%s", diff)
	}
}

const nested = `
workflow: nested
steps:
  seq:
    steps:
      - { id: first, task: do, with: 1 }
      - { id: held, task: do, with: 2 }
      - { id: later, task: do, with: 3 }
  sides:
    parallel:
      eu: { do: { task: do, with: { fail: broken }, catch: { do: { set: { saved: true } } } } }
      us: { steps: [{ id: up, task: do, with: 5 }] }
  items: { map: { over: "[1,2,3,4]", tolerate: 1, do: { task: do, with: { fail: "${ item == 2 ? 'odd' : '' }" } } } }
  never: { after: sides, when: "false", task: do }
  last: { after: [seq, sides, items, never], task: do, with: "${ steps.items.output }" }
`

// O3
func TestShowTellsWhereEveryStepStands(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	gate := make(chan struct{})
	b.gates.Store("seq/held", gate)
	id := b.start(nested, "", `{}`)
	if diff := cmp.Diff([]string{"seq running", "seq/first ready"}, steps(b.show(id, millrace.ShowOptions{}))[:2]); diff != "" {
		t.Errorf("before anybody works (-want +got):\n%s", diff)
	}
	b.run()
	for range 8 { // tasks that begin before the gate opens: two of seq, two of sides, four items
		<-b.begun
	}
	held := b.until(id, func(v *millrace.View) bool { return v.Seq == 8 })
	if diff := cmp.Diff([]string{
		"seq running", "seq/first succeeded", "seq/held running", "seq/later pending",
		"sides succeeded", "sides/eu caught broken", "sides/us/up succeeded",
		"items succeeded 4/4-1", "items[0] succeeded", "items[1] failed odd", "items[2] succeeded", "items[3] succeeded",
		"never skipped guard", "last pending",
	}, steps(held)); diff != "" {
		t.Errorf("while one is held (-want +got):\n%s", diff)
	}
	close(gate)
	<-b.ended
	v := b.show(id, millrace.ShowOptions{})
	if diff := cmp.Diff([]string{
		"seq succeeded", "seq/first succeeded", "seq/held succeeded", "seq/later succeeded",
		"sides succeeded", "sides/eu caught broken", "sides/us/up succeeded",
		"items succeeded 4/4-1", "items[0] succeeded", "items[1] failed odd", "items[2] succeeded", "items[3] succeeded",
		"never skipped guard", "last succeeded",
	}, steps(v)); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
	if got, want := string(v.Output), `[{"fail":""},null,{"fail":""},{"fail":""}]`; got != want || v.Status != machine.Succeeded {
		t.Errorf("%s with %s, want %s", v.Status, got, want)
	}
	for _, s := range v.Steps {
		if s.Path != "never" && (s.StartedAt == nil || s.FinishedAt == nil || s.FinishedAt.Before(*s.StartedAt)) {
			t.Errorf("%s: started %v, finished %v", s.Path, s.StartedAt, s.FinishedAt)
		}
	}
}

func TestTheCatchOfAnItemIsShownWhileItRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	gate := make(chan struct{})
	b.gates.Store("m[0]/catch-1/x", gate)
	id := b.start(`
workflow: rescue
steps:
  m: { map: { over: "[1]", do: { task: do, with: { fail: odd }, catch: { steps: [{ id: x, task: do, with: 1 }] } } } }
`, "", "{}")
	b.run()
	<-b.begun
	<-b.begun
	if diff := cmp.Diff([]string{"m running 0/1-0", "m[0] running odd", "m[0]/catch-1/x running"},
		steps(b.show(id, millrace.ShowOptions{}))); diff != "" {
		t.Errorf("while it runs (-want +got):\n%s", diff)
	}
	close(gate)
	<-b.ended
	if diff := cmp.Diff([]string{"m succeeded 1/1-0", "m[0] caught odd", "m[0]/catch-1/x succeeded"},
		steps(b.show(id, millrace.ShowOptions{}))); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

// until waits for a view, for changes of the store in between.
func (b *bench) until(id string, good func(*millrace.View) bool) *millrace.View {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer stop()
	changed := make(chan struct{}, 1)
	go func() {
		_ = b.st.Watch(ctx, func(store.Hint) {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
	}()
	f := b.client.Follow("default", id)
	for {
		v, err := f.View(ctx, millrace.ShowOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		if good(v) {
			return v
		}
		select {
		case <-changed:
		case <-time.After(20 * time.Millisecond): // a change before the store was listened to is told to nobody
		case <-ctx.Done():
			b.t.Fatalf("it never came to that; steps: %q", steps(v))
		}
	}
}

// O3 O1
func TestViewsAgreeWithTheJournalAtEveryInstant(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	id := b.start(`
workflow: wide
steps:
  a: { map: { over: "1..60", parallel: 5, steps: [{ id: x, task: do, with: 1 }, { id: y, task: do, with: 2 }] } }
  b: { after: a, task: do, with: 3 }
`, "", "{}")
	b.run()
	f := b.client.Follow("default", id)
	for views := 0; ; views++ {
		v, err := f.View(t.Context(), millrace.ShowOptions{Steps: -1})
		if err != nil {
			t.Fatal(err)
		}
		b.agree(v)
		if v.Status.Ended() {
			if v.Status != machine.Succeeded || v.Seq != 122 {
				t.Errorf("%s after %d entries", v.Status, v.Seq)
			}
			return
		}
	}
}

// agree compares what a view says of tasks with the journal up to the view.
func (b *bench) agree(v *millrace.View) {
	b.t.Helper()
	entries, err := b.client.Journal(b.t.Context(), "default", v.ID, 0, int(v.Seq))
	if err != nil {
		b.t.Fatal(err)
	}
	done := map[string]bool{}
	for i, e := range entries {
		if e.Seq != int64(i+1) {
			b.t.Fatalf("entry %d has number %d", i+1, e.Seq)
		}
		if e.Kind == machine.TaskSucceeded {
			done[e.Path] = true
		}
	}
	for _, s := range v.Steps {
		if s.Path != "a" && done[s.Path] != (s.Status == "succeeded") {
			b.t.Errorf("at %d: %s is %s, and in the journal its success is %v", v.Seq, s.Path, s.Status, done[s.Path])
		}
		delete(done, s.Path)
	}
	for path := range done {
		b.t.Errorf("at %d: %s succeeded and is not shown", v.Seq, path)
	}
}

func TestOuterAndFailedStepsAreShownFirstWhenThereAreTooMany(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.run()
	id := b.start(`
workflow: many
steps:
  a: { map: { over: "0..299", tolerate: 300, do: { task: do, with: { fail: "${ item == 250 ? 'late' : '' }" } } } }
  b: { after: a, task: do, with: 1 }
`, "", "{}")
	<-b.ended
	v := b.show(id, millrace.ShowOptions{})
	all := b.show(id, millrace.ShowOptions{Steps: -1})
	if len(v.Steps) != 200 || v.StepsLeft != 102 || len(all.Steps) != 302 || all.StepsLeft != 0 {
		t.Errorf("%d steps and %d left out, of all %d and %d", len(v.Steps), v.StepsLeft, len(all.Steps), all.StepsLeft)
	}
	got := steps(v)
	if diff := cmp.Diff([]string{"a succeeded 300/300-1", "a[250] failed late", "b succeeded"}, []string{got[0], got[198], got[199]}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	live := b.show(id, millrace.ShowOptions{Live: true})
	if diff := cmp.Diff([]string{"a succeeded 300/300-1", "b succeeded"}, steps(live)); diff != "" {
		t.Errorf("what is left behind is not live (-want +got):\n%s", diff)
	}
}

func TestFailedRunsTellWhyWhereAndWhatHelps(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.run()
	id := b.start("workflow: bad\nsteps: [{ id: a, task: do, with: { fail: timeout } }, { id: b, task: do }]\n", "", "{}")
	<-b.ended
	v := b.show(id, millrace.ShowOptions{})
	if diff := cmp.Diff([]string{"a failed timeout", "b skipped end"}, steps(v)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := &millrace.ErrorView{Code: "timeout", Message: "as told", Path: "a", Attempt: 1, Hint: v.Error.Hint}
	if diff := cmp.Diff(want, v.Error); diff != "" || v.Error.Hint == "" {
		t.Errorf("hint %q (-want +got):\n%s", v.Error.Hint, diff)
	}
	if len(v.Letters) != 1 || v.Letters[0].Kind != machine.LetterFailure {
		t.Errorf("letters %+v, want one of a failure", v.Letters)
	}
}

func TestWaitingRunsTellForWhatAndUntilWhen(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	id := b.start(`
workflow: waits
steps:
  alone: { task: nobody.serves }
  pause: { wait: 1h }
  again: { task: do, with: { again: no }, retry: { attempts: 2, delay: 30m, max_delay: 1h, jitter: 0 } }
  later: { delay: 20m, task: do }
  outer: { retry: { attempts: 2, delay: 40m, max_delay: 1h, jitter: 0 }, steps: [{ id: x, fail: { code: no } }] }
  loop: { loop: { limit: "2", every: 50m, do: { task: do, with: 1 } } }
`, "", "{}")
	b.run()
	v := b.until(id, func(v *millrace.View) bool { return v.Seq == 3 })
	var got []string
	for _, w := range v.Waiting {
		text := w.Path + " " + w.For
		if w.Until != nil {
			text += " " + w.Until.Sub(*v.StartedAt).Round(10*time.Minute).String()
		}
		if w.Needs != "" {
			text += ": " + w.Needs
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{
		"again retry 30m0s", "alone worker: a worker that serves the handler nobody.serves", "later time 20m0s", "loop time 50m0s",
		"outer retry 40m0s", "pause time 1h0m0s",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestViewsAsJSONHaveEveryField(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(&millrace.View{
		ID: "x", Steps: []millrace.StepView{{Path: "a"}}, Error: &millrace.ErrorView{Code: "c"}, Waiting: []millrace.WaitView{{Path: "a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"x","workflow":"","version":0,"key":null,"status":"","reason":null,"input":null,"output":null,` +
		`"error":{"code":"c","message":"","path":null,"attempt":null,"hint":null},` +
		`"steps":[{"path":"a","status":"","attempts":0,"reason":null,"error":null,"started_at":null,"finished_at":null,"items":null,"undo":null}],` +
		`"steps_omitted":0,"not_undone":[],"waiting":[{"path":"a","for":"","since":null,"until":null,"needs":null}],` +
		`"dead_letters":[],"parent":null,"labels":{},"created_at":"0001-01-01T00:00:00Z","started_at":null,"finished_at":null}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
