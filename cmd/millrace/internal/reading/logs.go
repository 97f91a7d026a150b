package reading

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/said"
)

// Logs gives the command that prints what attempts said.
func Logs(open Open) *cobra.Command {
	var f said.Choice
	c := &cobra.Command{
		Use:   "logs [RUN] [STEP]",
		Short: "Print what the attempts of a run said",
		Long: `Prints what the programs of a run wrote on standard error (and on standard output, where that is not the step's
output), attempt by attempt, in the order in which they ended; then what the running ones have said so far. STEP is
the path of a step; those inside it are printed too. With -f it goes on, line by line, until the run has ended.

The journal keeps the last 4 KiB of each attempt; longer logs lie in files beside the database.
An outcome that came after its attempt was lost is printed as "too late", with the log of the attempt.

` + arguments.AboutRun,
		Example: `  millrace logs
  millrace logs @last pack
  millrace logs 5f3a 'lines[3]' --attempt 2
  millrace logs --failed
  millrace logs -f`,
		Args: arguments.AtMost(2, "usage: millrace logs [RUN] [STEP]"),
		RunE: func(c *cobra.Command, args []string) error {
			ref, step := "", ""
			if len(args) > 0 {
				ref = args[0]
			}
			if len(args) > 1 {
				step = args[1]
			}
			return open(c.Context(), func(d *Desk) error { return d.logs(c.Context(), ref, step, f) })
		},
	}
	c.Flags().IntVar(&f.Attempt, "attempt", 0, "only attempts with this number, `N`")
	c.Flags().BoolVar(&f.Failed, "failed", false, "only attempts that failed")
	c.Flags().BoolVarP(&f.Follow, "follow", "f", false, "go on until the run has ended")
	return c
}

func (d *Desk) logs(ctx context.Context, ref, step string, f said.Choice) error {
	id, err := d.Find(ctx, ref)
	if err != nil {
		return err
	}
	f.Run, f.Step, f.Patience = id, step, d.Patience
	p := &said.Printer{Desk: d.Desk, Folder: d.Logs}
	return p.Attempts(ctx, f)
}
