package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
)

func itoa(n int) string { return strconv.Itoa(n) }

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return itoa(n) + " " + word + "s"
}

const aboutRun = arguments.AboutRun

func (a *app) showCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Tell how a run stands or how it ended",
		Long:  "Shows a run: its steps, what it waits for, why it failed, what it gave.\n\n" + aboutRun,
		Example: `  millrace show
  millrace show 5f3a --json
  millrace show order/2024-117`,
		Args: atMost(1, "usage: millrace show [RUN]"),
		RunE: func(c *cobra.Command, args []string) error {
			o := millrace.ShowOptions{}
			if all {
				o.Steps = -1
			}
			return a.show(c.Context(), strings.Join(args, ""), o)
		},
	}
	c.Flags().BoolVar(&all, "all-steps", false, "all steps, not only the first 200")
	return c
}

func (a *app) show(ctx context.Context, ref string, o millrace.ShowOptions) error {
	v, err := withClient(ctx, a, func(c *millrace.Client) (*millrace.View, error) {
		ctx, cancel := limited(ctx)
		defer cancel()
		id, err := c.Find(ctx, a.tenant, ref)
		if err != nil {
			return nil, err
		}
		return c.Show(ctx, a.tenant, id, o)
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.print(v)
	}
	items := screen.OpenItems
	if o.Steps < 0 {
		items = screen.AllItems
	}
	return writeText(a.out, screen.Page(v, items, time.Now(), columns(a.out), style(a.out)))
}
