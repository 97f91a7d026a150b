package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/clock"
	"github.com/millrace-go/millrace/internal/engine/internal/content"
	"github.com/millrace-go/millrace/internal/engine/internal/outcome"
	"github.com/millrace-go/millrace/internal/engine/internal/recall"
	"github.com/millrace-go/millrace/internal/engine/internal/rounds"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// Order is something that a person asks of a run.
type Order struct {
	Tenant string
	RunID  string
	Event  machine.Event // what the run is told; its time is the engine's to set
	// Check is asked each time the run was read, before it is told; what is settled is settled only if the run has not
	// changed since. Its error is Tell's. nil: nothing is checked.
	Check func(ctx context.Context, run *machine.Run) error
	// Ended: the order is for runs that have ended as well.
	Ended bool
	// Rebuild: the event is applied to the run as its journal gives it, with all that was forgotten when it ended.
	Rebuild bool
}

// Told says what became of an order.
type Told struct {
	Run     *machine.Run // after it
	Changed bool         // false: it was so already, and nothing was recorded
}

const (
	orderTries = 100 // of one order against others who change the run
	orderPause = 20 * time.Millisecond
)

// Tell applies an order to its run in the transaction that stores it, whether or not any engine runs: when it returns, the
// state has changed, what waited is gone, and holders are marked; those in this process have heard of it. Errors: ErrNotFound,
// ErrEnded, that of Check, a *machine.Refusal, one that wraps machine.ErrDamaged; others are the store's, which was asked
// again for a while or until ctx ended.
func (e *Engine) Tell(ctx context.Context, o Order) (Told, error) {
	t := telling{engine: e, order: &o}
	t.order.Event.Facts = outcome.Facts{Worker: e.cfg.Owner}.Encode()
	wait := rounds.Backoff{}
	faults := 0
	for try := 0; ; try++ {
		told, err := t.once(ctx)
		pause := time.Duration(0)
		switch {
		case err == nil:
			return told, nil
		case errors.Is(err, recall.ErrStale):
			if try >= orderTries {
				return Told{}, fmt.Errorf("run %s changes too fast: %w", o.RunID, store.ErrUnavailable)
			}
			if try > 2 {
				pause = min(time.Duration(try)*time.Millisecond, orderPause)
			}
		case !isOutage(err) || faults == startTries:
			return Told{}, err
		default:
			faults++
			pause = wait.Next()
		}
		if clock.Sleep(ctx, e.clock, pause) != nil {
			return Told{}, err
		}
	}
}

