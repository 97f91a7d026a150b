package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/clock"
	"github.com/millrace-go/millrace/internal/engine/internal/content"
	"github.com/millrace-go/millrace/internal/engine/internal/options"
	"github.com/millrace-go/millrace/internal/engine/internal/recall"
	"github.com/millrace-go/millrace/internal/engine/internal/rounds"
	"github.com/millrace-go/millrace/internal/engine/internal/shelf"
	"github.com/millrace-go/millrace/internal/engine/internal/supply"
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

	Delay    time.Duration              // nothing of the run begins before so much time has passed; 0: at once
	At       time.Time                  // nothing of it begins before; a time that is past is at once
	Priority int                        // added to that of each step
	Queue    string                     // of the steps that name none
	Labels   map[string]string          // beside the workflow's, and before them
	Vars     map[string]json.RawMessage // values of the workflow's variables, instead of their defaults
	From     string                     // the step of the root to begin with, with Input; "": at the beginning
}

// Started says what became of a StartRequest.
type Started struct {
	RunID   string // also that of the run that holds the key already
	Created bool
	Err     error // *workflow.InputError, *StartError, *store.ConflictError, ErrNotFound and others; the other requests are unharmed
}

// StartError is why a run cannot be started as it was asked for: everything at once, beside what is wrong with its input.
type StartError struct {
	Workflow string
	Problems []string
}

// Error lists the problems, one a line when there are several.
func (e *StartError) Error() string {
	if len(e.Problems) == 1 {
		return fmt.Sprintf("start %s: %s", e.Workflow, e.Problems[0])
	}
	return fmt.Sprintf("start %s:\n  %s", e.Workflow, strings.Join(e.Problems, "\n  "))
}

const startTries = 20 // that one call makes while the store does not answer

// Start starts runs in one transaction, in order, and reports per item; nothing is executed in the caller. When this process
// serves what they begin with, has free slots, and nothing waits before them, their first tasks are handed over to it. A list so long
// that it is too old for the store by the time it is made goes in several transactions. An error means that the store did
// not answer: what it did is asked for again under the same ids, until ctx ends, unless the store cannot be used as it is.
func (e *Engine) Start(ctx context.Context, requests []StartRequest) ([]Started, error) {
	out := make([]Started, len(requests))
	var items []int
	var starts []*birth
	for i, p := range e.prepareStarts(ctx, requests) {
		switch {
		case p.err == nil:
			items, starts = append(items, i), append(starts, p.birth)
		case isFault(p.err):
			return nil, p.err
		default:
			out[i].Err = p.err
		}
	}
	wait := rounds.Backoff{}
	most, fresh := len(starts), false
	for try := 0; len(starts) > 0; try++ {
		n := min(most, len(starts))
		got, err := e.sendStarts(ctx, starts[:n])
		if err == nil {
			left, again := settleStarts(out, items[:n], starts[:n], got)
			switch {
			case len(again) < n:
				try = 0
			case fresh: // it is not our clock that was off: a part of them is ready sooner
				most = max(n/2, 1)
			}
			items, starts = append(left, items[n:]...), append(again, starts[n:]...)
			err = e.retime(ctx, starts[:min(most, len(starts))])
			fresh = true
			wait = rounds.Backoff{} // they have the store's time now, and must not grow old again
		}
		if len(starts) == 0 {
			break
		}
		if try == startTries || errors.Is(err, store.ErrUnusable) {
			return nil, cmp.Or(err, fmt.Errorf("start runs: %w", store.ErrSkewed))
		}
		if clock.Sleep(ctx, e.clock, wait.Next()) != nil {
			return nil, cmp.Or(err, ctx.Err())
		}
	}
	return out, nil
}

// isFault tells a store that does not answer from an item that is wrong.
func isFault(err error) bool {
	var input *workflow.InputError
	var bad *machine.Error
	var start *StartError
	return !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrRefused) && !errors.As(err, &input) &&
		!errors.As(err, &bad) && !errors.As(err, &start) && !errors.Is(err, store.ErrDamaged) && !errors.Is(err, machine.ErrDamaged)
}

// birth is a start under way: the request, and what RunStarted led to.
type birth struct {
	request *StartRequest
	def     *workflow.Definition
	version int
	id      string
	hash    [32]byte // of the input, when there is a key to compare it for
	folded  *folding
}

