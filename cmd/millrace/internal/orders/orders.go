// Package orders carries out what people ask for, on a run or a dead letter or on all that a filter chooses: it shows what is
// meant, asks, does it one by one, and tells what came of each.
//
// Nouns: a [Desk] takes orders and answers them; [Open] opens one; [Terms] are by whom, why, and under which conditions; an
// answer says what came of one item. The package holds the commands that order something: cancel, abort, pause, retry, dead,
// doctor, and the part of resume that only lifts.
//
// It imports the root package, store for filters, and its siblings for arguments and pictures.
package orders

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/store"
)

// Open opens the database and lets use work at a desk. Where there is no database yet, it fails, but for a list: then the desk
// has no client.
type Open func(ctx context.Context, use func(*Desk) error) error

// Desk takes orders and answers them.
type Desk struct {
	desk.Desk
	Who string // orders when the terms do not say
	In  io.Reader
	// Ask asks for a yes. It is nil when nobody can be asked.
	Ask func(question string) (bool, error)
	// Explain tells code, message and hint of an error.
	Explain func(error) (code, message, hint string)
	// Verdict is what the program's exit status shall say of what was done without an error.
	Verdict Verdict
}

// Verdict is how it went.
type Verdict int

// The verdicts.
const (
	Fine    Verdict = iota
	Refused         // an order was refused on one of several items
	Broken          // something is wrong with what is stored
)

// Terms are by whom and why something is ordered, and under which conditions.
type Terms struct {
	By     string
	Reason string
	DryRun bool
	Yes    bool
	Max    int
}

// Add adds the flags of who and why, and those of an order on many.
func (t *Terms) Add(c *cobra.Command, items string) {
	t.AddWho(c)
	c.Flags().BoolVar(&t.DryRun, "dry-run", false, "change nothing, and tell what would be done")
	c.Flags().BoolVarP(&t.Yes, "yes", "y", false, "do not ask")
	c.Flags().IntVar(&t.Max, "max", 0, "do nothing when more than `N` "+items+" are meant; 0: any number")
}

// AddWho adds the flags of who and why alone.
func (t *Terms) AddWho(c *cobra.Command) {
	c.Flags().StringVar(&t.By, "by", "", "`WHO` orders it (default $USER@host)")
	c.Flags().StringVar(&t.Reason, "reason", "", "`WHY`, for those who look at it later")
}

// Order gives who and why.
func (t *Terms) Order() millrace.Order { return millrace.Order{By: t.By, Reason: t.Reason} }

// Refusal is why an order was not carried out.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Declined is an order on several items that was not carried out at all.
type Declined struct {
	Code    string // "usage", "too_many" or "declined"
	Message string
	Hint    string
}

// Error gives the message.
func (e *Declined) Error() string { return e.Message }

// Denied is why an order on one item was not carried out.
type Denied struct{ err error }

// Error gives why.
func (e *Denied) Error() string { return e.err.Error() }

// Unwrap gives why.
func (e *Denied) Unwrap() error { return e.err }

// Missing is something other than a run that is not there.
type Missing struct {
	What string
	Hint string // how to find what there is
}

// Error says what is not there.
func (e *Missing) Error() string { return "there is no " + e.What }

// Is makes errors.Is(err, store.ErrNotFound) true.
func (e *Missing) Is(target error) bool { return target == store.ErrNotFound }

func noLetter(id int64) error {
	return &Missing{What: "dead letter " + strconv.FormatInt(id, 10), Hint: "`millrace dead --all` lists those that there are"}
}

func (d *Desk) refusal(err error) *Refusal {
	code, message, hint := d.Explain(&Denied{err})
	return &Refusal{Code: code, Message: message, Hint: hint}
}

// sample is how many of many are shown before somebody is asked.
const sample = 10

// agree shows what an order by a filter would touch, and asks. An error is a *Declined.
func (d *Desk) agree(verb, what string, n int, table screen.Table, t *Terms) error {
	if t.Max > 0 && n > t.Max {
		return &Declined{
			Code: "too_many", Message: fmt.Sprintf("%s are meant, more than --max %d: nothing was done", screen.Plural(n, what), t.Max),
			Hint: "narrow the filter, or raise --max",
		}
	}
	if t.Yes || n == 0 {
		return nil
	}
	all := screen.Plural(n, what)
	if d.Ask != nil || !d.JSON {
		d.sample(verb, all, n, table)
	}
	if d.Ask == nil {
		return &Declined{
			Code: "usage", Message: fmt.Sprintf("nobody can be asked whether to %s %s: nothing was done", verb, all),
			Hint: "add --yes, or --dry-run to see what is meant",
		}
	}
	yes, err := d.Ask(fmt.Sprintf("%s %s? [y/N] ", verb, all))
	if err == nil && !yes {
		err = &Declined{Code: "declined", Message: "nothing was done"}
	}
	return err
}

func (d *Desk) sample(verb, all string, n int, table screen.Table) {
	if n > sample {
		table.Rows = table.Rows[:sample]
	}
	d.Say("this would %s %s:", verb, all)
	d.Say("%s", strings.TrimRight(table.Text(d.Width, d.Style), "\n"))
	if n > sample {
		d.Say("... and %d more", n-sample)
	}
}

// tellNeed says what a run needs next, when nobody serves it.
func (d *Desk) tellNeed(ctx context.Context, id string) {
	if need := Need(ctx, d.Client, d.Tenant, id); need != "" {
		d.Say("%s", need)
	}
}

// Need tells what a run needs next, when nobody serves it; empty when somebody does, or when the store does not say.
func Need(ctx context.Context, c *millrace.Client, tenant, id string) string {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	v, err := c.Show(ctx, tenant, id, millrace.ShowOptions{Live: true})
	if err != nil {
		return ""
	}
	for _, w := range v.Waiting {
		if w.Needs == "" {
			continue
		}
		if served, err := c.Serves(ctx, w.Handler); w.Handler != "" && (err != nil || served) {
			continue
		}
		return "run " + screen.Ending(id) + " waits for " + w.Needs
	}
	return ""
}
