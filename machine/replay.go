package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/millrace-go/millrace/workflow"
)

// Replay applies recorded events to a run that has not started and gives the state after them. load gives payloads of the
// journal that are not among the events (nil: none); what the machine itself computed on the way is at hand. The result
// equals the stored state of the run (invariant 2). The documents of all scopes are in it.
func Replay(def *workflow.Definition, h Header, events []Event, load func(Ref) (json.RawMessage, bool)) (*Run, error) {
	run, err := Rebuild(def, h, events, load)
	run.past = nil
	return run, err
}

// Rebuild is Replay for a run that is to be told RetryRequested: what the run did before it ended is at hand too.
func Rebuild(def *workflow.Definition, h Header, events []Event, load func(Ref) (json.RawMessage, bool)) (*Run, error) {
	run, remembered := NewRun(h), newPast()
	made := map[Ref]json.RawMessage{}
	for i, ev := range events {
		if ev.Payload != nil {
			made[Ref{Seq: int64(i + 1)}] = ev.Payload
		}
		run.past = remembered
		next, effects, err := ApplyLoading(def, run, ev, func(r Ref) (json.RawMessage, bool) {
			if raw, ok := made[r]; ok || load == nil {
				return raw, ok
			}
			return load(r)
		}, nil)
		if err != nil {
			return run, fmt.Errorf("replay of entry %d: %w", i+1, err)
		}
		if next.Seq != int64(i+1) {
			return run, fmt.Errorf("replay of entry %d: %w: the event changes nothing", i+1, ErrDamaged)
		}
		run = next.Saved()
		for _, e := range effects {
			switch e := e.(type) {
			case PutValue:
				made[e.Ref] = e.Data
			case EndRun:
				if !e.Keep {
					run = remembered.bury(run)
				}
			default:
			}
		}
	}
	run.past = remembered
	return run, nil
}

// ApplyLoading is Apply for a caller that can load on the spot: it answers each Need from load and document, a missing payload
// being an error. document gives the stored document of a path, nil when there is none; without it every document that is not
// in the run is taken not to exist.
func ApplyLoading(def *workflow.Definition, run *Run, ev Event, load func(Ref) (json.RawMessage, bool),
	document func(path string) []byte,
) (*Run, []Effect, error) {
	loaded := map[Ref]json.RawMessage{}
	maps.Copy(loaded, ev.Loaded)
	ev.Loaded = loaded
	for {
		next, effects, err := Apply(def, run, ev)
		var need *Need
		if !errors.As(err, &need) {
			return next, effects, err
		}
		for _, r := range need.Refs {
			raw, ok := load(r)
			if !ok {
				return run, nil, fmt.Errorf("%w: payload %s is missing", ErrDamaged, r)
			}
			loaded[r] = raw
		}
		run = run.copyDocuments()
		for _, path := range need.Scopes {
			var doc []byte
			if document != nil {
				doc = document(path)
			}
			if err := run.Put(path, doc); err != nil {
				return run, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
			}
		}
	}
}
