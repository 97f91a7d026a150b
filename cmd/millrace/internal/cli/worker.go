package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

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
	"github.com/millrace-go/millrace/store"
)

// workerFlags are what a worker serves and how.
type workerFlags struct {
	home    string
	slots   int
	queues  []string
	grace   arguments.Duration
	quiet   bool
	keep    arguments.Retention
	secrets arguments.Secrets
}

func (a *app) workerCommand() *cobra.Command {
	f := workerFlags{grace: arguments.Duration(10 * time.Second)}
	c := &cobra.Command{
		Use:   "worker [FILE|FOLDER]..",
		Short: "Execute the steps of runs that were started, until told to leave",
		Long: `Serves runs of this database for as long as it lives: the commands of workflows whose files lie in the folders given
(the one that you are in, when none is), http steps, waits, retries and timers. Several workers may share one
database. It takes up what a worker that died has left.

With --home NAME it serves the runs that were started with the same --home instead, in the one folder given: for
checkouts in different places.

SIGTERM or Ctrl-C drains: no new step begins, what runs has --grace to end and is interrupted then, nothing is
lost, and the status is 0. A second one leaves at once.`,
		Example: `  millrace worker
  millrace worker flows/order.yaml reports/ --slots 16
  millrace worker --queue reports=2 --queue mail=8
  millrace worker --keep 30d --keep failed=90d
  millrace worker --home shop`,
		RunE: func(c *cobra.Command, args []string) error { return a.worker(c.Context(), args, f) },
	}
	c.Flags().StringVar(&f.home, "home", "", "serve the commands of runs that were started with --home `NAME`")
	c.Flags().IntVar(&f.slots, "slots", slotsPerCPU*runtime.NumCPU(), "how many steps may run at once, `N`")
	c.Flags().StringArrayVar(&f.queues, "queue", nil, "`NAME=N`: at most so many steps of a queue at once")
	c.Flags().Var(&f.grace, "grace", "how long what runs may go on when the worker is told to leave, or a step to stop")
	c.Flags().Var(&f.keep, "keep", "remove the tenant's runs that ended longer ago: `[STATUS=]AGE`, such as 30d or failed=90d (default: keep all)")
	f.secrets.Add(c)
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "tell neither what is served nor how steps and runs end")
	return c
}

func (a *app) worker(ctx context.Context, places []string, f workerFlags) error {
	folders, err := f.folders(places)
	if err != nil {
		return err
	}
	secrets, err := f.secrets.Find(os.LookupEnv)
	if err != nil {
		return err
	}
	queues, err := f.limits()
	if err != nil {
		return err
	}
	st, db, err := a.create(ctx, arguments.Duration(longestBusy), false)
	if err != nil {
		return err
	}
	w := &worker{app: a, flags: f, st: &patient.Store{Store: st}, db: db, log: &execute.Log{Files: db.logs()}}
	return errors.Join(w.run(ctx, folders, queues, secrets), st.Close())
}

// folders gives the folder of each home that is served.
func (f workerFlags) folders(places []string) (map[string]string, error) {
	if len(places) == 0 {
		places = []string{"."}
	}
	out := map[string]string{}
	for _, place := range places {
		folder, err := realPath(place)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(folder); err == nil && !info.IsDir() {
			if _, err := readWorkflow(place); err != nil {
				return nil, err
			}
			folder = filepath.Dir(folder)
		}
		home := f.home
		if home == "" {
			if home, err = homeAt(folder); err != nil {
				return nil, err
			}
		}
		if was, taken := out[home]; taken && was != folder {
			return nil, usage("start a worker for each", "--home %s is one folder, and %s and %s are two", home, was, folder)
		}
		out[home] = folder
	}
	return out, checkHome(f.home)
}

// checkHome refuses names that could be taken for a place.
func checkHome(home string) error {
	if strings.ContainsAny(home, ":/ \t\n") {
		return usage("write letters, digits, hyphens", "--home %q is no name", home)
	}
	return nil
}

// limits reads the limits of queues.
func (f workerFlags) limits() (map[string]int, error) {
	if f.slots < 1 || f.slots > 100_000 {
		return nil, usage("write a number from 1 to 100000", "--slots %d is out of range", f.slots)
	}
	out := map[string]int{}
	for _, text := range f.queues {
		name, number, found := strings.Cut(text, "=")
		n, err := strconv.Atoi(number)
		if !found || name == "" || err != nil || n < 1 {
			return nil, usage("write --queue NAME=N, N being 1 or more", "--queue %q is no limit", text)
		}
		out[name] = n
	}
	return out, nil
}

// worker is a process that serves runs. It hears of what it did as the engine's observer.
type worker struct {
	*app
	flags workerFlags
	st    *patient.Store
	db    database
	log   *execute.Log
	mu    sync.Mutex // guards writing to standard error
}

