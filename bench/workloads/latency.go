package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace"
)

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
