package millrace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// The kinds of errors that callers branch on with errors.Is.
var (
	// ErrNotFound: there is no such workflow or run for this tenant.
	ErrNotFound = store.ErrNotFound
	// ErrConflict: a key or a version is taken by something else; errors.As with a *store.ConflictError says by what.
	ErrConflict = store.ErrConflict
	// ErrEnded: the run has ended.
	ErrEnded = store.ErrEnded
	// ErrDamaged: something that is stored of one run cannot be read, or does not fit together; Client.Repair may mend it.
	ErrDamaged = store.ErrDamaged
)

// DefaultTenant is the tenant of a program that names none.
const DefaultTenant = "default"

// Config says what an engine serves and how. The zero value is an engine that serves no tasks, but starts runs, fires timers
// and declares losses.
type Config struct {
	// Handlers execute tasks; their names must differ. The engine takes no other tasks. Default: none.
	Handlers []Handler
	// Tenant owns what this engine registers and starts. Default "default".
	Tenant string
	// Slots is how many attempts may run at once. Default 64.
	Slots int
	// Queues is how many attempts of a queue may run at once; a queue that is not named is bounded by Slots alone.
	Queues map[string]int
	// OnlyRun, when set, makes the engine serve this run and nothing else.
	OnlyRun string
	// Lease is for how long a task is held without a sign of life from its process. Default 30 s.
	Lease time.Duration
	// Grace is how long attempts may go on once Run was told to stop, and how long, with 5 s added, they may then take to heed the
	// end of their context. Default 10 s.
	Grace time.Duration
	// Secrets finds the secrets that the env and headers of steps name; it is called from many goroutines. Values are never
	// stored, and one of 4 bytes or more is masked wherever an attempt of this process says it: in outputs, errors and logs.
	// Default: none is known, and a step that names one fails.
	Secrets func(name string) (value string, ok bool)
	// MaxPayload is the most bytes that an input or an output may have. Default 1 MiB.
	MaxPayload int
	// Retention is how long runs of Tenant are kept after their end, by status; those of a status that is missing are kept for
	// ever. Run removes the others in the background, with all that is stored of them but what their keys need to stay taken.
	// Default: all are kept.
	Retention map[machine.Status]time.Duration
	// Owner is the process's name in the store, new for each process. Default: host, process and a random number.
	Owner string
	// Logger hears of faults. Default slog.Default().
	Logger *slog.Logger
	// Observer hears of what happens here. Default: nobody.
	Observer Observer
}

// Observer hears of what happens in this process, for people who watch; it cannot veto. Its methods are called without a lock, in
// no promised order between runs, and must return soon.
type Observer interface {
	// Claimed is called before the attempt's handler.
	Claimed(a *Attempt)
	// Answered gives the attempt's outcome, before it is settled.
	Answered(a *Attempt, ev machine.Event)
	// Settled is called after each settlement, with the run as it is then; the caller must not change it.
	Settled(run *machine.Run)
}

// Engine is this process at a store. It is safe for concurrent use.
type Engine struct {
	st     store.Store
	inner  *engine.Engine
	tenant string
}

// New gives an engine at st, which stays the caller's to close. It starts nothing: Run does. The error lists everything that
// is wrong with c.
func New(st store.Store, c Config) (*Engine, error) {
	handlers := make(map[string]engine.Handler, len(c.Handlers))
	var all []error
	for _, h := range c.Handlers {
		if h.name == "" || h.execute == nil {
			all = append(all, errors.New("config: Handlers has an empty one; expected what NewHandler or Commands gives"))
			continue
		}
		if handlers[h.name] != nil {
			all = append(all, fmt.Errorf("config: Handlers has %q twice; expected each name once", h.name))
		}
		handlers[h.name] = h.execute
	}
	tenant := c.Tenant
	if tenant == "" {
		tenant = DefaultTenant
	}
	inner := engine.Config{
		Handlers: handlers, Slots: c.Slots, Queues: c.Queues, Lease: c.Lease, Grace: c.Grace, MaxPayload: c.MaxPayload,
		Secrets: c.Secrets, Owner: c.Owner, Logger: c.Logger, Observer: c.Observer,
	}
	if len(c.Retention) > 0 {
		inner.Retention = &engine.Retention{Tenant: tenant, Keep: c.Retention}
	}
	if c.OnlyRun != "" {
		inner.Only = &engine.Only{Tenant: tenant, RunID: c.OnlyRun}
	}
	e, err := engine.New(st, inner)
	if err = errors.Join(append(all, err)...); err != nil {
		return nil, err
	}
	return &Engine{st: st, inner: e, tenant: tenant}, nil
}

