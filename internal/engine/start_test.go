package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
	"github.com/millrace-go/millrace/workflow"
)

// starter makes an engine that only starts.
func (w *world) starter(c engine.Config) *engine.Engine {
	w.t.Helper()
	e, err := engine.New(w.st, c)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

func request(name, key, input string) engine.StartRequest {
	return engine.StartRequest{Tenant: tenant, Workflow: name, Key: key, Input: json.RawMessage(input)}
}

// R1
func TestStartReturnsTheRunAndExecutesNothing(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		got, err := w.starter(engine.Config{}).Start(w.ctx, []engine.StartRequest{request("one", "", "7")})
		if err != nil || got[0].Err != nil || !got[0].Created {
			t.Fatalf("%+v, %v", got, err)
		}
		if s := w.state(got[0].RunID).Status; s != machine.Running {
			t.Errorf("the run is %s", s)
		}
		if j := w.journal(got[0].RunID); len(j) != 1 || string(j[0].Payload) != "7" {
			t.Errorf("journal has %+v", j)
		}
	})
}

// R2
func TestKeyGivesTheFirstRunForAnEqualInputAndAConflictForAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second string
		equal         bool
	}{
		"same":                       {`{"a":1,"b":[1,2]}`, `{"a":1,"b":[1,2]}`, true},
		"order of keys, white space": {`{"a":1,"b":[1,2]}`, "{ \"b\" : [1,\n2], \"a\": 1 }", true},
		"escapes of text":            {`"a\u0062c"`, `"abc"`, true},
		"order of items":             {`[1,2]`, `[2,1]`, false},
		"text of numbers":            {`1.0`, `1`, false},
		"number and text":            {`1`, `"1"`, false},
		"null and absent":            {`{"a":null}`, `{}`, false},
		"another":                    {`{"a":1}`, `{"a":2}`, false},
		"large numbers":              {`100000000000000000000001`, `100000000000000000000002`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define(one)
				e := w.starter(engine.Config{})
				first, err := e.Start(w.ctx, []engine.StartRequest{request("one", "k", c.first)})
				if err != nil || first[0].Err != nil {
					t.Fatal(err, first)
				}
				w.engine(engine.Config{}, handlers{"work": ok})
				w.succeeded(first[0].RunID) // it holds its key after its end too
				second, err := e.Start(w.ctx, []engine.StartRequest{request("one", "k", c.second)})
				if err != nil {
					t.Fatal(err)
				}
				if c.equal && (second[0].Err != nil || second[0].Created || second[0].RunID != first[0].RunID) {
					t.Errorf("got %+v; want run %s", second[0], first[0].RunID)
				}
				var conflict *store.ConflictError
				if !c.equal && (!errors.As(second[0].Err, &conflict) || conflict.RunID != first[0].RunID) {
					t.Errorf("got %+v; want a conflict with run %s", second[0], first[0].RunID)
				}
			})
		})
	}
}

// slow is a store that long lists of starts reach too late.
type slow struct {
	store.Store
	bears int
	calls int
	once  func() // after the first that came too late; nil: nothing
}

func (s *slow) Start(ctx context.Context, all []store.Start) ([]store.Started, error) {
	s.calls++
	if len(all) <= s.bears {
		return s.Store.Start(ctx, all)
	}
	out := make([]store.Started, len(all))
	for i := range out {
		out[i].Err = store.ErrSkewed
	}
	if s.once != nil {
		s.once()
	}
	return out, nil
}

// R4
func TestAListThatIsTooOldWhenItIsMadeGoesInParts(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		s := &slow{Store: w.st, bears: 100}
		e, err := engine.New(s, engine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var all []engine.StartRequest
		for i := range 3000 {
			all = append(all, request("one", fmt.Sprint(i), fmt.Sprint(i)))
		}
		got, err := e.Start(w.ctx, all)
		if err != nil {
			t.Fatal(err)
		}
		last := ""
		for i, one := range got {
			if one.Err != nil || !one.Created || one.RunID <= last {
				t.Fatalf("item %d: %+v after %s", i, one, last)
			}
			last = one.RunID
		}
		if s.calls > 50 { // 6 that were too long, and 3,000 in parts of 93
			t.Errorf("%d calls", s.calls)
		}
		s.bears = 0
		if _, err := e.Start(w.ctx, all[:2]); !errors.Is(err, store.ErrSkewed) {
			t.Errorf("a store that is never met in time: %v", err)
		}
	})
}

// A clock that was off is no reason to give up the one transaction.
//
// R1
func TestAListThatIsMadeByAWrongClockGoesInOneTransaction(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		s := &slow{Store: w.st}
		e, err := engine.New(s, engine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		s.once = func() { s.bears = 1000 }
		got, err := e.Start(w.ctx, slices.Repeat([]engine.StartRequest{request("one", "", "1")}, 1000))
		if err != nil || len(got) != 1000 || s.calls != 2 {
			t.Errorf("%d started in %d calls, %v; the first was too late", len(got), s.calls, err)
		}
	})
}

