package sim_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/millrace-go/millrace/internal/sim"
)

// planted are faults of the database itself: what a trigger does to a row on its way into a table, or to keep it there.
var planted = map[string]struct{ table, on, fault string }{
	"stop unheard":    {"tasks", "update", "new.stop := old.stop;"},
	"retry early":     {"tasks", "insert or update", "if new.state = 1 then new.due := new.due - 2000000; end if;"},
	"message kept":    {"inbox", "update", "new.delivered := old.delivered;"},
	"letter kept":     {"dead_letters", "update", "new := old;"},
	"payload lost":    {"journal", "insert", "if new.kind = 'task_succeeded' then new.payload := '{}'; end if;"},
	"document kept":   {"runs", "update", "new.doc := old.doc;"},
	"attempt skipped": {"tasks", "update", "if new.state = 2 and old.state <> 2 then new.attempt := new.attempt + 1; end if;"},
}

// plant has the database do a fault to each row; pull takes it out again.
func (g *ground) plant(name string) (pull func()) {
	p := planted[name]
	g.exec("create or replace function millrace.fault() returns trigger language plpgsql as $$ begin " + p.fault + " return new; end $$")
	g.exec("create trigger fault before " + p.on + " on millrace." + p.table + " for each row execute function millrace.fault()")
	return func() { g.exec("drop trigger fault on millrace." + p.table) }
}

// Faults that are planted in the store, or in the tables of the database, are found on PostgreSQL too, where the same seeds
// find nothing without them.
func TestPlantedFaultsAreFoundOnPostgreSQL(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	for name, from := range map[string]uint64{"version ignored": 1, "guards ignored": 4, "payloads swapped": 3} {
		g.finds(name, from, func(seed uint64) sim.Report { return g.run(seed, sim.Options{Mutant: name}) })
	}
	for _, name := range slices.Sorted(maps.Keys(planted)) {
		g.finds(name, 0, func(seed uint64) sim.Report {
			defer g.plant(name)()
			return g.run(seed, sim.Options{})
		})
	}
}

// finds fails the test unless one of some seeds finds a planted fault.
func (g *ground) finds(name string, from uint64, run func(seed uint64) sim.Report) {
	g.Helper()
	for seed := from; seed < from+20; seed++ {
		if r := run(seed); len(r.Faults) > 0 {
			g.Logf("%s: seed %d: %.200s", name, seed, r.Faults[0])
			return
		}
	}
	g.Errorf("%s: no seed finds it", name)
}
