package fleet_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

const other = `
workflow: other
steps:
  - { id: a, task: work, with: "${ input }" }
`

// C3, Q2
func TestAPauseHoldsForAllProcessesWithinAPoll(t *testing.T) {
	t.Parallel()
	for _, hints := range []bool{true, false} {
		t.Run(fmt.Sprintf("hints %v", hints), func(t *testing.T) {
			t.Parallel()
			g := newGround(t, chain, other)
			g.o.Slots, g.o.Delay, g.o.NoHints = 4, 50*time.Millisecond, !hints
			var crew []*fleet.Process
			for range 4 {
				crew = append(crew, fleet.Start(t, g.o))
			}
			ids := g.start("chain", 4, fleet.Order{Gates: map[string]string{"b": "paused"}}) // not done before the pause, whatever comes
			ids = append(ids, g.start("chain", 200, fleet.Order{})...)
			g.held("b", 1, 14)
			g.hold(millrace.Supply{Kind: "workflow", Name: "chain"})
			g.open("paused")
			g.answered()
			g.until("what was claimed before ends", func() (bool, error) { return g.nobodyHolds(ids), nil })
			paused := time.Now()
			g.start("other", 20, fleet.Order{})
			g.until("what is not paused ends", func() (bool, error) { return g.done("other") == 20, nil })
			if err := crew[0].Kill(); err != nil { // a pause outlives the processes that know of it
				t.Fatal(err)
			}
			fleet.Start(t, g.o)
			g.start("other", 20, fleet.Order{})
			g.until("what is not paused ends", func() (bool, error) { return g.done("other") == 40, nil })
			if g.done("chain") == len(ids) {
				t.Fatal("all was done before the pause: nothing was tested")
			}
			freed := time.Now()
			g.free(millrace.Supply{Kind: "workflow", Name: "chain"})
			g.ended()
			g.books(crew[0].Owner)
			for _, l := range g.ledger() {
				at := time.UnixMicro(l.At)
				if l.What == fleet.Begun && l.Workflow == "chain" && at.After(paused) && at.Before(freed) {
					t.Errorf("%v was begun %s after the pause", l.ID(), at.Sub(paused))
				}
			}
		})
	}
}

// answered waits until the server has answered what it was asked before now: whatever comes after a pause knows of it, and what
// came before it may claim something yet.
func (g *ground) answered() {
	g.t.Helper()
	conn, err := pgx.Connect(g.t.Context(), g.o.URL)
	if err != nil {
		g.t.Fatal(err)
	}
	defer conn.Close(g.t.Context()) //nolint:errcheck // nothing was written
	var now time.Time
	if err := conn.QueryRow(g.t.Context(), "select clock_timestamp()").Scan(&now); err != nil {
		g.t.Fatal(err)
	}
	g.until("what the server was asked ends", func() (over bool, err error) {
		err = conn.QueryRow(g.t.Context(), `select not exists (select from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid() and xact_start < $1)`, now).Scan(&over)
		return over, err
	})
}

// nobodyHolds says whether no task of these runs is held.
func (g *ground) nobodyHolds(runs []string) bool {
	g.t.Helper()
	for _, run := range runs {
		live, err := g.st.Tasks(g.t.Context(), millrace.DefaultTenant, run, nil)
		if err != nil {
			g.t.Fatal(err)
		}
		if slices.ContainsFunc(live, func(l store.Live) bool { return l.State == store.Leased }) {
			return false
		}
	}
	return true
}

// done gives the number of runs of a workflow that succeeded.
func (g *ground) done(name string) int {
	g.t.Helper()
	f := store.Filter{Tenant: millrace.DefaultTenant, Workflow: name, Status: []machine.Status{machine.Succeeded}, Limit: 10_000}
	rows, err := g.st.Runs(g.t.Context(), f)
	if err != nil {
		g.t.Fatal(err)
	}
	return len(rows)
}
