package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/execute"
	"github.com/millrace-go/millrace/cmd/millrace/internal/patient"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/runner/command"
	"github.com/millrace-go/millrace/runner/httpcall"
)

// driveFlags are how a run is driven.
type driveFlags struct {
	wait     bool
	timeout  arguments.Duration
	patience arguments.Duration
	grace    arguments.Duration
	secrets  arguments.Secrets
	all      bool
	lift     *millrace.Order // a pause is lifted before; nil: it is not
}

// drive executes one run here until it has ended, shows how it goes, and ends it politely when it is told to.
type drive struct {
	*app
	flags    driveFlags
	st       *patient.Store
	client   *millrace.Client
	id       string
	folder   string // of its commands; empty: it has none
	home     string
	db       database
	log      *execute.Log
	caller   *httpcall.Caller
	show     display
	follower *millrace.Follower
	seen     *millrace.View
	troubled bool // the last look found the database in trouble
}

const (
	lookEvery   = 100 * time.Millisecond
	flush       = 5 * time.Second // for the last outcomes, when the store does not answer
	slotsPerCPU = 4
)

// run drives to the end and gives the run as it stands then, with the exit status.
func (d *drive) run(ctx context.Context) (*millrace.View, int, error) {
	d.driving.Store(true)
	defer d.driving.Store(false)
	d.log = &execute.Log{Files: d.db.logs()}
	d.caller = httpcall.New(httpcall.Config{})
	defer d.caller.Close()
	eng, err := d.engine()
	if err != nil {
		return nil, statusUsage, err
	}
	driver := screen.Driver{Owner: eng.Owner(), Since: time.Now()}
	d.show = d.newDisplay(machine.CommandHandler(d.home), driver, d.log.Last)
	d.log.Tell = func(_, path, line string) { d.show.line(path, line) }
	d.follower = d.client.Follow(d.tenant, d.id)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- eng.Run(ctx) }()
	status, err := d.watch(ctx, ended)
	stop()
	late := d.drain(context.WithoutCancel(ctx), ended)
	if late != nil && err == nil && d.st.Trouble().Err != nil {
		status, err = statusStore, late
	}
	v, viewErr := d.last(context.WithoutCancel(ctx))
	err = errors.Join(err, d.show.close())
	if text := d.db.ears.complaint(); text != "" && d.db.ears.url != "" && !d.json { // a pooler costs one run nothing
		d.say("%s", text)
	}
	if late != nil && err == nil { // a step that does not heed its end is ended with this process
		d.say("%v", late)
	}
	if err == nil {
		err = viewErr
	}
	if err != nil {
		return nil, status, err
	}
	if v.Status.Ended() {
		if status = statusDone; v.Status != machine.Succeeded {
			status = statusEnded
		}
		d.sweep()
	}
	return v, status, nil
}

// sweep removes what the run's steps left in their scratch folder.
func (d *drive) sweep() {
	scratch := d.db.scratch(d.id)
	if err := command.RemoveScratch(scratch); err != nil {
		d.say("%v", err)
	}
	_ = os.Remove(filepath.Dir(scratch)) // it stays when other runs have theirs in it
}

func (d *drive) engine() (*engine.Engine, error) {
	secrets, err := d.flags.secrets.Find(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	c := engine.Config{
		Only:  &engine.Only{Tenant: d.tenant, RunID: d.id},
		Slots: slotsPerCPU * runtime.NumCPU(), Grace: time.Duration(d.flags.grace), Flush: flush,
		Logger: quiet(), Secrets: secrets, // what matters is told from the views and by d.st
		Handlers: map[string]engine.Handler{
			machine.HTTPHandler: &execute.Calls{Caller: d.caller, Log: d.log},
		},
	}
	if d.folder != "" {
		c.Handlers[machine.CommandHandler(d.home)] = &execute.Commands{
			Folder: d.folder, Scratch: d.db.scratch, Grace: time.Duration(d.flags.grace), Log: d.log,
		}
	}
	return engine.New(d.st, c)
}

// watch shows the run until it has ended or the process shall leave, and gives the status for the latter.
func (d *drive) watch(ctx context.Context, ended chan error) (int, error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var timeout <-chan time.Time
	if d.flags.timeout > 0 {
		timeout = time.After(time.Duration(d.flags.timeout))
	}
	for {
		done, status, err := d.look(ctx)
		if done || err != nil {
			return status, err
		}
		select {
		case <-tick.C:
		case <-timeout:
			return statusTimeout, nil
		case <-d.interrupts:
			return statusInterrupted, nil
		case err := <-ended:
			ended <- err
			if err == nil {
				err = errors.New("the engine ended by itself")
			}
			return statusStore, err
		}
	}
}

// look shows how the run stands and says whether to leave.
func (d *drive) look(ctx context.Context) (done bool, status int, err error) {
	v, err := d.view(ctx, millrace.ShowOptions{Live: true, Steps: -1})
	d.st.Heard("look", err)
	if err != nil && !patient.Passing(err) {
		return true, statusStore, err
	}
	note := ""
	trouble := d.st.Trouble()
	switch {
	case trouble.Err == nil && d.troubled:
		note = patient.Again
	case trouble.Err == nil:
	case time.Since(trouble.Since) > time.Duration(d.flags.patience):
		return true, statusStore, trouble.Err
	default:
		note = patient.Note(trouble.Err)
	}
	d.troubled = trouble.Err != nil
	if v == nil { // the next look may find the database again
		if v = d.seen; v == nil {
			return false, 0, nil
		}
	}
	d.seen = v
	if err := d.show.view(v, note); err != nil {
		return true, statusStore, err
	}
	switch {
	case v.Status.Ended():
		return true, statusDone, nil
	case !d.flags.wait && stuck(v):
		return true, statusWaiting, nil
	}
	return false, 0, nil
}

// drain waits until the engine has let go of everything. Another interrupt leaves at once.
func (d *drive) drain(ctx context.Context, ended chan error) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	note := fmt.Sprintf("leaving: what runs has %s to end; Ctrl-C again leaves at once", time.Duration(d.flags.grace))
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			d.tellDraining(ctx, note)
		case <-d.interrupts:
			_ = d.show.close() // the program ends here
			d.say("left at once; run %s is kept, go on with: millrace resume %[1]s", screen.Ending(d.id))
			os.Exit(statusInterrupted)
		}
	}
}

func (d *drive) tellDraining(ctx context.Context, note string) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	v, err := d.view(ctx, millrace.ShowOptions{Live: true, Steps: -1})
	switch {
	case err != nil: // the next frame tells
		return
	case v.Status.Ended():
		note = "the run has ended; what still runs of it is being stopped"
	}
	_ = d.show.view(v, note)
}

func (d *drive) view(ctx context.Context, o millrace.ShowOptions) (*millrace.View, error) {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	return d.follower.View(ctx, o)
}

// last shows the run as it stands at the end.
func (d *drive) last(ctx context.Context) (*millrace.View, error) {
	live, err := d.view(ctx, millrace.ShowOptions{Live: true, Steps: -1})
	if err == nil {
		err = d.show.view(live, "")
	}
	if err != nil {
		return nil, err
	}
	o := millrace.ShowOptions{}
	if d.flags.all {
		o.Steps = -1
	}
	return d.view(ctx, o)
}
