// Command peers measures Millrace beside other durable workflow engines and job queues written in Go, on one fresh cluster of
// PostgreSQL and on SQLite: the workloads of docs/performance.md, in turn, so that what else the machine does meets all of them.
//
// It is a module of its own, so that the peers stay out of Millrace's. Each measurement is a process of its own on a fresh
// database; a figure counts only if the rows say that what was asked was done.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

const help = `peers measures Millrace beside other engines: see docs/performance.md.

  go run .                                             everything, three times in turn: about two hours
  go run . -only W1,W2 -store postgres -repeat 1
  go run . -only W1 -systems 'millrace,river' -scale 10
  go run . -set 'river in tx.workers=64'               another setting than the best one known
  go run . -from lines.jsonl -table t.md -chart c.svg  no measurement: the table and the chart of one that was made
  go run . -from lines.jsonl -page ../../docs/performance.md -chart ../../docs/performance.svg

`

// child is the argument by which this program starts itself for one measurement.
const child = "measure-one"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if len(os.Args) == 2 && os.Args[1] == child {
		err = answer(ctx, os.Stdin, os.Stdout)
	} else {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "peers:", err)
		}
		stop()
		os.Exit(2)
	}
}

type options struct {
	only    string
	systems string
	store   string
	repeat  int
	scale   int
	ended   int
	backlog int
	flood   int
	folder  string
	set     string

	lines, table, chart, page, from string
}

func (o *options) parse(args []string, messages io.Writer) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.Usage = func() {
		fmt.Fprint(messages, help)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.only, "only", "", "names of workloads, separated by commas (default: all)")
	flags.StringVar(&o.systems, "systems", "", "names of systems, separated by commas (default: all)")
	flags.StringVar(&o.store, "store", "", "postgres or sqlite (default: both)")
	flags.IntVar(&o.repeat, "repeat", 3, "measurements of each workload with each system")
	flags.IntVar(&o.scale, "scale", 100, "per cent of the runs that a workload has")
	flags.IntVar(&o.ended, "ended", 1_000_000, "runs of W5 that have ended before")
	flags.IntVar(&o.backlog, "backlog", 100_000, "runs of W5 that wait")
	flags.IntVar(&o.flood, "flood", 100_000, "runs of W9 that another tenant has waiting")
	flags.StringVar(&o.folder, "folder", "", "where the cluster and the files are made (default: a temporary folder)")
	flags.StringVar(&o.set, "set", "", "settings of systems: NAME.SETTING=NUMBER, separated by commas")
	flags.StringVar(&o.lines, "lines", "", "file to which each measurement is written as a line of JSON")
	flags.StringVar(&o.table, "table", "", "file to which the Markdown table is written (default: standard output)")
	flags.StringVar(&o.chart, "chart", "", "file to which the chart is written, as SVG")
	flags.StringVar(&o.page, "page", "", "Markdown file in which the table replaces what stands between "+pageBegin+" and "+pageEnd)
	flags.StringVar(&o.from, "from", "", "lines of JSON to read instead of measuring")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.store != "" && o.store != postgres && o.store != file {
		return fmt.Errorf("-store is %q; expected %s or %s", o.store, postgres, file)
	}
	if o.repeat < 1 || o.scale < 1 || o.scale > 100 || flags.NArg() > 0 {
		return errors.New("-repeat is at least 1, -scale is 1 to 100, and there are no arguments; see -help")
	}
	return o.settle()
}

// settle changes the knobs that -set names.
func (o *options) settle() error {
	for _, one := range strings.FieldsFunc(o.set, func(r rune) bool { return r == ',' }) {
		i := strings.LastIndex(one, ".")
		var name string
		var value int
		if i >= 0 {
			if n, err := fmt.Sscanf(strings.Replace(one[i+1:], "=", " ", 1), "%s %d", &name, &value); err != nil || n != 2 {
				return fmt.Errorf("-set %s: expected NAME.SETTING=NUMBER", one)
			}
		}
		found := false
		for _, s := range systems {
			if _, has := s.knobs[name]; has && s.name == strings.TrimSpace(one[:max(i, 0)]) {
				s.knobs[name], found = value, true
			}
		}
		if !found {
			return fmt.Errorf("-set %s: no system has such a setting", one)
		}
	}
	return nil
}

func (o *options) wants(w workload, s system) bool {
	listed := func(list, name string) bool { return list == "" || slices.Contains(strings.Split(list, ","), name) }
	return (listed(o.only, w.name) || listed(o.only, strings.Fields(w.name)[0])) && listed(o.systems, s.name) && listed(o.store, s.store) &&
		w.fits(s)
}

func run(ctx context.Context, args []string, out, messages io.Writer) error {
	var o options
	if err := o.parse(args, messages); err != nil {
		return err
	}
	var r results
	var err error
	if o.from != "" {
		r, err = readResults(o.from)
	} else {
		r, err = o.measure(ctx, messages)
	}
	if err != nil && len(r.lines) == 0 {
		return err
	}
	if o.page != "" {
		err = errors.Join(err, r.writePage(o.page))
	}
	return errors.Join(err, o.write(o.table, out, r.writeTable), o.write(o.chart, nil, r.writeChart))
}

// write writes to a file of this name; without one to out, if there is that.
func (*options) write(name string, out io.Writer, do func(io.Writer) error) (err error) {
	if name == "" {
		if out == nil {
			return nil
		}
		return do(out)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(do(f), f.Close())
}
