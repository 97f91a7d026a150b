package orders

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/cmd/millrace/internal/suggest"
	"github.com/millrace-go/millrace/machine"
)

// letterFlags are which dead letters are meant, and how a list of them is cut.
type letterFlags struct {
	letterFilter
	all    bool
	before int64
}

// letterFilter is which dead letters are meant.
type letterFilter struct{ arguments.LetterFilter }

// build gives what the flags choose, but for what only the database tells.
func (f *letterFilter) build() (*Letters, error) {
	letters, runs, err := f.Build(time.Now())
	if err != nil {
		return nil, err
	}
	chosen := &Letters{Filter: letters}
	if f.OfRuns() {
		chosen.Runs = &runs
	}
	return chosen, nil
}

// complete adds tenant and run to a choice; ref is the run as it was written, empty for any.
func (d *Desk) complete(ctx context.Context, l *Letters, ref string) error {
	l.Filter.Tenant = d.Tenant
	if l.Runs != nil {
		l.Runs.Tenant = d.Tenant
	}
	if ref == "" {
		return nil
	}
	var err error
	l.Filter.RunID, err = d.Find(ctx, ref)
	return err
}

// shownLetters is how many letters a list has when nobody says.
const shownLetters = 20

func (f *letterFlags) add(c *cobra.Command) {
	f.LetterFilter.Add(c, shownLetters)
	c.Flags().BoolVar(&f.all, "all", false, "every one, not only those that are open")
	c.Flags().Int64Var(&f.before, "before", 0, "the next page: the `NEXT` that the page before gave")
}

// Dead gives the command about dead letters; list opens the desk of a list.
func Dead(open, list Open) *cobra.Command {
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
				return arguments.Wrong(hint, "there is no command `dead %s`", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return f.list(c.Context(), list) },
	}
	f.add(c)
	c.AddCommand(deadListCommand(list), deadShowCommand(open), deadOrderCommand(open, "redrive"), deadOrderCommand(open, "drop"))
	return c
}

func deadListCommand(open Open) *cobra.Command {
	var f letterFlags
	c := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, newest first",
		Example: `  millrace dead list
  millrace dead list --all --since 7d --json
  millrace dead list --workflow order --kind compensation`,
		Args: arguments.AtMost(0, "usage: millrace dead list [--all]"),
		RunE: func(c *cobra.Command, _ []string) error { return f.list(c.Context(), open) },
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

func (f *letterFlags) list(ctx context.Context, open Open) error {
	chosen, err := f.build()
	if err != nil {
		return err
	}
	if !f.all {
		chosen.Filter.State = machine.LetterOpen
	}
	return open(ctx, func(d *Desk) error {
		letters, next := []millrace.DeadLetter{}, int64(0)
		if d.Client != nil {
			if err := d.complete(ctx, chosen, f.Run); err != nil {
				return err
			}
			if letters, next, err = d.Choose(ctx, chosen, f.before); err != nil {
				return err
			}
		}
		return d.tellLetters(letters, next)
	})
}

func (d *Desk) tellLetters(letters []millrace.DeadLetter, next int64) error {
	if d.JSON {
		lines := make([]letterLine, len(letters))
		for i := range letters {
			lines[i] = lineOf(&letters[i])
		}
		page := map[string]any{"dead_letters": lines, "next": nil}
		if next != 0 {
			page["next"] = next
		}
		return d.Print(page)
	}
	if len(letters) == 0 {
		d.Say("no dead letters")
		return nil
	}
	err := d.Write(LetterTable(letters, time.Now()).Text(d.Width, d.Style))
	if next != 0 {
		d.Say("there are more: add --before %d", next)
	}
	return err
}

func deadShowCommand(open Open) *cobra.Command {
	const form = "usage: millrace dead show ID"
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a dead letter",
		Example: `  millrace dead show 12
  millrace dead show 12 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return arguments.Wrong(form, "name the dead letter; `millrace dead` lists them")
			}
			return arguments.AtMost(1, form)(nil, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			ids, err := letterIDs(args)
			if err != nil {
				return err
			}
			return deadShow(c.Context(), open, ids[0])
		},
	}
}

func deadShow(ctx context.Context, open Open, id int64) error {
	return open(ctx, func(d *Desk) error {
		l, err := d.Letter(ctx, id)
		switch {
		case err != nil:
			return err
		case d.JSON:
			return d.Print(lineOf(&l))
		}
		return d.Write(screen.LetterPage(&l, time.Now(), d.Width))
	})
}

// letterIDs reads the numbers of dead letters.
func letterIDs(args []string) ([]int64, error) {
	ids := make([]int64, 0, len(args))
	for _, word := range args {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil || id < 1 {
			return nil, arguments.Wrong("`millrace dead` lists them with their numbers", "%q is not the number of a dead letter", word)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// letterOrder is what was said to `dead redrive` and `dead drop`.
type letterOrder struct {
	Terms
	verb   string
	filter letterFilter
	input  string
}

func deadOrderCommand(open Open, verb string) *cobra.Command {
	k := &letterOrder{verb: verb}
	c := &cobra.Command{
		Use: verb + " ID..",
		RunE: func(c *cobra.Command, args []string) error {
			filtered := arguments.Given(c)
			switch {
			case len(args) == 0 && !filtered:
				return arguments.Wrong("`millrace dead` lists them with their numbers", "name dead letters, or choose them by a filter")
			case len(args) > 0 && filtered:
				return arguments.Wrong("`millrace dead "+verb+" --help` tells how", "name dead letters, or choose them by a filter, not both")
			}
			return k.do(c.Context(), open, args)
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

func (k *letterOrder) do(ctx context.Context, open Open, args []string) error {
	ids, err := letterIDs(args)
	if err != nil {
		return err
	}
	o := &LetterOrder{Verb: k.verb, IDs: ids}
	if len(ids) == 0 {
		if o.Chosen, err = k.filter.build(); err != nil {
			return err
		}
	}
	return open(ctx, func(d *Desk) error {
		var input json.RawMessage
		if k.input != "" {
			if input, err = arguments.ReadJSON(k.input, d.In); err != nil {
				return err
			}
		}
		if o.Terms = k.Terms; o.By == "" {
			o.By = d.Who
		}
		if o.Chosen != nil {
			if err := d.complete(ctx, o.Chosen, k.filter.Run); err != nil {
				return err
			}
		}
		o.Apply = func(ctx context.Context, id int64) (millrace.Applied, error) {
			if k.verb == "drop" {
				return d.Client.Drop(ctx, d.Tenant, id, o.Order())
			}
			return d.Client.Redrive(ctx, d.Tenant, id, millrace.RedriveOrder{Order: o.Order(), Input: input})
		}
		return k.tell(ctx, d, o)
	})
}

// tell carries out an order and tells what came of it.
func (k *letterOrder) tell(ctx context.Context, d *Desk, o *LetterOrder) error {
	answers, err := d.Letters(ctx, o)
	if err != nil {
		return err
	}
	if lettersRefused(answers) {
		d.Verdict = Refused
	}
	if err := d.TellLetters(o, answers); err != nil || d.JSON || o.DryRun || len(answers) != 1 {
		return err
	}
	if s := answers[0].Status; s != nil && !s.Ended() {
		d.tellNeed(ctx, answers[0].Run)
	}
	return nil
}
