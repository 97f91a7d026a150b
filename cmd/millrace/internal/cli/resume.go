package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/orders"
)

func (a *app) resumeCommand() *cobra.Command {
	k := orders.Resume()
	var f driveFlags
	var detach bool
	c := &cobra.Command{
		Use:   "resume [RUN]..|workflow:W|queue:Q|tenant:T",
		Short: "Go on with a run that was interrupted or paused, here",
		Long: `Lifts a pause of a run, and drives it on to its end in this process: what had ended is not repeated. A run that has ended
is not touched; how it ended is told.

With --detach, of several runs, of those that a filter chooses, and of a workflow, a queue or a tenant, only the pause is
lifted: workers go on with them. A filter means runs that are paused; the command shows how many and some of them, and
asks; without a terminal it needs --yes.

` + arguments.AboutRun,
		Example: `  millrace resume
  millrace resume 5f3a
  millrace resume order/2024-117 --timeout 10m
  millrace resume 5f3a --detach
  millrace resume workflow:order`,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		filtered := arguments.Given(c)
		supplies, _ := orders.Divide(args)
		if detach || k.DryRun || filtered || len(args) > 1 || len(supplies) > 0 {
			if len(args) == 0 && !filtered {
				args = []string{"@last"}
			}
			return k.Do(c.Context(), a.atDesk, args, filtered)
		}
		return a.resume(c.Context(), strings.Join(args, ""), f, k)
	}
	f.add(c)
	c.Flags().BoolVar(&detach, "detach", false, "only lift the pause: workers go on with it")
	k.Add(c)
	return c
}

func (a *app) resume(ctx context.Context, ref string, f driveFlags, k *orders.Control) error {
	o, err := a.signed(k.Order())
	if err != nil {
		return err
	}
	st, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	find, cancel := desk.Limited(ctx)
	defer cancel()
	id, err := millrace.NewClient(st).Find(find, a.tenant, ref)
	if err != nil {
		return errors.Join(err, st.Close())
	}
	f.lift = &o
	return a.driveRun(ctx, st, db, id, f)
}
