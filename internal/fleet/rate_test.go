package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/machine"
)

var everyone = millrace.Supply{Kind: "tenant"}

// speed is how a fleet worked off a backlog.
type speed struct {
	rate     float64       // runs that ended in a second, between the first tenth and the last
	engines  time.Duration // processor time of the engines for each run
	database time.Duration // and of the server
}

// measure has n processes work on a backlog that they all see at the same moment.
func measure(g *ground, n, runs int) speed {
	g.t.Helper()
	var pids []int
	for range n {
		pids = append(pids, fleet.Start(g.t, g.o).PID)
	}
	g.start("chain", 200*n, fleet.Order{}) // they get to know their statements and each other
	g.ended()
	g.hold(everyone)
	backlog := map[string]bool{}
	for begun := 0; begun < runs; begun += 500 {
		for _, id := range g.start("chain", min(500, runs-begun), fleet.Order{}) {
			backlog[id] = true
		}
	}
	server := pgcluster.Shared(g.t).PID()
	engines, database := spent(pids, false), spent([]int{server}, true)
	g.free(everyone)
	g.ended()
	engines, database = spent(pids, false)-engines, spent([]int{server}, true)-database
	var at []machine.Time
	for _, r := range g.rows(machine.Succeeded) {
		if backlog[r.ID] {
			at = append(at, r.FinishedAt)
		}
	}
	if len(at) != runs {
		g.t.Fatalf("%d of %d runs succeeded", len(at), runs)
	}
	slices.Sort(at)
	tenth := runs / 10
	took := at[runs-tenth-1].Std().Sub(at[tenth].Std())
	each := time.Duration(runs)
	return speed{float64(runs-2*tenth) / took.Seconds(), engines / each, database / each}
}

// spent gives the processor time of processes so far, with that of their children if asked to; 0 where /proc does not tell.
func spent(pids []int, children bool) (total time.Duration) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil { // it has ended
			continue
		}
		line := string(raw)
		fields := strings.Fields(line[strings.LastIndex(line, ")")+1:]) // from the third on, as proc(5) counts them
		number := func(i int) int {
			n, _ := strconv.Atoi(fields[i-3])
			return n
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		const tick = 10 * time.Millisecond
		switch {
		case slices.Contains(pids, pid) && children:
			total += time.Duration(number(14)+number(15)+number(16)+number(17)) * tick
		case slices.Contains(pids, pid), children && slices.Contains(pids, number(4)):
			total += time.Duration(number(14)+number(15)) * tick
		}
	}
	return total
}

// The rate is that of this machine with whatever else it does; what a run costs in processor time is steadier.
func BenchmarkRunsOfThreeSteps(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("processes=%d", n), func(b *testing.B) {
			for range b.N {
				g := newGround(b, chain)
				g.o.Lease = 0
				s := measure(g, n, 5000)
				b.ReportMetric(s.rate, "runs/s")
				b.ReportMetric(float64(s.engines.Microseconds()), "engines-us/run")
				b.ReportMetric(float64(s.database.Microseconds()), "database-us/run")
			}
		})
	}
}
