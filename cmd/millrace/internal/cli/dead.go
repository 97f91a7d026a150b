package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/orders"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/cmd/millrace/internal/suggest"
	"github.com/millrace-go/millrace/machine"
)

// letterFlags are which dead letters are meant, and how a list of them is cut.
type letterFlags struct {
	arguments.LetterFilter
	all    bool
	before int64
}

func (f *letterFlags) add(c *cobra.Command) {
	f.LetterFilter.Add(c, shownRuns)
	c.Flags().BoolVar(&f.all, "all", false, "every one, not only those that are open")
	c.Flags().Int64Var(&f.before, "before", 0, "the next page: the `NEXT` that the page before gave")
}

func (a *app) deadCommand() *cobra.Command {
	var f letterFlags
	c := &cobra.Command{
		Use:   "dead",
		Short: "List dead letters: failures that wait for a person; redrive or drop them",
		Long: `A dead letter is a failure that waits for a person: a compensation that gave up, a parked step, a failure of a workflow
that declares no compensation. "redrive" has its work tried again, "drop" gives it up. The list shows the open ones, each
with the command that helps. Both orders hold as soon as they are stored and execute nothing: "millrace resume" or a worker
does.`,
		Example: `  millrace dead
  millrace dead show 12
  millrace dead redrive 12
  millrace dead redrive 12 --input '{"amount": 5}'
  millrace dead drop 12 --reason "refunded by hand"
  millrace dead redrive --workflow order --code connect --yes`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				hint := suggest.DidYouMean(args[0], []string{"list", "show", "redrive", "drop"}, "`millrace dead --help` lists what there is")
				return usage(hint, "there is no command `dead %s`", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return a.deadList(c.Context(), &f) },
	}
	f.add(c)
	c.AddCommand(a.deadListCommand(), a.deadShowCommand(), a.deadOrderCommand("redrive"), a.deadOrderCommand("drop"))
	return c
}

func (a *app) deadListCommand() *cobra.Command {
	var f letterFlags
	c := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, newest first",
		Example: `  millrace dead list
  millrace dead list --all --since 7d --json
  millrace dead list --workflow order --kind compensation`,
		Args: atMost(0, "usage: millrace dead list [--all]"),
		RunE: func(c *cobra.Command, _ []string) error { return a.deadList(c.Context(), &f) },
	}
	f.add(c)
	return c
}

// letterLine is a dead letter in a list.
type letterLine struct {
	millrace.DeadLetter
	Help string `json:"help"` // the command that helps
}

func lineOf(l *millrace.DeadLetter) letterLine { return letterLine{*l, l.Help()} }

func (a *app) deadList(ctx context.Context, f *letterFlags) error {
	var letters []millrace.DeadLetter
	var next int64
	if _, _, err := f.Build(a.tenant, time.Now()); err != nil { // before a database is looked for
		return err
	}
	err := a.atDesk(ctx, &orders.Terms{}, func(d *orders.Desk) error {
		chosen, err := a.choose(ctx, d, &f.LetterFilter)
		if err != nil {
			return err
		}
		if !f.all {
			chosen.Filter.State = machine.LetterOpen
		}
		letters, next, err = d.Choose(ctx, chosen, f.before)
		return err
	})
	if err != nil && !errors.Is(err, errNoDatabase) {
		return err
	}
	if a.json {
		lines := make([]letterLine, len(letters))
		for i := range letters {
			lines[i] = lineOf(&letters[i])
		}
		page := map[string]any{"dead_letters": lines, "next": nil}
		if next != 0 {
			page["next"] = next
		}
		return a.print(page)
	}
	if len(letters) == 0 {
		a.say("no dead letters")
		return nil
	}
	err = writeText(a.out, orders.LetterTable(letters, time.Now()).Text(columns(a.out), style(a.out)))
	if next != 0 {
		a.say("there are more: add --before %d", next)
	}
	return err
}

// choose says which letters a filter means.
func (a *app) choose(ctx context.Context, d *orders.Desk, f *arguments.LetterFilter) (*orders.Letters, error) {
	letters, runs, err := f.Build(a.tenant, time.Now())
	if err != nil {
		return nil, err
	}
	chosen := &orders.Letters{Filter: letters}
	if f.OfRuns() {
		chosen.Runs = &runs
	}
	if f.Run == "" {
		return chosen, nil
	}
	ctx, cancel := limited(ctx)
	defer cancel()
	chosen.Filter.RunID, err = d.Client.Find(ctx, a.tenant, f.Run)
	return chosen, err
}

