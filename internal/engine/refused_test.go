package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
)

// poison refuses settlements that carry a word, as a database that does not like it would.
type poison struct {
	store.Store
	word string
}

func (p poison) Settle(ctx context.Context, all []store.Settlement) ([]store.Settled, error) {
	out := make([]store.Settled, len(all))
	var rest []store.Settlement
	var places []int
	for i, s := range all {
		refuse := false
		for _, e := range s.Entries {
			refuse = refuse || e.Kind == machine.TaskSucceeded && string(e.Payload) == p.word
		}
		if refuse {
			out[i] = store.Settled{Result: store.Refused, Err: store.ErrRefused}
			continue
		}
		rest, places = append(rest, s), append(places, i)
	}
	got, err := p.Store.Settle(ctx, rest)
	for i := range got {
		out[places[i]] = got[i]
	}
	return out, err
}

// A17
func TestOutcomeThatTheDatabaseRefusesFailsAloneAsUnstorable(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(`
workflow: wide
version: 1
steps:
  a: { task: work }
  b: { task: work }
  c: { task: work, on_error: continue }
`)
		w.st = faulty.New(poison{Store: w.memory, word: `"c"`}, nil)
		w.engine(engine.Config{}, handlers{"work": func(_ context.Context, a *engine.Attempt) (json.RawMessage, error) {
			pass(time.Second)
			return json.RawMessage(`"` + a.Path + `"`), nil
		}})
		id := w.start("wide", "null")
		run := w.wait(id)
		if a, b := w.kinds(id, "a"), w.kinds(id, "b"); !slices.Equal(a, b) || !slices.Equal(a, []machine.EventKind{machine.TaskSucceeded}) {
			t.Errorf("a has %v, b has %v", a, b)
		}
		var e machine.Error
		for _, x := range w.journal(id) {
			if x.Path == "c" && x.Kind == machine.TaskFailed {
				if err := json.Unmarshal(x.Payload, &e); err != nil {
					t.Fatal(err)
				}
			}
		}
		if e.Code != machine.CodeUnstorable || !e.Final {
			t.Errorf("c failed with %+v; the run is %s", e, run.Status)
		}
	})
}
