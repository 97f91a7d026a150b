package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite"
	"github.com/millrace-go/millrace/workflow"
)

// figure is one number of one measurement.
type figure struct {
	name  string
	value float64
	unit  string
}

// workload is something to measure on a fresh database.
type workload struct {
	name    string
	measure func(ctx context.Context, path string) ([]figure, error)
}

func workloads() []workload {
	return []workload{
		{"W1", backlog{source: steps(1), runs: 20_000, entries: 2, steps: 1}.measure},
		{"W2", backlog{source: steps(5), runs: 4_000, entries: 6, steps: 5}.measure},
		{"W3", backlog{source: fork(10), runs: 1_000, entries: 12, steps: 11}.measure},
		{"W4", latency},
		{"W7", starts},
	}
}

// steps is a sequence of n steps.
func steps(n int) string {
	var b strings.Builder
	b.WriteString("workflow: bench\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - { id: s%d, task: noop }\n", i)
	}
	return b.String()
}

// fork is n steps side by side and a join.
func fork(n int) string {
	var b strings.Builder
	var names []string
	b.WriteString("workflow: bench\nsteps:\n")
	for i := range n {
		names = append(names, fmt.Sprintf("s%d", i))
		fmt.Fprintf(&b, "  s%d: { task: noop }\n", i)
	}
	fmt.Fprintf(&b, "  join: { after: [%s], task: noop }\n", strings.Join(names, ", "))
	return b.String()
}

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
	ended  *endings
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
	b := &bench{store: st, ended: &endings{}}
	noop := millrace.NewHandler("noop", func(context.Context, payload) (payload, error) { return sample(), nil })
	b.engine, err = millrace.New(st, millrace.Config{Handlers: []millrace.Handler{noop}, Slots: 1000, Observer: b.ended})
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	def, err := workflow.Read("bench.yaml", []byte(source))
	if err == nil {
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

// verify counts in the database what was done.
func (b *bench) verify(ctx context.Context, runs int, entries int64) error {
	n, before := 0, ""
	for {
		rows, err := b.store.Runs(ctx, store.Filter{Tenant: millrace.DefaultTenant, Before: before, Limit: 1000})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		for i := range rows {
			if rows[i].Status != machine.Succeeded || rows[i].Seq != entries {
				return fmt.Errorf("run %s is %s with %d entries, not %d", rows[i].ID, rows[i].Status, rows[i].Seq, entries)
			}
		}
		n, before = n+len(rows), rows[len(rows)-1].ID
	}
	if n != runs {
		return fmt.Errorf("%d runs are stored, not %d", n, runs)
	}
	return nil
}

// backlog is a number of runs that wait before the engine begins.
type backlog struct {
	source  string
	runs    int
	entries int64
	steps   int
}

func (l backlog) measure(ctx context.Context, path string) ([]figure, error) {
	b, err := open(ctx, path, l.source)
	if err != nil {
		return nil, err
	}
	defer b.store.Close()
	if err := b.start(ctx, l.runs); err != nil {
		return nil, err
	}
	done := b.ended.expect(l.runs)
	running, stop := context.WithCancel(ctx)
	defer stop()
	over := make(chan error, 1)
	began, cpu := time.Now(), processTime()
	go func() { over <- b.engine.Run(running) }()
	select {
	case <-done:
	case err := <-over:
		return nil, fmt.Errorf("the engine stopped: %w", err)
	}
	took := time.Since(began)
	cpu = processTime() - cpu
	stop()
	if err := <-over; err != nil {
		return nil, err
	}
	if err := b.verify(ctx, l.runs, l.entries); err != nil {
		return nil, err
	}
	return []figure{
		{"runs", float64(l.runs) / took.Seconds(), "runs/s"},
		{"steps", float64(l.runs*l.steps) / took.Seconds(), "steps/s"},
		{"CPU of a step", float64(cpu.Microseconds()) / float64(l.runs*l.steps), "us"},
	}, nil
}

// latency is W4: one run at a time in an idle system, from the call of Start to its end.
func latency(ctx context.Context, path string) ([]figure, error) {
	var out []figure
	for _, n := range []int{1, 5} {
		b, err := open(ctx, fmt.Sprintf("%s-%d", path, n), steps(n))
		if err != nil {
			return nil, err
		}
		times, err := b.oneByOne(ctx, 200)
		if err = errors.Join(err, b.store.Close()); err != nil {
			return nil, err
		}
		slices.Sort(times)
		for _, p := range []int{50, 95, 99} {
			ms := float64(times[len(times)*p/100].Microseconds()) / 1000
			out = append(out, figure{fmt.Sprintf("%d steps, p%d", n, p), ms, "ms"})
		}
	}
	return out, nil
}

func (b *bench) oneByOne(ctx context.Context, n int) ([]time.Duration, error) {
	running, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- b.engine.Run(running) }()
	times := make([]time.Duration, 0, n)
	var err error
	for len(times) < n && err == nil {
		done := b.ended.expect(1)
		began := time.Now()
		if _, err = b.engine.Start(ctx, millrace.StartRequest{Workflow: "bench", Input: sample()}); err == nil {
			<-done
			times = append(times, time.Since(began))
		}
	}
	stop()
	return times, errors.Join(err, <-over)
}

// starts is W7: one caller, 8 callers, in bulk of 500.
func starts(ctx context.Context, path string) ([]figure, error) {
	var out []figure
	for _, callers := range []int{1, 8} {
		f, err := startAlone(ctx, fmt.Sprintf("%s-%d", path, callers), callers)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	b, err := open(ctx, path, steps(1))
	if err != nil {
		return nil, err
	}
	defer b.store.Close()
	const runs = 40_000
	began, cpu := time.Now(), processTime()
	if err := b.start(ctx, runs); err != nil {
		return nil, err
	}
	took := time.Since(began)
	return append(out, figure{"bulk of 500", runs / took.Seconds(), "runs/s"},
		figure{"bulk, CPU of a start", float64((processTime() - cpu).Microseconds()) / runs, "us"}), nil
}

func startAlone(ctx context.Context, path string, callers int) (figure, error) {
	b, err := open(ctx, path, steps(1))
	if err != nil {
		return figure{}, err
	}
	defer b.store.Close()
	const each = 1500
	errs := make([]error, callers)
	var all sync.WaitGroup
	began := time.Now()
	for c := range callers {
		all.Go(func() {
			for range each {
				if _, err := b.engine.Start(ctx, millrace.StartRequest{Workflow: "bench", Input: sample()}); err != nil {
					errs[c] = err
					return
				}
			}
		})
	}
	all.Wait()
	return figure{fmt.Sprintf("%d callers", callers), float64(each*callers) / time.Since(began).Seconds(), "runs/s"}, errors.Join(errs...)
}
