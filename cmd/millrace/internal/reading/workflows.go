package reading

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
)

// Workflows gives the command that lists registered workflows; open is for a list.
func Workflows(open Open) *cobra.Command {
	return &cobra.Command{
		Use:   "workflows",
		Short: "List the registered workflows, in their newest versions",
		Example: `  millrace workflows
  millrace workflows --json`,
		Args: arguments.AtMost(0, "usage: millrace workflows"),
		RunE: func(c *cobra.Command, _ []string) error {
			return open(c.Context(), func(d *Desk) error { return d.workflows(c.Context()) })
		},
	}
}

func (d *Desk) workflows(ctx context.Context) error {
	list := []millrace.WorkflowView{}
	if d.Client != nil {
		ctx, cancel := desk.Limited(ctx)
		defer cancel()
		var err error
		if list, err = d.Client.Workflows(ctx, d.Tenant); err != nil {
			return err
		}
	}
	switch {
	case d.JSON:
		return d.Print(map[string]any{"workflows": list})
	case len(list) == 0:
		d.Say("no workflows; `millrace register FILE` stores one")
		return nil
	}
	t := screen.Table{Mark: -1, Head: []string{"WORKFLOW", "VERSION", "STEPS", "REGISTERED", "TITLE"}}
	now := time.Now()
	for _, w := range list {
		at := ""
		if w.CreatedAt != nil {
			at = screen.Ago(now.Sub(*w.CreatedAt))
		}
		t.Rows = append(t.Rows, []string{w.Name, strconv.Itoa(w.Version), strconv.Itoa(w.Steps), at, w.Title})
	}
	return d.Write(t.Text(d.Width, d.Style))
}
