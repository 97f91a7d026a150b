package sim

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace-go/millrace/internal/clock"
	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/internal/sim/internal/plan"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
	"github.com/millrace-go/millrace/store/memory"
	"github.com/millrace-go/millrace/workflow"
)

const tenant = "t"

// world is everything of one seed.
type world struct {
	ctx    context.Context //nolint:containedctx // one simulation is one call
	seed   uint64
	option Options
	random *rand.Rand
	clock  *clock.Virtual
	store  store.Store        // which the world itself looks at
	bury   func(owner string) // has the store know that a process is no more; nil: it cannot be told
	truth  *sight
	lines  []*witness // the handles that processes have, each in its turn
	trace  *trace

	plans     []*plan.Plan
	defs      map[string]*workflow.Definition
	processes []*process
	made      int // processes so far
	ids       int // runs so far
	jobs      []*job
	echoes    []*job // that were answered, and may be answered again
	wishes    []*wish
	runs      map[string]*run
	order     []string // ids of runs as they were started
	reports   map[attempt][]engine.Outcome
	failures  map[string]int    // answers that were failures, by run and path
	told      map[string]told   // what handlers were given, by run and path
	keys      map[string]string // the task of each idempotency key

	steps      int
	pieces     int  // of the plans, that can be cut
	depth      int  // of steps within calls
	calm       bool // faults have ceased
	marks      map[string]int
	faults     []string
	judged     int
	inputsMade int // that people gave
	undoings   int // runs whose undoing was compared
}

// attempt names a try of a task.
type attempt struct {
	run, path string
	number    int
	token     int64
}

// wish is a start that somebody wants, and repeats until it was confirmed.
type wish struct {
	request engine.StartRequest
	done    bool
}

// process is an engine at its own line to the store.
type process struct {
	name    string
	engine  *engine.Engine
	line    *line
	clock   *local
	down    time.Time // the store cannot be reached until then
	flaky   int       // calls in a thousand that go wrong
	stalled time.Time // it makes no step until then
	leaving bool
	dead    bool
}

// local is a process's clock: off by a skew. To sleep on it moves the time, since nobody else can.
type local struct {
	*clock.Virtual
	skew time.Duration
}

// Now gives the time as the process sees it.
func (l *local) Now() time.Time { return l.Virtual.Now().Add(l.skew) }

// NewTimer gives a timer that has fired.
func (l *local) NewTimer(d time.Duration) *clock.Timer {
	t := l.Virtual.NewTimer(d)
	l.Advance(d)
	return t
}

func newWorld(ctx context.Context, seed uint64, o Options) *world {
	w := &world{
		ctx: ctx, seed: seed, option: o, random: rand.New(rand.NewPCG(seed, 0x73696d)), //nolint:gosec // a simulation
		clock: clock.NewVirtual(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)), trace: newTrace(),
		defs: map[string]*workflow.Definition{}, runs: map[string]*run{}, reports: map[attempt][]engine.Outcome{},
		failures: map[string]int{}, told: map[string]told{}, keys: map[string]string{}, marks: map[string]int{},
	}
	w.truth = &sight{world: w, expired: map[attempt]bool{}}
	if o.Open == nil {
		m := memory.New(w.now)
		w.store, w.bury = m, m.Bury
	} else {
		w.store = w.open()
	}
	for range o.Handles {
		w.lines = append(w.lines, w.watched(w.open()))
	}
	if len(w.lines) == 0 {
		w.lines = append(w.lines, w.watched(w.store))
	}
	return w
}

// watched gives a handle through which the witness sees every call, with the planted fault.
func (w *world) watched(s store.Store) *witness {
	return &witness{Store: mutate(w.option.Mutant, s), sight: w.truth}
}

// open opens a handle of the store that the options name.
func (w *world) open() store.Store {
	s, err := w.option.Open(w.now)
	if err != nil {
		panic(err) // there is no world without a store
	}
	return s
}

func (w *world) close() {
	for _, l := range w.lines {
		_ = l.Close()
	}
	_ = w.store.Close()
}

// sound says whether nothing was found wrong so far.
func (w *world) sound() bool { return len(w.faults) == 0 }

func (w *world) fault(format string, args ...any) {
	if len(w.faults) < 10 {
		w.faults = append(w.faults, fmt.Sprintf(format, args...))
	}
}

func (w *world) mark(name string) { w.marks[name]++ }

// one says yes once in n.
func (w *world) one(n int) bool { return w.random.IntN(n) == 0 }

