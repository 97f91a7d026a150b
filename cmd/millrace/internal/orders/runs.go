package orders

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// RunOrder is an order on runs.
type RunOrder struct {
	Terms
	Verb string // "cancel"
	// Refs name runs. Chosen, instead, is what a filter chooses, or the newest run that nobody named: it is shown and asked
	// about.
	Refs   []string
	Chosen *store.Filter
	Apply  func(ctx context.Context, id string) (millrace.Applied, error)
	// Plan, in a dry run, gives what would be undone; nil: nothing is to be told.
	Plan func(ctx context.Context, id string) ([]millrace.PlannedUndo, error)
}

// RunAnswer is what came of an order on one run.
type RunAnswer struct {
	ID       string                 `json:"id"`
	Workflow string                 `json:"workflow"`
	Version  int                    `json:"version"`
	Key      string                 `json:"key"`
	Status   machine.Status         `json:"status"`  // after the order; in a dry run as it is
	Changed  bool                   `json:"changed"` // false: it was so already
	Undo     []millrace.PlannedUndo `json:"undo"`    // a dry run: what would be undone, in this order
	Error    *Refusal               `json:"error"`

	err error
}

// Runs carries out an order on runs, without telling what came of it. Only a run that was named alone makes an error of a
// refusal.
func (d *Desk) Runs(ctx context.Context, o *RunOrder) ([]RunAnswer, error) {
	answers, err := d.meant(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Chosen != nil && !o.DryRun {
		if err := d.agree(o.Verb, "run", len(answers), runTable(answers), &o.Terms); err != nil {
			return nil, err
		}
	}
	for i := range answers {
		if a := &answers[i]; a.err == nil {
			d.one(ctx, o, a)
		}
	}
	alone := len(answers) == 1 && o.Chosen == nil
	for i := range answers {
		if answers[i].Error, err = d.judge(answers[i].err, alone); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// judge says what the error of one item is to the order: why it was refused, or, if it is the store's or that of an item that was
// named alone, an error of the whole.
func (d *Desk) judge(err error, alone bool) (*Refusal, error) {
	switch {
	case err == nil:
		return nil, nil
	case unreachable(err):
		return nil, err
	case alone:
		return nil, &Denied{err}
	}
	return d.refusal(err), nil
}

// unreachable says whether an error is one of the store and not of the item.
func unreachable(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnusable)
}

func (d *Desk) one(ctx context.Context, o *RunOrder, a *RunAnswer) {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	switch {
	case o.DryRun && o.Plan != nil:
		a.Undo, a.err = o.Plan(ctx, a.ID)
	case !o.DryRun:
		var applied millrace.Applied
		if applied, a.err = o.Apply(ctx, a.ID); a.err == nil {
			a.Status, a.Changed = applied.Status, applied.Changed
		}
	}
}

// meant finds the runs that an order is about.
func (d *Desk) meant(ctx context.Context, o *RunOrder) ([]RunAnswer, error) {
	if o.Chosen != nil {
		o.Chosen.Tenant = d.Tenant
		return d.chosen(ctx, *o.Chosen)
	}
	answers := make([]RunAnswer, 0, len(o.Refs))
	for _, ref := range o.Refs {
		answers = append(answers, d.named(ctx, ref))
	}
	return answers, nil
}

func (d *Desk) named(ctx context.Context, ref string) RunAnswer {
	id, err := d.Find(ctx, ref)
	if err != nil {
		return RunAnswer{ID: ref, err: err}
	}
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	r, err := d.Client.Run(ctx, d.Tenant, id)
	a := answerOf(&r)
	a.ID, a.err = id, err
	return a
}

func answerOf(r *millrace.RunSummary) RunAnswer {
	return RunAnswer{ID: r.ID, Workflow: r.Workflow, Version: r.Version, Key: r.Key, Status: r.Status}
}

const page = 1000

// chosen pages through the runs of a filter.
func (d *Desk) chosen(ctx context.Context, f store.Filter) ([]RunAnswer, error) {
	out := []RunAnswer{}
	for most := f.Limit; ; {
		f.Limit = page
		if most > 0 {
			f.Limit = min(page, most-len(out))
		}
		runs, next, err := d.page(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range runs {
			out = append(out, answerOf(&runs[i]))
		}
		if next == "" || most > 0 && len(out) >= most {
			return out, nil
		}
		f.Before = next
	}
}

func (d *Desk) page(ctx context.Context, f store.Filter) ([]millrace.RunSummary, string, error) {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	return d.Client.Runs(ctx, f)
}

func runTable(answers []RunAnswer) screen.Table {
	t := screen.Table{Mark: 2, Head: []string{"RUN", "WORKFLOW", "STATUS", "KEY", "RESULT"}}
	for i := range answers {
		a := &answers[i]
		name := a.Workflow
		if name != "" {
			name += " v" + strconv.Itoa(a.Version)
		}
		result := ""
		if a.Error != nil {
			result = a.Error.Message
		}
		t.Rows = append(t.Rows, []string{screen.Ending(a.ID), name, string(a.Status), a.Key, result})
	}
	return t
}

// TellRuns tells what came of an order.
func (d *Desk) TellRuns(o *RunOrder, answers []RunAnswer) error {
	switch {
	case d.JSON:
		return d.Print(map[string]any{"dry_run": o.DryRun, "runs": answers})
	case len(answers) == 0:
		d.Say("no run is meant: nothing was done")
		return nil
	case o.DryRun && o.Plan != nil:
		return d.tellPlans(o, answers)
	case o.DryRun:
		d.Say("this would %s %s; nothing was done", o.Verb, screen.Plural(len(answers), "run"))
		return d.Write(runTable(answers).Text(d.Width, d.Style))
	case len(answers) == 1 && answers[0].Error == nil:
		return d.Write(oneRun(&answers[0]) + "\n")
	}
	t := runTable(answers)
	for i := range answers {
		if a := &answers[i]; a.Error == nil {
			t.Rows[i][4] = "done"
			if !a.Changed {
				t.Rows[i][4] = "was so already"
			}
		}
	}
	return d.Write(t.Text(d.Width, d.Style))
}

func oneRun(a *RunAnswer) string {
	text := fmt.Sprintf("run %s of %s v%d is %s", screen.Ending(a.ID), a.Workflow, a.Version, a.Status)
	if !a.Changed {
		text += " already; nothing was changed"
	}
	return text
}

func (d *Desk) tellPlans(o *RunOrder, answers []RunAnswer) error {
	var b strings.Builder
	for i := range answers {
		a := &answers[i]
		fmt.Fprintf(&b, "run %s of %s v%d (%s): ", screen.Ending(a.ID), a.Workflow, a.Version, a.Status)
		switch {
		case a.Error != nil:
			b.WriteString(a.Error.Message + "\n")
			continue
		case len(a.Undo) == 0:
			b.WriteString(o.Verb + " would undo nothing\n")
			continue
		}
		b.WriteString(o.Verb + " would undo, in this order\n")
		for n, u := range a.Undo {
			fmt.Fprintf(&b, "%5d  %s\n", n+1, screen.Clean(u.Path))
		}
	}
	d.Say("nothing was done")
	return d.Write(b.String())
}

// refused says whether an order was refused on one of several runs.
func refused(answers []RunAnswer) bool {
	for i := range answers {
		if answers[i].Error != nil {
			return true
		}
	}
	return false
}
