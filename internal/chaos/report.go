package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/machine"
)

// going are the statuses of runs that have not ended.
var going = []machine.Status{machine.Pending, machine.Running, machine.Paused, machine.Parked, machine.Stopping, machine.Compensating}

// Report is what was played, in figures, and everything that is wrong with it.
type Report struct {
	Seed       uint64
	Faults     map[string]int // that befell, by kind
	Runs       int
	Ended      map[machine.Status]int
	Steps      int // tasks that succeeded
	Attempts   int // outcomes of all kinds
	Lost       int // leases that were declared lost
	Late       int // outcomes that came too late
	Released   int // attempts that were given back
	Again      int // handlers that succeeded for a task that one had succeeded for before
	Redriven   int
	Stall      time.Duration // the longest time without a step that succeeded, until the first one after the chaos
	Slowest    time.Duration // the longest time until a start was accepted
	Quiet      float64       // steps a second before the chaos
	Chaos      float64       // and in it
	Took       time.Duration // from the end of the chaos until all had ended
	Calls      int           // of the store, that concern leases
	Unanswered int           // of these
	Operations int           // on single runs, that the model explains
	Wrong      []string      // everything that is wrong

	mu                            sync.Mutex
	began, broke, healed, settled time.Time
	steps                         []time.Time // when they succeeded
}

func newReport(seed uint64) *Report {
	return &Report{Seed: seed, Faults: map[string]int{}, Ended: map[machine.Status]int{}}
}

func (r *Report) wrong(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Wrong = append(r.Wrong, what)
}

func (r *Report) struck(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Faults[kind]++
}

// measure computes what follows from the times at which steps succeeded.
func (r *Report) measure() {
	slices.SortFunc(r.steps, time.Time.Compare)
	quiet, chaos := 0, 0
	last := r.began
	for _, at := range r.steps {
		r.Stall = max(r.Stall, at.Sub(last))
		if last = at; at.After(r.healed) {
			break
		}
		if at.Before(r.broke) {
			quiet++
		} else {
			chaos++
		}
	}
	rate := func(n int, d time.Duration) float64 { return float64(n) / max(d.Seconds(), 0.001) }
	r.Quiet, r.Chaos = rate(quiet, r.broke.Sub(r.began)), rate(chaos, r.healed.Sub(r.broke))
	r.Took = r.settled.Sub(r.healed)
}

// String tells the figures, a line each.
func (r *Report) String() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("seed %d: %v of quiet, %v of chaos, all ended %v later", r.Seed, round(r.broke.Sub(r.began)), round(r.healed.Sub(r.broke)), round(r.Took))
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		say("  %4d  %s", r.Faults[kind], kind)
		total += r.Faults[kind]
	}
	say("  %4d  faults in all", total)
	say("runs %d %v, steps %d, attempts %d", r.Runs, r.Ended, r.Steps, r.Attempts)
	say("leases lost %d, attempts released %d, outcomes late %d, redriven %d, work done again %d", r.Lost, r.Released, r.Late, r.Redriven, r.Again)
	say("steps a second: %.1f in the quiet, %.1f in the chaos; the longest stall %v; the slowest start %v", r.Quiet, r.Chaos, round(r.Stall), round(r.Slowest))
	say("histories: %d calls, %d without an answer, %d operations explained", r.Calls, r.Unanswered, r.Operations)
	return b.String()
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
