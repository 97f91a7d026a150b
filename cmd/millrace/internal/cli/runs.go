package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/store"
)

// withClient calls use with a client of the database that must be there.
func withClient[T any](ctx context.Context, a *app, use func(*millrace.Client) (T, error)) (T, error) {
	st, _, err := a.open(ctx)
	if err != nil {
		var none T
		return none, err
	}
	out, err := use(millrace.NewClient(st))
	return out, errors.Join(err, st.Close())
}

func (a *app) runsCommand() *cobra.Command {
	var f arguments.Filter
	var before string
	c := &cobra.Command{
		Use:   "runs",
		Short: "List runs, newest first",
		Example: `  millrace runs
  millrace runs --workflow order --status failed,running
  millrace runs --label env=prod --since 2d --json
  millrace runs --code declined --failed-at charge`,
		Args: atMost(0, "usage: millrace runs [--workflow W] [--status S,..] [--key K] [--label L=V] [--since T] [--until T] [--limit N]"),
		RunE: func(c *cobra.Command, _ []string) error {
			filter, err := f.Build(time.Now())
			filter.Tenant, filter.Before = a.tenant, before
			if err != nil {
				return err
			}
			return a.runs(c.Context(), filter)
		},
	}
	f.Add(c, shownRuns)
	c.Flags().StringVar(&before, "before", "", "the next page: the `NEXT` that the page before gave")
	return c
}

// shownRuns is how many runs a list has when nobody says.
const shownRuns = 20

func (a *app) runs(ctx context.Context, filter store.Filter) error {
	type page struct {
		Runs []millrace.RunSummary `json:"runs"`
		Next *string               `json:"next"`
	}
	p, err := withClient(ctx, a, func(c *millrace.Client) (page, error) {
		ctx, cancel := limited(ctx)
		defer cancel()
		runs, next, err := c.Runs(ctx, filter)
		if next == "" {
			return page{Runs: runs}, err
		}
		return page{Runs: runs, Next: &next}, err
	})
	if errors.Is(err, errNoDatabase) {
		p, err = page{Runs: []millrace.RunSummary{}}, nil
	}
	switch {
	case err != nil:
		return err
	case a.json:
		return a.print(p)
	case len(p.Runs) == 0:
		a.say("no runs; `millrace run FILE` starts one")
		return nil
	}
	err = writeText(a.out, screen.RunsTable(p.Runs, time.Now()).Text(columns(a.out), style(a.out)))
	if p.Next != nil {
		a.say("there are more: add --before %s", *p.Next)
	}
	return err
}
