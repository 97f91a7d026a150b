// Package crew runs functions, each in a goroutine of its own, and can wait for the end of all of them.
//
// Nouns: a [Crew] is the goroutines; one that is done waits a little for the next function before it ends, because a stack that
// has grown is worth keeping. It imports nothing of Millrace.
package crew

import (
	"context"
	"sync"
	"time"
)

// Crew runs functions. It is safe for concurrent use. It has no goroutine before the first function.
type Crew struct {
	running sync.WaitGroup
	next    chan func()   // to a goroutine that waits
	leaving chan struct{} // closed when none is to wait any more
	once    sync.Once
}

const lingering = 50 * time.Millisecond // how long a goroutine waits for its next function

// New gives a crew.
func New() *Crew { return &Crew{next: make(chan func()), leaving: make(chan struct{})} }

// Go runs do in a goroutine that waits, or in a new one, and does not wait for it.
func (c *Crew) Go(do func()) {
	select {
	case c.next <- do:
	default:
		c.running.Go(func() { c.work(do) })
	}
}

func (c *Crew) work(do func()) {
	end := time.NewTimer(lingering) //nolint:forbidigo // nothing that anybody sees depends on it
	defer end.Stop()
	for {
		do()
		end.Reset(lingering)
		select {
		case do = <-c.next:
		case <-end.C:
			return
		case <-c.leaving:
			return
		}
	}
}

// Dismiss lets the goroutines that wait go, and those that do not as soon as they are done. Go still works after it.
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