// R4
func TestSixteenStartsAtOnceWithOneKeyCreateOneRun(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		var mu sync.Mutex
		ids, created := map[string]bool{}, 0
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				got, err := w.starter(engine.Config{}).Start(w.ctx, []engine.StartRequest{request("one", "k", "1")})
				if err != nil || got[0].Err != nil {
					t.Error(err, got)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				ids[got[0].RunID] = true
				if got[0].Created {
					created++
				}
			})
		}
		all.Wait()
		if len(ids) != 1 || created != 1 {
			t.Errorf("%d runs, %d times created", len(ids), created)
		}
	})
}

// R4
func TestThousandStartsInOneCallKeepTheirOrderAndAreReportedOneByOne(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		var all []engine.StartRequest
		for i := range 1000 {
			all = append(all, request("one", fmt.Sprint(i), fmt.Sprint(i)))
		}
		all[10] = request("nowhere", "", "1")
		all[20] = request("one", "19", "20")
		all[30] = request("one", "", `"a\u0000"`)
		got, err := w.starter(engine.Config{}).Start(w.ctx, all)
		if err != nil {
			t.Fatal(err)
		}
		if !errors.Is(got[10].Err, store.ErrNotFound) || !errors.Is(got[20].Err, store.ErrConflict) || got[30].Err == nil {
			t.Errorf("got %v, %v, %v", got[10].Err, got[20].Err, got[30].Err)
		}
		last := ""
		for i, s := range got {
			if i == 10 || i == 20 || i == 30 {
				continue
			}
			if s.Err != nil || !s.Created || s.RunID <= last {
				t.Fatalf("item %d: %+v after %s", i, s, last)
			}
			last = s.RunID
			if in := string(w.journal(s.RunID)[0].Payload); in != fmt.Sprint(i) {
				t.Fatalf("item %d has input %s", i, in)
			}
		}
	})
}

// R5
func TestInputThatBreaksTheSchemaStartsNothingAndNamesThePath(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: order
version: 1
input:
  type: object
  required: [lines]
  properties:
    lines: { type: array, items: { type: integer } }
    speed: { type: string, default: slow }
steps:
  - { id: work, task: work }
`)
		e := w.starter(engine.Config{})
		got, err := e.Start(w.ctx, []engine.StartRequest{
			request("order", "", `{"lines":[1,"two"]}`), request("order", "", `{"lines":[1]}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		var bad *workflow.InputError
		if !errors.As(got[0].Err, &bad) || !strings.Contains(bad.Error(), "lines") || got[0].RunID != "" {
			t.Errorf("got %+v", got[0])
		}
		var input struct{ Speed string }
		if err := json.Unmarshal(w.journal(got[1].RunID)[0].Payload, &input); err != nil || input.Speed != "slow" {
			t.Errorf("the default was not filled in: %s", w.journal(got[1].RunID)[0].Payload)
		}
	})
}

// R8
func TestInputOverTheLimitIsRefusedByName(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		got, err := w.starter(engine.Config{MaxPayload: 100}).Start(w.ctx, []engine.StartRequest{
			request("one", "", `"`+strings.Repeat("x", 100)+`"`),
		})
		var bad *machine.Error
		if err != nil || !errors.As(got[0].Err, &bad) || bad.Code != machine.CodeTooLarge || !bad.Final {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// A11 R4
func TestStartWhoseAnswerIsLostStartsOnce(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		w.st.Replan(func(op string, n int) faulty.Fault {
			switch {
			case op == "Start" && n == 1:
				return faulty.Fault{Fail: faulty.Outage(op)}
			case op == "Start" && n < 4:
				return faulty.Fault{Lose: faulty.Outage(op)}
			}
			return faulty.Fault{}
		})
		got, err := w.starter(engine.Config{}).Start(w.ctx, []engine.StartRequest{
			request("one", "", "1"), request("one", "k", "1"), request("one", "k", "1"),
		})
		if err != nil {
			t.Fatal(err)
		}
		if !got[0].Created || !got[1].Created || got[2].RunID != got[1].RunID {
			t.Errorf("got %+v", got)
		}
		rows, err := w.memory.Runs(w.ctx, store.Filter{Tenant: tenant})
		if err != nil || len(rows) != 2 {
			t.Errorf("%d runs, %v", len(rows), err)
		}
	})
}

func TestStartGivesUpWhenItsCallerDoes(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		w.st.Replan(func(op string, _ int) faulty.Fault { return faulty.Fault{Fail: faulty.Outage(op)} })
		if _, err := w.starter(engine.Config{}).Start(w.ctx, []engine.StartRequest{request("one", "", "1")}); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
}

// N1
func TestWorkflowOfAnotherTenantIsNotFound(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		r := request("one", "", "1")
		r.Tenant = "other"
		got, err := w.starter(engine.Config{}).Start(w.ctx, []engine.StartRequest{r})
		if err != nil || !errors.Is(got[0].Err, store.ErrNotFound) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestConfigReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	c := engine.Config{
		Slots: -1, Lease: time.Second, Renew: time.Second, Queues: map[string]int{"slow": 0}, Only: &engine.Only{Tenant: "t"},
		Handlers: map[string]engine.Handler{"a": nil},
	}
	err := c.Validate()
	if err == nil {
		t.Fatal("nothing is reported")
	}
	for _, want := range []string{"Slots is -1", "Renew is 1s", `Queues["slow"] is 0`, "Only is incomplete", `Handlers["a"]`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	if err := new(engine.Config).Validate(); err != nil {
		t.Errorf("the zero value is refused: %v", err)
	}
}
