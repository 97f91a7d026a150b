package orders

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/machine"
)

// Control is a command that orders something of runs.
type Control struct {
	Terms
	verb     string
	statuses []machine.Status // that a filter means which names none
	supplies bool             // it takes workflow:W, queue:Q and tenant:T too
	filter   arguments.Filter
	from     string // retry
	again    bool   // retry
}

var (
	unended   = slices.DeleteFunc(machine.Statuses(), machine.Status.Ended)
	retriable = slices.DeleteFunc(machine.Endings(), func(s machine.Status) bool { return s == machine.Succeeded })
)

const aboutMany = `Several runs may be named, or chosen by --workflow, --status, --label and their like: then the command shows how many are
meant and some of them, and asks; without a terminal it needs --yes. --dry-run changes nothing.`

// Cancel gives the command that cancels runs.
func Cancel(open Open) *cobra.Command {
	return control(open, &Control{verb: "cancel", statuses: unended}, &cobra.Command{
		Short: "Stop runs, undo what they did, and end them as cancelled",
		Long: `Stops a run: nothing new starts, what runs is told to stop, and then what the run did is undone, newest first, as its
workflow says. The order holds as soon as it is stored; it is a worker, or "millrace resume", that executes what there is to
undo. --dry-run shows what would be undone, in order.`,
		Example: `  millrace cancel 5f3a --reason "ordered twice"
  millrace cancel order/2024-117 --dry-run
  millrace cancel --workflow order --since 1h --yes`,
	})
}

// Abort gives the command that aborts runs.
func Abort(open Open) *cobra.Command {
	return control(open, &Control{verb: "abort", statuses: unended}, &cobra.Command{
		Short: "End runs at once, without undoing anything",
		Long: `Ends a run where it stands: nothing is awaited and nothing is undone. What still runs of it is told to stop, and what
comes of it changes nothing. "millrace cancel" undoes.`,
		Example: `  millrace abort 5f3a --reason "its machine is gone"
  millrace abort --label env=test --yes`,
	})
}

// Pause gives the command that pauses runs, workflows, queues and tenants.
func Pause(open Open) *cobra.Command {
	return control(open, &Control{verb: "pause", statuses: unended, supplies: true}, &cobra.Command{
		Short: "Keep runs, a workflow, a queue or a tenant from going on",
		Long: `Pauses a run, or everything of a workflow, a queue or a tenant: what runs may finish, and nothing else of it is taken up
until "millrace resume". Events and decisions are recorded meanwhile, and timers wait.`,
		Example: `  millrace pause 5f3a --reason "asking the customer"
  millrace pause workflow:order --reason "the warehouse is closed"
  millrace pause queue:mail
  millrace resume workflow:order`,
	})
}

// Retry gives the command that lets ended runs go on.
func Retry(open Open) *cobra.Command {
	k := &Control{verb: "retry", statuses: retriable}
	c := control(open, k, &cobra.Command{
		Short: "Let ended runs do again what did not succeed",
		Long: `Lets a run that has failed, died, or was cancelled or aborted go on: what did not succeed or was undone is done again,
with all that follows from it; what is still in force is not repeated. --from STEP does that step again too, and what
follows. It is refused where it would be unsafe. The order executes nothing: "millrace resume" or a worker does.`,
		Example: `  millrace retry 5f3a
  millrace retry 5f3a --from pack --reason "wrong parcel"
  millrace retry --workflow order --code connect --since 2h --yes`,
	})
	c.Flags().StringVar(&k.from, "from", "", "do this `STEP` again too, and all that follows it")
	c.Flags().BoolVar(&k.again, "again", false, "with --from: also what succeeded and was not undone")
	return c
}

// Resume gives an order that lifts the pause of runs, workflows, queues and tenants, for a command that does more than that.
func Resume() *Control {
	return &Control{verb: "resume", statuses: []machine.Status{machine.Paused}, supplies: true}
}

// Add adds the flags.
func (k *Control) Add(c *cobra.Command) {
	k.filter.Add(c, 0)
	k.Terms.Add(c, "runs")
}

func control(open Open, k *Control, c *cobra.Command) *cobra.Command {
	c.Use = k.verb + " [RUN].."
	if k.supplies {
		c.Use += "|workflow:W|queue:Q|tenant:T"
	}
	c.Long += "\n\n" + aboutMany + "\n\n" + arguments.AboutRun + "\nAn order on one that nobody named is asked about too."
	c.RunE = func(c *cobra.Command, args []string) error {
		return k.Do(c.Context(), open, args, arguments.Given(c))
	}
	k.Add(c)
	return c
}

