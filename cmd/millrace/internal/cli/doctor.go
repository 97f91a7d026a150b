package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
)

func (a *app) doctorCommand() *cobra.Command {
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
		Args: atMost(1, "usage: millrace doctor [RUN] [--repair RUN]"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case repair != "" && len(args) > 0:
				return usage("examine it afterwards", "--repair takes the run itself")
			case c.Flags().Changed("repair"):
				return a.repair(c.Context(), repair)
			}
			return a.doctor(c.Context(), strings.Join(args, ""))
		},
	}
	c.Flags().StringVar(&repair, "repair", "", "rebuild what is stored of this `RUN` from its journal")
	return c
}

func (a *app) doctor(ctx context.Context, ref string) error {
	report, err := withClient(ctx, a, func(c *millrace.Client) (millrace.DoctorReport, error) {
		o := millrace.DoctorOptions{Tenant: a.tenant}
		if ref != "" {
			find, cancel := limited(ctx)
			defer cancel()
			var err error
			if o.Run, err = c.Find(find, a.tenant, ref); err != nil {
				return millrace.DoctorReport{}, err
			}
		}
		return c.Doctor(ctx, o)
	})
	if err != nil {
		return err
	}
	if len(report.Findings) > 0 {
		a.status = statusStore
	}
	if a.json {
		if report.Findings == nil {
			report.Findings = []millrace.Finding{}
		}
		return a.print(report)
	}
	return writeText(a.out, reportText(&report))
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
	fmt.Fprintf(&b, "%s examined", plural(r.Runs, "run"))
	switch len(r.Findings) {
	case 0:
		b.WriteString(": all is well\n")
	default:
		fmt.Fprintf(&b, ": %s\n", plural(len(r.Findings), "finding"))
	}
	if r.Changing > 0 {
		fmt.Fprintf(&b, "%s changed too fast for a whole look; look again\n", plural(r.Changing, "run"))
	}
	return b.String()
}

func (a *app) repair(ctx context.Context, ref string) error {
	report, err := withClient(ctx, a, func(c *millrace.Client) (millrace.RepairReport, error) {
		find, cancel := limited(ctx)
		defer cancel()
		id, err := c.Find(find, a.tenant, ref)
		if err != nil {
			return millrace.RepairReport{}, err
		}
		return c.Repair(ctx, a.tenant, id)
	})
	switch {
	case err != nil:
		return err
	case a.json:
		return a.print(report)
	case !report.Changed:
		return writeText(a.out, "run "+screen.Ending(report.Run)+": nothing was wrong, nothing was changed\n")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "run %s is repaired\n", screen.Ending(report.Run))
	for _, part := range []struct {
		name  string
		items []string
	}{{"documents", report.Documents}, {"tasks", report.Tasks}, {"timers", report.Timers}} {
		for _, item := range part.items {
			if item == "" {
				item = "(the run itself)"
			}
			fmt.Fprintf(&b, "  %-10s %s\n", part.name, screen.Clean(item))
		}
	}
	return writeText(a.out, b.String())
}
