package fleet_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/machine"
)

var everyone = millrace.Supply{Kind: "tenant"}

// rate has n processes work on a backlog that they all see at the same moment, and gives the runs that ended in a second
// between the first tenth and the last.
func rate(g *ground, n, runs int, o fleet.Order) float64 {
	g.t.Helper()
	g.hold(everyone)
	for range n {
		fleet.Start(g.t, g.o)
	}
	for begun := 0; begun < runs; begun += 500 {
		g.start("chain", min(500, runs-begun), o)
	}
	g.free(everyone)
	g.ended()
	var at []machine.Time
	for _, r := range g.rows(machine.Succeeded) {
		at = append(at, r.FinishedAt)
	}
	if len(at) != runs {
		g.t.Fatalf("%d of %d runs succeeded", len(at), runs)
	}
	slices.Sort(at)
	tenth := runs / 10
	return float64(runs-2*tenth) / at[runs-tenth-1].Std().Sub(at[tenth].Std()).Seconds()
}

func BenchmarkRunsOfThreeStepsBySoManyProcesses(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				g := newGround(b, chain)
				g.o.Lease = 0
				b.ReportMetric(rate(g, n, 4000, fleet.Order{}), "runs/s")
			}
		})
	}
}
