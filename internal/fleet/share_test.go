package fleet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
)

var who = millrace.Order{By: "test", Reason: "because"}

// hold pauses everything, so that what is started waits for all processes.
func (g *ground) hold(s millrace.Supply) {
	g.t.Helper()
	if _, err := g.client.PauseSupply(g.t.Context(), millrace.DefaultTenant, s, who); err != nil {
		g.t.Fatal(err)
	}
}

// free ends what hold did.
func (g *ground) free(s millrace.Supply) {
	g.t.Helper()
	if _, err := g.client.ResumeSupply(g.t.Context(), millrace.DefaultTenant, s, who); err != nil {
		g.t.Fatal(err)
	}
}

// books gives the accounts of all runs that were started, once they agree; broken names processes whose attempts may be lost.
func (g *ground) books(broken ...string) *fleet.Books {
	g.t.Helper()
	b, err := fleet.ReadBooks(g.t.Context(), g.st, millrace.DefaultTenant, g.o.Folder, g.runs)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, fault := range b.Faults(broken...) {
		g.t.Error(fault)
	}
	g.sound()
	return b
}

// A1
func TestProcessesShareTheWork(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			g := newGround(t, chain)
			g.o.Slots, g.o.Delay = 4, 40*time.Millisecond
			g.hold(everyone)
			var crew []*fleet.Process
			for range n {
				crew = append(crew, fleet.Start(t, g.o))
			}
			g.start("chain", 40*n, fleet.Order{})
			g.free(everyone)
			g.ended()
			begun := map[string]int{}
			for _, owner := range g.books().In(fleet.Begun) {
				begun[owner]++
			}
			const even = 40 * 3
			for _, p := range crew {
				if begun[p.Owner] < even/4 {
					t.Errorf("%s has begun %d attempts, and an even share is %d", p.Owner, begun[p.Owner], even)
				}
			}
		})
	}
}
