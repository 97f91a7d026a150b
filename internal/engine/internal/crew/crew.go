// Package crew runs functions side by side, and can wait for the end of all of them.
//
// Nouns: a [Crew] is goroutines and a line of functions that wait for one; a goroutine that has taken a function from the line, and
// leaves others in it, first has another goroutine come, so that what blocks stops nobody else. Functions that return at once are
// so run by as many goroutines as there are processors, one after the other, on stacks that have grown. It imports nothing of
// Millrace.
package crew

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Crew runs functions. It is safe for concurrent use. It has no goroutine before the first function.
type Crew struct {
	running sync.WaitGroup
	leaving chan struct{} // closed when none is to wait any more
	once    sync.Once

	mu     sync.Mutex
	line   []func() // first come, first served
	idle   []signal // of the goroutines that wait; the last to have come is the first to go
	coming bool     // a goroutine was begun or woken, and has not looked at the line yet: always so while functions are in it
}

// signal wakes one goroutine, which is no longer among the idle.
type signal chan struct{}

const lingering = 50 * time.Millisecond // how long a goroutine waits for its next function

// New gives a crew.
func New() *Crew { return &Crew{leaving: make(chan struct{})} }

// Go runs do, at once if a processor is free for it, and does not wait for it: what other functions wait for holds up none.
func (c *Crew) Go(do func()) {
	c.mu.Lock()
	c.line = append(c.line, do)
	c.call()
	c.mu.Unlock()
}

// call has a goroutine come when there is something in line and none is on its way. The caller holds c.mu.
func (c *Crew) call() {
	if c.coming || len(c.line) == 0 {
		return
	}
	c.coming = true
	if n := len(c.idle); n > 0 {
		c.idle[n-1] <- struct{}{}
		c.idle = c.idle[:n-1]
		return
	}
	c.running.Go(c.work)
}

// work runs functions until there has been none for a while. It begins as one that was called.
func (c *Crew) work() {
	woken := make(signal, 1)
	end := time.NewTimer(lingering) //nolint:forbidigo // nothing that anybody sees depends on it
	defer end.Stop()
	for called := true; called; called = c.wait(woken, end) {
		for do := c.next(called, woken); do != nil; do = c.next(false, woken) {
			do()
		}
	}
}

// next takes a function out of the line. Without one the goroutine is among the idle from here on.
func (c *Crew) next(called bool, woken signal) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if called {
		c.coming = false
	}
	if len(c.line) == 0 {
		c.line = nil
		c.idle = append(c.idle, woken)
		return nil
	}
	do := c.line[0]
	c.line[0] = nil
	c.line = c.line[1:]
	c.call()
	return do
}

// wait has a goroutine that is idle wait for its call, and says whether it came; else the goroutine is idle no more.
func (c *Crew) wait(woken signal, end *time.Timer) bool {
	end.Reset(lingering)
	select {
	case <-woken:
		return true
	case <-end.C:
	case <-c.leaving:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.idle, woken)
	if i < 0 { // it was called meanwhile
		<-woken
		return true
	}
	c.idle = slices.Delete(c.idle, i, i+1)
	return false
}

// Dismiss lets the goroutines that wait go, and those that do not as soon as nothing is in line. Go still works after it.
func (c *Crew) Dismiss() { c.once.Do(func() { close(c.leaving) }) }

// Wait blocks until every goroutine has ended or ctx has, and says whether they have. No Go may run at the same time.
func (c *Crew) Wait(ctx context.Context) bool {
	ended := make(chan struct{})
	go func() {
		c.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	}
}
