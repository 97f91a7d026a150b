package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace"
)

// starts is W7: one caller, 8 callers, in bulk of 500.
func starts(ctx context.Context, path string) (out []figure, err error) {
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
	defer func() { err = errors.Join(err, b.store.Close()) }()
	const runs = 40_000
	began, cpu := time.Now(), processTime()
	if err := b.start(ctx, runs); err != nil {
		return nil, err
	}
	took := time.Since(began)
	return append(out, figure{"bulk of 500", runs / took.Seconds(), "runs/s"},
		figure{"bulk, CPU of a start", float64((processTime() - cpu).Microseconds()) / runs, "us"}), nil
}

func startAlone(ctx context.Context, path string, callers int) (f figure, err error) {
	b, err := open(ctx, path, steps(1))
	if err != nil {
		return figure{}, err
	}
	defer func() { err = errors.Join(err, b.store.Close()) }()
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
