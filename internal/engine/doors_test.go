package engine_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// N2: an order for another tenant's run, one that does not exist, is none, or has ended changes nothing.
func TestWhatComesForNobodyIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		e, _ := w.engine(engine.Config{}, handlers{"work": ok})
		ended := w.start("one", "null")
		w.succeeded(ended)
		w.define("workflow: long\nversion: 1\nsteps:\n  - { id: rest, wait: 1h }\n")
		open := w.start("long", "null")
		pass(time.Second)
		before := []string{w.story(ended), w.story(open)}
		const nobody = "01890000-0000-7000-8000-000000000000"
		for _, kind := range []machine.EventKind{
			machine.CancelRequested, machine.AbortRequested, machine.PauseRequested, machine.ResumeRequested, machine.RedriveRequested,
			machine.DropRequested, machine.RetryRequested,
		} {
			for name, c := range map[string]struct {
				tenant, run string
				want        error
			}{
				"another tenant":  {"another", open, store.ErrNotFound},
				"no tenant":       {"", open, store.ErrNotFound},
				"an unknown run":  {tenant, nobody, store.ErrNotFound},
				"a malformed run": {tenant, "x\x00'; --", store.ErrNotFound},
				"an ended run":    {tenant, ended, store.ErrEnded},
			} {
				o := order(c.run, kind)
				o.Tenant = c.tenant
				if _, err := e.Tell(w.ctx, o); !errors.Is(err, c.want) {
					t.Errorf("%s for %s: %v, want %v", kind, name, err, c.want)
				}
			}
		}
		got, err := e.Start(w.ctx, []engine.StartRequest{
			{Tenant: "another", Workflow: "one"},
			{Tenant: "", Workflow: "one"},
			{Tenant: tenant, Workflow: "one\x00"},
			{Tenant: tenant, Workflow: "one", Version: 99},
			{Tenant: tenant, Workflow: "one", Input: json.RawMessage(`{`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range got {
			if s.Err == nil || s.Created || s.RunID != "" {
				t.Errorf("start %d: %+v", i, s)
			}
		}
		pass(time.Minute)
		if diff := cmp.Diff(before, []string{w.story(ended), w.story(open)}); diff != "" {
			t.Error(diff)
		}
	})
}
