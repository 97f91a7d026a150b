package main

import (
	"context"
	"errors"
	"time"

	"github.com/millrace-go/millrace/bench/internal/drive"
)

// backlog is a number of runs that wait before the engine begins.
type backlog struct {
	drive.Shape
	runs  int
	ended int // runs that have ended before
}

func (l backlog) measure(ctx context.Context, at *place) (out []figure, err error) {
	db, err := at.database(ctx)
	if err != nil {
		return nil, err
	}
	if l.ended > 0 {
		if err := drive.Age(ctx, db, l.Shape, l.ended); err != nil {
			return nil, err
		}
	}
	b, err := drive.Open(ctx, db, l.Shape)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := b.Start(ctx, l.runs); err != nil {
		return nil, err
	}
	began, cpu := time.Now(), processTime()
	took, err := b.Drive(ctx, l.runs, nil)
	if err != nil {
		return nil, err
	}
	cpu = processTime() - cpu
	if err := b.Verify(ctx, l.runs, l.Shape); err != nil {
		return nil, err
	}
	steps := float64(l.runs * l.Steps)
	took = min(took, time.Since(began))
	return []figure{
		{"runs", float64(l.runs) / took.Seconds(), "runs/s"},
		{"steps", steps / took.Seconds(), "steps/s"},
		{"CPU of a step", float64(cpu.Microseconds()) / steps, "us"},
	}, nil
}
