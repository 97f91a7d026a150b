package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/orders"
	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// beginFlags are what a run is begun with.
type beginFlags struct {
	input  arguments.Input
	vars   arguments.Vars
	labels arguments.Labels
	key    string
	from   string
}

func (f *beginFlags) add(c *cobra.Command) {
	f.input.Add(c)
	f.vars.Add(c)
	f.labels.Add(c, "a label of the run, `NAME=VALUE`, beside those of the workflow")
	c.Flags().StringVar(&f.key, "key", "", "the run's own identity, `KEY`: the same key never starts the same work twice")
	c.Flags().StringVar(&f.from, "from", "", "begin with this `STEP`, with the input; what leads to it is passed over")
}

// request gives what starts a run of def; version 0 is the newest.
func (f *beginFlags) request(a *app, def *workflow.Definition, version int, home string) (engine.StartRequest, error) {
	r := engine.StartRequest{
		Tenant: a.tenant, Workflow: def.Name, Version: version, Key: f.key, Home: home, From: f.from,
	}
	var err error
	if r.Input, err = f.input.Build(def, a.in); err != nil {
		return r, err
	}
	if _, err = def.ValidateInput(r.Input); err != nil {
		return r, err
	}
	if r.Vars, err = f.vars.Build(def, os.LookupEnv); err != nil {
		return r, err
	}
	r.Labels, err = f.labels.Build()
	return r, err
}

// startFlags are how a run is started for the workers.
type startFlags struct {
	watchFlags
	beginFlags
	home     string
	at       string
	delay    arguments.Duration
	queue    string
	priority int
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
	f.beginFlags.add(c)
	c.Flags().StringVar(&f.at, "at", "", "begin at this `TIME` (RFC 3339), not before")
	c.Flags().Var(&f.delay, "delay", "begin so much later")
	c.Flags().StringVar(&f.queue, "queue", "", "the `QUEUE` of the steps that name none")
	c.Flags().IntVar(&f.priority, "priority", 0, "added to the priority of each step; a point is worth two seconds of waiting")
	c.Flags().StringVar(&f.home, "home", "", "the `NAME` of the workers that serve its commands (worker --home)")
	c.Flags().BoolVar(&f.wait, "wait", false, "watch the run until it has ended, and tell how")
	c.Flags().Var(&f.timeout, "timeout", "with --wait: leave after so long, with status 124")
	c.Flags().BoolVar(&f.all, "all-steps", false, "with --wait and --json: all steps, not only the first 200")
	return c
}

func (a *app) startFor(ctx context.Context, what string, f startFlags) error {
	if f.timeout > 0 && !f.wait {
		return usage("add --wait, or leave --timeout out", "--timeout bounds --wait, which was not asked for")
	}
	p, err := prepare(what, f)
	if err != nil {
		return err
	}
	st, db, err := a.create(ctx, arguments.Duration(longestBusy), false)
	if err != nil {
		return err
	}
	client := millrace.NewClient(st)
	started, err := a.startOne(ctx, client, st, p, f)
	if err == nil {
		err = a.tellStart(ctx, client, db, p, started, f)
	}
	return errors.Join(err, st.Close())
}

// planned is a run to be started.
type planned struct {
	defs []*workflow.Definition // of a file, the first of which is started; nil: a registered one
	name string
	home string
	at   time.Time
}

// prepare reads the file, if what names one.
func prepare(what string, f startFlags) (planned, error) {
	p := planned{name: what, home: f.home}
	err := checkHome(f.home)
	if err == nil {
		p.at, err = arguments.Time("--at", f.at)
	}
	if err != nil {
		return p, err
	}
	if _, err := os.Stat(what); err != nil && !looksLikeFile(what) {
		if p.home == "" {
			p.home, err = homeOfFolder(".")
			return p, err
		}
		return p, nil
	}
	if p.defs, err = readWorkflows(what); err != nil {
		return p, err
	}
	p.name = p.defs[0].Name
	if p.home == "" {
		p.home, err = homeOf(what)
	}
	return p, err
}

func (a *app) startOne(
	ctx context.Context, client *millrace.Client, st store.Store, p planned, f startFlags,
) (engine.Started, error) {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	var def *workflow.Definition
	if len(p.defs) > 0 {
		def = p.defs[0]
	} else {
		var err error
		if def, err = client.Definition(ctx, a.tenant, p.name, 0); err != nil {
			return engine.Started{}, noWorkflow(p.name, err)
		}
	}
	r, err := f.request(a, def, 0, p.home)
	if err != nil {
		return engine.Started{}, err
	}
	r.At, r.Delay, r.Queue, r.Priority = p.at, time.Duration(f.delay), f.queue, f.priority
	return a.begin(ctx, st, p.defs, r)
}

// begin registers the definitions and starts a run, of the first of them if there are any, or finds the one that the key names.
func (a *app) begin(ctx context.Context, st store.Store, defs []*workflow.Definition, r engine.StartRequest) (engine.Started, error) {
	eng, err := engine.New(st, engine.Config{Logger: quiet()})
	if err != nil {
		return engine.Started{}, err
	}
	for i, def := range defs {
		version, _, err := eng.Register(ctx, a.tenant, def)
		if err != nil {
			return engine.Started{}, err
		}
		if i == 0 {
			r.Version = version
		}
	}
	started, err := eng.Start(ctx, []engine.StartRequest{r})
	if err != nil {
		return engine.Started{}, err
	}
	return started[0], started[0].Err
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
	ctx context.Context, client *millrace.Client, db database, p planned, s engine.Started, f startFlags,
) error {
	switch {
	case f.wait && a.json:
		return a.waitFor(ctx, client, db, s.RunID, f)
	case f.wait:
		a.say("run %s of %s is started", s.RunID, p.name)
		return a.waitFor(ctx, client, db, s.RunID, f)
	case a.json:
		return a.print(map[string]any{"id": s.RunID, "created": s.Created, "workflow": p.name})
	case !s.Created:
		a.say("the run was started before under this key")
	}
	if need := orders.Need(ctx, client, a.tenant, s.RunID); need != "" {
		a.say("%s", need)
	}
	return writeText(a.out, s.RunID+"\n")
}

// waitFor watches a run to its end; with --json it prints one document, as run does.
func (a *app) waitFor(ctx context.Context, client *millrace.Client, db database, id string, f startFlags) error {
	w := f.watchFlags
	w.wait = false // it meant: watch
	return a.watchRun(ctx, client, db, id, w)
}