// isOutage tells a store that does not answer now from everything that asking again does not change.
func isOutage(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// telling is an order under way.
type telling struct {
	engine *Engine
	order  *Order
	after  int64 // the length of the journal when the order was sent without an answer; it may be the next entry
	asked  bool  // it was sent without an answer
}

// once reads the run, applies the order, and settles it. recall.ErrStale: the run has changed meanwhile.
func (t *telling) once(ctx context.Context) (Told, error) {
	e, o := t.engine, t.order
	s := &folding{engine: e, flight: &flight{key: runKey{o.Tenant, o.RunID}}}
	state, err := e.readRun(ctx, s.flight)
	if err != nil {
		return Told{}, err
	}
	if t.asked {
		if done, err := t.recorded(ctx); done || err != nil {
			return Told{Run: state.Run, Changed: done}, err
		}
		t.asked = false
	}
	if err := t.allowed(ctx, state.Run); err != nil {
		return Told{Run: state.Run}, err
	}
	if s.def, err = e.definition(ctx, state.Run.Header); err != nil {
		return Told{}, err
	}
	if err := t.apply(ctx, s, state); err != nil {
		if errors.Is(err, machine.ErrDamaged) {
			err = fmt.Errorf("%w: %w", errDamaged, err)
		}
		return Told{Run: state.Run}, err
	}
	if len(s.out.Entries) == 0 {
		return Told{Run: state.Run}, nil
	}
	if err := t.commit(ctx, s); err != nil {
		return Told{}, err
	}
	return Told{Run: s.out.Run, Changed: true}, nil
}

func (t *telling) allowed(ctx context.Context, run *machine.Run) error {
	if run.Status.Ended() && !t.order.Ended {
		return fmt.Errorf("run %s is %s: %w", run.ID, run.Status, store.ErrEnded)
	}
	if t.order.Check == nil {
		return nil
	}
	return t.order.Check(ctx, run)
}

// apply tells the run the order, with all that it leads to in the same settlement.
func (t *telling) apply(ctx context.Context, s *folding, state store.RunState) (err error) {
	run := state.Run
	if t.order.Rebuild {
		if run, err = t.engine.rebuilt(ctx, s.def, run); err != nil {
			return err
		}
	}
	s.memory = recall.New(source{t.engine}, run, state.Version)
	s.out.From = state.Version
	if err := s.apply(ctx, t.order.Event); err != nil {
		return err
	}
	s.out.Run = s.memory.Run
	s.out.At = max(t.engine.now(), s.out.Run.At)
	return nil
}

// commit settles the order by itself.
func (t *telling) commit(ctx context.Context, s *folding) error {
	e := t.engine
	asked := e.clock.Now()
	c, cancel := e.call(ctx)
	answers, err := e.st.Settle(c, []store.Settlement{s.out})
	cancel()
	if err == nil && len(answers) != 1 {
		err = errors.New("the store answered for another number of settlements")
	}
	if err := e.fault("settle", err); err != nil {
		t.asked, t.after = true, s.out.Entries[0].Seq-1
		return err
	}
	e.mu.Lock()
	e.heard(answers[0].Clock, asked)
	if answers[0].Result == store.Won {
		e.spread(s)
	} else if f := e.flights[s.flight.key]; f != nil {
		e.delay(f, orderPause) // an order does not lose to our own outcomes again and again
	}
	e.mu.Unlock()
	switch answers[0].Result {
	case store.Won:
		e.cfg.Observer.Settled(s.out.Run)
		e.Hint()
		e.signals.settle.Raise()
		e.signals.change.Raise()
		return nil
	case store.Refused:
		return fmt.Errorf("%s of run %s: %w", t.order.Event.Kind, t.order.RunID, answers[0].Err)
	default:
		return recall.ErrStale
	}
}

// spread has this process know at once what an order did: the cached state is the new one, attempts that are to stop hear of
// it, and those of a run that has ended are lost. The caller holds e.mu.
func (e *Engine) spread(s *folding) {
	key := s.flight.key
	if f := e.flights[key]; f != nil {
		f.remember(store.RunState{Run: recall.Saved(s.out.Run), Version: s.out.From + 1})
	}
	ended := s.out.Run.Status.Ended()
	for _, a := range e.holding() {
		if ended && a.ID == key.id && !a.answered {
			e.interrupt(a, stopped)
			e.lose(a)
		}
	}
	e.stopHeld(s)
	e.foresee(s.out.Effects)
}

// recorded says whether an order whose answer did not come is in the journal.
func (t *telling) recorded(ctx context.Context) (bool, error) {
	entries, err := t.engine.journal(ctx, runKey{t.order.Tenant, t.order.RunID}, t.after, 1)
	if err != nil || len(entries) == 0 {
		return false, err
	}
	x, ev := &entries[0], &t.order.Event
	return x.Kind == ev.Kind && x.Name == ev.Name && x.Path == ev.Path &&
		bytes.Equal(x.Payload, ev.Payload) && bytes.Equal(x.Facts, ev.Facts), nil
}

// rebuilt gives a run as its journal makes it.
func (e *Engine) rebuilt(ctx context.Context, def *workflow.Definition, run *machine.Run) (*machine.Run, error) {
	events := func(yield func(machine.Event, error) bool) {
		for after := int64(0); after < run.Seq; {
			entries, err := e.journal(ctx, runKey{run.Tenant, run.ID}, after, run.Seq-after)
			if err == nil && len(entries) == 0 {
				err = fmt.Errorf("%w: run %s: its journal ends at entry %d and should have %d", errDamaged, run.ID, after, run.Seq)
			}
			if err != nil {
				yield(machine.Event{}, err)
				return
			}
			for i := range entries {
				if !yield(entries[i].Event(), nil) {
					return
				}
			}
			after += int64(len(entries))
		}
	}
	return machine.Rebuild(def, run.Header, events, func(refs []machine.Ref) (map[machine.Ref]json.RawMessage, error) {
		return source{e}.Payloads(ctx, run.Tenant, run.ID, refs)
	})
}

// Clean makes what a person wrote storable: valid UTF-8, without NUL, at most 4 KiB.
func Clean(text string) string { return content.Clean(text, content.MaxText) }

// CheckInput says why a payload that a person gives cannot be an input; nil: it can. The error is a *machine.Error.
func (e *Engine) CheckInput(raw json.RawMessage) error {
	if bad := content.Refuse("input", raw, e.cfg.MaxPayload); bad != nil {
		return bad
	}
	return nil
}
