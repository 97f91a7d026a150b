package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/orders"
	"github.com/millrace-go/millrace/machine"
)

// control is a command that orders something of runs.
type control struct {
	orders.Terms
	verb     string
	statuses []machine.Status // that a filter means which names none
	supplies bool             // it takes workflow:W, queue:Q and tenant:T too
	filter   arguments.Filter
	from     string // retry
	again    bool   // retry
}

var (
	unended = []machine.Status{
		machine.Pending, machine.Running, machine.Paused, machine.Parked, machine.Stopping, machine.Compensating,
	}
	retriable = []machine.Status{machine.Failed, machine.Dead, machine.Cancelled, machine.Aborted}
)

const aboutMany = `Several runs may be named, or chosen by --workflow, --status, --label and their like: then the command shows how many are
meant and some of them, and asks; without a terminal it needs --yes. --dry-run changes nothing.`

func (a *app) cancelCommand() *cobra.Command {
	return a.controlCommand(&control{verb: "cancel", statuses: unended}, &cobra.Command{
		Short: "Stop runs, undo what they did, and end them as cancelled",
		Long: `Stops a run: nothing new starts, what runs is told to stop, and then what the run did is undone, newest first, as its
workflow says. The order holds as soon as it is stored; it is a worker, or "millrace resume", that executes what there is to
undo. --dry-run shows what would be undone, in order.`,
		Example: `  millrace cancel 5f3a --reason "ordered twice"
  millrace cancel order/2024-117 --dry-run
  millrace cancel --workflow order --since 1h --yes`,
	})
}

func (a *app) abortCommand() *cobra.Command {
	return a.controlCommand(&control{verb: "abort", statuses: unended}, &cobra.Command{
		Short: "End runs at once, without undoing anything",
		Long: `Ends a run where it stands: nothing is awaited and nothing is undone. What still runs of it is told to stop, and what
comes of it changes nothing. "millrace cancel" undoes.`,
		Example: `  millrace abort 5f3a --reason "its machine is gone"
  millrace abort --label env=test --yes`,
	})
}

func (a *app) pauseCommand() *cobra.Command {
	return a.controlCommand(&control{verb: "pause", statuses: unended, supplies: true}, &cobra.Command{
		Short: "Keep runs, a workflow, a queue or a tenant from going on",
		Long: `Pauses a run, or everything of a workflow, a queue or a tenant: what runs may finish, and nothing else of it is taken up
until "millrace resume". Events and decisions are recorded meanwhile, and timers wait.`,
		Example: `  millrace pause 5f3a --reason "asking the customer"
  millrace pause workflow:order --reason "the warehouse is closed"
  millrace pause queue:mail
  millrace resume workflow:order`,
	})
}

func (a *app) retryCommand() *cobra.Command {
	k := &control{verb: "retry", statuses: retriable}
	c := a.controlCommand(k, &cobra.Command{
		Short: "Let ended runs do again what did not succeed",
		Long: `Lets a run that has failed, died, or was cancelled or aborted go on: what did not succeed or was undone is done again,
with all that follows from it; what is still in force is not repeated. --from STEP does that step again too, and what
follows. It is refused where it would be unsafe. The order executes nothing: "millrace resume" or a worker does.`,
		Example: `  millrace retry 5f3a
  millrace retry 5f3a --from pack --reason "wrong parcel"
  millrace retry --workflow order --code connect --since 2h --yes`,
	})
	c.Flags().StringVar(&k.from, "from", "", "do this `STEP` again too, and all that follows it")
	c.Flags().BoolVar(&k.again, "again", false, "also what succeeded and was not undone")
	return c
}

func (a *app) controlCommand(k *control, c *cobra.Command) *cobra.Command {
	c.Use = k.verb + " [RUN].."
	if k.supplies {
		c.Use += "|workflow:W|queue:Q|tenant:T"
	}
	c.Long += "\n\n" + aboutMany + "\n\n" + aboutRun + "\nAn order on one that nobody named is asked about too."
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.control(c.Context(), k, args, arguments.Given(c))
	}
	k.filter.Add(c, 0)
	k.Terms.Add(c, "runs")
	return c
}

// control carries out an order on what args or the filter mean.
func (a *app) control(ctx context.Context, k *control, args []string, filtered bool) error {
	if err := k.check(args, filtered); err != nil {
		return err
	}
	supplies, runs := divide(args)
	o := &orders.RunOrder{Terms: k.Terms, Verb: k.verb, Refs: runs}
	if len(args) == 0 {
		filter, err := k.filter.Build(a.tenant, time.Now(), k.statuses...)
		if err != nil {
			return err
		}
		if o.Chosen = &filter; !filtered {
			filter.Status, filter.Limit = nil, 1
		}
	}
	return a.atDesk(ctx, &k.Terms, func(d *orders.Desk) error {
		if len(supplies) > 0 {
			return tellSupplies(ctx, d, supplies, k)
		}
		o.Terms = k.Terms
		o.Apply = func(ctx context.Context, id string) (millrace.Applied, error) { return k.apply(ctx, d, id) }
		if k.verb == "cancel" {
			o.Plan = func(ctx context.Context, id string) ([]millrace.PlannedUndo, error) {
				return d.Client.UndoPlan(ctx, d.Tenant, id)
			}
		}
		return a.orderRuns(ctx, d, o)
	})
}

