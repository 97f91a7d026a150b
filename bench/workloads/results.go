package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/millrace-go/millrace/internal/pgcluster"
)

// results gathers the figures of all measurements by workload and name.
type results struct {
	order  []result
	values map[string][]float64
}

type result struct{ Workload, Figure, Unit string }

func (r result) key() string { return r.Workload + "\t" + r.Figure }

// measure measures a workload once, on a fresh database.
func (r *results) measure(ctx context.Context, o options, cluster *pgcluster.Cluster, w workload, out io.Writer) error {
	at, err := newPlace(o, cluster)
	if err != nil {
		return err
	}
	figures, err := w.measure(ctx, at)
	if err = errors.Join(err, at.clear(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	for _, f := range figures {
		x := result{w.name, f.name, f.unit}
		if r.values[x.key()] == nil {
			r.order = append(r.order, x)
		}
		r.values[x.key()] = append(r.values[x.key()], f.value)
		if !o.lines {
			continue
		}
		line, err := json.Marshal(struct {
			Workload string  `json:"workload"`
			Figure   string  `json:"figure"`
			Value    float64 `json:"value"`
			Unit     string  `json:"unit"`
		}{w.name, f.name, f.value, f.unit})
		if err != nil {
			return err
		}
		fmt.Fprintln(out, string(line))
	}
	return nil
}

// print prints medians and ranges, and the ratios that the targets speak of: medians of the ratios within one turn.
func (r *results) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "workload\tfigure\tmedian\trange\tunit\t")
	for _, x := range r.order {
		r.line(table, x.Workload, x.Figure, r.values[x.key()], x.Unit)
	}
	for _, q := range []struct{ name, of, to string }{
		{"W1 to its ceiling", "W1\truns", "W1 ceiling\truns"},
		{"W2 to its ceiling", "W2\tsteps", "W2 ceiling\tsteps"},
		{"bulk starts to the ceiling", "W7\tbulk of 500", "W1 ceiling\tstarts"},
	} {
		var ratios []float64
		for i, v := range r.values[q.of] {
			if to := r.values[q.to]; i < len(to) {
				ratios = append(ratios, v/to[i])
			}
		}
		if len(ratios) > 0 {
			r.line(table, "ratio", q.name, ratios, "")
		}
	}
	return table.Flush()
}

func (r *results) line(table io.Writer, workload, name string, values []float64, unit string) {
	sorted := slices.Sorted(slices.Values(values))
	fmt.Fprintf(table, "%s\t%s\t%.4g\t%.4g to %.4g\t%s\t\n", workload, name, sorted[len(sorted)/2], sorted[0],
		sorted[len(sorted)-1], unit)
}
