package reading

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
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
	ctx, cancel := limited(ctx)
	defer cancel()
	id, err := d.Client.Find(ctx, d.Tenant, ref)
	if err != nil {
		return err
	}
	v, err := d.Client.Show(ctx, d.Tenant, id, o)
	if err != nil {
		return err
	}
	if d.JSON {
		return d.print(v)
	}
	items := screen.OpenItems
	if o.Steps < 0 {
		items = screen.AllItems
	}
	return d.write(screen.Page(v, items, time.Now(), d.Width, d.Style))
}
