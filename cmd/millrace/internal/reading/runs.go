package reading

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/store"
)

// Runs gives the command that lists runs; open is for a list.
func Runs(open Open) *cobra.Command {
	var f arguments.Filter
	var before string
	c := &cobra.Command{
		Use:   "runs",
		Short: "List runs, newest first",
		Example: `  millrace runs
  millrace runs --workflow order --status failed,running
  millrace runs --label env=prod --since 2d --json
  millrace runs --code declined --failed-at charge`,
		Args: arguments.AtMost(0, "usage: millrace runs [--workflow W] [--status S,..] [--key K] [--label L=V] [--since T] [--until T] [--limit N]"),
		RunE: func(c *cobra.Command, _ []string) error {
			filter, err := f.Build(time.Now())
			filter.Before = before
			if err != nil {
				return err
			}
			return open(c.Context(), func(d *Desk) error { return d.runs(c.Context(), filter) })
		},
	}
	f.Add(c, shownRuns)
	c.Flags().StringVar(&before, "before", "", "the next page: the `NEXT` that the page before gave")
	return c
}

// shownRuns is how many runs a list has when nobody says.
const shownRuns = 20

// runsPage is what `runs` gives.
type runsPage struct {
	Runs []millrace.RunSummary `json:"runs"`
	Next *string               `json:"next"`
}

func (d *Desk) runs(ctx context.Context, filter store.Filter) error {
	filter.Tenant = d.Tenant
	p, err := d.runsPage(ctx, filter)
	switch {
	case err != nil:
		return err
	case d.JSON:
		return d.Print(p)
	case len(p.Runs) == 0:
		d.Say("no runs; `millrace run FILE` starts one")
		return nil
	}
	err = d.Write(screen.RunsTable(p.Runs, time.Now()).Text(d.Width, d.Style))
	if p.Next != nil {
		d.Say("there are more: add --before %s", *p.Next)
	}
	return err
}

func (d *Desk) runsPage(ctx context.Context, filter store.Filter) (runsPage, error) {
	if d.Client == nil {
		return runsPage{Runs: []millrace.RunSummary{}}, nil
	}
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	runs, next, err := d.Client.Runs(ctx, filter)
	if next == "" {
		return runsPage{Runs: runs}, err
	}
	return runsPage{Runs: runs, Next: &next}, err
}
