// Package drive has an engine of Millrace do the workloads of docs/performance.md on a store that the caller names, and checks
// that what it counts was done.
//
// Nouns: a [Database] is where the runs are kept, and knows how to be opened and how to be filled with runs that have ended; a
// [Bench] is an engine on it whose handlers do nothing; a [Shape] is what the runs are made of.
package drive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// Slots is how many attempts the engine of a Bench runs at once, unless it is opened with another number.
const Slots = 1000

// Bulk is how many runs a bulk start starts in one transaction.
const Bulk = 500

// Database is where the runs are kept.
type Database interface {
	// Open gives the store; the caller closes it.
	Open(ctx context.Context) (store.Store, error)
	// Copy stores n more runs like the only one that is there, which has ended, under older ids. No store is open meanwhile.
	Copy(ctx context.Context, n int) error
}

// Payload is what runs are started with and what handlers return: about 100 bytes of JSON.
type Payload struct {
	Customer string   `json:"customer"`
	Amount   int      `json:"amount"`
	Items    []string `json:"items"`
	Note     string   `json:"note"`
}

// Sample gives the Payload of all workloads.
func Sample() Payload {
	return Payload{"c-1234567", 12345, []string{"aaaaaaaa", "bbbbbbbb", "cccccccc"}, "hello world hello"}
}

// Bench is an engine at a store.
type Bench struct {
	Held    chan struct{} // gets a value for each task of the handler "hold" that is in hand
	Release chan struct{} // closed by the caller to let them go

	store  store.Store
	engine *millrace.Engine
	def    *workflow.Definition
	ended  *endings
}

// Open opens the database for runs of a shape. The caller closes the Bench.
func Open(ctx context.Context, db Database, shape Shape) (*Bench, error) {
	return OpenWith(ctx, db, shape, Slots)
}

// OpenWith is Open with another number of slots.
func OpenWith(ctx context.Context, db Database, shape Shape, slots int) (*Bench, error) {
	st, err := db.Open(ctx)
	if err != nil {
		return nil, err
	}
	b := &Bench{store: st, ended: &endings{}, Held: make(chan struct{}, slots), Release: make(chan struct{})}
	if err := b.serve(ctx, shape, slots); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return b, nil
}

func (b *Bench) serve(ctx context.Context, shape Shape, slots int) error {
	noop := millrace.NewHandler("noop", func(context.Context, Payload) (Payload, error) { return Sample(), nil })
	hold := millrace.NewHandler("hold", func(ctx context.Context, in Payload) (Payload, error) { return in, b.hold(ctx) })
	refuse := millrace.NewHandler("refuse", func(context.Context, Payload) (Payload, error) {
		return Payload{}, millrace.Permanent(millrace.Fail("refused", errors.New("for good")))
	})
	var err error
	b.engine, err = millrace.New(b.store, millrace.Config{
		Handlers: []millrace.Handler{noop, hold, refuse}, Slots: slots, Observer: b.ended,
	})
	if err != nil {
		return err
	}
	if b.def, err = workflow.Read("bench.yaml", []byte(shape.Source)); err != nil {
		return err
	}
	_, err = b.engine.Register(ctx, b.def)
	return err
}

// Close closes the store.
func (b *Bench) Close() error { return b.store.Close() }

func (b *Bench) hold(ctx context.Context) error {
	b.Held <- struct{}{}
	select {
	case <-b.Release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Start starts n runs in bulk.
func (b *Bench) Start(ctx context.Context, n int) error { return startMany(ctx, b.engine, n) }

func startMany(ctx context.Context, e *millrace.Engine, n int) error {
	for n > 0 {
		requests := make([]millrace.StartRequest, min(n, Bulk))
		for i := range requests {
			requests[i] = request()
		}
		if _, err := e.StartMany(ctx, requests); err != nil {
			return err
		}
		n -= len(requests)
	}
	return nil
}

func request() millrace.StartRequest {
	return millrace.StartRequest{Workflow: "bench", Input: Sample()}
}

// StartAlone has so many callers start runs one at a time, each so many, and gives the time that all took.
func (b *Bench) StartAlone(ctx context.Context, callers, each int) (time.Duration, error) {
	errs := make([]error, callers)
	var all sync.WaitGroup
	began := time.Now()
	for c := range callers {
		all.Go(func() {
			for range each {
				if _, err := b.engine.Start(ctx, request()); err != nil {
					errs[c] = err
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(began), errors.Join(errs...)
}

// Drive has the engine run until n more runs have ended, and gives the time from its beginning to the last end. first, if
// not nil, is called once it runs.
func (b *Bench) Drive(ctx context.Context, n int, first func() error) (took time.Duration, err error) {
	done := b.ended.expect(n)
	running, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	began := time.Now()
	go func() { over <- b.engine.Run(running) }()
	if first != nil {
		err = first()
	}
	if err == nil {
		select {
		case <-done:
		case err := <-over:
			stop()
			return 0, fmt.Errorf("the engine stopped: %w", err)
		}
	}
	took = time.Since(began)
	stop()
	return took, errors.Join(err, <-over)
}

// OneByOne starts n runs, each when the one before has ended, and gives for each the time from the call of Start to its end.
func (b *Bench) OneByOne(ctx context.Context, n int) ([]time.Duration, error) {
	running, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- b.engine.Run(running) }()
	times := make([]time.Duration, 0, n)
	var err error
	for len(times) < n && err == nil {
		done := b.ended.expect(1)
		began := time.Now()
		if _, err = b.engine.Start(ctx, request()); err == nil {
			<-done
			times = append(times, time.Since(began))
		}
	}
	stop()
	return times, errors.Join(err, <-over)
}

// endings counts the runs that have ended.
type endings struct {
	mu     sync.Mutex
	tenant string // only its runs count; "": all
	others atomic.Int64
	n      int
	want   int
	done   chan struct{}
}

// Claimed is not looked at.
func (*endings) Claimed(*millrace.Attempt) {}

// Answered is not looked at.
func (*endings) Answered(*millrace.Attempt, machine.Event) {}

// Settled counts a run that has ended.
func (c *endings) Settled(r *machine.Run) {
	if !r.Status.Ended() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tenant != "" && c.tenant != r.Tenant {
		c.others.Add(1)
		return
	}
	if c.n++; c.n == c.want {
		close(c.done)
	}
}

// expect gives a channel that is closed once n more runs have ended.
func (c *endings) expect(n int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n, c.want, c.done = 0, n, make(chan struct{})
	return c.done
}
