package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres"
	"github.com/millrace-go/millrace/workflow"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m, map[string]fleet.Crew{"watched": watched})) }

// ground is a database on which a test lets processes work, and the test's own handle of it: one more process, which serves
// nothing.
type ground struct {
	t        testing.TB
	cluster  *pgcluster.Cluster
	database string
	o        fleet.Options // those of its processes, for a test to change
	st       store.Store
	engine   *millrace.Engine // starts runs
	client   *millrace.Client
	runs     []string // that were started
}

func newGround(t testing.TB, workflows ...string) *ground {
	t.Helper()
	return groundAt(t, pgcluster.Shared(t), workflows...)
}

// groundAt is newGround at a cluster.
func groundAt(t testing.TB, cluster *pgcluster.Cluster, workflows ...string) *ground {
	t.Helper()
	name := cluster.Copy(t, "fleet", func(ctx context.Context, url string) error { return fleet.Prepare(ctx, fleet.Options{URL: url}) })
	g := &ground{t: t, cluster: cluster, database: name, o: fleet.Options{URL: cluster.URL(name), Folder: t.TempDir(), Conns: 4, Lease: time.Minute, Define: workflows}}
	st, err := postgres.Open(t.Context(), g.o.URL, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	g.st, g.client = st, millrace.NewClient(st)
	if g.engine, err = millrace.New(st, millrace.Config{}); err != nil {
		t.Fatal(err)
	}
	for _, text := range workflows {
		g.register(text)
	}
	return g
}

func (g *ground) register(text string) {
	g.t.Helper()
	def, err := workflow.Read("test.yaml", []byte(text))
	if err != nil {
		g.t.Fatal(err)
	}
	if _, err := g.engine.Register(g.t.Context(), def); err != nil {
		g.t.Fatal(err)
	}
}

// start starts n runs of a workflow; the input of each is the same.
func (g *ground) start(name string, n int, o fleet.Order) []string {
	g.t.Helper()
	ids := g.startAt(g.engine, millrace.StartRequest{Workflow: name, Input: o}, n)
	g.runs = append(g.runs, ids...)
	return ids
}

// startAt makes a request n times, of which few go into one call: there is a second from its beginning to its transaction.
func (g *ground) startAt(e *millrace.Engine, r millrace.StartRequest, n int) (ids []string) {
	g.t.Helper()
	for all := range slices.Chunk(slices.Repeat([]millrace.StartRequest{r}, n), 100) {
		started, err := e.StartMany(g.t.Context(), all)
		if err != nil {
			g.t.Fatal(err)
		}
		for _, s := range started {
			if s.Err != nil {
				g.t.Fatal(s.Err)
			}
			ids = append(ids, s.RunID)
		}
	}
	return ids
}

// patience is how long a test waits for what comes within seconds, but on a machine that is slow and busy. A task that is left
// behind is found by who reads the books: its lease ends before that, and it is declared lost.
const patience = 5 * time.Minute

// Leases of processes that are to lose them, and of those that find that out: who has a long one looks on for longer before.
const (
	brief    = 4 * time.Second
	watchful = 12 * time.Second
)

// until looks every so often until done says so.
func (g *ground) until(what string, done func() (bool, error)) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done()
		switch {
		case err != nil:
			g.t.Fatal(err)
		case ok:
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			g.t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

var open = []machine.Status{
	machine.Pending, machine.Running, machine.Paused, machine.Parked, machine.Stopping, machine.Compensating,
}

// ended waits until no run is open.
func (g *ground) ended() {
	g.t.Helper()
	g.until("all runs end", func() (bool, error) {
		rows, err := g.st.Runs(g.t.Context(), store.Filter{Tenant: millrace.DefaultTenant, Status: open, Limit: 1})
		return len(rows) == 0, err
	})
}

// rows gives the runs with a status, newest first; all with none.
func (g *ground) rows(s ...machine.Status) []store.RunRow {
	g.t.Helper()
	rows, err := g.st.Runs(g.t.Context(), store.Filter{Tenant: millrace.DefaultTenant, Status: s, Limit: 20_000})
	if err != nil {
		g.t.Fatal(err)
	}
	return rows
}

func (g *ground) ledger() []fleet.Line {
	g.t.Helper()
	lines, err := fleet.ReadLedger(g.o.Folder)
	if err != nil {
		g.t.Fatal(err)
	}
	return lines
}

// sound checks that what the database says of every run agrees with what its journal says.
func (g *ground) sound() {
	g.t.Helper()
	report, err := g.client.Doctor(g.t.Context(), millrace.DoctorOptions{Tenant: millrace.DefaultTenant})
	if err != nil {
		g.t.Fatal(err)
	}
	for _, f := range report.Findings {
		g.t.Errorf("doctor: %+v", f)
	}
}

const chain = `
workflow: chain
steps:
  - { id: a, task: work, with: "${ input }" }
  - { id: b, task: work, with: "${ input }" }
  - { id: c, task: work, with: "${ input }" }
`

func TestAProcessWorksUntilItIsDrainedAndSaysSo(t *testing.T) {
	t.Parallel()
	g := newGround(t, chain)
	p := fleet.Start(t, g.o)
	g.start("chain", 3, fleet.Order{Fail: map[string]int{"b": 1}})
	g.ended()
	if err := p.Terminate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("killing a process that has ended gives %v", err)
	}
	var got []string
	for _, l := range g.ledger() {
		if l.Owner != p.Owner || l.PID != p.PID {
			t.Errorf("a line of %s (%d), not of %s (%d)", l.Owner, l.PID, p.Owner, p.PID)
		}
		if l.RunID == g.runs[0] {
			got = append(got, fmt.Sprintf("%s %d %s", l.Path, l.Attempt, l.What))
		}
	}
	want := []string{"a 1 begun", "a 1 succeeded", "b 1 begun", "b 1 failed", "b 2 begun", "b 2 succeeded", "c 1 begun", "c 1 succeeded"}
	if !slices.Equal(got, want) {
		t.Errorf("the ledger has %v, want %v", got, want)
	}
	g.sound()
}

func TestAProcessThatCannotWorkSaysWhy(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	g.o.Crew = "nobody"
	if _, err := fleet.Launch(t.Context(), g.o); err == nil {
		t.Error("an engine without a crew was started")
	}
}
