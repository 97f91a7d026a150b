package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/machine"
)

// backlog is a number of runs that wait before the engine begins.
type backlog struct {
	source  string
	runs    int
	entries int64
	steps   int
	ended   int            // runs that have ended before
	ending  machine.Status // how they end; "": succeeded
}

func (l backlog) measure(ctx context.Context, path string) (out []figure, err error) {
	b, err := open(ctx, path, l.source)
	if err != nil {
		return nil, err
	}
	if l.ended > 0 {
		if b, err = l.age(ctx, b, path); err != nil {
			return nil, err
		}
	}
	defer func() { err = errors.Join(err, b.store.Close()) }()
	if err := b.start(ctx, l.runs); err != nil {
		return nil, err
	}
	began, cpu := time.Now(), processTime()
	took, err := b.drive(ctx, l.runs, nil)
	if err != nil {
		return nil, err
	}
	cpu = processTime() - cpu
	if err := b.verify(ctx, l.runs, l.entries, cmp.Or(l.ending, machine.Succeeded)); err != nil {
		return nil, err
	}
	steps := float64(l.runs * l.steps)
	took = min(took, time.Since(began))
	return []figure{
		{"runs", float64(l.runs) / took.Seconds(), "runs/s"},
		{"steps", steps / took.Seconds(), "steps/s"},
		{"CPU of a step", float64(cpu.Microseconds()) / steps, "us"},
	}, nil
}

// drive has the engine run until n more runs have ended, and gives the time from its beginning to the last end. first, if
// not nil, is called once it runs.
func (b *bench) drive(ctx context.Context, n int, first func() error) (took time.Duration, err error) {
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
