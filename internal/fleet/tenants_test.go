package fleet_test

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/workflow"
)

// startFor starts n runs of a workflow for a tenant, which it registers it for.
func (g *ground) startFor(tenant, text string, n int) (ids []string) {
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
	requests := make([]millrace.StartRequest, n)
	for i := range requests {
		requests[i] = millrace.StartRequest{Workflow: def.Name, Input: fleet.Order{}}
	}
	all, err := e.StartMany(g.t.Context(), requests)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, s := range all {
		if s.Err != nil {
			g.t.Fatal(s.Err)
		}
		ids = append(ids, s.RunID)
	}
	return ids
}

// Q2
func TestTenantsShareAFleetWhateverTheirBacklogs(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	g.o.Slots, g.o.Delay = 4, 50*time.Millisecond
	for range 4 {
		fleet.Start(t, g.o)
	}
	const small = 100
	g.startFor("a", other, 3000)
	g.begun("a", 50)
	g.startFor("b", other, small)
	g.startFor("c", other, small)
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

// Q3
func TestOneTaskOfATenantDoesNotWaitForTheBacklogOfAnother(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	g.o.Slots, g.o.Delay = 4, 50*time.Millisecond
	for range 4 {
		fleet.Start(t, g.o)
	}
	g.startFor("a", other, 3000)
	g.begun("a", 100)
	for _, tenant := range []string{"b", "c", "d"} {
		asked := time.Now()
		g.startFor(tenant, other, 1)
		g.begun(tenant, 1)
		for _, l := range g.ledger() {
			if waited := time.UnixMicro(l.At).Sub(asked); l.Tenant == tenant && l.What == fleet.Begun && waited > 3*time.Second {
				t.Errorf("the only task of %s waited for %s, and a slot is free every %s", tenant, waited, g.o.Delay/16)
			}
		}
	}
	if lines := g.ledger(); len(lines) >= 2*3000 {
		t.Error("the backlog was worked off meanwhile: nothing was tested")
	}
}

// begun waits until n attempts of a tenant have begun.
func (g *ground) begun(tenant string, n int) {
	g.t.Helper()
	g.until("attempts of "+tenant+" begin", func() (bool, error) {
		lines, err := fleet.ReadLedger(g.o.Folder)
		k := 0
		for _, l := range lines {
			if l.Tenant == tenant && l.What == fleet.Begun {
				k++
			}
		}
		return k >= n, err
	})
}
