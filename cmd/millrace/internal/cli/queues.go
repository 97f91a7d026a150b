package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
)

// queuesPage is what `queues` gives.
type queuesPage struct {
	Queues    []millrace.QueueDepth   `json:"queues"`
	Processes []millrace.ProcessView  `json:"processes"`
	Paused    []millrace.PausedSupply `json:"paused"` // workflows, queues, the tenant
}

func (a *app) queuesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "queues",
		Short: "Tell what waits for workers, how long, and who serves it",
		Long: `Lists the queues that hold something: how many steps are ready, delayed and running, since when the oldest ready one
waits, and how many processes serve it; what is paused; then the processes that work at this database.`,
		Example: `  millrace queues
  millrace queues --json`,
		Args: atMost(0, "usage: millrace queues"),
		RunE: func(c *cobra.Command, _ []string) error { return a.queues(c.Context()) },
	}
}

func (a *app) queues(ctx context.Context) error {
	p, err := withClient(ctx, a, func(c *millrace.Client) (queuesPage, error) {
		ctx, cancel := limited(ctx)
		defer cancel()
		queues, processes, err := c.Queues(ctx, a.tenant)
		if err != nil {
			return queuesPage{}, err
		}
		paused, err := c.Pauses(ctx, a.tenant)
		return queuesPage{queues, processes, paused}, err
	})
	if errors.Is(err, errNoDatabase) {
		p, err = queuesPage{[]millrace.QueueDepth{}, []millrace.ProcessView{}, []millrace.PausedSupply{}}, nil
	}
	switch {
	case err != nil:
		return err
	case a.json:
		return a.print(p)
	}
	now, width, s := time.Now(), columns(a.out), style(a.out)
	if len(p.Queues) == 0 {
		a.say("nothing waits for workers")
	} else if err := writeText(a.out, screen.QueuesTable(p.Queues, now).Text(width, s)); err != nil {
		return err
	}
	for i := range p.Paused {
		a.say("%s", screen.PauseLine(&p.Paused[i], a.tenant, now))
	}
	if len(p.Processes) == 0 {
		a.say("no process is at work; `millrace worker` starts one")
		return nil
	}
	separator := ""
	if len(p.Queues) > 0 {
		separator = "\n"
	}
	return writeText(a.out, separator+screen.ProcessesTable(p.Processes, now).Text(width, s))
}
