package engine_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
)

// A start that waited out an outage is older than the store allows; it is given the store's time, and must be sent before that
// time is off again.
func TestAStartThatWaitedForTheStoreIsSoonAccepted(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define("workflow: one\nsteps:\n  a: { task: work }\n")
		e, stop := w.engine(engine.Config{}, handlers{})
		defer func() { _ = stop() }()
		back := time.Now().Add(5 * time.Second)
		w.st.Replan(func(op string, _ int) faulty.Fault {
			if op == "Start" && time.Now().Before(back) {
				return faulty.Fault{Fail: faulty.Outage(op)}
			}
			return faulty.Fault{}
		})
		out, err := e.Start(w.ctx, []engine.StartRequest{{Tenant: tenant, Workflow: "one", Input: json.RawMessage("null")}})
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
		if late := time.Since(back); late > 3*time.Second {
			t.Errorf("it was accepted %v after the store was back", late)
		}
	})
}

// A role that may not write is not told so after half a minute.
func TestAStartOnAStoreThatCannotBeUsedFailsAtOnce(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define("workflow: one\nsteps:\n  a: { task: work }\n")
		e, stop := w.engine(engine.Config{}, handlers{})
		defer func() { _ = stop() }()
		began := time.Now()
		w.st.Replan(func(op string, _ int) faulty.Fault {
			if op == "Start" {
				return faulty.Fault{Fail: &store.StoreError{Op: op, Kind: store.ErrUnusable, Err: errors.New("no right")}}
			}
			return faulty.Fault{}
		})
		_, err := e.Start(w.ctx, []engine.StartRequest{{Tenant: tenant, Workflow: "one", Input: json.RawMessage("null")}})
		if !errors.Is(err, store.ErrUnusable) || time.Since(began) > time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
