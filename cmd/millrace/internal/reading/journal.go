package reading

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/patient"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/machine"
)

const (
	journalPage = 500
	followEvery = 200 * time.Millisecond
)

// Journal gives the command that tells all that happened to a run.
func Journal(open Open) *cobra.Command {
	var follow, full bool
	var after int64
	c := &cobra.Command{
		Use:   "journal [RUN]",
		Short: "Tell all that happened to a run",
		Long: `Prints the journal of a run: every event that was applied, numbered without gap, with the number of the entry
that led to it, in the database's time.

` + arguments.AboutRun,
		Example: `  millrace journal
  millrace journal 5f3a -f
  millrace journal order/2024-117 --json`,
		Args: arguments.AtMost(1, "usage: millrace journal [RUN] [-f] [--full]"),
		RunE: func(c *cobra.Command, args []string) error {
			return open(c.Context(), func(d *Desk) error {
				id, err := d.Find(c.Context(), strings.Join(args, ""))
				if err != nil {
					return err
				}
				j := journal{Desk: d, id: id, after: after, follow: follow, full: full}
				return j.tell(c.Context())
			})
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run has ended")
	c.Flags().BoolVar(&full, "full", false, "whole lines, however wide; on a terminal they are cut else")
	c.Flags().Int64Var(&after, "after", 0, "only entries after this number, `N`")
	return c
}

// journal prints the journal of one run.
type journal struct {
	*Desk
	id     string
	after  int64
	follow bool
	full   bool
	count  int
}

func (j *journal) tell(ctx context.Context) error {
	if j.JSON && !j.follow {
		if err := j.Write(`{"run":"` + j.id + `","entries":[`); err != nil {
			return err
		}
	}
	trouble := patient.Wait{For: j.Patience, Tell: func(note string) { j.Say("%s", note) }}
	for {
		done, err := j.look(ctx)
		if j.follow {
			err = trouble.Bear(err)
		}
		if err != nil {
			return err
		}
		if done {
			break
		}
		<-time.After(followEvery)
	}
	if j.JSON && !j.follow {
		return j.Write("\n]}\n")
	}
	return nil
}

// look prints what is new, and says whether that was all there will be.
func (j *journal) look(ctx context.Context) (done bool, err error) {
	ended, err := j.ended(ctx)
	if err == nil {
		err = j.pages(ctx)
	}
	return ended && err == nil, err
}

// ended says whether the run has ended: then what the journal holds now is all.
func (j *journal) ended(ctx context.Context) (bool, error) {
	if !j.follow {
		return true, nil
	}
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	v, err := j.Client.Show(ctx, j.Tenant, j.id, millrace.ShowOptions{Live: true, Steps: 1})
	if err != nil {
		return false, err
	}
	return v.Status.Ended(), nil
}

func (j *journal) pages(ctx context.Context) error {
	for {
		entries, err := j.page(ctx)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			if err := j.entry(e); err != nil {
				return err
			}
			j.after = e.Seq
			j.count++
		}
	}
}

func (j *journal) page(ctx context.Context) ([]millrace.JournalEntry, error) {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	return j.Client.Journal(ctx, j.Tenant, j.id, j.after, journalPage)
}

func (j *journal) entry(e millrace.JournalEntry) error {
	switch {
	case j.JSON && j.count > 0 && !j.follow:
		return j.document(",\n", e, "")
	case j.JSON && !j.follow:
		return j.document("\n", e, "")
	case j.JSON:
		return j.document("", e, "\n")
	case j.full:
		return j.Write(entryLine(e, 1<<20) + "\n")
	default:
		return j.Write(screen.Cut(entryLine(e, j.Width), j.Width) + "\n")
	}
}

func (j *journal) document(before string, e millrace.JournalEntry, after string) error {
	text, err := desk.InLine(e)
	if err != nil {
		return err
	}
	return j.Write(before + text + after)
}

// entryLine gives an entry for people: number, time, what, where, which attempt, why, with what. In few columns the day and
// the cause give way.
func entryLine(e millrace.JournalEntry, width int) string {
	where := e.Path
	if e.Name != "" {
		where = strings.TrimSuffix(e.Name+"/"+e.Key, "/")
	}
	if e.Attempt > 1 {
		where += fmt.Sprintf(" (attempt %d)", e.Attempt)
	}
	payload := screen.Compact(e.Payload)
	if e.Kind == machine.TaskFailed {
		if failure := millrace.ErrorOf(e.Payload); failure != nil {
			payload = failure.Error()
		}
	}
	at, cause := e.At.Format("2006-01-02 15:04:05.000Z"), ""
	if e.Cause > 0 {
		cause = fmt.Sprintf("<%d", e.Cause)
	}
	cause = fmt.Sprintf("  %-6s", cause)
	if width < narrow {
		at, cause = e.At.Format("15:04:05.000Z"), ""
	}
	line := fmt.Sprintf("%5d  %s  %-14s%s  %s  %s", e.Seq, at, e.Kind, cause, screen.Clean(where), screen.Clean(payload))
	return strings.TrimRight(line, " ")
}

// narrow is below how many columns a line of the journal leaves things out.
const narrow = 110
