package orders

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
)

// Doctor gives the command that examines the database.
func Doctor(open Open) *cobra.Command {
	var repair string
	c := &cobra.Command{
		Use:   "doctor [RUN]",
		Short: "Examine the database: does every run keep what it must",
		Long: `Examines a run, or all of them, while others work: the journal is whole, replaying it gives what is stored, tasks, timers
and dead letters agree with it, and ended runs have nothing live. It changes nothing. The status is 5 when something is wrong.

--repair RUN rebuilds what is stored of a run by replaying its journal, and says what it changed.

RUN is an id, the end of one (4 characters or more), WORKFLOW/KEY, or @last.`,
		Example: `  millrace doctor
  millrace doctor 5f3a --json
  millrace doctor --repair 5f3a`,
		Args: arguments.AtMost(1, "usage: millrace doctor [RUN] [--repair RUN]"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case repair != "" && len(args) > 0:
				return arguments.Wrong("examine it afterwards", "--repair takes the run itself")
			case c.Flags().Changed("repair"):
				return mend(c.Context(), open, repair)
			}
			return examine(c.Context(), open, strings.Join(args, ""))
		},
	}
	c.Flags().StringVar(&repair, "repair", "", "rebuild what is stored of this `RUN` from its journal")
	return c
}

func examine(ctx context.Context, open Open, ref string) error {
	return open(ctx, func(d *Desk) error {
		options := millrace.DoctorOptions{Tenant: d.Tenant}
		if ref != "" {
			var err error
			if options.Run, err = d.Find(ctx, ref); err != nil {
				return err
			}
		}
		report, err := d.Client.Doctor(ctx, options)
		if err != nil {
			return err
		}
		if len(report.Findings) > 0 {
			d.Verdict = Broken
		}
		if d.JSON {
			if report.Findings == nil {
				report.Findings = []millrace.Finding{}
			}
			return d.Print(report)
		}
		return d.Write(reportText(&report))
	})
}

func reportText(r *millrace.DoctorReport) string {
	var b strings.Builder
	last := ""
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "run %s: %s: %s\n", screen.Ending(f.Run), f.Check, screen.Clean(f.Message))
		if help := f.Remedy; help != "" && help != last {
			fmt.Fprintf(&b, "  %s\n", screen.Clean(help))
			last = help
		}
	}
	fmt.Fprintf(&b, "%s examined", screen.Plural(r.Runs, "run"))
	switch len(r.Findings) {
	case 0:
		b.WriteString(": all is well\n")
	default:
		fmt.Fprintf(&b, ": %s\n", screen.Plural(len(r.Findings), "finding"))
	}
	if r.Changing > 0 {
		fmt.Fprintf(&b, "%s changed too fast for a whole look; look again\n", screen.Plural(r.Changing, "run"))
	}
	return b.String()
}

func mend(ctx context.Context, open Open, ref string) error {
	return open(ctx, func(d *Desk) error {
		id, err := d.Find(ctx, ref)
		if err != nil {
			return err
		}
		report, err := d.Client.Repair(ctx, d.Tenant, id)
		switch {
		case err != nil:
			return err
		case d.JSON:
			return d.Print(report)
		}
		return d.Write(repairText(&report))
	})
}

func repairText(r *millrace.RepairReport) string {
	if !r.Changed {
		return "run " + screen.Ending(r.Run) + ": there is nothing that a repair can mend; nothing was changed\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "run %s is repaired\n", screen.Ending(r.Run))
	for _, part := range []struct {
		name  string
		items []string
	}{{"document", r.Documents}, {"task", r.Tasks}, {"timer", r.Timers}, {"letter", r.Letters}, {"value", r.Values}} {
		for _, item := range part.items {
			if item == "" {
				item = "(the run itself)"
			}
			fmt.Fprintf(&b, "  %-10s %s\n", part.name, screen.Clean(item))
		}
	}
	return b.String()
}