// Run claims, executes and settles until ctx ends. Then it makes no new claims, lets attempts go on for Grace, interrupts
// them (others may take up their tasks at once, and nothing is counted), settles everything, and returns when all its
// goroutines have ended. It is called once. A program that only starts runs leaves it out.
func (e *Engine) Run(ctx context.Context) error { return e.inner.Run(ctx) }

// Register stores a definition, once for ever, and gives its version: the same content again is a no-op, other content under
// a version that is taken is ErrConflict.
func (e *Engine) Register(ctx context.Context, def *workflow.Definition) (version int, err error) {
	version, _, err = e.inner.Register(ctx, e.tenant, def)
	return version, err
}

// StartRequest asks for a new run.
type StartRequest struct {
	Workflow string
	Version  int    // 0: the newest
	Key      string // the caller's identity for the run: the same key and input give the first run whatever else is asked, another input ErrConflict
	Input    any    // what json.Marshal takes; a json.RawMessage goes as it is
	Home     string // of the workflow's file, for commands that only its folder can execute

	// Delay or At puts the beginning off: the run is pending until then. A time that is past is at once. At most one of both.
	Delay time.Duration
	At    time.Time
	// Priority is added to that of each step: a higher number is served earlier, one point as much as 2 s of waiting.
	Priority int
	// Queue is that of the steps that name none. Default "default".
	Queue string
	// Labels join those of the workflow, and win. At most 64 in all.
	Labels map[string]string
	// Vars gives values to the workflow's variables, instead of their defaults: what json.Marshal takes.
	Vars map[string]any
	// From begins at this step of the workflow itself, which gets Input: what leads up to it, and what does not follow from it,
	// is skipped. It is refused when something that follows reads the output of a step that then never runs as if it were there.
	From string
}

// StartError is why a run cannot be started as asked: a variable without a value, a step that it cannot begin at, a part of
// the format that does not run yet. It lists everything at once.
type StartError = engine.StartError

// Started says what became of a StartRequest.
type Started struct {
	RunID   string // also that of the run that holds the key already
	Created bool
	Err     error // of this request alone: also a *StartError or a *workflow.InputError
}

// Start starts a run in one transaction and gives its id and whether it is new. Nothing is executed in the caller; an engine
// that runs may take up the first task at once.
func (e *Engine) Start(ctx context.Context, r StartRequest) (Started, error) {
	all, err := e.StartMany(ctx, []StartRequest{r})
	if err != nil {
		return Started{}, err
	}
	return all[0], all[0].Err
}

// StartMany starts runs in one transaction, in order, and reports per request; a list of so many that it is too old for the store by the
// time it is made goes in several. An error means that the store did not answer: asked again with keys, it starts nothing twice.
func (e *Engine) StartMany(ctx context.Context, requests []StartRequest) ([]Started, error) {
	out := make([]Started, len(requests))
	var index []int
	var send []engine.StartRequest
	for i := range requests {
		r, err := e.request(&requests[i])
		if err != nil {
			out[i].Err = err
			continue
		}
		index, send = append(index, i), append(send, r)
	}
	got, err := e.inner.Start(ctx, send)
	if err != nil {
		return nil, err
	}
	for j, s := range got {
		out[index[j]] = Started(s)
	}
	return out, nil
}

// request writes a StartRequest with its values as JSON.
func (e *Engine) request(r *StartRequest) (engine.StartRequest, error) {
	out := engine.StartRequest{
		Tenant: e.tenant, Workflow: r.Workflow, Version: r.Version, Key: r.Key, Home: r.Home, Delay: r.Delay, At: r.At,
		Priority: r.Priority, Queue: r.Queue, Labels: r.Labels, From: r.From,
	}
	var err error
	if out.Input, err = asJSON(r.Input); err != nil {
		return out, fmt.Errorf("start %s: the input cannot be written as JSON: %w", r.Workflow, err)
	}
	for name, value := range r.Vars {
		raw, err := asJSON(value)
		if err != nil {
			return out, fmt.Errorf("start %s: the variable %s cannot be written as JSON: %w", r.Workflow, name, err)
		}
		if out.Vars == nil {
			out.Vars = map[string]json.RawMessage{}
		}
		out.Vars[name] = raw
	}
	return out, nil
}

func asJSON(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(v)
}

// Mask gives text with every secret that this engine has given to a step replaced, in all forms: for what a program shows of
// its attempts. What is stored was masked before.
func (e *Engine) Mask(text string) string { return e.inner.Mask(text) }
