package millrace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// ShowOptions say how much of a run to show.
type ShowOptions struct {
	// Steps is how many steps to show at most; 0: 200, negative: all. Outer steps come before inner ones, and among those
	// the ones under way or failed before others.
	Steps int
	// Live leaves out what the run has left behind: activations of scopes that have ended, input and output.
	Live bool
}

const (
	defaultSteps = 200
	journalPage  = 1000
	outputLimit  = 16 << 20
	readTries    = 5
)

// Show gives a run as it stands: status, steps and journal agree with each other. A run of another tenant is ErrNotFound.
func (c *Client) Show(ctx context.Context, tenant, id string, o ShowOptions) (*View, error) {
	return c.Follow(tenant, id).View(ctx, o)
}

// Follow gives a follower of a run: its views cost only what has happened since the one before.
func (c *Client) Follow(tenant, id string) *Follower {
	return &Follower{c: c, tenant: tenant, id: id, hist: newHistory()}
}

// Follower looks at one run again and again. It is not safe for concurrent use.
type Follower struct {
	c          *Client
	tenant, id string
	def        *workflow.Definition
	hist       *history
	state      store.RunState
}

// View gives the run as it stands now.
func (f *Follower) View(ctx context.Context, o ShowOptions) (*View, error) {
	live, err := f.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", f.id, err)
	}
	run := f.state.Run
	t := &tree{def: f.def, run: run, hist: f.hist, tasks: live.tasks}
	roots := t.roots(!o.Live)
	v := &View{
		ID: run.ID, Workflow: run.Workflow, Version: run.Version, Key: run.Key, Status: run.Status, Home: run.Home,
		Title: f.def.Title, Seq: run.Seq, CreatedAt: run.CreatedAt.Std(), StartedAt: moment(run.StartedAt),
		FinishedAt: moment(run.FinishedAt), Letters: live.letters, Reason: runReason(run, f.hist),
		Waiting: waits(t, &live), Labels: run.Options.Labels,
	}
	if run.Root.Run != nil && run.Root.Run.Error != nil {
		v.Error = f.runError(run.Root.Run.Error)
	}
	v.Steps, v.StepsLeft = flatten(roots, o.Steps)
	if o.Live {
		return v, nil
	}
	v.Input, v.NotUndone = f.hist.input, notUndone(roots, run)
	if run.Status == machine.Succeeded {
		if v.Output, err = f.output(ctx, run); err != nil {
			return nil, fmt.Errorf("output of run %s: %w", f.id, err)
		}
	}
	return v, nil
}

// runError adds the attempt to a run's error, from the journal.
func (f *Follower) runError(e *machine.Error) *ErrorView {
	v := errorView(e, "", 0)
	if a := f.hist.activity(v.Path); a != nil {
		v.Attempt = a.errAt
	}
	return v
}

// live is what the store holds of a run beside its documents and journal.
type live struct {
	tasks   map[string]store.Live
	timers  []store.Timer
	letters []LetterView
	pauses  []store.Pause // of the tenant's supplies, when one of them covers a task
}

// read loads until nothing has changed meanwhile, a few times at most; then what is under way may be newer than the rest.
func (f *Follower) read(ctx context.Context) (live, error) {
	var l live
	for range readTries {
		if err := f.readState(ctx); err != nil {
			return l, err
		}
		version := f.state.Version
		var err error
		if l, err = f.readLive(ctx); err != nil {
			return l, err
		}
		now, err := f.c.st.State(ctx, f.tenant, f.id, nil, nil)
		if err != nil {
			return l, err
		}
		if now.Version == version {
			break
		}
	}
	return l, nil
}

func (f *Follower) readState(ctx context.Context) error {
	if f.state.Run != nil {
		root, err := f.c.st.State(ctx, f.tenant, f.id, nil, nil)
		if err != nil {
			return err
		}
		if root.Version == f.state.Version {
			return nil
		}
	}
	state, err := f.c.st.State(ctx, f.tenant, f.id, nil, []string{""})
	if err != nil {
		return err
	}
	if f.def == nil {
		if f.def, err = f.c.defs.get(ctx, f.tenant, state.Run.Workflow, state.Run.Version); err != nil {
			return err
		}
	}
	f.state = state
	return f.readJournal(ctx, state.Run.Seq)
}

