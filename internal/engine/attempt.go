package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/outcome"
	"github.com/millrace-go/millrace/internal/engine/internal/pace"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// Attempt is one try of a task that this process holds. Its fields are set before its handler is called, and nobody changes
// them after that.
type Attempt struct {
	machine.Header                 // the run
	Path           string          // of the task
	Number         int             // of the attempt, from 1
	Key            string          // the task's idempotency key: the same for every attempt
	Handler        string          // name of the handler
	Queue          string          // the queue that it came from
	StartedAt      machine.Time    // when it was claimed or handed over
	Step           *workflow.Step  // its step
	Input          json.RawMessage // what it gets
	Command        *Command        // of run and shell steps; else nil
	Request        *Request        // of http steps; else nil

	engine   *Engine
	handler  Handler
	task     store.Task
	flight   *flight // its run's, as long as the attempt is not closed
	token    int64
	seen     *machine.Run // the run as it was when the task was claimed
	payloads map[machine.Ref]json.RawMessage
	born     int64           // length of the journal when the task was claimed
	until    machine.Time    // the time for which the step is tried is over then; 0: it is not bounded
	ctx      context.Context //nolint:containedctx // an attempt is a thing that can be told to stop
	cancel   context.CancelCauseFunc
	hops     int       // hand-overs that led here since a claim
	chain    time.Time // when that claim was
	wave     *pace.Wave

	// Guarded by engine.mu.
	cause    cause // why its context ended
	bounded  bool  // its time is that for which the step is tried, not its timeout
	answered bool  // its outcome waits to be settled, or was
	closed   bool  // settled or lost: the engine no longer holds it
	returned bool  // the handler has returned
	slot     bool  // it occupies a slot
	deadline time.Time
	renewAt  time.Time
}

// cause is why an attempt's context ended.
type cause int

const (
	going       cause = iota
	stopped           // the run told it to stop
	timedOut          // its time is over
	lost              // its token is no longer current
	interrupted       // the process is leaving
)

// The causes of the end of an attempt's context, as context.Cause gives them.
var (
	ErrStopped     = errors.New("the attempt was told to stop")
	ErrTimedOut    = errors.New("the attempt ran out of time")
	ErrLost        = errors.New("the attempt was lost: its lease ran out and somebody else may hold the task")
	ErrInterrupted = errors.New("the process that executes the attempt is leaving")
)

func (c cause) err() error {
	switch c {
	case stopped:
		return ErrStopped
	case timedOut:
		return ErrTimedOut
	case lost:
		return ErrLost
	case interrupted:
		return ErrInterrupted
	case going:
	}
	return nil
}

// Context ends when the attempt is told to stop, is out of time, lost or interrupted; context.Cause says which. Once the
// attempt is prepared, its Deadline is that of the step's timeout.
func (a *Attempt) Context() context.Context {
	a.engine.mu.Lock()
	defer a.engine.mu.Unlock()
	if a.deadline.IsZero() {
		return a.ctx
	}
	return timed{Context: a.ctx, deadline: a.deadline}
}

// timed is a context with a deadline that the engine sees to.
type timed struct {
	context.Context //nolint:containedctx // it is one
	deadline        time.Time
}

// Deadline gives when the attempt's time is over.
func (t timed) Deadline() (time.Time, bool) { return t.deadline, true }

// Token gives the fencing token under which the attempt is held.
func (a *Attempt) Token() int64 { return a.token }

// String names the attempt.
func (a *Attempt) String() string { return fmt.Sprintf("%s %s attempt %d", a.ID, a.Path, a.Number) }

// take makes attempts of tasks that were claimed or handed over. The caller holds e.mu, has reserved their slots, and
// launches them once it has let go of it. Their contexts have the values of ctx, but not its end. started is the local time from
// which their leases count.
func (e *Engine) take(ctx context.Context, tasks []store.Claimed, hops int, chain, started time.Time) []*Attempt {
	out := make([]*Attempt, 0, len(tasks))
	ctx, now, at := context.WithoutCancel(ctx), e.now(), e.clock.Now()
	for i := range tasks {
		c := &tasks[i]
		a := &Attempt{
			Header: c.Run.Run.Header, Path: c.Path, Number: c.Attempt,
			Key: machine.TaskKey(c.Run.Run.Header, c.Path, c.Env.Redriven), Handler: c.Lane.Handler, Queue: c.Lane.Queue,
			StartedAt: now, engine: e, handler: e.cfg.Handlers[c.Lane.Handler], task: c.Task, token: c.Token,
			seen: c.Run.Run, born: c.Run.Run.Seq, payloads: c.Payloads, hops: hops, chain: chain, slot: true, wave: e.gathers.Begun(at),
			renewAt: started.Add(e.renewAfter(c.Lease)),
		}
		a.ctx, a.cancel = context.WithCancelCause(ctx)
		key := taskKey{run: a.ID, path: a.Path}
		if old := e.held[key]; old != nil {
			e.lose(old)
		}
		e.held[key] = a
		e.slots.Occupy(a.Queue)
		e.lanes.Begin(a.Tenant)
		e.aboard.Hold(a.Tenant)
		f := e.flight(a.Tenant, a.ID)
		a.flight = f
		f.holders++
		f.remember(c.Run)
		if e.phase == leaving {
			e.interrupt(a, interrupted)
		}
		out = append(out, a)
	}
	return out
}

