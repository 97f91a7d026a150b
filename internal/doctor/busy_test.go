package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/millrace-go/millrace/internal/doctor"
	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite"
	"github.com/millrace-go/millrace/workflow"
)

// ends hears of the ends of runs.
type ends struct {
	mu   sync.Mutex
	runs map[string]chan struct{}
}

func (*ends) Claimed(*engine.Attempt)                 {}
func (*ends) Answered(*engine.Attempt, machine.Event) {}
func (e *ends) Settled(run *machine.Run) {
	if run.Status.Ended() {
		e.of(run.ID) <- struct{}{}
	}
}

func (e *ends) of(id string) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs[id] == nil {
		e.runs[id] = make(chan struct{}, 100)
	}
	return e.runs[id]
}

const busy = `
workflow: w
version: 1
steps:
  a: { task: work, compensate: { task: work } }
  many: { after: a, map: { over: input, as: n, parallel: 2, tolerate: 1, do: { task: work, compensate: { task: work } } } }
  sides: { after: a, parallel: { l: { do: { task: work, compensate: { task: work } } }, r: { steps: [ { id: x, task: work }, { id: y, task: work, compensate: { task: work } } ] } } }
  last: { after: [many, sides], task: last }
finally: { do: { task: work } }
`

// station is two engines as processes of their own on one SQLite file, and a third that gives orders.
func station(t *testing.T) (st store.Store, desk *engine.Engine, heard *ends) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.db")
	heard = &ends{runs: map[string]chan struct{}{}}
	work := engine.HandlerFunc(func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
		if a.Number == 1 && len(a.Key)%5 == 0 {
			return nil, errors.New("again")
		}
		return json.RawMessage(`"` + a.Path + `"`), nil
	})
	last := engine.HandlerFunc(func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
		if a.ID[len(a.ID)-1]%2 == 0 && a.Path == "last" {
			return nil, engine.Permanent(errors.New("no"))
		}
		return nil, nil
	})
	for range 2 {
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.New(db, engine.Config{
			Handlers: map[string]engine.Handler{"work": work, "last": last}, Observer: heard, Logger: slog.New(slog.DiscardHandler), Slots: 16,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- e.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			if err := errors.Join(<-left, db.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	desk, err = engine.New(db, engine.Config{Observer: heard, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return db, desk, heard
}

// C1, C2: orders race with two processes at work; afterwards what is stored of each run is what its journal gives.
func TestOrdersThatRaceWithWorkLeaveEveryRunSound(t *testing.T) {
	t.Parallel()
	st, desk, heard := station(t)
	def, err := workflow.Read("test.yaml", []byte(busy))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := desk.Register(t.Context(), tenant, def); err != nil {
		t.Fatal(err)
	}
	tell := func(id string, kind machine.EventKind) bool {
		o := engine.Order{Tenant: tenant, RunID: id, Event: machine.Event{Kind: kind, Payload: json.RawMessage(`{"again":true}`)}}
		o.Rebuild = kind == machine.RetryRequested
		o.Ended = o.Rebuild
		got, err := desk.Tell(t.Context(), o)
		var refusal *machine.Refusal
		if err != nil && !errors.Is(err, store.ErrEnded) && !errors.As(err, &refusal) {
			t.Errorf("%s: %v", kind, err)
		}
		return err == nil && got.Changed
	}
	wait := func(id string) {
		for ended := false; !ended; {
			<-heard.of(id) // of an outcome that came late, too
			state, err := st.State(t.Context(), tenant, id, nil, nil)
			if err != nil {
				t.Error(err)
				return
			}
			ended = state.Run.Status.Ended()
		}
	}
	orders := [][]machine.EventKind{
		nil,
		{machine.CancelRequested},
		{machine.PauseRequested, machine.ResumeRequested},
		{machine.AbortRequested},
		{machine.PauseRequested, machine.CancelRequested, machine.ResumeRequested},
	}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			got, err := desk.Start(t.Context(), []engine.StartRequest{{Tenant: tenant, Workflow: "w", Key: fmt.Sprint(i), Input: json.RawMessage(`[1,2,3,4,5]`)}})
			if err != nil || got[0].Err != nil {
				t.Error(got, err)
				return
			}
			id := got[0].RunID
			for _, kind := range orders[i%len(orders)] {
				tell(id, kind)
			}
			wait(id)
			if i%3 == 0 && tell(id, machine.RetryRequested) {
				wait(id)
			}
		})
	}
	all.Wait()
	d := &doctor.Doctor{Store: st, Definition: func(context.Context, machine.Header) (*workflow.Definition, error) { return def, nil }}
	rows, err := st.Runs(t.Context(), store.Filter{Tenant: tenant})
	if err != nil || len(rows) != 40 {
		t.Fatal(len(rows), err)
	}
	for i := range rows {
		found, whole, err := d.Examine(t.Context(), &rows[i])
		if err != nil || !whole || len(found) > 0 || !rows[i].Status.Ended() {
			t.Errorf("run %s is %s: whole %t, %v, %+v", rows[i].ID, rows[i].Status, whole, err, found)
		}
	}
}
