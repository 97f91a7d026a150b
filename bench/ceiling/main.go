// Command ceiling measures how fast SQLite on this machine takes the writes of Millrace's storage plan, and nothing else: see
// package ceiling, which it repeats and prints.
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

	"github.com/millrace-go/millrace/bench/internal/ceiling"
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
	ceiling.Load
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
	for _, w := range o.loads() {
		figures, err := measureOften(ctx, o, w)
		if err != nil {
			return err
		}
		m := figures[len(figures)/2]
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.0f\t%.0f\t%.0f\t%.0f to %.0f\t\n", w.Name, w.Runs, w.Steps, w.Batch,
			m.Starts, m.Runs, m.Steps, figures[0].Steps, figures[len(figures)-1].Steps)
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
	flags.IntVar(&o.Runs, "runs", 0, "number of runs (default: W1 and W2)")
	flags.IntVar(&o.Steps, "steps", 1, "steps of each run, one after the other")
	flags.IntVar(&o.Batch, "batch", 200, "outcomes in one transaction; 1: one commit for each")
	flags.IntVar(&o.Limit, "limit", 0, "stop after so many steps (default: all)")
	flags.IntVar(&o.repeat, "repeat", 3, "measurements of each workload")
	flags.StringVar(&o.folder, "folder", "", "where the databases are made (default: a temporary folder)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for name, v := range map[string]int{"steps": o.Steps, "batch": o.Batch, "repeat": o.repeat} {
		if v < 1 {
			return o, fmt.Errorf("-%s is %d; it must be 1 or more", name, v)
		}
	}
	if o.Runs < 0 || o.Limit < 0 || flags.NArg() > 0 {
		return o, errors.New("-runs and -limit take 0 or more, and there are no arguments; see -help")
	}
	return o, nil
}

// loads gives what to measure: what the flags say, else W1 and W2, each in batches and by single commits.
func (o options) loads() []ceiling.Load {
	if o.Runs > 0 {
		w := o.Load
		w.Name = "flags"
		return []ceiling.Load{w}
	}
	return []ceiling.Load{
		{Name: "W1", Runs: 20000, Steps: 1, Batch: o.Batch, Limit: o.Limit},
		{Name: "W2", Runs: 4000, Steps: 5, Batch: o.Batch, Limit: o.Limit},
		{Name: "W1 single", Runs: 20000, Steps: 1, Batch: 1, Limit: 3000},
		{Name: "W2 single", Runs: 4000, Steps: 5, Batch: 1, Limit: 3000},
	}
}

// measureOften gives the figures of all repetitions, slowest first.
func measureOften(ctx context.Context, o options, w ceiling.Load) ([]ceiling.Figure, error) {
	var figures []ceiling.Figure
	for range o.repeat {
		folder, err := os.MkdirTemp(o.folder, "ceiling-")
		if err != nil {
			return nil, err
		}
		f, err := ceiling.Measure(ctx, filepath.Join(folder, "ceiling.db"), w)
		if err = errors.Join(err, os.RemoveAll(folder)); err != nil {
			return nil, err
		}
		figures = append(figures, f)
	}
	slices.SortFunc(figures, func(a, b ceiling.Figure) int { return cmp.Compare(a.Steps, b.Steps) })
	return figures, nil
}