func (k *control) check(args []string, filtered bool) error {
	see := fmt.Sprintf("`millrace %s --help` tells how runs are meant", k.verb)
	supplies, runs := divide(args)
	switch {
	case k.Max < 0:
		return usage(see, "--max %d is no number of runs", k.Max)
	case len(args) > 0 && filtered:
		return usage(see, "name runs, or choose them by a filter, not both")
	case len(supplies) > 0 && !k.supplies:
		return usage("`millrace pause` and `millrace resume` take them", "%s takes runs, not %s", k.verb, args[0])
	case len(supplies) > 0 && len(runs) > 0:
		return usage("give two commands", "runs and whole workflows, queues or tenants do not go together")
	case len(supplies) > 0 && k.DryRun:
		return usage("`millrace queues` shows what waits where", "--dry-run is for runs")
	}
	return nil
}

// divide tells workflows, queues and tenants from runs.
func divide(args []string) (supplies []millrace.Supply, runs []string) {
	for _, word := range args {
		if s, ok := orders.SupplyOf(word); ok {
			supplies = append(supplies, s)
		} else {
			runs = append(runs, word)
		}
	}
	return supplies, runs
}

func tellSupplies(ctx context.Context, d *orders.Desk, supplies []millrace.Supply, k *control) error {
	answers, err := d.Supplies(ctx, supplies, k.verb == "pause", k.Order())
	if err != nil {
		return err
	}
	return d.TellSupplies(answers)
}

func (k *control) apply(ctx context.Context, d *orders.Desk, id string) (millrace.Applied, error) {
	o := k.Order()
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

// orderRuns carries out an order and tells what came of it.
func (a *app) orderRuns(ctx context.Context, d *orders.Desk, o *orders.RunOrder) error {
	answers, err := d.Runs(ctx, o)
	if err != nil {
		return err
	}
	alone := len(answers) == 1 && answers[0].Error == nil
	if orders.Refused(answers) {
		a.status = statusRefused
	}
	if alone && a.json && o.Verb == "retry" && !o.DryRun { // as run and resume do
		v, err := d.Client.Show(ctx, d.Tenant, answers[0].ID, millrace.ShowOptions{})
		if err != nil {
			return err
		}
		return a.print(v)
	}
	if err := d.TellRuns(o, answers); err != nil {
		return err
	}
	if alone && !a.json && !o.DryRun && !answers[0].Status.Ended() && o.Verb != "pause" {
		a.tellServers(ctx, d.Client, answers[0].ID)
	}
	return nil
}

// atDesk opens the database and lets use order something. Who orders it is made up when the terms do not say.
func (a *app) atDesk(ctx context.Context, t *orders.Terms, use func(*orders.Desk) error) error {
	if err := sign(t); err != nil {
		return err
	}
	_, err := withClient(ctx, a, func(c *millrace.Client) (struct{}, error) {
		d := &orders.Desk{
			Client: c, Tenant: a.tenant, Out: a.out, Err: a.err, JSON: a.json, Width: columns(a.out), Style: style(a.out),
			Explain: func(err error) (code, hint string) { f := explain(err); return f.code, f.hint },
		}
		if isTerminal(a.in) && isTerminal(a.err) {
			d.Ask = a.ask
		}
		return struct{}{}, use(d)
	})
	return err
}

// sign adds who orders it, when nobody said.
func sign(t *orders.Terms) error {
	var err error
	if t.By == "" {
		t.By, err = whoAmI()
	}
	return err
}

// whoAmI gives user and machine.
func whoAmI() (string, error) {
	host, err := hostName()
	if err != nil {
		return "", err
	}
	name := orElse(os.Getenv("USER"), os.Getenv("LOGNAME"))
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	return orElse(name, "somebody") + "@" + host, nil
}

// ask asks on the terminal for a yes; no answer is no.
func (a *app) ask(question string) (bool, error) {
	fmt.Fprint(a.err, question)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && line == "" {
		fmt.Fprintln(a.err)
		return false, nil //nolint:nilerr // the end of the input is an answer
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// declined tells how an order ends that was not carried out at all.
func declined(err error) (*failure, bool) {
	d, ok := errors.AsType[*orders.Declined](err)
	if !ok {
		return nil, false
	}
	f := &failure{status: statusRefused, code: d.Code, message: d.Message, hint: d.Hint}
	if d.Code == "usage" {
		f.status = statusUsage
	}
	return f, true
}
