// Package rounds does a step again and again: after a signal, and from time to time without one.
//
// Nouns: a [Signal] wakes a loop; a [Loop] is a step with its times; a [Backoff] is the wait between tries. It imports
// internal/clock.
package rounds

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/internal/clock"
)

// Signal wakes one loop. Raising it twice before it is heard is once. Nobody hears a nil one.
type Signal chan struct{}

// NewSignal gives a signal that was not raised.
func NewSignal() Signal { return make(Signal, 1) }

// Raise wakes the loop that hears the signal, now or when it listens next. It does not block.
func (s Signal) Raise() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Loop does a step after a signal, and after a time without one.
type Loop struct {
	Signal Signal
	// Wait gives the wait before a step, and is asked again after it, or after a signal. Default: none.
	Wait func() time.Duration
	// Idle gives the wait after a step that found no work: at most what it is given. Default: that.
	Idle func(time.Duration) time.Duration
	Poll time.Duration // the longest wait
	Gap  time.Duration // the shortest, so that a flood of hints does not become a flood of queries
	// Step gives how much work it found.
	Step func(context.Context) (int, error)
}

// Drive does steps until ctx ends. A step that found work is repeated at once, one that failed after a growing pause.
func (l Loop) Drive(ctx context.Context, c clock.Clock) {
	wait := Backoff{}
	for ctx.Err() == nil {
		if d := l.due(); d > 0 {
			Pause(ctx, c, l.Signal, d)
			continue
		}
		n, err := l.Step(ctx)
		switch {
		case err != nil:
			Pause(ctx, c, nil, wait.Next())
			continue
		case n > 0:
			wait = Backoff{}
			continue
		}
		wait = Backoff{}
		Pause(ctx, c, nil, l.Gap)
		idle := l.Poll
		if l.Idle != nil {
			idle = l.Idle(idle)
		}
		Pause(ctx, c, l.Signal, idle-l.Gap)
	}
}

func (l *Loop) due() time.Duration {
	if l.Wait == nil {
		return 0
	}
	return l.Wait()
}

// Pause waits for d, a signal, or the end of ctx.
func Pause(ctx context.Context, c clock.Clock, s Signal, d time.Duration) {
	if d <= 0 {
		return
	}
	t := c.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s:
	case <-ctx.Done():
	}
}

// Backoff is the wait between tries while something does not answer: it doubles from 50 ms up to 2 s.
type Backoff struct{ last time.Duration }

// Next gives the next wait.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(2*b.last, 50*time.Millisecond), 2*time.Second)
	return b.last
}
