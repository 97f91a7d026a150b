package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// startFlags are what a run is started with.
type startFlags struct {
	watchFlags
	input arguments.Input
	key   string
	home  string
}

func (a *app) startCommand() *cobra.Command {
	var f startFlags
	const form = "usage: millrace start FILE|WORKFLOW [-i NAME=VALUE].."
	c := &cobra.Command{
		Use:   "start FILE|WORKFLOW",
		Short: "Start a run for the workers, and print its id",
		Long: `Starts a run of a file's workflow (which is checked and registered), or of a registered one, and leaves it to the
processes that serve it: "millrace worker" in the file's folder for its commands. It prints the run's id on
standard output and executes nothing.

The commands of a registered workflow run in the folder that you are in, unless --home says where.`,
		Example: `  millrace start order.yaml -i customer=17
  millrace start order --key 2024-117 --input @order.json
  millrace watch $(millrace start order.yaml)
  millrace start order.yaml --wait --timeout 10m`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(form, "name the workflow to start, or its file")
			}
			return atMost(1, form)(nil, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return a.startFor(c.Context(), args[0], f) },
	}
	f.input.Add(c)
	c.Flags().StringVar(&f.key, "key", "", "the run's own identity: the same key never starts the same work twice")
	c.Flags().StringVar(&f.home, "home", "", "the name of the workers that serve its commands: see `millrace worker --home`")
	c.Flags().BoolVar(&f.wait, "wait", false, "watch the run until it has ended, and tell how")
	c.Flags().Var(&f.timeout, "timeout", "with --wait: leave after so long, with status 124")
	c.Flags().BoolVar(&f.all, "all-steps", false, "with --wait and --json: all steps, not only the first 200")
	return c
}

func (a *app) startFor(ctx context.Context, what string, f startFlags) error {
	if f.timeout > 0 && !f.wait {
		return usage("add --wait, or leave --timeout out", "--timeout bounds --wait, which was not asked for")
	}
	r, err := a.prepare(what, f)
	if err != nil {
		return err
	}
	st, db, err := a.create(ctx, arguments.Duration(longestBusy))
	if err != nil {
		return err
	}
	client := millrace.NewClient(st)
	started, err := a.startOne(ctx, client, st, r, f)
	if err == nil {
		err = a.tellStart(ctx, client, db, r, started, f)
	}
	return errors.Join(err, st.Close())
}

// request is a run to be started.
type request struct {
	def      *workflow.Definition // of a file; nil: a registered one
	workflow string
	version  int
	home     string
}

// prepare reads the file, if what names one.
func (a *app) prepare(what string, f startFlags) (request, error) {
	r := request{workflow: what, home: f.home}
	_, err := os.Stat(what)
	file := err == nil || looksLikeFile(what)
	if errors.Is(err, fs.ErrNotExist) && !file {
		if r.home == "" {
			r.home, err = homeOfFolder(".")
			return r, err
		}
		return r, nil
	}
	if r.def, err = readWorkflow(what); err != nil {
		return r, err
	}
	r.workflow = r.def.Name
	if r.home == "" {
		r.home, err = homeOf(what)
	}
	return r, err
}

func (a *app) startOne(ctx context.Context, client *millrace.Client, st store.Store, r request, f startFlags) (millrace.Started, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	def := r.def
	if def == nil {
		var err error
		if def, err = client.Definition(ctx, a.tenant, r.workflow, 0); err != nil {
			return millrace.Started{}, noWorkflow(r.workflow, err)
		}
	}
	input, err := f.input.Build(def, a.in)
	if err != nil {
		return millrace.Started{}, err
	}
	eng, err := millrace.New(st, millrace.Config{Tenant: a.tenant, Logger: quiet()})
	if err != nil {
		return millrace.Started{}, err
	}
	if r.def != nil {
		if r.version, err = eng.Register(ctx, r.def); err != nil {
			return millrace.Started{}, err
		}
	}
	return eng.Start(ctx, millrace.StartRequest{
		Workflow: r.workflow, Version: r.version, Key: f.key, Input: input, Home: r.home,
	})
}

// noWorkflow says what to do about a workflow that is not registered.
func noWorkflow(name string, err error) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return &failure{
		status: statusRefused, code: "not_found", message: fmt.Sprintf("there is no file and no registered workflow %q", name),
		hint: "`millrace workflows` lists those that there are; `millrace register FILE` adds one",
	}
}

// tellStart prints the id, or watches.
func (a *app) tellStart(
	ctx context.Context, client *millrace.Client, db database, r request, s millrace.Started, f startFlags,
) error {
	switch {
	case f.wait && a.json:
		return a.waitFor(ctx, client, db, s.RunID, f)
	case f.wait:
		a.say("run %s of %s is started", s.RunID, r.workflow)
		return a.waitFor(ctx, client, db, s.RunID, f)
	case a.json:
		return a.print(map[string]any{"id": s.RunID, "created": s.Created, "workflow": r.workflow})
	case !s.Created:
		a.say("the run was started before under this key")
	}
	a.tellServers(ctx, client, s.RunID)
	return writeText(a.out, s.RunID+"\n")
}

// waitFor watches a run to its end; with --json it prints one document, as run does.
func (a *app) waitFor(ctx context.Context, client *millrace.Client, db database, id string, f startFlags) error {
	w := f.watchFlags
	w.wait = false // it meant: watch
	return a.watchRun(ctx, client, db, id, w)
}

// tellServers says when nobody serves what the run needs first.
func (a *app) tellServers(ctx context.Context, client *millrace.Client, id string) {
	ctx, cancel := limited(ctx)
	defer cancel()
	v, err := client.Show(ctx, a.tenant, id, millrace.ShowOptions{Live: true})
	if err != nil || len(v.Waiting) == 0 || v.Waiting[0].Needs == "" {
		return
	}
	served, err := client.Serves(ctx, v.Waiting[0].Handler)
	if err == nil && !served {
		a.say("run %s waits for %s", screen.Ending(id), v.Waiting[0].Needs)
	}
}
