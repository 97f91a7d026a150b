package crew_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/crew"
)

func TestFunctionsThatBlockStopNoOther(t *testing.T) {
	t.Parallel()
	c := crew.New()
	const n = 50
	var met sync.WaitGroup
	met.Add(n)
	var ran atomic.Int64
	for range n {
		c.Go(func() {
			met.Done()
			met.Wait() // all are there at once
			ran.Add(1)
		})
	}
	c.Dismiss()
	if !c.Wait(t.Context()) || ran.Load() != n {
		t.Errorf("%d of %d ran", ran.Load(), n)
	}
}

func TestAGoroutineTakesTheNextFunctionAndThenEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := crew.New()
		var order []int
		for i := range 3 {
			c.Go(func() { order = append(order, i) }) // the race detector would see two goroutines
			synctest.Wait()
		}
		if !c.Wait(t.Context()) || len(order) != 3 {
			t.Errorf("order %v", order)
		}
	})
}

func TestWaitGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	c := crew.New()
	hold := make(chan struct{})
	c.Go(func() { <-hold })
	c.Dismiss()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c.Wait(ctx) {
		t.Error("it says that a function has ended that has not")
	}
	close(hold)
	if !c.Wait(t.Context()) {
		t.Error("it says that a function has not ended")
	}
}

func TestEachFunctionRunsOnceWhoeverAsks(t *testing.T) {
	t.Parallel()
	c := crew.New()
	const callers, each = 8, 2_000
	ran := make([]atomic.Int64, callers*each)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range each {
				c.Go(func() {
					if i%7 == 0 {
						runtime.Gosched()
					}
					ran[caller*each+i].Add(1)
				})
			}
		})
	}
	all.Wait()
	c.Dismiss()
	if !c.Wait(t.Context()) {
		t.Fatal("it is not over")
	}
	for i := range ran {
		if n := ran[i].Load(); n != 1 {
			t.Fatalf("function %d ran %d times", i, n)
		}
	}
}

func TestAFunctionThatEndsItsGoroutineStopsNoOther(t *testing.T) {
	t.Parallel()
	c := crew.New()
	var ran atomic.Int64
	for range 20 {
		c.Go(runtime.Goexit)
		c.Go(func() { ran.Add(1) })
	}
	c.Dismiss()
	if !c.Wait(t.Context()) || ran.Load() != 20 {
		t.Errorf("%d of 20 ran", ran.Load())
	}
}

func TestWhatComesAfterAWaitRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := crew.New()
		var ran atomic.Int64
		for _, pause := range []time.Duration{0, time.Millisecond, time.Minute, time.Millisecond} {
			<-time.After(pause) // in the bubble's time
			for range 3 {
				c.Go(func() { ran.Add(1) })
			}
		}
		if !c.Wait(t.Context()) || ran.Load() != 12 {
			t.Errorf("%d of 12 ran", ran.Load())
		}
	})
}
