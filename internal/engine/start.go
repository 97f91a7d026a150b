package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/clock"
	"github.com/millrace-go/millrace/internal/engine/internal/content"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// StartRequest asks for a new run.
type StartRequest struct {
	Tenant   string
	Workflow string
	Version  int             // 0: the newest
	Key      string          // the caller's identity for the run; the same key never starts the same work twice
	Input    json.RawMessage // nil: null
	Home     string          // of the workflow's file; its command steps run only there
}

// Started says what became of a StartRequest.
type Started struct {
	RunID   string // also that of the run that holds the key already
	Created bool
	Err     error // *workflow.InputError, *store.ConflictError, ErrNotFound and others; the other requests are unharmed
}

const startTries = 20 // that one call makes while the store does not answer

// Start starts runs in one transaction, in order, and reports per item; nothing is executed. An error means that the store did
// not answer: what it did is asked for again under the same ids, until ctx ends.
func (e *Engine) Start(ctx context.Context, requests []StartRequest) ([]Started, error) {
	out := make([]Started, len(requests))
	var items []int
	var starts []store.Start
	for i := range requests {
		s, err := e.prepareStart(ctx, &requests[i])
		switch {
		case err == nil:
			items, starts = append(items, i), append(starts, s)
		case isFault(err):
			return nil, err
		default:
			out[i].Err = err
		}
	}
	wait := backoff{}
	for try := 0; len(starts) > 0; try++ {
		got, err := e.sendStarts(ctx, starts)
		if err == nil {
			items, starts, err = e.settleStarts(ctx, out, items, starts, got)
		}
		if len(starts) == 0 {
			e.Hint()
			break
		}
		if try == startTries {
			return nil, err
		}
		if clock.Sleep(ctx, e.clock, wait.next()) != nil {
			return nil, err
		}
	}
	return out, nil
}

// isFault tells a store that does not answer from an item that is wrong.
func isFault(err error) bool {
	var input *workflow.InputError
	var bad *machine.Error
	return !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrRefused) && !errors.As(err, &input) &&
		!errors.As(err, &bad) && !errors.Is(err, errDamaged) && !errors.Is(err, machine.ErrDamaged)
}

func (e *Engine) sendStarts(ctx context.Context, starts []store.Start) ([]store.Started, error) {
	c, cancel := e.call(ctx)
	defer cancel()
	got, err := e.st.Start(c, starts)
	if err == nil && len(got) != len(starts) {
		err = errors.New("the store answered for another number of starts")
	}
	return got, e.fault("start runs", err)
}

// settleStarts takes in the answers and gives back what must be sent again: starts whose time was off.
func (e *Engine) settleStarts(
	ctx context.Context, out []Started, items []int, starts []store.Start, got []store.Started,
) (left []int, again []store.Start, err error) {
	for j := range got {
		i, s := items[j], starts[j]
		if errors.Is(got[j].Err, store.ErrSkewed) {
			left, again, err = append(left, i), append(again, s), got[j].Err
			continue
		}
		out[i] = Started{RunID: got[j].RunID, Err: got[j].Err}
		// Created is false too when an earlier try had started this very run and its answer was lost.
		out[i].Created = got[j].Err == nil && (got[j].Created || got[j].RunID == s.Run.ID)
	}
	if len(again) > 0 {
		again, err = e.retime(ctx, again, err)
	}
	return left, again, err
}

// retime applies RunStarted anew, at the store's time.
func (e *Engine) retime(ctx context.Context, starts []store.Start, why error) ([]store.Start, error) {
	c, cancel := e.call(ctx)
	defer cancel()
	asked := e.clock.Now()
	at, err := e.st.Clock(c)
	if err := e.fault("read the clock", err); err != nil {
		return starts, err
	}
	e.mu.Lock()
	e.heard(at, asked)
	e.mu.Unlock()
	for i := range starts {
		s := &starts[i]
		def, _, err := e.resolve(ctx, s.Run.Tenant, s.Run.Workflow, s.Run.Version)
		if err != nil {
			return starts, err
		}
		fresh, err := e.begin(ctx, def, s.Run.Header, s.Entries[0].Payload)
		if err != nil {
			return starts, err
		}
		fresh.KeyHash = s.KeyHash
		starts[i] = fresh
	}
	return starts, why
}

func (e *Engine) prepareStart(ctx context.Context, r *StartRequest) (store.Start, error) {
	def, version, err := e.resolve(ctx, r.Tenant, r.Workflow, r.Version)
	if err != nil {
		return store.Start{}, err
	}
	input := r.Input
	if len(input) == 0 {
		input = json.RawMessage("null")
	}
	if bad := content.Refuse("input", input, e.cfg.MaxPayload); bad != nil {
		return store.Start{}, fmt.Errorf("start %s: %w", r.Workflow, bad)
	}
	if input, err = def.ValidateInput(input); err != nil {
		return store.Start{}, fmt.Errorf("start %s: %w", r.Workflow, err)
	}
	if bad := content.Refuse("input with its defaults", input, e.cfg.MaxPayload); bad != nil {
		return store.Start{}, fmt.Errorf("start %s: %w", r.Workflow, bad)
	}
	e.mu.Lock()
	now := e.now()
	e.mu.Unlock()
	s, err := e.begin(ctx, def, machine.Header{
		ID: e.cfg.NewID(), Tenant: r.Tenant, Workflow: r.Workflow, Version: version, Key: r.Key, Home: r.Home,
		MachineVersion: machine.Version, CreatedAt: now,
	}, input)
	s.KeyHash = content.Hash(input)
	return s, err
}

// begin applies RunStarted to a new run.
func (e *Engine) begin(ctx context.Context, def *workflow.Definition, h machine.Header, input json.RawMessage) (store.Start, error) {
	s := folding{engine: e, def: def, flight: &flight{key: runKey{h.Tenant, h.ID}}, starts: map[string]machine.StartTask{}}
	s.memory = memory{engine: e, run: machine.NewRun(h), payloads: map[machine.Ref]json.RawMessage{}, unborn: true}
	if err := s.apply(ctx, machine.Event{Kind: machine.RunStarted, Payload: input}); err != nil {
		return store.Start{}, err
	}
	s.out.Run = s.memory.run
	s.out.At = s.out.Run.At
	return store.Start{Settlement: s.out}, nil
}

// Skew gives the estimated difference between the store's time and this process's.
func (e *Engine) Skew() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.offset
}
