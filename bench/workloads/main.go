// Command workloads measures Millrace on SQLite, or on a PostgreSQL of its own: the workloads of docs/performance.md, each on a
// fresh database, repeated.
//
// Handlers do nothing but return a small JSON; the settings are the durable ones that the product uses. A figure counts only
// if what was asked was done: the runs that ended and the entries of their journals are counted in the database.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/internal/pgcluster"
)

const help = `workloads measures Millrace on SQLite, or on a PostgreSQL that it starts.

  go run ./bench/workloads                    all workloads, in turn, three times
  go run ./bench/workloads -only W1,W2        these
  go run ./bench/workloads -only W5 -ended 100000
  go run ./bench/workloads -only W1 -ceiling=false -cpuprofile cpu.out
  go run ./bench/workloads -postgres -only W2

"W1 ceiling" is what the storage plan alone writes, measured in turn with W1: see package ceiling.

`

// collectAt is the percentage by which the heap may grow between two collections, unless GOGC says otherwise: a process with
// a heap of 15 MiB can afford it.
const collectAt = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
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
	ended   int
	backlog int
	ceiling bool
	lines   bool
	server  bool

	profile     string
	allocations string
}

func (o *options) parse(args []string, messages io.Writer) error {
	flags := flag.NewFlagSet("workloads", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.Usage = func() {
		fmt.Fprint(messages, help)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.only, "only", "", "names of workloads, separated by commas (default: all)")
	flags.IntVar(&o.repeat, "repeat", 3, "measurements of each workload")
	flags.StringVar(&o.folder, "folder", "", "where the databases are made (default: a temporary folder)")
	flags.IntVar(&o.ended, "ended", 1_000_000, "runs of W5 that have ended before")
	flags.IntVar(&o.backlog, "backlog", 100_000, "runs of W5 that wait")
	flags.BoolVar(&o.ceiling, "ceiling", true, "measure the ceiling beside each workload that has one")
	flags.BoolVar(&o.lines, "json", false, "print each measurement as a line of JSON instead of a table")
	flags.BoolVar(&o.server, "postgres", false, "measure on a cluster of PostgreSQL that is made for it, in TMPDIR")
	flags.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of everything measured")
	flags.StringVar(&o.allocations, "memprofile", "", "write a profile of what was allocated")
	return flags.Parse(args)
}

func run(ctx context.Context, args []string, out, messages io.Writer) (err error) {
	var o options
	if err := o.parse(args, messages); err != nil {
		return err
	}
	var cluster *pgcluster.Cluster
	if o.server {
		c, err := pgcluster.Launch(ctx, pgcluster.Options{Settings: map[string]string{
			"shared_buffers": "2GB", "max_wal_size": "8GB", "checkpoint_timeout": "15min",
		}})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		cluster = c
	}
	stop, err := o.profiles()
	if err != nil {
		return err
	}
	r := results{values: map[string][]float64{}}
	for range o.repeat { // one after the other, so that what else the machine does meets all of them
		for _, w := range workloads(o) {
			if !o.wants(w.name) {
				continue
			}
			if err := r.measure(ctx, o, cluster, w, out); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", w.name, err), stop())
			}
		}
	}
	if o.lines {
		return stop()
	}
	return errors.Join(r.print(out), stop())
}

// wants says whether a workload is to be measured: one that is named, with its ceiling.
func (o *options) wants(name string) bool {
	base, bound := strings.CutSuffix(name, " ceiling")
	if bound && !o.ceiling {
		return false
	}
	names := strings.Split(o.only, ",")
	return o.only == "" || slices.Contains(names, base) || slices.Contains(names, strings.Fields(name)[0])
}

// profiles begins the profiles that were asked for; stop writes them.
func (o *options) profiles() (stop func() error, err error) {
	stop = func() error { return nil }
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return nil, err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		stop = func() error {
			pprof.StopCPUProfile()
			return f.Close()
		}
	}
	if o.allocations == "" {
		return stop, nil
	}
	f, err := os.Create(o.allocations)
	before := stop
	return func() error {
		return errors.Join(before(), pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
	}, err
}