// sendStarts has the store start runs. Where their first tasks can be executed here at once, they are handed over, and begun
// before it returns.
func (e *Engine) sendStarts(ctx context.Context, starts []*birth) ([]store.Started, error) {
	send := make([]store.Start, len(starts))
	reserved := make([]*supply.Reservation, len(starts))
	e.mu.Lock()
	token, asked := e.token(), e.clock.Now()
	e.tokens.Ask(token)
	for i, b := range starts {
		reserved[i] = e.handOverFirst(b.folded, token)
		send[i] = store.Start{Settlement: b.folded.out, KeyHash: b.hash}
	}
	e.mu.Unlock()
	c, cancel := e.call(ctx)
	got, err := e.st.Start(c, send)
	cancel()
	if err == nil && len(got) != len(starts) {
		err = errors.New("the store answered for another number of starts")
	}
	err = e.fault("start runs", err)
	var begun []*Attempt
	more := false
	e.mu.Lock()
	e.tokens.Answered(token)
	for i, b := range starts {
		handed := 0
		if err == nil {
			handed = len(got[i].Handed)
			begun = append(begun, e.born(b, got[i].Handed, asked)...)
			e.foresee(b.folded.out.Effects)
			if got[i].Created {
				e.expect(b.folded, got[i].Handed)
			}
		} else if reserved[i].Total > 0 {
			e.tokens.Doubt(token)
		}
		more = more || handed < b.folded.starts.Len()
		e.slots.GiveBack(reserved[i])
	}
	e.mu.Unlock()
	e.launch(begun)
	if more {
		e.signals.wake()
	}
	return got, err
}

// handOverFirst asks for the first tasks of a run that is being started, if nothing else of their queues waits. The caller
// holds e.mu.
func (e *Engine) handOverFirst(s *folding, token int64) *supply.Reservation {
	s.out.Hand = store.HandOver{}
	none := supply.NewReservation()
	if e.serving == nil || e.cfg.Only != nil {
		return none
	}
	for _, t := range s.starts.All {
		if e.lanes.Waits(t.Queue, s.out.Run.Tenant) {
			return none
		}
	}
	r := e.handOver(s, e.clock.Now())
	if s.out.Hand.Limit > 0 {
		s.out.Hand.Token = token
	}
	return r
}

// born makes attempts of what a start handed over. The caller holds e.mu.
func (e *Engine) born(b *birth, handed []store.Claimed, asked time.Time) []*Attempt {
	if len(handed) == 0 {
		return nil
	}
	state := store.RunState{Run: recall.Saved(b.folded.out.Run), Version: 1}
	for i := range handed {
		handed[i].Run = state
	}
	return e.take(e.serving, handed, 1, e.clock.Now(), asked)
}

// settleStarts takes in the answers and gives back what must be sent again: starts whose time was off.
func settleStarts(out []Started, items []int, starts []*birth, got []store.Started) (left []int, again []*birth) {
	for j := range got {
		i, b := items[j], starts[j]
		if errors.Is(got[j].Err, store.ErrSkewed) {
			left, again = append(left, i), append(again, b)
			continue
		}
		out[i] = Started{RunID: got[j].RunID, Err: got[j].Err}
		// Created is false too when an earlier try had started this very run and its answer was lost.
		out[i].Created = got[j].Err == nil && (got[j].Created || got[j].RunID == b.folded.out.Run.ID)
	}
	return left, again
}

// retime applies RunStarted anew, at the store's time.
func (e *Engine) retime(ctx context.Context, starts []*birth) error {
	if len(starts) == 0 {
		return nil
	}
	c, cancel := e.call(ctx)
	defer cancel()
	asked := e.clock.Now()
	at, err := e.st.Clock(c)
	if err := e.fault("read the clock", err); err != nil {
		return err
	}
	e.heard(at, asked)
	now := e.now()
	for _, b := range starts {
		old := b.folded.out
		h := old.Run.Header
		h.CreatedAt = now
		if b.request.Delay > 0 {
			h.Options.Due = now.Add(b.request.Delay)
		}
		folded, err := e.begin(ctx, b.def, h, old.Entries[0].Payload)
		if err != nil {
			return err
		}
		b.folded = folded
	}
	return nil
}

