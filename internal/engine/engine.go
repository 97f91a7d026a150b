// Package engine holds the loops: it claims tasks, has handlers execute them, and settles what became of them.
//
// Nouns: an [Engine] is one process at one store; a [Handler] executes the [Attempt]s of the tasks that carry its name and
// gives an [Outcome]; a fact is something that a run must be told (an outcome, a timer, a message, a loss); a flight is what
// the engine keeps of one run in memory: its cached state and the facts that wait for it.
//
// Each loop is a function that does one step and returns: ClaimOnce, SettleOnce, RenewOnce, ControlOnce, TimeoutOnce,
// SweepOnce, FireOnce, DeliverOnce, BeatOnce, PruneOnce. Run drives them from goroutines; a simulation calls them from one, with a
// [Launcher], a clock and a seed of its own, and sees the same order each time. What happens next in a run is decided by
// machine.Apply alone. No transaction and no lock is held while a handler runs.
//
// It imports store, machine, workflow, expr and internal/clock. The rules are those of docs/store.md.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/internal/clock"
	"github.com/millrace-go/millrace/internal/engine/internal/claims"
	"github.com/millrace-go/millrace/internal/engine/internal/crew"
	"github.com/millrace-go/millrace/internal/engine/internal/pace"
	"github.com/millrace-go/millrace/internal/engine/internal/rounds"
	"github.com/millrace-go/millrace/internal/engine/internal/secrets"
	"github.com/millrace-go/millrace/internal/engine/internal/shelf"
	"github.com/millrace-go/millrace/internal/engine/internal/supply"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Engine is one process at one store. It is safe for concurrent use. It does nothing before Run, or before one of its
// one-step functions is called.
type Engine struct {
	st      store.Store
	cfg     Config
	clock   clock.Clock
	log     *slog.Logger
	defs    shelf.Shelf
	secrets secrets.Secrets
	host    string
	serve   []string     // names of the handlers, sorted
	offset  atomic.Int64 // the store's time less ours, a time.Duration

	mu       sync.Mutex // guards what follows; never held during a call of the store or of a handler
	random   *rand.Rand
	phase    phase
	held     map[taskKey]*Attempt
	flights  map[runKey]*flight
	queue    []*flight // flights with facts, first come first served
	guests   []*flight // the same, of tenants of whom nothing was being settled
	aboard   supply.Aboard
	gathers  pace.Gathering
	later    []*flight // flights that must wait before they are tried again
	slots    *supply.Slots
	lanes    *supply.Lanes
	lists    lists
	overdue  int           // attempts that were settled while their handlers still run
	steady   rounds.Steady // only who has polled without a gap for a while declares losses
	nextDue  machine.Time
	pruned   string          // where the walk over runs that may go has come to; "": a new one begins
	faults   map[string]bool // operations that failed when last tried: a fault is logged once
	claiming bool            // a claim is in flight
	reading  bool            // lanes are being read
	serving  context.Context //nolint:containedctx // of the first claim: what is handed over to this process descends from it; nil: it claims nothing
	tokens   claims.Tokens

	signals signals
}

// phase is how far the engine is with its shutdown.
type phase int

const (
	working  phase = iota
	draining       // no new claims
	leaving        // attempts are interrupted
)

type runKey struct{ tenant, id string }

type taskKey struct{ run, path string }

// New gives an engine at st, which stays the caller's to close. The error lists everything that is wrong with c.
func New(st store.Store, c Config) (*Engine, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return build(st, c.withDefaults()), nil
}

// Idle gives an engine that only tells runs what people ask of them: of faults they hear in the answer.
func Idle(st store.Store) *Engine {
	c := Config{Logger: slog.New(slog.DiscardHandler)}
	return build(st, c.withDefaults())
}

// build makes an engine of a configuration that is valid and complete.
func build(st store.Store, c Config) *Engine {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	e := &Engine{
		st: st, cfg: c, clock: c.Clock, log: c.Logger, host: host,
		held: map[taskKey]*Attempt{}, flights: map[runKey]*flight{}, faults: map[string]bool{},
		signals: newSignals(), secrets: secrets.Secrets{Find: c.Secrets},
	}
	e.random = rand.New(rand.NewPCG(c.Seed, 0x6d696c6c72616365)) //nolint:gosec // tokens need be distinct, not secret
	if c.Owner == "" {
		e.cfg.Owner = fmt.Sprintf("%s-%d-%08x", host, os.Getpid(), e.random.Uint32())
	}
	for name := range c.Handlers {
		e.serve = append(e.serve, name)
	}
	slices.Sort(e.serve)
	e.lists.expired.Least, e.lists.timers.Least, e.lists.messages.Least = atOnce, atOnce, atOnce
	e.aboard = supply.Aboard{Settlers: c.Settlers}
	e.gathers = pace.Gathering{Full: c.Batch, Settlers: c.Settlers}
	e.slots = supply.NewSlots(c.Slots, c.Queues)
	e.lanes = supply.NewLanes(func(handler string) bool { return c.Handlers[handler] != nil }, e.slots.Limited)
	e.steady = rounds.NewSteady(e.clock.Now())
	if e.cfg.Launcher == nil {
		e.cfg.Launcher = goroutines{crew.New()}
	}
	return e
}

// Owner gives the name under which this engine holds tasks.
func (e *Engine) Owner() string { return e.cfg.Owner }

// Holding gives the number of attempts that are held here, those included whose outcome waits to be settled.
func (e *Engine) Holding() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.held)
}

// Overdue gives the number of attempts that were settled while their handlers still run: handlers that ignore their context.
func (e *Engine) Overdue() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.overdue
}

// token gives a random token, from 1. The caller holds e.mu.
func (e *Engine) token() int64 { return e.random.Int64N(1<<62) + 1 }

// now estimates the store's time.
func (e *Engine) now() machine.Time { return machine.TimeOf(e.clock.Now().Add(e.ahead())) }

// ahead is how far the store's time is ahead of ours.
func (e *Engine) ahead() time.Duration { return time.Duration(e.offset.Load()) }

// heard refreshes the offset from an answer that carried the store's time and was asked for at asked.
func (e *Engine) heard(at machine.Time, asked time.Time) {
	if at == 0 {
		return
	}
	now := e.clock.Now()
	e.offset.Store(int64(at.Std().Sub(asked.Add(now.Sub(asked) / 2))))
}

// call gives the context of one call of the store: every one has a deadline.
func (e *Engine) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, e.cfg.CallTimeout)
}

// fault notes how an operation went, logs the first failure of a series and its end, and gives err with the operation's name.
// That something does not exist, or that the caller gave up, is no fault of the store.
func (e *Engine) fault(op string, err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", op, err)
	}
	e.mu.Lock()
	was := e.faults[op]
	e.faults[op] = err != nil
	e.mu.Unlock()
	if err == nil {
		if was {
			e.log.Info("the store answers again", "op", op)
		}
		return nil
	}
	if !was {
		e.log.Warn("the store did not answer", "op", op, "error", err)
	}
	return fmt.Errorf("%s: %w", op, err)
}
