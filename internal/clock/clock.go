// Package clock is the time that the loops live by: the machine's own, or one that a test moves by hand.
//
// Nouns: a [Clock] tells time and makes timers; a [Timer] fires once; [Real] is the clock of the operating system;
// [Virtual] stands still until it is moved. Time that is written to a database is the store's, never this one: a clock
// only says how long to wait and what the offset to the store is counted from.
//
// It imports nothing of Millrace.
package clock

import (
	"context"
	"time"
)

// Clock tells time and makes timers. Every Clock is safe for concurrent use.
type Clock interface {
	// Now gives the time. On Real it carries a monotonic reading.
	Now() time.Time
	// NewTimer gives a timer that fires once, after d; at once for d <= 0. The caller stops it when it no longer waits.
	NewTimer(d time.Duration) *Timer
}

// Timer fires once, unless it was stopped before.
type Timer struct {
	// C receives the time at which the timer fired.
	C <-chan time.Time

	stop func() bool
}

// Stop keeps the timer from firing, and says whether it did: false means that it had fired or was stopped already.
func (t *Timer) Stop() bool { return t.stop() }

// Sleep blocks until d has passed on c or ctx has ended, and then gives the context's cause. It returns nil at once for
// d <= 0 while ctx has not ended.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	t := c.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Real is the clock of the operating system.
type Real struct{}

// Now gives the operating system's time.
func (Real) Now() time.Time { return time.Now() }

// NewTimer gives a timer of the runtime.
func (Real) NewTimer(d time.Duration) *Timer {
	t := time.NewTimer(d)
	return &Timer{C: t.C, stop: t.Stop}
}
