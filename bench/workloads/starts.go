package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/bench/internal/drive"
)

// starts is W7: one caller, 8 callers, in bulk of 500.
func starts(ctx context.Context, at *place) (out []figure, err error) {
	for _, callers := range []int{1, 8} {
		f, err := startAlone(ctx, at, callers)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	db, err := at.database(ctx)
	if err != nil {
		return nil, err
	}
	b, err := drive.Open(ctx, db, drive.Steps(1))
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

func startAlone(ctx context.Context, at *place, callers int) (f figure, err error) {
	db, err := at.database(ctx)
	if err != nil {
		return figure{}, err
	}
	b, err := drive.Open(ctx, db, drive.Steps(1))
	if err != nil {
		return figure{}, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	const each = 1500
	took, err := b.StartAlone(ctx, callers, each)
	return figure{fmt.Sprintf("%d callers", callers), float64(each*callers) / took.Seconds(), "runs/s"}, err
}