func (e *Engine) launch(as []*Attempt) {
	for _, a := range as {
		e.cfg.Observer.Claimed(a)
		e.cfg.Launcher.Launch(a, func(o Outcome) { e.answer(a, o) })
	}
}

// answer takes the outcome of an attempt from its handler. One that comes when the attempt was settled or lost is told to the
// run as a late one; all but the first change nothing.
func (e *Engine) answer(a *Attempt, o Outcome) {
	var ev machine.Event
	if !o.Interrupted { // else it depends on what ended the context
		ev = a.event(o, going)
	}
	e.mu.Lock()
	if a.returned {
		e.mu.Unlock()
		return
	}
	a.returned = true
	if o.Interrupted {
		ev = a.event(o, a.cause)
	}
	if a.answered || a.closed {
		if a.answered {
			e.overdue--
		}
		e.free(a)
		if !o.Interrupted {
			e.add(e.flight(a.Tenant, a.ID), &fact{event: outcome.Late(ev)})
		}
		e.mu.Unlock()
		a.cancel(nil)
		e.signals.settle.Raise()
		return
	}
	e.tell(a, ev)
	heed := e.phase != working || e.gathers.Heed(e.clock.Now(), len(e.queue), e.aboard.Runs(), e.lanes.Stocked())
	e.mu.Unlock()
	a.cancel(nil)
	e.cfg.Observer.Answered(a, ev)
	if heed {
		e.signals.settle.Raise()
	}
	e.signals.change.Raise()
}

// tell makes an attempt's outcome a fact of its run. The caller holds e.mu.
func (e *Engine) tell(a *Attempt, ev machine.Event) {
	a.answered = true
	a.wave.Ended()
	e.add(a.flight, &fact{event: ev, attempt: a, token: a.token})
}

// interrupt ends the context of an attempt that has not answered. The caller holds e.mu.
func (e *Engine) interrupt(a *Attempt, why cause) {
	if a.answered || a.closed || a.cause != going {
		return
	}
	a.cause = why
	a.cancel(why.err())
}

// lose lets go of an attempt whose token is no longer current: its outcome, if it has not come yet, counts no more. The
// caller holds e.mu.
func (e *Engine) lose(a *Attempt) {
	if a.closed {
		return
	}
	if a.cause == going {
		a.cause = lost
	}
	a.cancel(ErrLost)
	e.release(a)
}

// release lets go of an attempt. Its slot is freed when its handler has returned. The caller holds e.mu.
func (e *Engine) release(a *Attempt) {
	if a.closed {
		return
	}
	a.closed = true
	e.aboard.Release(a.Tenant)
	if !a.answered {
		a.wave.Ended()
	}
	key := taskKey{run: a.ID, path: a.Path}
	if e.held[key] == a {
		delete(e.held, key)
	}
	f := a.flight
	f.holders--
	e.leaveIfIdle(f)
	if a.returned {
		e.free(a)
	}
}

// free gives back an attempt's slot. The caller holds e.mu.
func (e *Engine) free(a *Attempt) {
	if a.slot {
		a.slot = false
		e.slots.Leave(a.Queue)
		e.lanes.End(a.Tenant)
		e.signals.claim.Raise()
	}
}

// TimeoutOnce settles as timed out the attempts whose time is over, whether or not their handlers heed it, and gives the
// number of them and the time until the next (negative: none waits).
func (e *Engine) TimeoutOnce(context.Context) (n int, next time.Duration) {
	e.mu.Lock()
	late, next := e.late()
	events := make([]machine.Event, len(late))
	for i, a := range late {
		events[i] = a.event(Outcome{Err: &machine.Error{
			Code: machine.CodeTimeout, Message: a.tooLong(),
		}}, timedOut)
		a.cause = timedOut
		a.cancel(ErrTimedOut)
		e.tell(a, events[i])
		e.overdue++
	}
	e.mu.Unlock()
	for i, a := range late {
		e.cfg.Observer.Answered(a, events[i])
	}
	if len(late) > 0 {
		e.signals.settle.Raise()
	}
	return len(late), next
}

// late gives the attempts whose time is over, in a fixed order, and the time until the next. The caller holds e.mu.
func (e *Engine) late() (late []*Attempt, next time.Duration) {
	now := e.clock.Now()
	next = -1
	for _, a := range e.held {
		if a.answered || a.deadline.IsZero() {
			continue
		}
		left := a.deadline.Sub(now)
		switch {
		case left <= 0:
			late = append(late, a)
		case next < 0 || left < next:
			next = left
		}
	}
	slices.SortFunc(late, byPath)
	return late, next
}

func (a *Attempt) tooLong() string {
	if a.bounded {
		return "the time for which the step is tried (`for`) is over"
	}
	return fmt.Sprintf("the attempt took longer than %s", a.Step.Timeout)
}

// started notes that an attempt's handler is about to be called. From here its timeout runs; and it ends no later than the
// time for which the step is tried.
func (e *Engine) started(a *Attempt) {
	if a.Step.Timeout == 0 && a.until == 0 {
		return
	}
	e.mu.Lock()
	if a.Step.Timeout > 0 {
		a.deadline = e.clock.Now().Add(a.Step.Timeout)
	}
	if a.until != 0 {
		end := a.until.Std().Add(-e.ahead())
		if a.bounded = a.deadline.IsZero() || end.Before(a.deadline); a.bounded {
			a.deadline = end
		}
	}
	e.mu.Unlock()
	e.signals.timeout.Raise()
}
