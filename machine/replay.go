package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/millrace-go/millrace/workflow"
)

// Payloads gives stored payloads of a run; one that does not exist is absent.
type Payloads func(refs []Ref) (map[Ref]json.RawMessage, error)

// Replay applies recorded events to a run that has not started and gives the state after them, which equals the stored state
// of the run (invariant 2). The documents of all scopes are in it. Payloads are read from the events alone.
func Replay(def *workflow.Definition, h Header, events []Event) (*Run, error) {
	run, err := Rebuild(def, h, Recorded(events), nil)
	run.past = nil
	return run, err
}

// Rebuild is Replay for a run that is to be told RetryRequested: what the run did before it ended is at hand too. An error
// of the sequence ends it and is returned. See [NewRebuilder] for load, and what is held in memory.
func Rebuild(def *workflow.Definition, h Header, events iter.Seq2[Event, error], load Payloads) (*Run, error) {
	r := NewRebuilder(def, h, load)
	for ev, err := range events {
		if err != nil {
			return r.remembering(), err
		}
		if _, err := r.Apply(ev); err != nil {
			return r.remembering(), fmt.Errorf("replay of entry %d: %w", r.run.Seq+1, err)
		}
	}
	return r.remembering(), nil
}

// Recorded gives events that are at hand as a sequence.
func Recorded(events []Event) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// Rebuilder makes a run from its journal, entry by entry. It remembers what the run did before it ended, so that entries can be
// about that. It is not safe for concurrent use.
type Rebuilder struct {
	def      *workflow.Definition
	run      *Run
	past     *past
	load     Payloads
	payloads recent
}

// rebuildBytes is how many bytes of payloads a rebuild holds when it can load others.
const rebuildBytes = 16 << 20

// NewRebuilder begins with a run that has not started. With load, which is asked for what an expression reads of the past, the
// payloads that were used last are held, 16 MiB and the one at hand, and so a journal of any length can be rebuilt; nil: all
// are held. What else is held grows with what the run still may need.
func NewRebuilder(def *workflow.Definition, h Header, load Payloads) *Rebuilder {
	r := &Rebuilder{def: def, run: NewRun(h), past: newPast(), load: load}
	if load != nil {
		r.payloads.limit = rebuildBytes
	}
	return r
}

// Run gives the run as a store has it after the entries so far, with all its documents.
func (r *Rebuilder) Run() *Run { return r.run }

// remembering is Run with what it did before it ended.
func (r *Rebuilder) remembering() *Run {
	run := *r.run
	run.past = r.past
	return &run
}

// Apply applies the event of the next entry and gives its effects. The error is one of load, or one that wraps ErrDamaged or
// ErrNewer: the entry cannot be what the journal has there, and the run stays as it was.
func (r *Rebuilder) Apply(ev Event) ([]Effect, error) {
	n := r.run.Seq + 1
	if ev.Payload != nil {
		r.payloads.put(Ref{Seq: n}, ev.Payload)
	}
	next, effects, err := applyLoading(r.def, r.remembering(), ev, r.find, nil)
	if err != nil {
		return nil, err
	}
	if next.Seq != n {
		return nil, fmt.Errorf("%w: the event changes nothing", ErrDamaged)
	}
	r.run = next.Saved()
	for _, e := range effects {
		switch e := e.(type) {
		case PutValue:
			r.payloads.put(e.Ref, e.Data)
		case EndRun:
			if !e.Keep {
				r.run = r.past.bury(r.run)
			}
		default:
		}
	}
	return effects, nil
}

// find gives those payloads that are held, or can be loaded.
func (r *Rebuilder) find(refs []Ref) (map[Ref]json.RawMessage, error) {
	found := map[Ref]json.RawMessage{}
	var others []Ref
	for _, ref := range refs {
		if raw, ok := r.payloads.get(ref); ok {
			found[ref] = raw
		} else {
			others = append(others, ref)
		}
	}
	if len(others) == 0 || r.load == nil {
		return found, nil
	}
	loaded, err := r.load(others)
	if err != nil {
		return nil, err
	}
	for _, ref := range others {
		if raw, ok := loaded[ref]; ok {
			found[ref] = raw
			r.payloads.put(ref, raw)
		}
	}
	return found, nil
}

// ApplyLoading is Apply for a caller that can load on the spot: it answers each Need from load and document, a missing payload
// being an error. document gives the stored document of a path, nil when there is none; without it every document that is not
// in the run is taken not to exist.
func ApplyLoading(def *workflow.Definition, run *Run, ev Event, load func(Ref) (json.RawMessage, bool),
	document func(path string) []byte,
) (*Run, []Effect, error) {
	return applyLoading(def, run, ev, func(refs []Ref) (map[Ref]json.RawMessage, error) {
		found := map[Ref]json.RawMessage{}
		for _, r := range refs {
			if raw, ok := load(r); ok {
				found[r] = raw
			}
		}
		return found, nil
	}, document)
}

func applyLoading(
	def *workflow.Definition, run *Run, ev Event, load Payloads, document func(path string) []byte,
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
		found, err := load(need.Refs)
		if err != nil {
			return run, nil, err
		}
		for _, r := range need.Refs {
			raw, ok := found[r]
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
