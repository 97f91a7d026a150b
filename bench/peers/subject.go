package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/bench/internal/drive"
)

// shape is what the runs of a workload are made of.
type shape struct {
	kind string // chain, fork or saga
	n    int
}

// The shapes of the workloads.
var (
	one    = shape{"chain", 1}
	five   = shape{"chain", 5}
	forked = shape{"fork", 10}
	undone = shape{"saga", 4}
)

// steps is how many steps of a run are executed.
func (s shape) steps() int {
	switch s.kind {
	case "fork":
		return s.n + 1
	case "saga":
		return 2*s.n + 1
	}
	return s.n
}

// subject is a system on one fresh database. Its methods open what they need and close it before they return, so that what is
// counted of a method is counted whole.
type subject interface {
	// prepare makes the schema, and n runs of one step that have ended.
	prepare(ctx context.Context, ended int) error
	// load stores n runs that nobody works on yet. Systems whose runs begin in their caller store nothing.
	load(ctx context.Context, s shape, n int) error
	// drive works until n runs have ended, and gives the time from the first step to the last outcome seen in the database.
	drive(ctx context.Context, s shape, n int) (time.Duration, error)
	// verify counts what is stored: n runs of the shape have ended, beside those that prepare made.
	verify(ctx context.Context, s shape, n, before int) error
	// oneByOne starts n runs in an idle system, each when the one before has ended: from the call to the end of each.
	oneByOne(ctx context.Context, s shape, n int) ([]time.Duration, error)
	// starts has so many callers start n runs of one step in all; callers 0: one caller, in bulk of 500.
	starts(ctx context.Context, callers, n int) (time.Duration, error)
	// probes has a second tenant start n runs one by one while so many of the first wait.
	probes(ctx context.Context, flood, n int) ([]time.Duration, error)
}

// errCannot is what a subject answers that has no way to say what is asked.
var errCannot = errors.New("cannot be expressed")

// knobs are the settings of a system, by name.
type knobs map[string]int

// target is where a subject works.
type target struct {
	URL   string // of a database of PostgreSQL
	Path  string // of a file
	Knobs knobs
}

// tally counts what the handlers of one process have done.
type tally struct {
	once  sync.Once
	began time.Time

	mu   sync.Mutex
	left int
	done chan struct{}
}

func newTally(want int) *tally {
	t := &tally{}
	t.expect(want)
	return t
}

// expect begins to count anew: so many ends are waited for.
func (t *tally) expect(want int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left, t.done = want, make(chan struct{})
}

// step marks that a step is executed; the first begins the measurement.
func (t *tally) step() { t.once.Do(func() { t.began = time.Now() }) }

// end counts one end.
func (t *tally) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left--; t.left == 0 {
		close(t.done)
	}
}

// wait waits for the last end and gives the time since the first step.
func (t *tally) wait(ctx context.Context) (time.Duration, error) {
	t.mu.Lock()
	done := t.done
	t.mu.Unlock()
	select {
	case <-done:
		return time.Since(t.began), nil
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		return 0, fmt.Errorf("%d ends were still waited for: %w", t.left, ctx.Err())
	}
}

// work is a step: it returns the payload.
func (t *tally) work() (drive.Payload, error) {
	t.step()
	return drive.Sample(), nil
}

var errRefused = errors.New("refused for good")

// sideBySide has so many callers do n things in all.
func sideBySide(callers, n int, do func() error) (time.Duration, error) {
	errs := make([]error, callers)
	var left atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	began := time.Now()
	for c := range callers {
		all.Go(func() {
			for left.Add(-1) >= 0 && errs[c] == nil {
				errs[c] = do()
			}
		})
	}
	all.Wait()
	return time.Since(began), errors.Join(errs...)
}

// seldomThenOften asks until the answer is at least n: seldom while much is missing, so that the question costs little.
func seldomThenOften(ctx context.Context, n int, ask func() (int, error)) error {
	for {
		got, err := ask()
		if err != nil || got >= n {
			return err
		}
		pause := 2 * time.Millisecond
		if n-got > 200 {
			pause = 100 * time.Millisecond
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%d of %d are stored: %w", got, n, ctx.Err())
		}
	}
}

// check compares a number of rows with what it must be.
func check(what string, got, want int) error {
	if got != want {
		return fmt.Errorf("%s: %d, not %d: what was measured was not done", what, got, want)
	}
	return nil
}