func (w *worker) run(
	ctx context.Context, folders map[string]string, queues map[string]int, secrets func(string) (string, bool),
) error {
	w.sweepAll(ctx)
	caller := httpcall.New(httpcall.Config{})
	defer caller.Close()
	handlers := map[string]engine.Handler{machine.HTTPHandler: &execute.Calls{Caller: caller, Log: w.log}}
	for home, folder := range folders {
		handlers[machine.CommandHandler(home)] = &execute.Commands{
			Folder: folder, Scratch: w.db.scratch, Grace: time.Duration(w.flags.grace), Log: w.log,
		}
	}
	var retention *engine.Retention
	if keep := w.flags.keep.Keep(); len(keep) > 0 {
		retention = &engine.Retention{Tenant: w.tenant, Keep: keep, Pruned: w.pruned}
	}
	eng, err := engine.New(w.st, engine.Config{
		Retention: retention,
		Handlers:  handlers, Slots: w.flags.slots, Queues: queues, Grace: time.Duration(w.flags.grace), Flush: flush,
		Logger: quiet(), Observer: w, Secrets: secrets,
	})
	if err != nil {
		return err
	}
	w.driving.Store(true)
	defer w.driving.Store(false)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- eng.Run(ctx) }()
	if !w.flags.quiet {
		w.greet(folders, eng.Owner())
	}
	if left, err := w.serve(ended); left {
		return err
	}
	w.tell("draining: what runs has %s to end; Ctrl-C again leaves at once", time.Duration(w.flags.grace))
	stop()
	select {
	case err := <-ended:
		return w.left(err)
	case <-w.interrupts:
		w.tell("left at once; what ran is taken up by another worker")
		return exit(statusInterrupted)
	}
}

// left tells how the worker left: what ended meanwhile and could not be stored is a failure. When the store has only not heard that
// it left, others see that by its silence.
func (w *worker) left(err error) error {
	if err == nil {
		w.tell("left; nothing is lost")
		return nil
	}
	if s, ok := errors.AsType[*store.StoreError](err); ok {
		w.tell("left; nothing is lost, but the database could not be told: %v", s)
		return nil
	}
	return &failure{
		status: statusStore, code: "store", message: "left: " + err.Error(),
		hint: "their runs are kept as far as they came: when the leases have ended, another worker does again what was not stored",
	}
}

// troubleAfter is how long the database may be away before a worker speaks of it.
const troubleAfter = 2 * time.Second

// serve waits until the worker is told to leave, and tells when the database cannot be used, and when it can again. Left says
// that the engine has ended by itself.
func (w *worker) serve(ended <-chan error) (left bool, err error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	told := false
	for {
		select {
		case err := <-ended:
			return true, err
		case <-w.interrupts:
			return false, nil
		case <-tick.C:
		}
		if text := w.db.ears.complaint(); text != "" {
			w.tell("%s", text)
		}
		trouble := w.st.Trouble()
		switch {
		case trouble.Err == nil && told:
			w.tell("%s", patient.Again)
			told = false
		case trouble.Err != nil && !told && time.Since(trouble.Since) >= troubleAfter:
			w.tell("%s", patient.Note(trouble.Err))
			told = true
		}
	}
}

// greet says what is served.
func (w *worker) greet(folders map[string]string, owner string) {
	w.tell("worker %s serves the database %s with %s", owner, w.db.place(), screen.Plural(w.flags.slots, "slot"))
	for _, home := range slices.Sorted(maps.Keys(folders)) {
		if namedHome(home) {
			w.tell("  commands of runs started with --home %s, in %s", home, folders[home])
			continue
		}
		w.tell("  commands of workflows in %s", folders[home])
	}
	w.tell("  http steps of all runs")
	for _, limit := range w.flags.queues {
		w.tell("  queue %s at once", strings.Replace(limit, "=", ": ", 1))
	}
	w.tell("  waits, retries and timers of all runs; stop it with Ctrl-C or SIGTERM")
}

func (w *worker) tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.say(format, args...)
}

// Claimed is no news.
func (w *worker) Claimed(*engine.Attempt) {}

// Answered tells of attempts that failed.
func (w *worker) Answered(a *engine.Attempt, ev machine.Event) {
	if w.flags.quiet || ev.Kind != machine.TaskFailed {
		return
	}
	text := fmt.Sprintf("run %s of %s: %s: attempt %d failed", screen.Ending(a.ID), a.Workflow, a.Path, a.Number)
	if e := millrace.ErrorOf(ev.Payload); e != nil {
		text += ": " + screen.Cut(screen.Clean(e.Error()), 300)
	}
	w.tell("%s", text)
}

// Settled tells of runs that ended, and removes what their steps left.
func (w *worker) Settled(run *machine.Run) {
	if !run.Status.Ended() {
		return
	}
	w.log.Files.Forget(run.ID)
	if !w.flags.quiet {
		text := fmt.Sprintf("run %s of %s: %s", screen.Ending(run.ID), run.Workflow, run.Status)
		if run.StartedAt != 0 && run.FinishedAt != 0 {
			text += " after " + screen.Span(run.FinishedAt.Std().Sub(run.StartedAt.Std()))
		}
		w.tell("%s", text)
	}
	if err := command.RemoveScratch(w.db.scratch(run.ID)); err != nil {
		w.tell("%v", err)
	}
}

// sweepAll removes what the steps of ended runs have left: the process that saw them end may have died then.
func (w *worker) sweepAll(ctx context.Context) {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	entries, err := os.ReadDir(filepath.Dir(w.db.scratch("x")))
	if err != nil { // there is none
		return
	}
	for _, e := range entries {
		state, err := w.st.State(ctx, w.tenant, e.Name(), nil, nil)
		if err != nil || !state.Run.Status.Ended() {
			continue
		}
		if err := command.RemoveScratch(w.db.scratch(e.Name())); err != nil {
			w.tell("%v", err)
		}
	}
}