func (w *world) say(format string, args ...any) {
	w.trace.add(fmt.Sprintf("%4d %s %*s", w.steps, w.clock.Now().Format("15:04:05.000000"), 2*w.depth, "") + fmt.Sprintf(format, args...))
}

func (w *world) now() machine.Time { return machine.TimeOf(w.clock.Now()) }

// prepare draws the workflows, registers them, and starts the first processes.
func (w *world) prepare() {
	for i := range 1 + w.random.IntN(2) {
		p := plan.Draw(w.random, fmt.Sprintf("w%d", i+1))
		w.pieces = p.Cut(w.pieces, func(piece int) bool { return slices.Contains(w.option.Cut, piece) })
		def, err := workflow.Read(p.Name, []byte(p.Text()))
		if err != nil {
			w.fault(notAWorkflow+": %v\n%s", err, p.Text())
			return
		}
		w.plans, w.defs[p.Name] = append(w.plans, p), def
		doc := store.Workflow{Tenant: tenant, Name: p.Name, Version: 1, Hash: def.Hash(), Doc: def.Canonical()}
		if _, _, err := w.store.Register(w.ctx, doc); err != nil {
			w.fault("register: %v", err)
		}
	}
	for range 1 + w.random.IntN(4) {
		w.wish()
	}
	for range 2 + w.random.IntN(2) {
		w.spawn()
	}
}

// spawn starts a process.
func (w *world) spawn() *process {
	w.made++
	p := &process{name: fmt.Sprintf("p%d", w.made), clock: &local{Virtual: w.clock}}
	switch w.random.IntN(6) {
	case 0:
		p.clock.skew = time.Hour
	case 1:
		p.clock.skew = -3 * time.Second
	case 2:
		p.clock.skew = 400 * time.Millisecond
	}
	p.flaky = []int{0, 0, 10, 60}[w.random.IntN(4)]
	p.line = &line{Store: faulty.New(w.lines[w.made%len(w.lines)], func(op string, _ int) faulty.Fault { return w.plan(p, op) }), world: w, process: p, unsure: map[string]bool{}, tokens: map[int64]bool{}}
	c := engine.Config{
		Owner: p.name, Handlers: map[string]engine.Handler{"work": nobody{}, "fails": nobody{}, "undo": nobody{}}, Slots: 1 + w.random.IntN(8), CallTimeout: 24 * time.Hour,
		Clock: p.clock, Launcher: launcher{w, p}, Logger: slog.New(slog.DiscardHandler), Seed: w.random.Uint64() | 1,
		NewID: w.newID, Batch: 1 + w.random.IntN(4),
	}
	if w.one(3) {
		c.Queues = map[string]int{"other": 1}
	}
	e, err := engine.New(p.line, c)
	if err != nil {
		w.fault("engine: %v", err)
	}
	p.engine = e
	w.processes = append(w.processes, p)
	w.say("%s begins", p.name)
	w.within(p, func() { _ = e.BeatOnce(w.ctx) })
	return p
}

func (w *world) newID() string {
	w.ids++
	return fmt.Sprintf("00000000-0000-7000-8000-%012d", w.ids)
}

// wish wants a run of some workflow.
func (w *world) wish() {
	p := w.plans[w.random.IntN(len(w.plans))]
	r := engine.StartRequest{
		Tenant: tenant, Workflow: p.Name, Version: 1, Key: fmt.Sprintf("k%d", len(w.wishes)), Input: []byte(`{"size": 3}`),
	}
	switch w.random.IntN(8) {
	case 0:
		r.Delay = time.Duration(1+w.random.IntN(40)) * time.Second
		w.mark("a start was put off")
	case 1:
		r.Priority, r.Queue = w.random.IntN(7)-3, "aside"
	}
	w.wishes = append(w.wishes, &wish{request: r})
}

// start asks for the run of a wish.
func (w *world) start(p *process, x *wish) {
	w.say("%s starts %s", p.name, x.request.Key)
	w.within(p, func() {
		got, err := p.engine.Start(w.ctx, []engine.StartRequest{x.request})
		switch {
		case err != nil:
			w.say("%s: %v", p.name, err)
		case got[0].Err != nil:
			w.fault("start of %s: %v", x.request.Key, got[0].Err)
		default:
			if !got[0].Created {
				w.mark("a start was repeated")
			}
			x.done = true
		}
	})
}

// within does something as a process, which may crash on the way.
func (w *world) within(p *process, f func()) {
	defer func() {
		if x := recover(); x != nil && x != any(crash{p}) {
			panic(x)
		}
	}()
	if p.dead {
		return
	}
	f()
}

// crash is what unwinds the calls of a process that is no more.
type crash struct{ process *process }
