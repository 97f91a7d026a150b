package orders

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// LetterOrder is an order on dead letters.
type LetterOrder struct {
	Terms
	Verb string // "redrive" or "drop"
	// IDs name letters. Chosen, instead, is what a filter chooses: it is shown and asked about.
	IDs    []int64
	Chosen *Letters
	Apply  func(ctx context.Context, id int64) (millrace.Applied, error)
}

// Letters chooses dead letters: those of Filter, of the runs of Runs alone if that is not nil.
type Letters struct {
	Filter store.LetterFilter
	Runs   *store.Filter
}

// LetterAnswer is what came of an order on one letter.
type LetterAnswer struct {
	ID      int64              `json:"id"`
	Run     string             `json:"run"`
	Kind    machine.LetterKind `json:"kind"`
	Path    string             `json:"path"`
	Status  *machine.Status    `json:"status"` // of the run, after the order; null: it was not carried out
	Changed bool               `json:"changed"`
	Error   *Refusal           `json:"error"`

	letter millrace.DeadLetter
	err    error
}

// Letters carries out an order on dead letters, without telling what came of it. Only a letter that was named alone makes an
// error of a refusal.
func (d *Desk) Letters(ctx context.Context, o *LetterOrder) ([]LetterAnswer, error) {
	letters, err := d.meantLetters(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Chosen != nil && !o.DryRun {
		if err := d.agree(o.Verb, "dead letter", len(letters), LetterTable(letters, time.Now()), &o.Terms); err != nil {
			return nil, err
		}
	}
	answers := make([]LetterAnswer, len(letters))
	for i, l := range letters {
		answers[i] = LetterAnswer{ID: l.ID, Run: l.Run, Kind: l.Kind, Path: l.Path, letter: l}
		switch {
		case l.Run == "":
			answers[i].err = noLetter(l.ID)
		case !o.DryRun:
			d.letter(ctx, o, &answers[i])
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

func (d *Desk) letter(ctx context.Context, o *LetterOrder, a *LetterAnswer) {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	applied, err := o.Apply(ctx, a.ID)
	if a.err = err; err == nil {
		a.Status, a.Changed = &applied.Status, applied.Changed
	}
}

func (d *Desk) meantLetters(ctx context.Context, o *LetterOrder) ([]millrace.DeadLetter, error) {
	if o.Chosen != nil {
		o.Chosen.Filter.State = machine.LetterOpen
		letters, _, err := d.Choose(ctx, o.Chosen, 0)
		return letters, err
	}
	found, _, err := d.letterPage(ctx, store.LetterFilter{Tenant: d.Tenant, IDs: o.IDs})
	if err != nil {
		return nil, err
	}
	known := make(map[int64]millrace.DeadLetter, len(found))
	for _, l := range found {
		known[l.ID] = l
	}
	letters := make([]millrace.DeadLetter, len(o.IDs))
	for i, id := range o.IDs {
		letters[i] = known[id]
		letters[i].ID = id
	}
	return letters, nil
}

// Letter gives one dead letter.
func (d *Desk) Letter(ctx context.Context, id int64) (millrace.DeadLetter, error) {
	found, _, err := d.letterPage(ctx, store.LetterFilter{Tenant: d.Tenant, IDs: []int64{id}})
	if err == nil && len(found) == 0 {
		err = noLetter(id)
	}
	if err != nil {
		return millrace.DeadLetter{}, err
	}
	return found[0], nil
}

// Choose gives the letters that are chosen, newest first, from the first that is older than before on (0: from the newest), and
// what before must be for the next page; it is zero on the last. A filter without a limit gives all.
func (d *Desk) Choose(ctx context.Context, l *Letters, before int64) ([]millrace.DeadLetter, int64, error) {
	var runs map[string]bool
	if l.Runs != nil {
		chosen, err := d.chosen(ctx, *l.Runs)
		if err != nil {
			return nil, 0, err
		}
		runs = make(map[string]bool, len(chosen))
		for i := range chosen {
			runs[chosen[i].ID] = true
		}
	}
	out := []millrace.DeadLetter{}
	f, most := l.Filter, l.Filter.Limit
	for f.Before = before; ; {
		f.Limit = page
		letters, next, err := d.letterPage(ctx, f)
		if err != nil {
			return nil, 0, err
		}
		for _, letter := range letters {
			if most > 0 && len(out) == most {
				return out, out[most-1].ID, nil
			}
			if runs == nil || runs[letter.Run] {
				out = append(out, letter)
			}
		}
		if next == 0 {
			return out, 0, nil
		}
		f.Before = next
	}
}

func (d *Desk) letterPage(ctx context.Context, f store.LetterFilter) ([]millrace.DeadLetter, int64, error) {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	return d.Client.DeadLetters(ctx, f)
}

// LetterTable lists dead letters for people; each line ends with the command that helps.
func LetterTable(letters []millrace.DeadLetter, now time.Time) screen.Table {
	t := screen.Table{
		Mark: -1, Gives: "ERROR", Drops: []string{"OPENED", "KIND", "WORKFLOW"},
		Head: []string{"ID", "RUN", "WORKFLOW", "KIND", "STATE", "AT", "ERROR", "OPENED", "HELP"},
	}
	for i := range letters {
		l := &letters[i]
		state, problem, opened := string(l.State), "", ""
		if l.State == machine.LetterOpen {
			state = "" // a list of nothing else has no such column
		}
		if l.Error != nil {
			problem = l.Error.Error()
		}
		if l.CreatedAt != nil {
			opened = screen.Ago(now.Sub(*l.CreatedAt))
		}
		t.Rows = append(t.Rows, []string{
			strconv.FormatInt(l.ID, 10), screen.Ending(l.Run), l.Workflow, string(l.Kind), state, l.Path, problem, opened, l.Help(),
		})
	}
	return t
}

// TellLetters tells people what came of an order.
func (d *Desk) TellLetters(o *LetterOrder, answers []LetterAnswer) error {
	switch {
	case d.JSON:
		return d.Print(map[string]any{"dry_run": o.DryRun, "dead_letters": answers})
	case len(answers) == 0:
		d.Say("no open dead letter is meant: nothing was done")
		return nil
	case o.DryRun:
		d.Say("this would %s %s; nothing was done", o.Verb, screen.Plural(len(answers), "dead letter"))
	}
	t := screen.Table{Mark: 3, Head: []string{"ID", "RUN", "AT", "STATUS", "RESULT"}}
	for i := range answers {
		a := &answers[i]
		status, result := "", ""
		switch {
		case a.Error != nil:
			result = a.Error.Message
		case a.Status != nil:
			if status, result = string(*a.Status), "done"; !a.Changed {
				result = "was so already"
			}
		}
		t.Rows = append(t.Rows, []string{strconv.FormatInt(a.ID, 10), screen.Ending(a.Run), a.Path, status, result})
	}
	if len(answers) == 1 && answers[0].Status != nil {
		a := &answers[0]
		return d.Write(fmt.Sprintf("dead letter %d: run %s is %s\n", a.ID, screen.Ending(a.Run), *a.Status))
	}
	return d.Write(t.Text(d.Width, d.Style))
}

// lettersRefused says whether an order was refused on one of several letters.
func lettersRefused(answers []LetterAnswer) bool {
	for i := range answers {
		if answers[i].Error != nil {
			return true
		}
	}
	return false
}
