package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/store"
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

// outrun is a line about a settlement of a run that another process had changed meanwhile.
const outrun fleet.What = "outrun"

// watched is the crew Work at a store that writes down which settlements did not hold.
var watched = fleet.Crew{
	Handlers: fleet.Workers,
	Store:    func(w *fleet.Workplace, st store.Store) store.Store { return &watching{st, w.Ledger} },
}

type watching struct {
	store.Store
	ledger *fleet.Ledger
}

// Settle is that of the store.
func (w *watching) Settle(ctx context.Context, batch []store.Settlement) ([]store.Settled, error) {
	all, err := w.Store.Settle(ctx, batch)
	for i := range all {
		if all[i].Result == store.Lost {
			err = errors.Join(err, w.ledger.Append(fleet.Line{What: outrun, Note: batch[i].Run.ID}))
		}
	}
	return all, err
}

// Many processes do nothing twice, each has its share, and none is in another's way: nobody else changes the run whose only task
// a process holds, so that every settlement holds the first time. BenchmarkRunsOfThreeSteps gives what that is worth.
//
// A1
func TestProcessesShareTheWork(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			g := newGround(t, chain)
			g.o.Crew, g.o.Slots, g.o.Delay, g.o.Lease = "watched", 4, 40*time.Millisecond, time.Minute
			g.hold(everyone)
			var crew []*fleet.Process
			for range n {
				crew = append(crew, fleet.Start(t, g.o))
			}
			g.start("chain", 40*n, fleet.Order{})
			g.free(everyone)
			g.ended()
			b := g.books()
			begun := map[string]int{}
			for _, owner := range b.In(fleet.Begun) {
				begun[owner]++
			}
			const even = 40 * 3
			for _, p := range crew {
				if begun[p.Owner] < even/4 {
					t.Errorf("%s has begun %d attempts, and an even share is %d", p.Owner, begun[p.Owner], even)
				}
			}
			for i := range b.Lines {
				if l := &b.Lines[i]; l.What == outrun {
					t.Errorf("%s settled run %s, and somebody else had changed it", l.Owner, l.Note)
				}
			}
		})
	}
}
