package crew_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

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
