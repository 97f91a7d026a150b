package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// share starts as many runs as there are slots in all processes, whose first attempts end when their gate is opened.
func (g *ground) share(crew []*fleet.Process, gate string) []string {
	g.t.Helper()
	return g.start("chain", g.o.Slots*len(crew), fleet.Order{Gates: map[string]string{"a": gate}})
}

// shared waits until all slots are taken by the first attempts of these runs, so that each process has its share of them, and
// opens their gate.
func (g *ground) shared(crew []*fleet.Process, ids []string, gate string) {
	g.t.Helper()
	g.until("every process has its share", func() (bool, error) {
		lines, err := fleet.ReadLedger(g.o.Folder)
		begun := map[string]int{}
		for i := range lines {
			if l := &lines[i]; l.What == fleet.Begun && slices.Contains(ids, l.RunID) {
				begun[l.Owner]++
			}
		}
		for _, p := range crew {
			if begun[p.Owner] != g.o.Slots {
				return false, err
			}
		}
		return true, err
	})
	g.open(gate)
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
			g.o.Crew, g.o.Slots, g.o.Delay = "watched", 4, 40*time.Millisecond
			g.hold(everyone)
			crew := make([]*fleet.Process, n)
			for i := range crew {
				crew[i] = fleet.Start(t, g.o)
			}
			first := g.share(crew, "first")
			g.free(everyone)
			g.shared(crew, first, "first")
			g.start("chain", 36*n, fleet.Order{}) // at full speed, by whoever comes first
			g.ended()
			g.shared(crew, g.share(crew, "second"), "second")
			g.ended()
			b := g.books()
			for i := range b.Lines {
				if l := &b.Lines[i]; l.What == outrun {
					t.Errorf("%s settled run %s, and somebody else had changed it", l.Owner, l.Note)
				}
			}
		})
	}
}