// Do carries out the order on what args or the filter mean.
func (k *Control) Do(ctx context.Context, open Open, args []string, filtered bool) error {
	if err := k.check(args, filtered); err != nil {
		return err
	}
	supplies, runs := Divide(args)
	o := &RunOrder{Verb: k.verb, Refs: runs}
	if len(args) == 0 {
		filter, err := k.filter.Build(time.Now(), k.statuses...)
		if err != nil {
			return err
		}
		if o.Chosen = &filter; !filtered {
			filter.Status, filter.Limit = nil, 1
		}
	}
	return open(ctx, func(d *Desk) error {
		if o.Terms = k.Terms; o.By == "" {
			o.By = d.Who
		}
		if len(supplies) > 0 {
			answers, err := d.Supplies(ctx, supplies, k.verb == "pause", o.Order())
			if err != nil {
				return err
			}
			return d.TellSupplies(answers)
		}
		o.Apply = func(ctx context.Context, id string) (millrace.Applied, error) { return k.apply(ctx, d, id, o.Order()) }
		if k.verb == "cancel" {
			o.Plan = func(ctx context.Context, id string) ([]millrace.PlannedUndo, error) {
				return d.Client.UndoPlan(ctx, d.Tenant, id)
			}
		}
		return k.tell(ctx, d, o)
	})
}

// tell carries out an order and tells what came of it.
func (k *Control) tell(ctx context.Context, d *Desk, o *RunOrder) error {
	answers, err := d.Runs(ctx, o)
	if err != nil {
		return err
	}
	if refused(answers) {
		d.Verdict = Refused
	}
	alone := len(answers) == 1 && answers[0].Error == nil && !o.DryRun
	if alone && d.JSON && k.verb == "retry" { // as run and resume do
		v, err := d.Client.Show(ctx, d.Tenant, answers[0].ID, millrace.ShowOptions{})
		if err != nil {
			return err
		}
		return d.Print(v)
	}
	if err := d.TellRuns(o, answers); err != nil {
		return err
	}
	if alone && !d.JSON && !answers[0].Status.Ended() && k.verb != "pause" {
		d.tellNeed(ctx, answers[0].ID)
	}
	return nil
}

func (k *Control) check(args []string, filtered bool) error {
	see := fmt.Sprintf("`millrace %s --help` tells how runs are meant", k.verb)
	supplies, runs := Divide(args)
	switch {
	case k.Max < 0:
		return arguments.Wrong(see, "--max %d is no number of runs", k.Max)
	case len(args) > 0 && filtered:
		return arguments.Wrong(see, "name runs, or choose them by a filter, not both")
	case len(supplies) > 0 && !k.supplies:
		return arguments.Wrong("`millrace pause` and `millrace resume` take them", "%s takes runs, not %s", k.verb, args[0])
	case len(supplies) > 0 && len(runs) > 0:
		return arguments.Wrong("give two commands", "runs and whole workflows, queues or tenants do not go together")
	case len(supplies) > 0 && k.DryRun:
		return arguments.Wrong("`millrace queues` shows what waits where", "--dry-run is for runs")
	}
	return nil
}

// Divide tells workflows, queues and tenants from runs.
func Divide(args []string) (supplies []millrace.Supply, runs []string) {
	for _, word := range args {
		if s, ok := SupplyOf(word); ok {
			supplies = append(supplies, s)
		} else {
			runs = append(runs, word)
		}
	}
	return supplies, runs
}

func (k *Control) apply(ctx context.Context, d *Desk, id string, o millrace.Order) (millrace.Applied, error) {
	switch k.verb {
	case "cancel":
		return d.Client.Cancel(ctx, d.Tenant, id, o)
	case "abort":
		return d.Client.Abort(ctx, d.Tenant, id, o)
	case "pause":
		return d.Client.Pause(ctx, d.Tenant, id, o)
	case "resume":
		return d.Client.Resume(ctx, d.Tenant, id, o)
	default:
		return d.Client.Retry(ctx, d.Tenant, id, millrace.RetryOrder{Order: o, From: k.from, Again: k.again})
	}
}
