package clock

import (
	"container/heap"
	"sync"
	"time"
)

// Virtual is a clock that stands still until Advance moves it. Timers fire within Advance, in the order of their times,
// those of one time in the order in which they were made; so one goroutine that owns the clock sees the same order each
// time.
type Virtual struct {
	mu     sync.Mutex
	now    time.Time
	made   uint64
	timers pending
}

// NewVirtual gives a clock that stands at start.
func NewVirtual(start time.Time) *Virtual { return &Virtual{now: start} }

// Now gives the time at which the clock stands.
func (v *Virtual) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// NewTimer gives a timer that fires when the clock is moved past its time; at once for d <= 0.
func (v *Virtual) NewTimer(d time.Duration) *Timer {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.made++
	w := &waiter{at: v.now.Add(d), order: v.made, c: make(chan time.Time, 1), index: -1}
	if d <= 0 {
		w.c <- v.now
	} else {
		heap.Push(&v.timers, w)
	}
	return &Timer{C: w.c, stop: func() bool { return v.stop(w) }}
}

// Advance moves the clock by d, firing what comes due on the way, each at its own time. A negative d moves nothing.
func (v *Virtual) Advance(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if d < 0 {
		return
	}
	end := v.now.Add(d)
	for len(v.timers) > 0 && !v.timers[0].at.After(end) {
		w := heap.Pop(&v.timers).(*waiter)
		v.now = w.at
		w.c <- w.at
	}
	v.now = end
}

// Next gives the time of the earliest timer that waits; false if none does.
func (v *Virtual) Next() (time.Time, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.timers) == 0 {
		return time.Time{}, false
	}
	return v.timers[0].at, true
}

// Waiting gives the number of timers that have not fired: a test waits for it to know that a loop sleeps.
func (v *Virtual) Waiting() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.timers)
}

func (v *Virtual) stop(w *waiter) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if w.index < 0 {
		return false
	}
	heap.Remove(&v.timers, w.index)
	return true
}

// waiter is a timer that has not fired; index is its place in the heap, -1 outside it.
type waiter struct {
	at    time.Time
	order uint64
	c     chan time.Time // holds one: firing never blocks
	index int
}

// pending is a heap of waiters by time, then by the order in which they were made.
type pending []*waiter

func (p pending) Len() int { return len(p) }

func (p pending) Less(i, j int) bool {
	if p[i].at.Equal(p[j].at) {
		return p[i].order < p[j].order
	}
	return p[i].at.Before(p[j].at)
}

func (p pending) Swap(i, j int) {
	p[i], p[j] = p[j], p[i]
	p[i].index, p[j].index = i, j
}

func (p *pending) Push(x any) {
	w := x.(*waiter)
	w.index = len(*p)
	*p = append(*p, w)
}

func (p *pending) Pop() any {
	old := *p
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*p = old[:len(old)-1]
	w.index = -1
	return w
}
