package main

import (
	"context"

	"github.com/millrace-go/millrace/bench/internal/ceiling"
	"github.com/millrace-go/millrace/bench/internal/drive"
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
	measure func(ctx context.Context, at *place) ([]figure, error)
}

func workloads(o options) []workload {
	one := backlog{Shape: drive.Steps(1), runs: 20_000}
	late, long := one, one
	late.ended, long.runs = o.ended, o.backlog
	both := long
	both.ended = o.ended
	return []workload{
		{"memory", inHand},
		{"W1", one.measure},
		{"W1 ceiling", writes(ceiling.Load{Runs: 20_000, Steps: 1, Batch: 300})},
		{"W2", backlog{Shape: drive.Steps(5), runs: 4_000}.measure},
		{"W2 ceiling", writes(ceiling.Load{Runs: 4_000, Steps: 5, Batch: 300})},
		{"W3", backlog{Shape: drive.Fork(10), runs: 1_000}.measure},
		{"W4", latency},
		{"W4 ceiling", writes(ceiling.Load{Runs: 2_000, Steps: 1, Batch: 1, Limit: 500})},
		{"W5 ended", beside(one, late)},
		{"W5 backlog", beside(one, long)},
		{"W5 both", beside(one, both)},
		{"W6", backlog{Shape: drive.Saga(4), runs: 2_000}.measure},
		{"W7", starts},
	}
}

// beside measures l just before and just after another one, and compares: the speed of a machine drifts within minutes by more
// than what is looked for.
func beside(l, other backlog) func(ctx context.Context, at *place) ([]figure, error) {
	return func(ctx context.Context, at *place) (out []figure, err error) {
		var rates [3]float64
		for i, l := range []backlog{l, other, l} {
			figures, err := l.measure(ctx, at)
			if err != nil {
				return nil, err
			}
			rates[i] = figures[0].value
			if i == 1 {
				out = figures
			}
		}
		return append(out, figure{"to W1 before and after", 2 * rates[1] / (rates[0] + rates[2]), ""}), nil
	}
}

// writes measures the ceiling: what the storage plan writes, and nothing else.
func writes(l ceiling.Load) func(ctx context.Context, at *place) ([]figure, error) {
	return func(ctx context.Context, at *place) ([]figure, error) {
		cpu := processTime()
		f, err := at.ceiling(ctx, l)
		if err != nil {
			return nil, err
		}
		cpu = processTime() - cpu
		return []figure{
			{"starts", f.Starts, "runs/s"},
			{"runs", f.Runs, "runs/s"},
			{"steps", f.Steps, "steps/s"},
			{"CPU of a step, start included", float64(cpu.Microseconds()) / float64(l.Runs*l.Steps), "us"},
		}, nil
	}
}
