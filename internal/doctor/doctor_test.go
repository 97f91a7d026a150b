package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-go/millrace/internal/doctor"
	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/memory"
	"github.com/millrace-go/millrace/workflow"
)

const tenant = "t"

// ward is a store in memory under virtual time, an engine that works at it, and a doctor.
type ward struct {
	t      *testing.T
	ctx    context.Context
	st     *memory.Store
	engine *engine.Engine
	doctor *doctor.Doctor
	def    *workflow.Definition
}

// in runs a test in a bubble of virtual time. Handlers: `work` gives its path, `large` a million bytes, `fail` fails for good,
// `hang` waits to be told to stop.
func in(t *testing.T, text string, test func(w *ward)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(func() machine.Time { return machine.TimeOf(time.Now()) })
		def, err := workflow.Read("test.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.New(st, engine.Config{Handlers: map[string]engine.Handler{
			"work": engine.HandlerFunc(func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
				return json.RawMessage(`"` + a.Path + `"`), nil
			}),
			"large": engine.HandlerFunc(func(context.Context, *engine.Attempt) (json.RawMessage, error) {
				return json.RawMessage(`"` + strings.Repeat("x", 1_000_000) + `"`), nil
			}),
			"fail": engine.HandlerFunc(func(context.Context, *engine.Attempt) (json.RawMessage, error) {
				return nil, engine.Permanent(errors.New("no"))
			}),
			"hang": engine.HandlerFunc(func(ctx context.Context, _ *engine.Attempt) (json.RawMessage, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.Register(t.Context(), tenant, def); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		w := &ward{t: t, ctx: t.Context(), st: st, engine: e, def: def}
		w.doctor = &doctor.Doctor{Store: st, Definition: func(context.Context, machine.Header) (*workflow.Definition, error) {
			return w.def, nil
		}}
		test(w)
		cancel()
		<-done
	})
}

// start starts a run and lets it go on for a minute.
func (w *ward) start() string {
	w.t.Helper()
	got, err := w.engine.Start(w.ctx, []engine.StartRequest{{Tenant: tenant, Workflow: "w", Input: json.RawMessage(`[1,2,3]`)}})
	if err != nil || got[0].Err != nil {
		w.t.Fatal(err, got)
	}
	<-time.After(time.Minute)
	return got[0].RunID
}

func (w *ward) tell(id string, kind machine.EventKind) {
	w.t.Helper()
	o := engine.Order{Tenant: tenant, RunID: id, Ended: true, Event: machine.Event{Kind: kind, Payload: json.RawMessage(`{}`)}}
	if o.Rebuild = kind == machine.RetryRequested; o.Rebuild {
		o.Event.Payload = json.RawMessage(`{"again":true}`)
	}
	if got, err := w.engine.Tell(w.ctx, o); err != nil || !got.Changed {
		w.t.Fatalf("%s: %v", kind, err)
	}
	<-time.After(time.Minute)
}

func (w *ward) row(id string) store.RunRow {
	w.t.Helper()
	row, err := w.doctor.Row(w.ctx, tenant, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return row
}

// examine gives the checks that a run fails, and what they say.
func (w *ward) examine(id string) (failed []doctor.Check, said string) {
	w.t.Helper()
	row := w.row(id)
	found, whole, err := w.doctor.Examine(w.ctx, &row)
	if err != nil || !whole {
		w.t.Fatalf("whole: %t, %v", whole, err)
	}
	for _, f := range found {
		if f.Run != id {
			w.t.Errorf("a finding of run %s", f.Run)
		}
		failed, said = append(failed, f.Check), said+f.Message+"\n"
	}
	return slices.Compact(failed), said
}

// sound fails the test unless nothing is wrong with a run.
func (w *ward) sound(id string) {
	w.t.Helper()
	if failed, said := w.examine(id); len(failed) > 0 {
		w.t.Errorf("the run is %s and has %v: %s", w.row(id).Status, failed, said)
	}
}

const broad = `
workflow: w
version: 1
steps:
  first: { task: work, compensate: { task: work } }
  many: { after: first, map: { over: input, as: n, steps: [ { id: one, task: work, compensate: { task: work } }, { id: two, task: work } ] } }
  flat: { after: first, map: { over: input, as: n, do: { task: work } } }
  sides: { after: [many, flat], parallel: { l: { do: { task: work } }, r: { steps: [ { id: x, task: work }, { id: y, task: LAST } ] } } }
  nap: { wait: 1h }
output: { many: "${ steps.many.output }", flat: "${ steps.flat.output }" }
`

func TestSoundRunHasNothingWrongWithItWhateverItsStatus(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		last   string
		orders []machine.EventKind
		wait   time.Duration
		status machine.Status
	}{
		"running":     {last: "work", status: machine.Running},
		"succeeded":   {last: "work", wait: 2 * time.Hour, status: machine.Succeeded},
		"failed":      {last: "fail", wait: time.Hour, status: machine.Failed},
		"held":        {last: "hang", status: machine.Running},
		"cancelled":   {last: "hang", orders: []machine.EventKind{machine.CancelRequested}, status: machine.Cancelled},
		"aborted":     {last: "hang", orders: []machine.EventKind{machine.AbortRequested}, status: machine.Aborted},
		"paused":      {last: "hang", orders: []machine.EventKind{machine.PauseRequested}, wait: 2 * time.Hour, status: machine.Paused},
		"resumed":     {last: "hang", orders: []machine.EventKind{machine.PauseRequested, machine.ResumeRequested}, status: machine.Running},
		"retried":     {last: "hang", orders: []machine.EventKind{machine.AbortRequested, machine.RetryRequested}, status: machine.Running},
		"retried all": {last: "fail", orders: []machine.EventKind{machine.RetryRequested}, wait: time.Hour, status: machine.Failed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, strings.Replace(broad, "LAST", test.last, 1), func(w *ward) {
				id := w.start()
				for _, o := range test.orders {
					w.tell(id, o)
				}
				<-time.After(test.wait)
				if s := w.row(id).Status; s != test.status {
					t.Errorf("the run is %s", s)
				}
				w.sound(id)
				if done, err := w.doctor.Repair(w.ctx, tenant, id); done != nil || err != nil {
					t.Errorf("it was mended: %+v, %v", done, err)
				}
			})
		})
	}
}
