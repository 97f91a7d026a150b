package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/patient"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/cmd/millrace/internal/voices"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

type runFlags struct {
	driveFlags
	beginFlags
}

func (f *driveFlags) add(c *cobra.Command) {
	f.patience, f.grace = arguments.Duration(90*time.Second), arguments.Duration(10*time.Second)
	c.Flags().BoolVar(&f.wait, "wait", false, "stay when only a person or an event can help")
	c.Flags().Var(&f.timeout, "timeout", "leave after so long, with status 124; the run can be resumed")
	c.Flags().Var(&f.grace, "grace", "how long what runs may go on when this process is told to leave, or a step to stop")
	c.Flags().Var(&f.patience, "patience", "how long to go on trying when the database cannot be used")
	f.secrets.Add(c)
	c.Flags().BoolVar(&f.all, "all-steps", false, "with --json: all steps, not only the first 200")
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a workflow file to its end, here",
		Long: `Checks the file, registers its workflow, starts a run and drives it to its end in this process. The run's
commands run in the file's folder; steps with "task" wait for a worker that serves them.

Everything is kept in the database as it happens: when this process is interrupted or killed, "millrace resume"
goes on where the run was. With --key the same run is never started twice: started again, it is driven on, or its
end is told.`,
		Example: `  millrace run hello.yaml
  millrace run hello.yaml -i name=Ada -i times=3
  millrace run order.yaml --input @order.json --key 2024-117
  generate | millrace run order.yaml --input - --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("usage: millrace run FILE [-i NAME=VALUE]..", "name the workflow file to run")
			}
			return atMost(1, "usage: millrace run FILE [-i NAME=VALUE]..")(nil, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return a.run(c.Context(), args[0], f) },
	}
	f.beginFlags.add(c)
	f.driveFlags.add(c)
	return c
}

func (a *app) run(ctx context.Context, file string, f runFlags) error {
	defs, err := readWorkflows(file)
	if err != nil {
		return err
	}
	home, err := homeOf(file)
	if err != nil {
		return err
	}
	r, err := f.request(a, defs[0], 0, kept(home))
	if err != nil {
		return err
	}
	if _, err := f.secrets.Find(os.LookupEnv); err != nil { // before anything is started
		return err
	}
	st, db, err := a.create(ctx, f.patience, true)
	if err != nil {
		return err
	}
	begin, cancel := context.WithTimeout(ctx, time.Duration(f.patience)+longestBusy)
	defer cancel()
	started, err := a.begin(begin, st, defs, r)
	if err == nil && !started.Created {
		err = a.stillThere(begin, st, started.RunID, f.key)
	}
	if err != nil {
		return errors.Join(err, st.Close())
	}
	return a.driveRun(ctx, st, db, started.RunID, f.driveFlags)
}

// driveRun drives a run unless it has ended already, tells how it stands then, and closes the store.
func (a *app) driveRun(ctx context.Context, st store.Store, db database, id string, f driveFlags) error {
	v, status, err := a.driveOpen(ctx, st, db, id, f)
	if closeErr := st.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return a.safe(err, id, status)
	}
	a.status = status
	return a.conclude(v, status)
}

func (a *app) driveOpen(ctx context.Context, st store.Store, db database, id string, f driveFlags) (*millrace.View, int, error) {
	client := millrace.NewClient(st)
	look, cancel := desk.Limited(ctx)
	defer cancel()
	o := millrace.ShowOptions{}
	if f.all {
		o.Steps = -1
	}
	v, err := client.Show(look, a.tenant, id, o)
	switch {
	case err != nil:
		return nil, statusStore, err
	case v.Status == machine.Succeeded:
		return v, statusDone, nil
	case v.Status.Ended():
		return v, statusEnded, nil
	case v.Status == machine.Paused && f.lift != nil:
		if _, err := client.Resume(look, a.tenant, id, *f.lift); err != nil {
			return nil, statusStore, err
		}
	}
	folder, err := folderHere(v.Home)
	if err != nil {
		return nil, 0, err
	}
	d := &drive{
		app: a, flags: f, st: &patient.Store{Store: st}, client: client, id: id,
		folder: folder, home: v.Home, db: db,
	}
	return d.run(ctx)
}

// safe adds to a fault of the store that the run itself is not lost.
func (a *app) safe(err error, id string, status int) error {
	f := explain(err)
	if status != 0 && f.status == statusUsage && f.code == "failed" {
		f.status = status
	}
	if f.status == statusStore && f.code != "damaged" {
		f.hint = strings.TrimSpace(f.hint + "\nthe run is kept as far as it came; go on with: millrace resume " + screen.Ending(id))
	}
	return f
}

// stuck says whether only a person can help with a run now, and nothing of it runs.
func stuck(v *millrace.View) bool {
	if len(voices.Of(v)) > 0 {
		return false
	}
	if v.Status == machine.Paused || v.Status == machine.Parked {
		return true
	}
	for _, w := range v.Waiting {
		if w.For != millrace.ForPause && w.For != millrace.ForPerson {
			return false
		}
	}
	return len(v.Waiting) > 0
}

// conclude tells what came out: the output on standard output, everything else beside it.
func (a *app) conclude(v *millrace.View, status int) error {
	if a.json {
		return a.print(v)
	}
	resume := "millrace resume " + screen.Ending(v.ID)
	switch status {
	case statusInterrupted:
		a.say("interrupted; run %s is safe, go on with: %s", screen.Ending(v.ID), resume)
	case statusTimeout:
		a.say("the time is over; run %s is safe, go on with: %s", screen.Ending(v.ID), resume)
	case statusWaiting:
		a.sayWaiting(v)
	case statusEnded:
		a.sayFailure(v)
	case statusDone:
		return a.printOutput(v.Output)
	}
	return nil
}

func (a *app) sayFailure(v *millrace.View) {
	if v.Error == nil {
		a.say("run %s %s", screen.Ending(v.ID), v.Status)
		a.sayNext(v)
		return
	}
	if code := v.Error.Code; v.Reason != "" && (code == machine.CodeCancelled || code == machine.CodeAborted) {
		a.say("run %s %s %s", screen.Ending(v.ID), v.Status, screen.Clean(v.Reason))
		a.sayLetters(v)
		a.sayNext(v)
		return
	}
	where := ""
	if v.Error.Path != "" {
		where = " at " + v.Error.Path
	}
	a.say("run %s %s%s: %s", screen.Ending(v.ID), v.Status, where, v.Error.Code)
	for line := range strings.Lines(v.Error.Message) {
		a.say("  %s", screen.Clean(line))
	}
	width := min(columns(a.err), screen.MaxProse)
	for i, line := range screen.Wrap(v.Error.Hint, width-8) {
		switch {
		case v.Error.Hint == "":
		case i == 0:
			a.say("  hint: %s", line)
		default:
			a.say("        %s", line)
		}
	}
	a.sayLetters(v)
	a.say("  more: millrace show %[1]s, millrace logs %[1]s%s", screen.Ending(v.ID), quotedPath(v.Error.Path))
	a.sayNext(v)
}

// sayLetters tells what else a person should know of than the failure itself.
func (a *app) sayLetters(v *millrace.View) {
	for _, l := range v.Letters {
		if l.Kind == machine.LetterFailure {
			continue
		}
		text := fmt.Sprintf("dead letter %d", l.ID)
		if l.Path != "" {
			text += " at " + l.Path
		}
		if l.Error != nil {
			text += ": " + l.Error.Error()
		}
		a.say("  %s", screen.Cut(screen.Clean(text), columns(a.err)-2))
	}
}

// sayNext tells the commands that help.
func (a *app) sayNext(v *millrace.View) {
	if next := screen.Next(v); len(next) > 0 {
		a.say("  next: %s", strings.Join(next, ", "))
	}
}

// sayWaiting tells what a run waits for that only a person can bring about.
func (a *app) sayWaiting(v *millrace.View) {
	switch {
	case v.Status == machine.Paused:
		a.say("run %s is paused %s", screen.Ending(v.ID), screen.Clean(v.Reason))
		a.sayNext(v)
	case len(v.Letters) > 0:
		a.say("run %s waits for a person", screen.Ending(v.ID))
		a.sayLetters(v)
		a.sayNext(v)
	default:
		a.say("run %s waits for what is paused", screen.Ending(v.ID))
		for _, w := range v.Waiting {
			a.say("  %s: %s", screen.Clean(w.Path), w.Needs)
		}
	}
}

// quotedPath gives a path as a further word of a command line.
func quotedPath(path string) string {
	switch {
	case path == "":
		return ""
	case strings.ContainsAny(path, "[]~#&;()*? "):
		return " '" + path + "'"
	}
	return " " + path
}

// printOutput prints a run's output as JSON, and nothing when there is none.
func (a *app) printOutput(out json.RawMessage) error {
	if len(out) == 0 || string(out) == "null" {
		return nil
	}
	return a.print(out)
}
