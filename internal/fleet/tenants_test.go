package fleet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/workflow"
)

// startFor starts n runs of a workflow for a tenant, which it registers it for.
func (g *ground) startFor(tenant, text string, n int) []string {
	g.t.Helper()
	e, err := millrace.New(g.st, millrace.Config{Tenant: tenant})
	if err != nil {
		g.t.Fatal(err)
	}
	def, err := workflow.Read("test.yaml", []byte(text))
	if err != nil {
		g.t.Fatal(err)
	}
	if _, err := e.Register(g.t.Context(), def); err != nil {
		g.t.Fatal(err)
	}
	return g.startAt(e, millrace.StartRequest{Workflow: def.Name, Input: fleet.Order{}}, n)
}

// Q2
func TestTenantsShareAFleetWhateverTheirBacklogs(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	g.o.Slots, g.o.Delay = 4, 50*time.Millisecond
	const small = 100
	g.startFor("a", other, 3000)
	g.startFor("b", other, small)
	g.startFor("c", other, small)
	for range 4 { // they find all there is when they come
		fleet.Start(t, g.o)
	}
	g.begun("b", small)
	g.begun("c", small)
	// From the moment at which b and c had something until the first of them had nothing any more, each had a third.
	first, n := map[string]int{}, map[string]int{}
	lines := g.ledger()
	for i, l := range lines {
		if _, known := first[l.Tenant]; !known {
			first[l.Tenant] = i
		}
	}
	for _, l := range lines[max(first["b"], first["c"]):] {
		if l.What != fleet.Begun {
			continue
		}
		if n[l.Tenant]++; l.Tenant != "a" && n[l.Tenant] == small*3/4 {
			break
		}
	}
	for tenant, k := range n {
		if k < small/3 || k > small*3/2 {
			t.Errorf("while one tenant began %d attempts, %s began %d", small*3/4, tenant, k)
		}
	}
	if len(n) != 3 {
		t.Errorf("tenants with attempts: %v", n)
	}
}

// What the only task of a tenant may wait for is counted, not timed: how many attempts of a backlog begin meanwhile is the same on
// a slow machine. Those of three seconds are enough for a process that hears no hint to look for itself.
//
// Q3
func TestOneTaskOfATenantDoesNotWaitForTheBacklogOfAnother(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	g.o.Slots, g.o.Delay = 4, 50*time.Millisecond
	for range 4 {
		fleet.Start(t, g.o)
	}
	const backlog = 3000
	asked, tested := 0, 0
	for n := 0; tested < 3; n++ {
		if _, err := g.client.PauseSupply(t.Context(), "a", everyone, who); err != nil { // on a slow machine it would end before it is there
			t.Fatal(err)
		}
		already := g.began("a", time.Time{}, time.Now())
		asked += len(g.startFor("a", other, backlog+already-asked))
		if _, err := g.client.ResumeSupply(t.Context(), "a", everyone, who); err != nil {
			t.Fatal(err)
		}
		g.begun("a", already+100)
		tenant := fmt.Sprint("b", n)
		g.startFor(tenant, other, 1)
		there := time.Now()
		begun := g.begun(tenant, 1)
		if g.began("a", time.Time{}, begun) == asked {
			continue // the backlog was worked off before: nothing was tested
		}
		tested++
		if before := g.began("a", there, begun); before > backlog/3 {
			t.Errorf("before the only task of %s, %d others began", tenant, before)
		}
	}
}

// began gives how many attempts of a tenant have begun in a time.
func (g *ground) began(tenant string, from, to time.Time) (n int) {
	g.t.Helper()
	for _, l := range g.ledger() {
		at := time.UnixMicro(l.At)
		if l.Tenant == tenant && l.What == fleet.Begun && !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// begun waits until n attempts of a tenant have begun, and gives the time of the first.
func (g *ground) begun(tenant string, n int) (first time.Time) {
	g.t.Helper()
	g.until("attempts of "+tenant+" begin", func() (bool, error) {
		lines, err := fleet.ReadLedger(g.o.Folder)
		k := 0
		for _, l := range lines {
			if l.Tenant != tenant || l.What != fleet.Begun {
				continue
			}
			if k++; k == 1 {
				first = time.UnixMicro(l.At)
			}
		}
		return k >= n, err
	})
	return first
}
