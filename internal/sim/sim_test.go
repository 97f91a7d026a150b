package sim_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/sim"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite"
)

// ciSeeds is how many seeds the tests run in memory when nobody says otherwise; with the race detector, which there is nothing
// for on one goroutine, a tenth.
const ciSeeds = 2000

// patience is how long a call of a database may take: the simulated processes wait for none, and a machine that stands still for a
// while is no fault of theirs.
const patience = time.Hour

// few gives the first number, or the second where the tests have to be quick.
func few(n, quick int) int {
	if raced || testing.Short() {
		return quick
	}
	return n
}

func setting(t *testing.T, name string, byDefault int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return byDefault
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s is %q; expected a number", name, text)
	}
	return n
}

// options are those that the environment gives, as a failure prints them.
func options(t *testing.T) sim.Options {
	t.Helper()
	o := sim.Options{Steps: setting(t, "MILLRACE_SIM_STEPS", 0)}
	split := func(name string) []string {
		return strings.FieldsFunc(os.Getenv(name), func(c rune) bool { return c == ',' })
	}
	o.Without = split("MILLRACE_SIM_WITHOUT")
	for _, text := range split("MILLRACE_SIM_CUT") {
		piece, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("MILLRACE_SIM_CUT holds %q; expected numbers", text)
		}
		o.Cut = append(o.Cut, piece)
	}
	return o
}

// tally gathers what the seeds came to.
type tally struct {
	mu           sync.Mutex
	marks        map[string]int // seeds that reached a situation
	runs, judged int
}

func (c *tally) add(r sim.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range r.Marks {
		c.marks[name]++
	}
	c.runs += r.Runs
	c.judged += r.Judged
}