func (f *Follower) readJournal(ctx context.Context, until int64) error {
	for f.hist.seq < until {
		entries, err := f.c.st.Journal(ctx, f.tenant, f.id, f.hist.seq, int(min(until-f.hist.seq, journalPage)))
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return fmt.Errorf("the journal ends at entry %d and should have %d", f.hist.seq, until)
		}
		for _, e := range entries {
			f.hist.add(e)
		}
	}
	return nil
}

func (f *Follower) readLive(ctx context.Context) (live, error) {
	var l live
	if !f.state.Run.Status.Ended() {
		tasks, err := f.c.st.Tasks(ctx, f.tenant, f.id, nil)
		if err != nil {
			return l, err
		}
		l.tasks = make(map[string]store.Live, len(tasks))
		covered := false
		for _, task := range tasks {
			l.tasks[task.Path] = task
			covered = covered || task.Lane.Paused
		}
		if l.timers, err = f.c.st.Timers(ctx, f.tenant, f.id); err != nil {
			return l, err
		}
		if covered {
			if l.pauses, err = f.c.st.Pauses(ctx, f.tenant); err != nil {
				return l, err
			}
		}
	}
	letters, _, err := f.c.DeadLetters(ctx, store.LetterFilter{Tenant: f.tenant, RunID: f.id, State: machine.LetterOpen, Limit: defaultSteps})
	if err != nil {
		return l, err
	}
	for i := range letters {
		r := &letters[i]
		l.letters = append(l.letters, LetterView{ID: r.ID, Kind: r.Kind, Path: r.Path, Error: r.Error, CreatedAt: r.CreatedAt, Help: r.Help()})
	}
	return l, nil
}

// output assembles the run's output, loading what it consists of. One that is too large is left out.
func (f *Follower) output(ctx context.Context, run *machine.Run) (json.RawMessage, error) {
	loaded := map[machine.Ref]json.RawMessage{}
	look := func(r machine.Ref) (json.RawMessage, bool) {
		raw, ok := loaded[r]
		return raw, ok
	}
	for {
		out, err := machine.Assemble(run.Root.Run.Output, run, look, outputLimit)
		if err == nil {
			return out, nil
		}
		if e, ok := errors.AsType[*machine.Error](err); ok && e.Code == machine.CodeTooLarge {
			return nil, nil
		}
		need, ok := errors.AsType[*machine.Need](err)
		if !ok {
			return nil, err
		}
		if err := f.load(ctx, run, need, loaded); err != nil {
			return nil, err
		}
	}
}

func (f *Follower) load(ctx context.Context, run *machine.Run, need *machine.Need, into map[machine.Ref]json.RawMessage) error {
	for _, path := range need.Scopes { // all documents of the run are loaded: there is none at this path
		if err := run.Put(path, nil); err != nil {
			return err
		}
	}
	got, err := f.c.st.Payloads(ctx, run.Tenant, run.ID, need.Refs)
	if err != nil {
		return err
	}
	for _, ref := range need.Refs {
		raw, ok := got[ref]
		if !ok {
			return fmt.Errorf("payload %s is missing", ref)
		}
		into[ref] = raw
	}
	return nil
}

// definitions reads registered definitions once each.
type definitions struct {
	st   store.Definitions
	mu   sync.Mutex
	read map[definitionKey]*workflow.Definition
}

type definitionKey struct {
	tenant, name string
	version      int
}

func (d *definitions) get(ctx context.Context, tenant, name string, version int) (*workflow.Definition, error) {
	key := definitionKey{tenant, name, version}
	d.mu.Lock()
	def := d.read[key]
	d.mu.Unlock()
	if def != nil {
		return def, nil
	}
	w, err := d.st.Workflow(ctx, tenant, name, version)
	if err != nil {
		return nil, fmt.Errorf("workflow %s version %d: %w", name, version, err)
	}
	if def, err = workflow.Read(name, w.Doc); err != nil {
		return nil, fmt.Errorf("workflow %s version %d as registered: %w", name, version, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.read == nil {
		d.read = map[definitionKey]*workflow.Definition{}
	}
	d.read[key] = def
	return def, nil
}

// Definition gives a registered definition, of the newest version for 0. ErrNotFound if there is none.
func (c *Client) Definition(ctx context.Context, tenant, name string, version int) (*workflow.Definition, error) {
	if version == 0 {
		w, err := c.st.Workflow(ctx, tenant, name, 0)
		if err != nil {
			return nil, fmt.Errorf("workflow %s: %w", name, err)
		}
		version = w.Version
	}
	return c.defs.get(ctx, tenant, name, version)
}
