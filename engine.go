package millrace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
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
	// Grace is how long attempts may go on once Run was told to stop, and how long they may then take to heed the end of
	// their context. Default 10 s.
	Grace time.Duration
	// MaxPayload is the most bytes that an input or an output may have. Default 1 MiB.
	MaxPayload int
	// Owner is the process's name in the store, new for each process. Default: host, process and a random number.
	Owner string
	// Logger hears of faults. Default slog.Default().
	Logger *slog.Logger
	// Observer hears of what happens here. Default: nobody.
	Observer Observer
}

// Observer hears of what happens in this process, for people who watch; it cannot veto. Its methods must return soon.
type Observer = engine.Observer

// Engine is this process at a store. It is safe for concurrent use.
type Engine struct {
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
		Owner: c.Owner, Logger: c.Logger, Observer: c.Observer,
	}
	if c.OnlyRun != "" {
		inner.Only = &engine.Only{Tenant: tenant, RunID: c.OnlyRun}
	}
	e, err := engine.New(st, inner)
	if err = errors.Join(append(all, err)...); err != nil {
		return nil, err
	}
	return &Engine{inner: e, tenant: tenant}, nil
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
	Key      string // the caller's identity for the run: the same key and input give the first run, another input ErrConflict
	Input    any    // what json.Marshal takes; a json.RawMessage goes as it is
	Home     string // of the workflow's file, for commands that only its folder can execute
}

// Started says what became of a StartRequest.
type Started struct {
	RunID   string // also that of the run that holds the key already
	Created bool
	Err     error // of this request alone
}

// Start starts a run in one transaction and gives its id and whether it is new. Nothing is executed in the caller.
func (e *Engine) Start(ctx context.Context, r StartRequest) (Started, error) {
	all, err := e.StartMany(ctx, []StartRequest{r})
	if err != nil {
		return Started{}, err
	}
	return all[0], all[0].Err
}

// StartMany starts runs in one transaction, in order, and reports per request. An error means that the store did not answer.
func (e *Engine) StartMany(ctx context.Context, requests []StartRequest) ([]Started, error) {
	out := make([]Started, len(requests))
	var index []int
	var send []engine.StartRequest
	for i, r := range requests {
		input, err := json.Marshal(r.Input)
		if raw, ok := r.Input.(json.RawMessage); ok {
			input, err = raw, nil
		}
		if err != nil {
			out[i].Err = fmt.Errorf("start %s: the input cannot be written as JSON: %w", r.Workflow, err)
			continue
		}
		index = append(index, i)
		send = append(send, engine.StartRequest{
			Tenant: e.tenant, Workflow: r.Workflow, Version: r.Version, Key: r.Key, Input: input, Home: r.Home,
		})
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