func (a *app) deadShowCommand() *cobra.Command {
	const form = "usage: millrace dead show ID"
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a dead letter",
		Example: `  millrace dead show 12
  millrace dead show 12 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(form, "name the dead letter; `millrace dead` lists them")
			}
			return atMost(1, form)(nil, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			ids, err := letterIDs(args)
			if err != nil {
				return err
			}
			return a.deadShow(c.Context(), ids[0])
		},
	}
}

func (a *app) deadShow(ctx context.Context, id int64) error {
	return a.atDesk(ctx, &orders.Terms{}, func(d *orders.Desk) error {
		l, err := d.Letter(ctx, id)
		switch {
		case err != nil:
			return err
		case a.json:
			return a.print(lineOf(&l))
		}
		return writeText(a.out, screen.LetterPage(&l, time.Now(), columns(a.out)))
	})
}

// letterIDs reads the numbers of dead letters.
func letterIDs(args []string) ([]int64, error) {
	ids := make([]int64, 0, len(args))
	for _, word := range args {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil || id < 1 {
			return nil, usage("`millrace dead` lists them with their numbers", "%q is not the number of a dead letter", word)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// letterOrder is what was said to `dead redrive` and `dead drop`.
type letterOrder struct {
	orders.Terms
	verb   string
	filter arguments.LetterFilter
	input  string
}

func (a *app) deadOrderCommand(verb string) *cobra.Command {
	k := &letterOrder{verb: verb}
	c := &cobra.Command{
		Use: verb + " ID..",
		RunE: func(c *cobra.Command, args []string) error {
			filtered := arguments.Given(c)
			switch {
			case len(args) == 0 && !filtered:
				return usage("`millrace dead` lists them with their numbers", "name dead letters, or choose them by a filter")
			case len(args) > 0 && filtered:
				return usage("`millrace dead "+verb+" --help` tells how", "name dead letters, or choose them by a filter, not both")
			}
			return a.orderLetters(c.Context(), k, args)
		},
	}
	const many = `

Letters are named by their numbers, or chosen by --workflow, --kind and their like: then the command shows how many are meant
and some of them, and asks; without a terminal it needs --yes.`
	if verb == "redrive" {
		c.Short = "Have the work of dead letters tried again"
		c.Long = `Has the work of a dead letter tried again, with a fresh budget of attempts and the old input, or another one. What the
order leads to is executed by a worker, or by "millrace resume".` + many
		c.Example = `  millrace dead redrive 12
  millrace dead redrive 12 --input @order.json
  millrace dead redrive --workflow order --code connect --yes`
		c.Flags().StringVar(&k.input, "input", "", "what it gets instead of its old input: `JSON`, @FILE, or - for standard input")
	} else {
		c.Short = "Give up the work of dead letters"
		c.Long = `Gives up the work of a dead letter: a compensation is passed over, and the rest is undone; a parked step fails for good; of any
other kind only the letter changes.` + many
		c.Example = `  millrace dead drop 12 --reason "refunded by hand"
  millrace dead drop --workflow order --until 30d --yes`
	}
	k.filter.Add(c, 0)
	k.Terms.Add(c, "letters")
	return c
}

func (a *app) orderLetters(ctx context.Context, k *letterOrder, args []string) error {
	ids, err := letterIDs(args)
	if err != nil {
		return err
	}
	var input json.RawMessage
	if k.input != "" {
		if input, err = arguments.ReadJSON(k.input, a.in); err != nil {
			return err
		}
	}
	return a.atDesk(ctx, &k.Terms, func(d *orders.Desk) error {
		o := &orders.LetterOrder{Terms: k.Terms, Verb: k.verb, IDs: ids}
		if len(ids) == 0 {
			if o.Chosen, err = a.choose(ctx, d, &k.filter); err != nil {
				return err
			}
		}
		o.Apply = func(ctx context.Context, id int64) (millrace.Applied, error) {
			if k.verb == "drop" {
				return d.Client.Drop(ctx, a.tenant, id, k.Order())
			}
			return d.Client.Redrive(ctx, a.tenant, id, millrace.RedriveOrder{Order: k.Order(), Input: input})
		}
		answers, err := d.Letters(ctx, o)
		if err != nil {
			return err
		}
		if orders.LettersRefused(answers) {
			a.status = statusRefused
		}
		if err := d.TellLetters(o, answers); err != nil || a.json || o.DryRun || len(answers) != 1 {
			return err
		}
		if s := answers[0].Status; s != nil && !s.Ended() {
			a.tellServers(ctx, d.Client, answers[0].Run)
		}
		return nil
	})
}