// prepared is what became of a request before the store is asked.
type prepared struct {
	birth *birth
	err   error
}

// prepareAtOnce is how many requests are worth a goroutine of their own.
const prepareAtOnce = 64

// prepareStarts checks requests and applies RunStarted for each. Ids are given in the order of the requests; a long list is
// then divided among the processors.
func (e *Engine) prepareStarts(ctx context.Context, requests []StartRequest) []prepared {
	out := make([]prepared, len(requests))
	found := map[shelf.Key]*resolved{}
	for i := range requests {
		out[i].birth, out[i].err = e.conceive(ctx, &requests[i], found)
	}
	var all sync.WaitGroup
	size := max(prepareAtOnce, (len(out)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for part := range slices.Chunk(out, size) {
		prepare := func() {
			for i := range part {
				if p := &part[i]; p.err == nil {
					p.err = e.prepareStart(ctx, p.birth)
				}
			}
		}
		if len(out) <= size {
			prepare()
			continue
		}
		all.Go(prepare)
	}
	all.Wait()
	return out
}

// resolved is a definition that one call has found already.
type resolved struct {
	def     *workflow.Definition
	version int
	err     error
}

// conceive gives a request its definition, which each call looks up once, and its run an id.
func (e *Engine) conceive(ctx context.Context, r *StartRequest, found map[shelf.Key]*resolved) (*birth, error) {
	k := shelf.Key{Tenant: r.Tenant, Name: r.Workflow, Version: r.Version}
	d := found[k]
	if d == nil {
		d = &resolved{}
		d.def, d.version, d.err = e.resolve(ctx, r.Tenant, r.Workflow, r.Version)
		found[k] = d
	}
	if d.err != nil {
		return nil, d.err
	}
	return &birth{request: r, def: d.def, version: d.version, id: e.cfg.NewID()}, nil
}

// prepareStart checks a request and applies RunStarted.
func (e *Engine) prepareStart(ctx context.Context, b *birth) error {
	r := b.request
	now := e.now()
	about, problems := options.Of(b.def, &options.Request{
		Delay: r.Delay, At: r.At, Priority: r.Priority, Queue: r.Queue, Labels: r.Labels, Vars: r.Vars, From: r.From,
	}, now, e.cfg.MaxPayload)
	if len(problems) > 0 {
		return &StartError{Workflow: r.Workflow, Problems: problems}
	}
	input, err := e.checkInput(b.def, r)
	if err != nil {
		return fmt.Errorf("start %s: %w", r.Workflow, err)
	}
	if r.Key != "" {
		b.hash = content.Hash(input)
	}
	b.folded, err = e.begin(ctx, b.def, machine.Header{
		ID: b.id, Tenant: r.Tenant, Workflow: r.Workflow, Version: b.version, Key: r.Key, Home: r.Home,
		MachineVersion: machine.Version, CreatedAt: now, Options: about,
	}, input)
	return err
}

// checkInput gives the input of a start with its defaults filled in.
func (e *Engine) checkInput(def *workflow.Definition, r *StartRequest) (json.RawMessage, error) {
	input := r.Input
	if len(input) == 0 {
		input = json.RawMessage("null")
	}
	if bad := content.Refuse("input", input, e.cfg.MaxPayload); bad != nil {
		return nil, bad
	}
	filled, err := def.ValidateInput(input)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(filled, input) {
		return input, nil
	}
	input = filled
	if bad := content.Refuse("input with its defaults", input, e.cfg.MaxPayload); bad != nil {
		return nil, bad
	}
	return input, nil
}

// begin applies RunStarted to a new run.
func (e *Engine) begin(ctx context.Context, def *workflow.Definition, h machine.Header, input json.RawMessage) (*folding, error) {
	s := &folding{engine: e, def: def, flight: &flight{key: runKey{h.Tenant, h.ID}}}
	s.memory = recall.New(source{e}, machine.NewRun(h), 0)
	s.memory.Unborn = true
	if err := s.apply(ctx, machine.Event{Kind: machine.RunStarted, Payload: input}); err != nil {
		return nil, err
	}
	s.out.Run = s.memory.Run
	s.out.At = s.out.Run.At
	return s, nil
}

// Skew gives the estimated difference between the store's time and this process's.
func (e *Engine) Skew() time.Duration { return e.ahead() }
