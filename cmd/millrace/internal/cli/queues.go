package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
)

// queuesPage is what `queues` gives.
type queuesPage struct {
	Queues    []millrace.QueueDepth  `json:"queues"`
	Processes []millrace.ProcessView `json:"processes"`
}

func (a *app) queuesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "queues",
		Short: "Tell what waits for workers, how long, and who serves it",
		Long: `Lists the queues that hold something: how many steps are ready, delayed and running, since when the oldest ready one
waits, and how many processes serve it; then the processes that work at this database.`,
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
		return queuesPage{queues, processes}, err
	})
	if errors.Is(err, errNoDatabase) {
		p, err = queuesPage{[]millrace.QueueDepth{}, []millrace.ProcessView{}}, nil
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
	} else if err := writeText(a.out, queuesTable(p.Queues, now).Text(width, s)); err != nil {
		return err
	}
	if len(p.Processes) == 0 {
		a.say("no process is at work; `millrace worker` starts one")
		return nil
	}
	separator := ""
	if len(p.Queues) > 0 {
		separator = "\n"
	}
	return writeText(a.out, separator+processesTable(p.Processes, now).Text(width, s))
}

func queuesTable(queues []millrace.QueueDepth, now time.Time) screen.Table {
	t := screen.Table{
		Mark: -1, Head: []string{"QUEUE", "WORKFLOW", "READY", "DELAYED", "RUNNING", "OLDEST", "WORKERS", "HANDLER"},
	}
	for _, q := range queues {
		oldest, served := "", fmt.Sprint(len(q.ServedBy))
		if q.OldestAt != nil {
			oldest = screen.Span(now.Sub(*q.OldestAt))
		}
		if len(q.ServedBy) == 0 && q.Ready > 0 {
			served = "none"
		}
		if q.Paused {
			served = "paused"
		}
		t.Rows = append(t.Rows, []string{
			q.Queue, q.Workflow, itoa(q.Ready), itoa(q.Delayed), itoa(q.Running), oldest, served, handlerName(q.Handler),
		})
	}
	return t
}

func processesTable(processes []millrace.ProcessView, now time.Time) screen.Table {
	t := screen.Table{Mark: -1, Head: []string{"PROCESS", "PID", "SEEN", "STATE", "SERVES"}}
	for _, p := range processes {
		state, seen := "working", ""
		switch {
		case !p.Live:
			state = "silent"
		case p.Draining:
			state = "draining"
		}
		if p.SeenAt != nil {
			seen = ago(now.Sub(*p.SeenAt))
		}
		serves := slices.Clone(p.Serves)
		for i := range serves {
			serves[i] = handlerName(serves[i])
		}
		t.Rows = append(t.Rows, []string{p.Name, itoa(p.PID), seen, state, strings.Join(serves, ", ")})
	}
	return t
}

// handlerName shows a handler to people: that of commands by its home.
func handlerName(handler string) string {
	if home, ok := strings.CutPrefix(handler, "run@"); ok {
		if home, ok := strings.CutPrefix(home, keptPrefix); ok {
			return "commands of `run` and `resume` in " + home
		}
		return "commands of " + home
	}
	return handler
}
