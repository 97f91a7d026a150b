package reading

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
)

// Show gives the command that tells how a run stands.
func Show(open Open) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Tell how a run stands or how it ended",
		Long:  "Shows a run: its steps, what it waits for, why it failed, what it gave.\n\n" + arguments.AboutRun,
		Example: `  millrace show
  millrace show 5f3a --json
  millrace show order/2024-117`,
		Args: arguments.AtMost(1, "usage: millrace show [RUN]"),
		RunE: func(c *cobra.Command, args []string) error {
			o := millrace.ShowOptions{}
			if all {
				o.Steps = -1
			}
			return open(c.Context(), func(d *Desk) error { return d.show(c.Context(), strings.Join(args, ""), o) })
		},
	}
	c.Flags().BoolVar(&all, "all-steps", false, "all steps, not only the first 200")
	return c
}

func (d *Desk) show(ctx context.Context, ref string, o millrace.ShowOptions) error {
	id, err := d.Find(ctx, ref)
	if err != nil {
		return err
	}
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	v, err := d.Client.Show(ctx, d.Tenant, id, o)
	if err != nil {
		return err
	}
	if d.JSON {
		return d.Print(v)
	}
	items := screen.OpenItems
	if o.Steps < 0 {
		items = screen.AllItems
	}
	return d.Write(screen.Page(v, items, time.Now(), d.Width, d.Style))
}
