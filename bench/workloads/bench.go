package main

import (
	"context"
	"errors"
	"sync"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store/sqlite"
	"github.com/millrace-go/millrace/workflow"
)

type payload struct {
	Customer string   `json:"customer"`
	Amount   int      `json:"amount"`
	Items    []string `json:"items"`
	Note     string   `json:"note"`
}

func sample() payload {
	return payload{"c-1234567", 12345, []string{"aaaaaaaa", "bbbbbbbb", "cccccccc"}, "hello world hello"}
}

// bench is an engine on a fresh database.
type bench struct {
	store  *sqlite.Store
	engine *millrace.Engine
	def    *workflow.Definition
	ended  *endings

	held    chan struct{} // gets a value for each task of the handler "hold" that is in hand
	release chan struct{} // closed to let them go
}

const slots = 1000

func (b *bench) hold(ctx context.Context) error {
	b.held <- struct{}{}
	select {
	case <-b.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endings counts the runs that have ended.
type endings struct {
	mu   sync.Mutex
	n    int
	want int
	done chan struct{}
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

func open(ctx context.Context, path, source string) (*bench, error) {
	st, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	b := &bench{store: st, ended: &endings{}, held: make(chan struct{}, slots), release: make(chan struct{})}
	noop := millrace.NewHandler("noop", func(context.Context, payload) (payload, error) { return sample(), nil })
	hold := millrace.NewHandler("hold", func(ctx context.Context, in payload) (payload, error) { return in, b.hold(ctx) })
	refuse := millrace.NewHandler("refuse", func(context.Context, payload) (payload, error) {
		return payload{}, millrace.Permanent(millrace.Fail("refused", errors.New("for good")))
	})
	b.engine, err = millrace.New(st, millrace.Config{
		Handlers: []millrace.Handler{noop, hold, refuse}, Slots: slots, Observer: b.ended,
	})
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	def, err := workflow.Read("bench.yaml", []byte(source))
	if err == nil {
		b.def = def
		_, err = b.engine.Register(ctx, def)
	}
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return b, nil
}

func (b *bench) start(ctx context.Context, n int) error {
	for n > 0 {
		requests := make([]millrace.StartRequest, min(n, 500))
		for i := range requests {
			requests[i] = millrace.StartRequest{Workflow: "bench", Input: sample()}
		}
		if _, err := b.engine.StartMany(ctx, requests); err != nil {
			return err
		}
		n -= len(requests)
	}
	return nil
}
