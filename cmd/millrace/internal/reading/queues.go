package reading

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
)

// Queues gives the command that tells what waits for workers; open is for a list.
func Queues(open Open) *cobra.Command {
	return &cobra.Command{
		Use:   "queues",
		Short: "Tell what waits for workers, how long, and who serves it",
		Long: `Lists the queues that hold something: how many steps are ready, delayed and running, since when the oldest ready one
waits, and how many processes serve it; what is paused; then the processes that work at this database.`,
		Example: `  millrace queues
  millrace queues --json`,
		Args: arguments.AtMost(0, "usage: millrace queues"),
		RunE: func(c *cobra.Command, _ []string) error {
			return open(c.Context(), func(d *Desk) error { return d.queues(c.Context()) })
		},
	}
}

// queuesPage is what `queues` gives.
type queuesPage struct {
	Queues    []millrace.QueueDepth   `json:"queues"`
	Processes []millrace.ProcessView  `json:"processes"`
	Paused    []millrace.PausedSupply `json:"paused"` // workflows, queues, the tenant
}

func (d *Desk) queuesPage(ctx context.Context) (p queuesPage, err error) {
	if d.Client == nil {
		return queuesPage{[]millrace.QueueDepth{}, []millrace.ProcessView{}, []millrace.PausedSupply{}}, nil
	}
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	if p.Queues, p.Processes, err = d.Client.Queues(ctx, d.Tenant); err == nil {
		p.Paused, err = d.Client.Pauses(ctx, d.Tenant)
	}
	return p, err
}

func (d *Desk) queues(ctx context.Context) error {
	p, err := d.queuesPage(ctx)
	switch {
	case err != nil:
		return err
	case d.JSON:
		return d.Print(p)
	}
	now := time.Now()
	if len(p.Queues) == 0 {
		d.Say("nothing waits for workers")
	} else if err := d.Write(screen.QueuesTable(p.Queues, now).Text(d.Width, d.Style)); err != nil {
		return err
	}
	for i := range p.Paused {
		d.Say("%s", screen.PauseLine(&p.Paused[i], d.Tenant, now))
	}
	if len(p.Processes) == 0 {
		d.Say("no process is at work; `millrace worker` starts one")
		return nil
	}
	separator := ""
	if len(p.Queues) > 0 {
		separator = "\n"
	}
	return d.Write(separator + screen.ProcessesTable(p.Processes, now).Text(d.Width, d.Style))
}
