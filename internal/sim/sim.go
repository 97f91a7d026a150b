// Package sim runs whole fleets on one goroutine under one seed: engines that claim, settle, sweep and crash at a store that
// fails, a clock that is moved by hand, and workers that are late, hang, or answer twice.
//
// Nouns: a [Report] tells what one seed came to; a plan is a workflow drawn at random; a process is an engine at its own line
// to the store; a job is an attempt that a process was given to execute; the witness is a store that sees every commit, whether
// or not its answer arrives; a mark is a situation worth reaching. The same seed gives the same trace, byte for byte.
//
// After every step the invariants of ARCHITECTURE.md are asked of the runs that changed; when a run has ended its journal is
// replayed, and an oracle that knows nothing of the machine says from the plan and the outcomes how it had to end.
//
// It imports internal/engine, internal/clock, store/memory, store/faulty and what lies below them.
package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

const defaultSteps = 250

// Options says how hard to try. The zero value is what the tests use.
type Options struct {
	Steps int // steps before the faults cease; default 250
	// Keep, when set, is given each run that was judged: its definition, header, journal and stored state, whole.
	Keep func(def *workflow.Definition, h machine.Header, journal []store.Entry, stored *machine.Run)
	// Open opens a handle of the store to simulate; now is its clock. nil: a new one in memory.
	Open func(now func() machine.Time) (store.Store, error)
	// Handles are opened beside the first, which the simulation looks at itself, and shared out among the processes.
	// Default: all have the first.
	Handles int
	// Strike, when set, does the handles of processes real harm between two steps, now and then: calls may fail after it, and
	// those that fail have done nothing.
	Strike  func()
	Without []string // kinds of disturbances to leave out: orders, mischief, events
	Cut     []int    // pieces to cut from the workflows
	Mutant  string   // a planted fault of the store, one of Mutants; "": none
}

// Report is what one seed came to.
type Report struct {
	Seed   uint64
	Steps  int            // taken in all
	Runs   int            // started
	Judged int            // runs of which the oracle could say how they had to end
	Hash   string         // of the trace and of all journals: equal for equal seeds
	Pieces int            // that can be cut
	Marks  map[string]int // situations that were reached, and how often
	Faults []string       // what was found wrong; nothing for a sound house
	Story  string         // with faults: the workflows, and the end of the trace
}

// String gives the faults and the story for people.
func (r Report) String() string {
	return fmt.Sprintf("seed %d: %s\n%s", r.Seed, strings.Join(r.Faults, "\n"), r.Story)
}

// Run simulates one seed. It uses one goroutine, and looks at no clock but its own.
func Run(ctx context.Context, seed uint64, o Options) Report {
	if o.Steps == 0 {
		o.Steps = defaultSteps
	}
	w := newWorld(ctx, seed, o)
	defer w.close()
	w.prepare()
	for w.steps < o.Steps && w.sound() {
		w.step() //nolint:contextcheck // a world has one context
	}
	w.settleDown() //nolint:contextcheck // a world has one context
	w.judge()
	return w.report()
}

func (w *world) report() Report {
	r := Report{
		Seed: w.seed, Steps: w.steps, Runs: len(w.order), Judged: w.judged, Hash: w.trace.sum(), Pieces: w.pieces, Marks: w.marks, Faults: w.faults,
	}
	if len(w.faults) > 0 {
		var b strings.Builder
		for _, p := range w.plans {
			b.WriteString(p.Text())
			b.WriteString("---\n")
		}
		b.WriteString(w.trace.tail())
		r.Story = b.String()
	}
	return r
}
