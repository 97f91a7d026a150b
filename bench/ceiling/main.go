// Command ceiling measures how fast SQLite on this machine takes the writes of Millrace's storage plan, and nothing else:
// no machine, no expressions, no loops, no checks. What the engine reaches is given as a share of it. It is a measuring
// stick, not a model of code.
//
// The plan: a run's root document lies in the run's row; one row for a live task, deleted when it ends; one row for an entry
// of the journal; one transaction for a batch of outcomes, in which the next task of a run is handed over already claimed;
// compare-and-set on the run's version. WAL, synchronous=FULL, one writer.
//
// Nouns: a [workload] is how many runs of how many steps; a [figure] is what one measurement gave; the [writer] is the
// one connection that writes. The package imports nothing of Millrace.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
)

const help = `ceiling measures how fast SQLite here takes the writes of Millrace's storage plan, and nothing else.

  go run ./bench/ceiling                               W1 and W2, in batches and one commit at a time
  go run ./bench/ceiling -runs 20000 -steps 3          20,000 runs of 3 steps
  go run ./bench/ceiling -runs 20000 -steps 1 -batch 1 -limit 1500

Each measurement gets a fresh database and is repeated; the median counts, the range stands beside it. After each, the rows
are counted: a figure for work that was not done is an error. The disk decides, so say which one with -folder.

`

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "ceiling:", err)
		}
		os.Exit(2)
	}
}

// options are the flags.
type options struct {
	workload
	repeat int
	folder string
}

func run(ctx context.Context, args []string, out, messages io.Writer) error {
	o, err := parse(args, messages)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "workload\truns\tsteps\tbatch\tstarts/s\truns/s\tsteps/s\trange of steps/s\t")
	for _, w := range o.workloads() {
		figures, err := measureOften(ctx, o, w)
		if err != nil {
			return err
		}
		m := figures[len(figures)/2]
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.0f\t%.0f\t%.0f\t%.0f to %.0f\t\n", w.name, w.runs, w.steps, w.batch,
			m.starts, m.runs, m.steps, figures[0].steps, figures[len(figures)-1].steps)
	}
	return table.Flush()
}

func parse(args []string, messages io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("ceiling", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.Usage = func() {
		fmt.Fprint(messages, help)
		flags.PrintDefaults()
	}
	flags.IntVar(&o.runs, "runs", 0, "number of runs (default: W1 and W2)")
	flags.IntVar(&o.steps, "steps", 1, "steps of each run, one after the other")
	flags.IntVar(&o.batch, "batch", 200, "outcomes in one transaction; 1: one commit for each")
	flags.IntVar(&o.limit, "limit", 0, "stop after so many steps (default: all)")
	flags.IntVar(&o.repeat, "repeat", 3, "measurements of each workload")
	flags.StringVar(&o.folder, "folder", "", "where the databases are made (default: a temporary folder)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for name, v := range map[string]int{"steps": o.steps, "batch": o.batch, "repeat": o.repeat} {
		if v < 1 {
			return o, fmt.Errorf("-%s is %d; it must be 1 or more", name, v)
		}
	}
	if o.runs < 0 || o.limit < 0 || flags.NArg() > 0 {
		return o, errors.New("-runs and -limit take 0 or more, and there are no arguments; see -help")
	}
	return o, nil
}

// workloads gives what to measure: what the flags say, else W1 and W2, each in batches and by single commits.
func (o options) workloads() []workload {
	if o.runs > 0 {
		w := o.workload
		w.name = "flags"
		return []workload{w}
	}
	return []workload{
		{name: "W1", runs: 20000, steps: 1, batch: o.batch, limit: o.limit},
		{name: "W2", runs: 4000, steps: 5, batch: o.batch, limit: o.limit},
		{name: "W1 single", runs: 20000, steps: 1, batch: 1, limit: 3000},
		{name: "W2 single", runs: 4000, steps: 5, batch: 1, limit: 3000},
	}
}

// measureOften gives the figures of all repetitions, slowest first.
func measureOften(ctx context.Context, o options, w workload) ([]figure, error) {
	var figures []figure
	for range o.repeat {
		folder, err := os.MkdirTemp(o.folder, "ceiling-")
		if err != nil {
			return nil, err
		}
		f, err := measure(ctx, filepath.Join(folder, "ceiling.db"), w)
		if err = errors.Join(err, os.RemoveAll(folder)); err != nil {
			return nil, err
		}
		figures = append(figures, f)
	}
	slices.SortFunc(figures, func(a, b figure) int { return cmp.Compare(a.steps, b.steps) })
	return figures, nil
}
