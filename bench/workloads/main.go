// Command workloads measures Millrace on SQLite: the workloads of docs/performance.md, each on a fresh database, repeated.
//
// Handlers do nothing but return a small JSON; the settings are the durable ones that the product uses. A figure counts only
// if what was asked was done: the runs that ended and the entries of their journals are counted in the database.
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
	"runtime/pprof"
	"slices"
	"strings"
	"text/tabwriter"
)

const help = `workloads measures Millrace on SQLite.

  go run ./bench/workloads                    all workloads, three times each
  go run ./bench/workloads -only W1,W2        these
  go run ./bench/workloads -only W1 -cpuprofile cpu.out

`

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "workloads:", err)
		}
		os.Exit(2)
	}
}

type options struct {
	only    string
	repeat  int
	folder  string
	profile string
}

func run(ctx context.Context, args []string, out, messages io.Writer) error {
	var o options
	flags := flag.NewFlagSet("workloads", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.Usage = func() {
		fmt.Fprint(messages, help)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.only, "only", "", "names of workloads, separated by commas (default: all)")
	flags.IntVar(&o.repeat, "repeat", 3, "measurements of each workload")
	flags.StringVar(&o.folder, "folder", "", "where the databases are made (default: a temporary folder)")
	flags.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of everything measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "workload\tfigure\tmedian\trange\tunit\t")
	for _, w := range workloads() {
		if o.only != "" && !slices.Contains(strings.Split(o.only, ","), w.name) {
			continue
		}
		if err := measure(ctx, o, w, table); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return table.Flush()
}

// measure repeats a workload and prints each of its figures.
func measure(ctx context.Context, o options, w workload, table io.Writer) error {
	var order []string
	all := map[string][]figure{}
	for range o.repeat {
		folder, err := os.MkdirTemp(o.folder, "workloads-")
		if err != nil {
			return err
		}
		figures, err := w.measure(ctx, filepath.Join(folder, "bench.db"))
		if err = errors.Join(err, os.RemoveAll(folder)); err != nil {
			return err
		}
		for _, f := range figures {
			if all[f.name] == nil {
				order = append(order, f.name)
			}
			all[f.name] = append(all[f.name], f)
		}
	}
	for _, name := range order {
		f := all[name]
		slices.SortFunc(f, func(a, b figure) int { return cmp.Compare(a.value, b.value) })
		fmt.Fprintf(table, "%s\t%s\t%.4g\t%.4g to %.4g\t%s\t\n", w.name, name, f[len(f)/2].value, f[0].value, f[len(f)-1].value, f[0].unit)
	}
	return nil
}
