package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/bench/internal/drive"
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
	b, err := drive.Open(ctx, drive.SQLite(path), drive.Steps(1))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	const runs = 40_000
	began, cpu := time.Now(), processTime()
	if err := b.Start(ctx, runs); err != nil {
		return nil, err
	}
	took := time.Since(began)
	return append(out, figure{"bulk of 500", runs / took.Seconds(), "runs/s"},
		figure{"bulk, CPU of a start", float64((processTime() - cpu).Microseconds()) / runs, "us"}), nil
}

func startAlone(ctx context.Context, path string, callers int) (f figure, err error) {
	b, err := drive.Open(ctx, drive.SQLite(path), drive.Steps(1))
	if err != nil {
		return figure{}, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	const each = 1500
	took, err := b.StartAlone(ctx, callers, each)
	return figure{fmt.Sprintf("%d callers", callers), float64(each*callers) / took.Seconds(), "runs/s"}, err
}
