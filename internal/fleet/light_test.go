package fleet_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/fleet"
)

// ease is what a fleet did that had little to do.
type ease struct {
	engines, database time.Duration   // processor time for each run
	waits             []time.Duration // from the call that started a run until its first attempt began, shortest first
	most              float64         // the part of all runs that the process had which began the most
}

// idle has n processes do runs that are started one at a time, every so often.
func idle(g *ground, n, runs int, every time.Duration) ease {
	g.t.Helper()
	var pids []int
	for range n {
		pids = append(pids, fleet.Start(g.t, g.o).PID)
	}
	g.start("chain", 50*n, fleet.Order{}) // they get to know their statements
	g.ended()
	server := []int{g.cluster.PID()}
	engines, database := spent(pids, false), spent(server, true)
	asked := map[string]time.Time{}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for range runs {
		<-tick.C
		at := time.Now()
		asked[g.start("chain", 1, fleet.Order{})[0]] = at
	}
	g.ended()
	each := time.Duration(runs)
	e := ease{engines: (spent(pids, false) - engines) / each, database: (spent(server, true) - database) / each}
	begun := map[string]int{}
	for _, l := range g.ledger() {
		if at, ok := asked[l.RunID]; ok && l.What == fleet.Begun && l.Path == "a" {
			e.waits = append(e.waits, time.UnixMicro(l.At).Sub(at))
			begun[l.Owner]++
		}
	}
	if len(e.waits) != runs {
		g.t.Fatalf("%d of %d runs began", len(e.waits), runs)
	}
	slices.Sort(e.waits)
	for _, k := range begun {
		e.most = max(e.most, float64(k)/float64(runs))
	}
	return e
}

// What each of many processes costs while one would do: 50 runs a second, of steps that take no time, and of some that do.
func BenchmarkALightLoad(b *testing.B) {
	for _, c := range []struct {
		n    int
		step time.Duration
	}{{1, 0}, {2, 0}, {4, 0}, {8, 0}, {4, 100 * time.Millisecond}} {
		b.Run(fmt.Sprintf("processes=%d/step=%s", c.n, c.step), func(b *testing.B) {
			for range b.N {
				g := newGround(b, chain)
				g.o.Lease, g.o.Delay = 0, c.step
				const runs = 400
				e := idle(g, c.n, runs, 20*time.Millisecond)
				b.ReportMetric(float64(e.engines.Microseconds()), "engines-us/run")
				b.ReportMetric(float64(e.database.Microseconds()), "database-us/run")
				b.ReportMetric(float64(e.waits[runs/2].Microseconds()), "p50-us")
				b.ReportMetric(float64(e.waits[runs*99/100].Microseconds()), "p99-us")
				b.ReportMetric(e.most*100, "%-most")
			}
		})
	}
}
