package orders

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/memory"
	"github.com/millrace-go/millrace/workflow"
)

// front is a desk at a memory store, with what it wrote.
type front struct {
	*Desk
	out, err strings.Builder
	asked    []string
	runs     []string // ids, oldest first
}

func newFront(t *testing.T, runs int, answer bool) *front {
	t.Helper()
	st := memory.New(func() machine.Time { return machine.TimeOf(time.Now()) })
	eng, err := millrace.New(st, millrace.Config{})
	if err != nil {
		t.Fatal(err)
	}
	def, err := workflow.Read("w.yaml", []byte("workflow: w\nsteps: [{ id: a, task: do }]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eng.Register(t.Context(), def); err != nil {
		t.Fatal(err)
	}
	f := &front{}
	f.Desk = &Desk{
		Desk:    desk.Desk{Client: millrace.NewClient(st), Tenant: millrace.DefaultTenant, Out: &f.out, Err: &f.err, Width: 100},
		Ask:     func(q string) (bool, error) { f.asked = append(f.asked, q); return answer, nil },
		Explain: func(err error) (code, message, hint string) { return "code", err.Error(), "" },
	}
	for i := range runs {
		s, err := eng.Start(t.Context(), millrace.StartRequest{Workflow: "w", Key: fmt.Sprint("k", i), Input: json.RawMessage("{}")})
		if err != nil {
			t.Fatal(err)
		}
		f.runs = append(f.runs, s.RunID)
	}
	return f
}

// abort is an order to abort, that counts what it touched.
func (f *front) abort(touched *int) *RunOrder {
	return &RunOrder{Verb: "abort", Apply: func(ctx context.Context, id string) (millrace.Applied, error) {
		*touched++
		return f.Client.Abort(ctx, f.Tenant, id, millrace.Order{})
	}}
}

// C1: what a filter chooses is counted and sampled before anything is touched, and only a yes does it.
func TestAnOrderByFilterAsksFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer bool
		terms  Terms
		asked  int
		code   string
	}{
		"yes":      {answer: true, asked: 1},
		"no":       {asked: 1, code: "declined"},
		"said so":  {terms: Terms{Yes: true}},
		"too many": {terms: Terms{Yes: true, Max: 11}, code: "too_many"},
		"as many":  {terms: Terms{Yes: true, Max: 12}},
		"dry":      {terms: Terms{DryRun: true}},
	} {
		f := newFront(t, 12, c.answer)
		touched := 0
		o := f.abort(&touched)
		o.Terms, o.Chosen = c.terms, &store.Filter{}
		answers, err := f.Runs(t.Context(), o)
		var declined *Declined
		if errors.As(err, &declined); err != nil && (declined == nil || declined.Code != c.code) || err == nil && c.code != "" {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
		want := 12
		if c.code != "" || c.terms.DryRun {
			want = 0
		}
		if touched != want || len(f.asked) != c.asked || err == nil && len(answers) != 12 {
			t.Errorf("%s: %d runs touched, want %d; asked %q", name, touched, want, f.asked)
		}
		if c.asked > 0 && !strings.Contains(f.err.String(), "... and 2 more") {
			t.Errorf("%s: the sample is %q", name, f.err.String())
		}
	}
}

// C1: nobody to ask is wrong usage, and as a document nothing else is printed.
func TestAnOrderByFilterWithoutATerminalNeedsAYes(t *testing.T) {
	t.Parallel()
	f := newFront(t, 2, false)
	f.Ask, f.JSON = nil, true
	touched := 0
	o := f.abort(&touched)
	o.Chosen = &store.Filter{}
	_, err := f.Runs(t.Context(), o)
	var declined *Declined
	if !errors.As(err, &declined) || declined.Code != "usage" || touched > 0 || f.err.Len() > 0 {
		t.Errorf("%v after %d runs, told %q", err, touched, f.err.String())
	}
}

// C2: the answer is for each item; only of one that was named alone a refusal is an error.
func TestAnswersAreForEachItem(t *testing.T) {
	t.Parallel()
	f := newFront(t, 3, false)
	touched := 0
	o := f.abort(&touched)
	o.Refs = []string{f.runs[0]}
	if answers, err := f.Runs(t.Context(), o); err != nil || answers[0].Status != machine.Aborted || !answers[0].Changed {
		t.Fatalf("%v %v", answers, err)
	}
	if _, err := f.Runs(t.Context(), o); !errors.Is(err, store.ErrEnded) {
		t.Errorf("again: %v, want that it has ended", err)
	}
	o.Refs = []string{"w/k0", "w/k1", "w/none"}
	answers, err := f.Runs(t.Context(), o)
	if err != nil || !refused(answers) {
		t.Fatalf("%v %v", answers, err)
	}
	got := []string{}
	for _, a := range answers {
		text := string(a.Status)
		if a.Error != nil {
			text += " refused"
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{"aborted refused", "aborted", " refused"}, got); diff != "" {
		t.Error(diff)
	}
	if err := f.TellRuns(o, answers); err != nil || strings.Count(f.out.String(), "\n") != 4 {
		t.Errorf("%v: told\n%s", err, f.out.String())
	}
}

func TestALimitOfAFilterIsKeptOverPages(t *testing.T) {
	t.Parallel()
	f := newFront(t, 5, true)
	touched := 0
	o := f.abort(&touched)
	o.Chosen = &store.Filter{Limit: 3}
	if _, err := f.Runs(t.Context(), o); err != nil || touched != 3 {
		t.Errorf("%d runs touched, %v", touched, err)
	}
	if s, err := f.Client.Run(t.Context(), f.Tenant, f.runs[0]); err != nil || s.Status != machine.Running {
		t.Errorf("the oldest is %s, %v", s.Status, err)
	}
}

func TestWordsNameSuppliesOrRuns(t *testing.T) {
	t.Parallel()
	supplies, runs := Divide([]string{"workflow:order", "5f3a", "queue:a:b", "tenant:", "order/k:1", "tenant:t", "host:x"})
	want := []millrace.Supply{{Kind: "workflow", Name: "order"}, {Kind: "queue", Name: "a:b"}, {Kind: "tenant", Name: "t"}}
	if diff := cmp.Diff(want, supplies); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"5f3a", "tenant:", "order/k:1", "host:x"}, runs); diff != "" {
		t.Error(diff)
	}
}
