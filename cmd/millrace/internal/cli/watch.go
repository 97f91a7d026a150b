package cli

import (
	"context"
	"errors"
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
)

// watchFlags are how a run is watched.
type watchFlags struct {
	wait    bool
	timeout arguments.Duration
	all     bool
}

func (a *app) watchCommand() *cobra.Command {
	var f watchFlags
	c := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Show a run while it goes on elsewhere",
		Long: `Shows a run live until it has ended, whoever executes it, and tells how it ended as "run" does; it executes
nothing. Leaving it with Ctrl-C does not touch the run. With --json it prints the run anew, one document a line,
each time something has changed.

` + arguments.AboutRun,
		Example: `  millrace watch
  millrace watch 5f3a --timeout 10m
  millrace watch order/2024-117 --json`,
		Args: atMost(1, "usage: millrace watch [RUN]"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.watchRef(c.Context(), strings.Join(args, ""), f)
		},
	}
	c.Flags().BoolVar(&f.wait, "wait", false, "stay when only a person or an event can help")
	c.Flags().Var(&f.timeout, "timeout", "leave after so long, with status 124")
	c.Flags().BoolVar(&f.all, "all-steps", false, "with --json: all steps, not only the first 200")
	return c
}

func (a *app) watchRef(ctx context.Context, ref string, f watchFlags) error {
	st, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	client := millrace.NewClient(st)
	find, cancel := desk.Limited(ctx)
	defer cancel()
	id, err := client.Find(find, a.tenant, ref)
	if err == nil {
		err = a.watchRun(ctx, client, db, id, f)
	}
	return errors.Join(err, st.Close())
}

// watchRun shows a run until it has ended, and tells how.
func (a *app) watchRun(ctx context.Context, client *millrace.Client, db database, id string, f watchFlags) error {
	w := &watch{app: a, flags: f, id: id, follower: client.Follow(a.tenant, id), room: voices.New(db.logs(), id)}
	w.show = a.newDisplay("", screen.Driver{}, w.room.Last)
	if a.json {
		w.show = &documents{app: a}
	}
	w.trouble = patient.Wait{For: followPatience, Tell: func(note string) { w.note = note }}
	a.driving.Store(true)
	defer a.driving.Store(false)
	v, status, err := w.run(ctx)
	if err = errors.Join(err, w.show.close(), w.room.Close()); err != nil {
		return err
	}
	a.status = status
	switch {
	case a.json:
		return nil
	case status == statusInterrupted, status == statusTimeout:
		a.say("watching ended; run %s goes on where it is served, look again with: millrace watch %[1]s", screen.Ending(id))
		return nil
	}
	return a.conclude(v, status)
}

// watch shows one run that others execute.
type watch struct {
	*app
	flags    watchFlags
	id       string
	follower *millrace.Follower
	room     *voices.Room
	show     display
	last     *millrace.View
	note     string // about the database
	trouble  patient.Wait
}

// followPatience is how long those who only look go on when the database cannot be used.
const followPatience = 90 * time.Second

const watchEvery = 200 * time.Millisecond

// run looks until the run has ended or the process shall leave.
func (w *watch) run(ctx context.Context) (*millrace.View, int, error) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var timeout <-chan time.Time
	if w.flags.timeout > 0 {
		timeout = time.After(time.Duration(w.flags.timeout))
	}
	for {
		v, err := w.look(ctx)
		if err = w.bear(err); err != nil {
			return nil, statusStore, err
		}
		switch {
		case v == nil: // the next look may find the database again
		case v.Status.Ended() && v.Status == machine.Succeeded:
			return v, statusDone, nil
		case v.Status.Ended():
			return v, statusEnded, nil
		case !w.flags.wait && stuck(v):
			return v, statusWaiting, nil
		}
		select {
		case <-tick.C:
		case <-timeout:
			return v, statusTimeout, nil
		case <-w.interrupts:
			return v, statusInterrupted, nil
		}
	}
}

// bear waits out a fault of the database, and shows what it is.
func (w *watch) bear(err error) error {
	note := w.note
	if err := w.trouble.Bear(err); err != nil {
		return err
	}
	if w.last == nil || w.note == note {
		return nil
	}
	return w.show.view(w.last, w.note)
}

// look shows how the run stands and what its attempts said meanwhile.
func (w *watch) look(ctx context.Context) (*millrace.View, error) {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	v, err := w.follower.View(ctx, millrace.ShowOptions{Live: true, Steps: -1})
	if err != nil {
		return nil, err
	}
	w.last = v
	if err := w.show.view(v, w.note); err != nil {
		return nil, err
	}
	if err := w.room.Listen(v, func(from voices.Voice, line string) { w.show.line(from.Path, line) }); err != nil {
		return nil, err
	}
	if !w.json && !v.Status.Ended() {
		return v, nil
	}
	o := millrace.ShowOptions{}
	if w.flags.all {
		o.Steps = -1
	}
	whole, err := w.follower.View(ctx, o)
	if d, ok := w.show.(*documents); ok && err == nil {
		err = d.document(whole)
	}
	return whole, err
}

// documents prints a run whenever something has changed.
type documents struct {
	*app
	last string
}

func (d *documents) document(v *millrace.View) error {
	text, err := desk.InLine(v)
	if err != nil || text == d.last {
		return err
	}
	d.last = text
	return writeText(d.out, text+"\n")
}

func (d *documents) view(*millrace.View, string) error { return nil }
func (d *documents) line(string, string)               {}
func (d *documents) close() error                      { return nil }
