package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/cmd/millrace/internal/suggest"
	"github.com/millrace-go/millrace/machine"
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

type runsFlags struct {
	workflow, key, since, until, before, failedAt, code string
	labels                                              arguments.Labels
	status                                              []string
	limit                                               int
}

func (a *app) runsCommand() *cobra.Command {
	var f runsFlags
	c := &cobra.Command{
		Use:   "runs",
		Short: "List runs, newest first",
		Example: `  millrace runs
  millrace runs --workflow order --status failed,running
  millrace runs --label env=prod --since 2d --json
  millrace runs --code declined --failed-at charge`,
		Args: atMost(0, "usage: millrace runs [--workflow W] [--status S,..] [--key K] [--label L=V] [--since T] [--until T] [--limit N]"),
		RunE: func(c *cobra.Command, _ []string) error { return a.runs(c.Context(), f) },
	}
	c.Flags().StringVar(&f.workflow, "workflow", "", "only runs of this `WORKFLOW`")
	c.Flags().StringVar(&f.key, "key", "", "only runs with this `KEY`")
	c.Flags().StringSliceVar(&f.status, "status", nil, "only runs of these statuses, `STATUS,..`, such as running or failed,succeeded")
	f.labels.Add(c, "only runs with this label, `NAME=VALUE`; several times: with all of them")
	c.Flags().StringVar(&f.failedAt, "failed-at", "", "only runs that failed at this `STEP`")
	c.Flags().StringVar(&f.code, "code", "", "only runs that failed with this error `CODE`")
	c.Flags().StringVar(&f.since, "since", "", "created at or after a `TIME` (RFC 3339) or so long ago (90m, 7d)")
	c.Flags().StringVar(&f.until, "until", "", "created before a `TIME`, or so long ago")
	c.Flags().IntVar(&f.limit, "limit", 20, "at most `N`")
	c.Flags().StringVar(&f.before, "before", "", "the next page: the `NEXT` that the page before gave")
	return c
}

var statuses = []string{
	"pending", "running", "paused", "parked", "stopping", "compensating", "succeeded", "failed", "cancelled", "aborted", "dead",
}

func (a *app) runs(ctx context.Context, f runsFlags) error {
	filter, err := f.filter(a.tenant, time.Now())
	if err != nil {
		return err
	}
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
	err = writeText(a.out, runsTable(p.Runs, time.Now(), columns(a.out), style(a.out)))
	if p.Next != nil {
		a.say("there are more: add --before %s", *p.Next)
	}
	return err
}

func (f runsFlags) filter(tenant string, now time.Time) (store.Filter, error) {
	out := store.Filter{Tenant: tenant, Workflow: f.workflow, Key: f.key, Before: f.before, Limit: f.limit}
	if f.limit < 1 || f.limit > 10_000 {
		return out, usage("write a number from 1 to 10000", "--limit %d is out of range", f.limit)
	}
	for _, s := range f.status {
		if !slices.Contains(statuses, s) {
			return out, usage(suggest.DidYouMean(s, statuses, "statuses are "+strings.Join(statuses, ", ")), "there is no status %q", s)
		}
		out.Status = append(out.Status, machine.Status(s))
	}
	out.FailedAt, out.Code = f.failedAt, f.code
	var err error
	if out.Labels, err = f.labels.Build(); err != nil {
		return out, err
	}
	if out.Since, err = arguments.Moment("--since", f.since, now); err != nil {
		return out, err
	}
	out.Until, err = arguments.Moment("--until", f.until, now)
	return out, err
}

// runsTable lists runs for people.
func runsTable(runs []millrace.RunSummary, now time.Time, width int, s screen.Style) string {
	t := screen.Table{Mark: 2, Head: []string{"RUN", "WORKFLOW", "STATUS", "CREATED", "TOOK", "KEY", "LABELS", "ERROR"}}
	for _, r := range runs {
		took, created := "", ""
		if r.StartedAt != nil {
			end := now
			if r.FinishedAt != nil {
				end = *r.FinishedAt
			}
			took = screen.Span(end.Sub(*r.StartedAt))
		}
		if r.CreatedAt != nil {
			created = ago(now.Sub(*r.CreatedAt))
		}
		problem := ""
		if r.Error != nil {
			problem = r.Error.Error()
			if r.Error.Step != "" {
				problem = r.Error.Step + ": " + problem
			}
		}
		t.Rows = append(t.Rows, []string{
			screen.Ending(r.ID), r.Workflow + " v" + itoa(r.Version), string(r.Status), created, took, r.Key, screen.Labels(r.Labels), problem,
		})
	}
	return t.Text(width, s)
}

func ago(d time.Duration) string {
	if d < 2*time.Second {
		return "just now"
	}
	return screen.Span(d.Truncate(time.Second)) + " ago"
}
