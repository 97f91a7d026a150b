package orders

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/machine"
)

// prunedPage is what `prune` gives.
type prunedPage struct {
	Pruned   int                    `json:"pruned"` // in a dry run: how many would be
	DryRun   bool                   `json:"dry_run"`
	ByStatus map[machine.Status]int `json:"by_status"`
}

func (p *prunedPage) add(runs []millrace.PrunedRun) {
	for i := range runs {
		p.Pruned++
		p.ByStatus[runs[i].Status]++
	}
}

const prunedAfter = 30 * 24 * time.Hour // when nobody says otherwise

// Prune gives the command that removes old runs. forget is called with the ids of runs that are gone.
func Prune(open Open, forget func(ids []string) error) *cobra.Command {
	var old arguments.Old
	var dry, yes bool
	c := &cobra.Command{
		Use:   "prune",
		Short: "Remove runs that ended long ago",
		Long: `Removes runs of the tenant that ended longer ago than --older-than (30 days), with their journals, outputs, dead letters and
logs, oldest first and in small steps, while others work. A run with an open dead letter is kept. The key of a run that was
removed stays taken: starting with it again starts nothing.

It shows what is meant and asks first; without a terminal it needs --yes. When it is interrupted, what is removed stays
removed, and the next prune goes on.`,
		Example: `  millrace prune --dry-run
  millrace prune --older-than 7d --status succeeded,cancelled --yes`,
		Args: arguments.AtMost(0, "usage: millrace prune [--older-than AGE] [--status STATUS,..] [--dry-run] [--yes]"),
		RunE: func(c *cobra.Command, _ []string) error {
			keep, err := old.Keep()
			if err != nil {
				return err
			}
			return open(c.Context(), func(d *Desk) error {
				o := pruning{
					Desk: d, terms: Terms{DryRun: dry, Yes: yes}, forget: forget, than: old.Than(),
					options: millrace.PruneOptions{Tenant: d.Tenant, Keep: keep},
				}
				return o.run(c.Context())
			})
		},
	}
	old.Add(c, prunedAfter)
	c.Flags().BoolVar(&dry, "dry-run", false, "remove nothing, and tell what would be removed")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// pruning is one call of the command.
type pruning struct {
	*Desk
	terms   Terms
	forget  func(ids []string) error
	than    time.Duration
	options millrace.PruneOptions
}

func (p *pruning) run(ctx context.Context) error {
	page := prunedPage{DryRun: p.terms.DryRun, ByStatus: map[machine.Status]int{}}
	if p.Client != nil && (p.terms.DryRun || !p.terms.Yes) {
		meant, table, err := p.look(ctx)
		switch {
		case err != nil:
			return err
		case p.terms.DryRun:
			page = meant
		default:
			if err := p.agree("remove", "run", meant.Pruned, table, &p.terms); err != nil {
				return err
			}
		}
	}
	if p.Client != nil && !p.terms.DryRun {
		if err := p.remove(ctx, &page); err != nil {
			return err
		}
	}
	if p.JSON {
		return p.Print(page)
	}
	return p.Write(pruneText(&page, p.than))
}

// look counts what would be removed, and gives the first of it.
func (p *pruning) look(ctx context.Context) (prunedPage, screen.Table, error) {
	page := prunedPage{DryRun: true, ByStatus: map[machine.Status]int{}}
	table := screen.Table{Mark: 2, Head: []string{"RUN", "WORKFLOW", "STATUS", "ENDED"}}
	now := time.Now()
	o := p.options
	o.DryRun = true
	o.Pruned = func(runs []millrace.PrunedRun) error {
		page.add(runs)
		for i := range runs {
			r := &runs[i]
			if len(table.Rows) > sample {
				break
			}
			ended := ""
			if r.FinishedAt != nil {
				ended = screen.Ago(now.Sub(*r.FinishedAt))
			}
			table.Rows = append(table.Rows, []string{screen.Ending(r.ID), r.Workflow, string(r.Status), ended})
		}
		return nil
	}
	_, err := p.Client.Prune(ctx, o)
	return page, table, err
}

func (p *pruning) remove(ctx context.Context, page *prunedPage) error {
	o := p.options
	o.Pruned = func(runs []millrace.PrunedRun) error {
		page.add(runs)
		ids := make([]string, len(runs))
		for i := range runs {
			ids[i] = runs[i].ID
		}
		return p.forget(ids)
	}
	_, err := p.Client.Prune(ctx, o)
	return err
}

func pruneText(p *prunedPage, than time.Duration) string {
	if p.Pruned == 0 {
		return "no run ended longer than " + screen.Span(than) + " ago: nothing to remove\n"
	}
	did := "removed"
	if p.DryRun {
		did = "would remove"
	}
	var parts []string
	for _, s := range machine.Endings() {
		if n := p.ByStatus[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return fmt.Sprintf("%s %s: %s\n", did, screen.Plural(p.Pruned, "run"), strings.Join(parts, ", "))
}
