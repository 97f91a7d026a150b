package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/bench/internal/ceiling"
	"github.com/millrace-go/millrace/machine"
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

func workloads(o options) []workload {
	one := backlog{source: steps(1), runs: 20_000, entries: 2, steps: 1}
	late, long := one, one
	late.ended, long.runs = o.ended, o.backlog
	both := long
	both.ended = o.ended
	return []workload{
		{"memory", inHand},
		{"W1", one.measure},
		{"W1 ceiling", writes(ceiling.Load{Runs: 20_000, Steps: 1, Batch: 300})},
		{"W2", backlog{source: steps(5), runs: 4_000, entries: 6, steps: 5}.measure},
		{"W2 ceiling", writes(ceiling.Load{Runs: 4_000, Steps: 5, Batch: 300})},
		{"W3", backlog{source: fork(10), runs: 1_000, entries: 12, steps: 11}.measure},
		{"W4", latency},
		{"W4 ceiling", writes(ceiling.Load{Runs: 2_000, Steps: 1, Batch: 1, Limit: 500})},
		{"W5 ended", late.measure},
		{"W5 backlog", long.measure},
		{"W5 both", both.measure},
		{"W6", backlog{source: saga(4), runs: 2_000, entries: 10, steps: 9, ending: machine.Failed}.measure},
		{"W7", starts},
	}
}

// writes measures the ceiling: what the storage plan writes, and nothing else.
func writes(l ceiling.Load) func(ctx context.Context, path string) ([]figure, error) {
	return func(ctx context.Context, path string) ([]figure, error) {
		cpu := processTime()
		f, err := ceiling.Measure(ctx, path, l)
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

// saga is a sequence of n steps, each with a compensation, and one that fails for good: 2n+1 tasks.
func saga(n int) string {
	var b strings.Builder
	b.WriteString("workflow: bench\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - { id: s%d, task: noop, compensate: { task: noop } }\n", i)
	}
	b.WriteString("  - { task: refuse }\n")
	return b.String()
}
