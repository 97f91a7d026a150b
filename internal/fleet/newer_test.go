package fleet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

const nap = `
workflow: nap
steps:
  - { id: a, wait: 1s }
  - { id: b, task: work, with: "${ input }" }
`

// K3
func TestAProcessLeavesRunsOfLaterRulesAlone(t *testing.T) {
	t.Parallel()
	g := newGround(t, chain, nap)
	newer := append(g.start("chain", 20, fleet.Order{}), g.start("nap", 5, fleet.Order{})...)
	g.sql("update millrace.runs set machine_version = machine_version + 1")
	before := g.journals(newer)
	for range 2 {
		fleet.Start(t, g.o)
	}
	known := append(g.start("chain", 20, fleet.Order{}), g.start("nap", 5, fleet.Order{})...)
	g.until("what is known ends", func() (bool, error) { return g.done("chain")+g.done("nap") == len(known), nil })
	if diff := cmp.Diff(before, g.journals(newer)); diff != "" {
		t.Errorf("runs of later rules went on (-before +after):\n%s", diff)
	}
	for _, run := range newer {
		for _, l := range g.ledger() {
			if l.RunID == run {
				t.Errorf("a run of later rules was worked on: %+v", l)
			}
		}
	}
}

// journals gives what the journals of runs hold.
func (g *ground) journals(runs []string) (kinds [][]machine.EventKind) {
	g.t.Helper()
	for _, run := range runs {
		entries, err := g.st.Journal(g.t.Context(), millrace.DefaultTenant, run, 0, 100)
		if err != nil {
			g.t.Fatal(err)
		}
		kinds = append(kinds, kindsOf(entries))
	}
	return kinds
}

func kindsOf(entries []store.Entry) (kinds []machine.EventKind) {
	for i := range entries {
		kinds = append(kinds, entries[i].Kind)
	}
	return kinds
}

func (g *ground) sql(statements ...string) {
	g.t.Helper()
	if err := pgcluster.Shared(g.t).Exec(g.t.Context(), g.database, statements...); err != nil {
		g.t.Fatal(err)
	}
}