// A1, A2, A3, A6, A7, A11, F1, F2, F5, F13, O1: whatever befalls engines, store and workers, the invariants hold after every
// step, every run ends, its journal replays to what is stored, and it ends as the oracle says. MILLRACE_SIM_SEEDS and
// MILLRACE_SIM_FROM choose the seeds.
func TestSeedsHoldTheInvariants(t *testing.T) {
	t.Parallel()
	n, from := setting(t, "MILLRACE_SIM_SEEDS", few(ciSeeds, ciSeeds/10)), setting(t, "MILLRACE_SIM_FROM", 0)
	chosen := options(t)
	sum := &tally{marks: map[string]int{}}
	t.Run("seeds", func(t *testing.T) {
		const shards = 20
		for shard := range shards {
			t.Run(strconv.Itoa(shard), func(t *testing.T) {
				t.Parallel()
				for seed := from + shard; seed < from+n; seed += shards {
					r := sim.Run(t.Context(), uint64(seed), chosen)
					sum.add(r)
					if len(r.Faults) > 0 {
						o, small := sim.Shrink(t.Context(), uint64(seed), chosen)
						t.Errorf("seed %d: go test ./internal/sim -run Seeds, with MILLRACE_SIM_FROM=%d MILLRACE_SIM_SEEDS=1\n%s\n"+
							"smaller with %s\n%s", seed, seed, strings.Join(r.Faults, "\n"), o, small)
						return
					}
				}
			})
		}
	})
	t.Logf("%d runs, of which the oracle judged %d", sum.runs, sum.judged)
	if n < ciSeeds {
		return
	}
	if sum.judged < sum.runs/2 {
		t.Errorf("the oracle is silent too often: it judged %d of %d runs", sum.judged, sum.runs)
	}
	for _, name := range sim.Situations() {
		if sum.marks[name] == 0 {
			t.Errorf("no seed reached: %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sum.marks)) {
		t.Logf("%4d seeds reached: %s", sum.marks[name], name)
		if !slices.Contains(sim.Situations(), name) {
			t.Errorf("not listed among the situations: %s", name)
		}
	}
}

// The same on SQLite, with processes on two handles and fewer seeds: MILLRACE_SIM_SQLITE says how many.
func TestSeedsHoldTheInvariantsOnSQLite(t *testing.T) {
	t.Parallel()
	chosen := options(t)
	seedsOf(t, "MILLRACE_SIM_SQLITE", few(20, 2), func(t *testing.T) func(seed uint64) sim.Report {
		t.Helper()
		return func(seed uint64) sim.Report {
			path := filepath.Join(t.TempDir(), strconv.FormatUint(seed, 10)+".db")
			o := chosen
			o.Handles = 2
			o.Open = func(now func() machine.Time) (store.Store, error) {
				return sqlite.Open(t.Context(), path, sqlite.Options{Clock: now, BusyTimeout: patience, CallTimeout: patience})
			}
			return sim.Run(t.Context(), seed, o)
		}
	})
}

// seedsOf runs as many seeds as a variable says, by default n, in two tests side by side, each on ground of its own.
func seedsOf(t *testing.T, variable string, n int, ground func(t *testing.T) func(seed uint64) sim.Report) {
	t.Helper()
	const shards = 2
	n, from := setting(t, variable, n), setting(t, "MILLRACE_SIM_FROM", 0)
	for shard := range min(shards, n) {
		t.Run(strconv.Itoa(shard), func(t *testing.T) {
			t.Parallel()
			run := ground(t)
			for seed := from + shard; seed < from+n; seed += shards {
				if r := run(uint64(seed)); len(r.Faults) > 0 {
					t.Errorf("again with MILLRACE_SIM_FROM=%d %s=1: %s", seed, variable, r)
				}
			}
		})
	}
}

// F12
func TestEqualSeedsGiveEqualTraces(t *testing.T) {
	t.Parallel()
	hashes := map[string]uint64{}
	for seed := range uint64(12) {
		a, b := sim.Run(t.Context(), seed, sim.Options{}), sim.Run(t.Context(), seed, sim.Options{})
		if a.Hash != b.Hash || a.Steps != b.Steps || fmt.Sprint(a.Marks) != fmt.Sprint(b.Marks) {
			t.Errorf("seed %d: two executions differ", seed)
		}
		if other, taken := hashes[a.Hash]; taken {
			t.Errorf("seeds %d and %d give the same trace", other, seed)
		}
		hashes[a.Hash] = seed
	}
}

func TestAFailureShrinks(t *testing.T) {
	t.Parallel()
	o := sim.Options{Mutant: "timer early"}
	for seed := range uint64(50) {
		whole := sim.Run(t.Context(), seed, o)
		if len(whole.Faults) == 0 {
			continue
		}
		less, small := sim.Shrink(t.Context(), seed, o)
		again := sim.Run(t.Context(), seed, less)
		switch {
		case len(small.Faults) == 0, again.Hash != small.Hash:
			t.Errorf("seed %d: %v does not repeat the failure", seed, less)
		case len(small.Story) >= len(whole.Story) || small.Steps > whole.Steps:
			t.Errorf("seed %d: %v is no smaller", seed, less)
		}
		return
	}
	t.Error("no seed fails")
}

func TestEveryPlantedFaultOfTheStoreIsFound(t *testing.T) {
	t.Parallel()
	for _, name := range sim.Mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found(t, 300, func(seed uint64, planted bool) sim.Report {
				o := sim.Options{}
				if planted {
					o.Mutant = name
				}
				return sim.Run(t.Context(), seed, o)
			})
		})
	}
}

// found fails the test unless one of the first n seeds finds a fault with the planted one, and none without it.
func found(t *testing.T, n uint64, run func(seed uint64, planted bool) sim.Report) {
	t.Helper()
	for seed := range n {
		if r := run(seed, true); len(r.Faults) > 0 && len(run(seed, false).Faults) == 0 {
			t.Logf("seed %d: %.300s", seed, r.Faults[0])
			return
		}
	}
	t.Errorf("%d seeds do not find it", n)
}
