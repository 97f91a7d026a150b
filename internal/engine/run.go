package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/rounds"
	"github.com/millrace-go/millrace/internal/engine/internal/supply"
)

// signals has one signal for each loop that has more to do than to wait for its time.
type signals struct{ claim, guest, settle, visit, control, timer, timeout, inbox, change rounds.Signal }

func newSignals() signals {
	s := rounds.NewSignal
	return signals{claim: s(), guest: s(), settle: s(), visit: s(), control: s(), timer: s(), timeout: s(), inbox: s(), change: s()}
}

// ready hints at tasks that are ready.
func (s *signals) ready() {
	s.claim.Raise()
	s.guest.Raise()
}

// wake hints at new work of any kind.
func (s *signals) wake() {
	s.ready()
	s.control.Raise()
	s.timer.Raise()
	s.inbox.Raise()
}

// The polling net: hints only shorten these waits. An idle process makes at most five queries a second.
const (
	controlPoll = 500 * time.Millisecond
	inboxPoll   = 500 * time.Millisecond
	timerPoll   = time.Second
	sweepPoll   = 3 * time.Second
	renewTick   = time.Second
	settlePoll  = time.Minute
	hintGap     = 50 * time.Millisecond
)

func (e *Engine) loops() []rounds.Loop {
	all := []rounds.Loop{
		{Signal: e.signals.claim, Idle: e.nextClaim, Poll: supply.Poll, Step: e.ClaimOnce},
		{Signal: e.signals.control, Poll: controlPoll, Gap: hintGap, Step: quiet(e.ControlOnce)},
		{Signal: e.signals.timer, Idle: e.nextTimer, Poll: timerPoll, Gap: hintGap / 10, Step: e.FireOnce},
		{Signal: e.signals.inbox, Poll: inboxPoll, Gap: hintGap, Step: e.DeliverOnce},
		{Poll: sweepPoll, Step: e.SweepOnce},
		{Poll: renewTick, Step: quiet(e.RenewOnce)},
		{Signal: e.signals.guest, Poll: settlePoll, Step: e.claimForGuests},
		{Signal: e.signals.visit, Poll: settlePoll, Step: e.settleGuests},
		{Poll: e.cfg.Renew, Step: func(ctx context.Context) (int, error) { return 0, e.BeatOnce(ctx) }},
	}
	for range e.cfg.Settlers {
		all = append(all, rounds.Loop{Signal: e.signals.settle, Wait: e.gather, Idle: e.nextSettle, Poll: settlePoll, Step: e.SettleOnce})
	}
	return all
}

// quiet makes a step that has done its work for now: what it counted is no reason to do it again at once.
func quiet(step func(context.Context) (int, error)) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		_, err := step(ctx)
		return 0, err
	}
}

// pause waits for d, a signal, or the end of ctx.
func (e *Engine) pause(ctx context.Context, s rounds.Signal, d time.Duration) {
	rounds.Pause(ctx, e.clock, s, d)
}

// timeouts settles attempts that are out of time, each at its time.
func (e *Engine) timeouts(ctx context.Context) {
	for ctx.Err() == nil {
		_, next := e.TimeoutOnce(ctx)
		if next < 0 {
			next = settlePoll
		}
		e.pause(ctx, e.signals.timeout, max(next, time.Microsecond))
	}
}

// Run claims, executes and settles until ctx ends. Then it makes no new claims, lets attempts go on for Grace, interrupts
// them, settles everything, and returns when all its goroutines have ended. The error says what could not be finished: the
// leases of handlers that did not return, and of outcomes that the store did not take, run out by themselves. Run is called
// once.
func (e *Engine) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	if err := e.BeatOnce(work); err != nil && errors.Is(err, context.Canceled) {
		return err
	}
	var loops sync.WaitGroup
	for _, l := range e.loops() {
		loops.Go(func() { l.Drive(work, e.clock) })
	}
	loops.Go(func() { e.timeouts(work) })
	loops.Go(func() { e.watch(work) })
	if e.cfg.Retention != nil {
		loops.Go(func() { e.prune(work) })
	}
	<-ctx.Done()
	err := e.leave(work)
	stop()
	loops.Wait()
	return err
}

// watch hears the store's hints. Without them polling is enough.
func (e *Engine) watch(ctx context.Context) {
	wait := rounds.Backoff{}
	for ctx.Err() == nil {
		var first sync.WaitGroup
		first.Go(func() { // what happened before the store listened
			e.pause(ctx, nil, hintGap)
			e.Hint()
		})
		err := e.st.Watch(ctx, e.hear)
		first.Wait()
		if ctx.Err() != nil {
			return
		}
		_ = e.fault("watch", err) // logged there; hints only shorten waits
		e.pause(ctx, nil, wait.Next())
	}
}

// heed is what a handler gets beyond Grace: one that kills after Grace what does not end has returned soon after, and on a busy
// machine not at once.
const heed = 5 * time.Second

// leave is the polite shutdown.
func (e *Engine) leave(ctx context.Context) error {
	e.Drain()
	_ = e.BeatOnce(ctx) // so that others see it draining; a fault was logged
	e.await(ctx, e.cfg.Grace, func() bool { return e.running() == 0 })
	e.Interrupt()
	e.await(ctx, e.cfg.Grace+heed, func() bool { return e.running() == 0 && !e.bringing() }) // what is brought now is interrupted
	e.await(ctx, e.cfg.Flush, func() bool { return e.pending() == 0 })
	var left []error
	if n := e.pending(); n > 0 {
		left = append(left, fmt.Errorf("runs with outcomes that could not be settled: %d", n))
	}
	g, own := e.cfg.Launcher.(goroutines)
	if own {
		g.Dismiss()
	}
	if n := e.running(); n > 0 {
		left = append(left, fmt.Errorf("handlers that did not return: %d", n))
	} else if own {
		c, cancel := context.WithTimeout(ctx, e.cfg.Grace+heed)
		if !g.Wait(c) {
			left = append(left, errors.New("handlers of lost attempts did not return"))
		}
		cancel()
	}
	if len(left) > 0 {
		return errors.Join(left...)
	}
	return e.Retire(ctx)
}

// await waits until done says so, at most for d. It looks after each change, and now and then.
func (e *Engine) await(ctx context.Context, d time.Duration, done func() bool) {
	end := e.clock.Now().Add(d)
	for !done() {
		left := end.Sub(e.clock.Now())
		if left <= 0 {
			return
		}
		e.pause(ctx, e.signals.change, min(left, hintGap))
	}
}

// Drain makes the engine claim nothing any more.
func (e *Engine) Drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.phase = max(e.phase, draining)
}

// Interrupt ends the contexts of all attempts: they are released, uncounted and ready at once for others, unless they
// succeed or fail all the same.
func (e *Engine) Interrupt() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.phase = leaving
	for _, a := range e.holding() {
		e.interrupt(a, interrupted)
	}
}

// Retire removes the process from the store. It holds nothing any more.
func (e *Engine) Retire(ctx context.Context) error {
	c, cancel := e.call(ctx)
	defer cancel()
	return e.fault("retire", e.st.Retire(c, e.cfg.Owner))
}

// running gives the number of attempts whose handlers have not returned.
func (e *Engine) running() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.overdue
	for _, a := range e.held {
		if !a.answered {
			n++
		}
	}
	return n
}
