package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/machine"
)

var everyone = millrace.Supply{Kind: "tenant"}

// speed is how a fleet worked off a backlog.
type speed struct {
	rate     float64       // runs that ended in a second, between the first tenth and the last
	engines  time.Duration // processor time of the engines for each run
	database time.Duration // and of the server
	asked    asked         // of the server, for each run
}

// asked is what the server was asked: transactions of settlements and claims, and statements in all.
type asked struct{ settlements, claims, statements float64 }

// counting are the settings of a cluster that counts statements.
var counting = pgcluster.Options{Careless: true, Settings: map[string]string{
	"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.save": "off",
}}

// askedSQL tells settlements and claims by the statement that each has once.
const askedSQL = `select coalesce(sum(calls) filter (where query like '%moved as (%'), 0)::float8,
	coalesce(sum(calls) filter (where query like 'with picked as materialized%'), 0)::float8, coalesce(sum(calls), 0)::float8
	from pg_stat_statements as s join pg_database as d on d.oid = s.dbid where d.datname = $1`

// count gives what the server was asked so far.
func (g *ground) count() (a asked) {
	g.t.Helper()
	conn, err := pgx.Connect(g.t.Context(), g.cluster.URL("postgres"))
	if err != nil {
		g.t.Fatal(err)
	}
	defer conn.Close(g.t.Context()) //nolint:errcheck // nothing was written
	if err := conn.QueryRow(g.t.Context(), askedSQL, g.database).Scan(&a.settlements, &a.claims, &a.statements); err != nil {
		g.t.Fatal(err)
	}
	return a
}

// since gives what was asked after another count, for each of so many runs.
func (a asked) since(before asked, runs int) asked {
	n := float64(runs)
	return asked{(a.settlements - before.settlements) / n, (a.claims - before.claims) / n, (a.statements - before.statements) / n}
}

// measure has n processes work on a backlog that they all see at the same moment.
func measure(g *ground, n, runs int) speed {
	g.t.Helper()
	var pids []int
	for range n {
		pids = append(pids, fleet.Start(g.t, g.o).PID)
	}
	for range 5 { // each connection of each gets to know its statements, which costs the server 20 ms, and they each other
		g.start("chain", 200*n, fleet.Order{})
		g.ended()
	}
	g.hold(everyone)
	backlog := map[string]bool{}
	for begun := 0; begun < runs; begun += 500 {
		for _, id := range g.start("chain", min(500, runs-begun), fleet.Order{}) {
			backlog[id] = true
		}
	}
	server := []int{g.cluster.PID()}
	before, engines, database := g.count(), spent(pids, false), spent(server, true)
	g.free(everyone)
	g.ended()
	engines, database = spent(pids, false)-engines, spent(server, true)-database
	after := g.count()
	var at []machine.Time
	for _, r := range g.rows(machine.Succeeded) {
		if backlog[r.ID] {
			at = append(at, r.FinishedAt)
		}
	}
	if len(at) != runs {
		g.t.Fatalf("%d of %d runs succeeded", len(at), runs)
	}
	slices.Sort(at)
	tenth := runs / 10
	took := at[runs-tenth-1].Std().Sub(at[tenth].Std())
	each := time.Duration(runs)
	return speed{float64(runs-2*tenth) / took.Seconds(), engines / each, database / each, after.since(before, runs)}
}

// spent gives the processor time of processes so far, with that of their children if asked to; 0 where /proc does not tell.
func spent(pids []int, children bool) (total time.Duration) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil { // it has ended
			continue
		}
		line := string(raw)
		fields := strings.Fields(line[strings.LastIndex(line, ")")+1:]) // from the third on, as proc(5) counts them
		number := func(i int) int {
			n, _ := strconv.Atoi(fields[i-3])
			return n
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		const tick = 10 * time.Millisecond
		switch {
		case slices.Contains(pids, pid) && children:
			total += time.Duration(number(14)+number(15)+number(16)+number(17)) * tick
		case slices.Contains(pids, pid), children && slices.Contains(pids, number(4)):
			total += time.Duration(number(14)+number(15)) * tick
		}
	}
	return total
}

// The rate is that of this machine with whatever else it does; what a run costs in processor time is steadier.
func BenchmarkRunsOfThreeSteps(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("processes=%d", n), func(b *testing.B) {
			for range b.N {
				cluster := pgcluster.Start(b, counting)
				if err := cluster.Exec(b.Context(), "postgres", "create extension pg_stat_statements"); err != nil {
					b.Fatal(err)
				}
				g := groundAt(b, cluster, chain)
				g.o.Lease = 0
				s := measure(g, n, 10_000)
				b.ReportMetric(s.rate, "runs/s")
				b.ReportMetric(float64(s.engines.Microseconds()), "engines-us/run")
				b.ReportMetric(float64(s.database.Microseconds()), "database-us/run")
				b.ReportMetric(s.asked.settlements, "settlements/run")
				b.ReportMetric(s.asked.claims, "claims/run")
				b.ReportMetric(s.asked.statements, "statements/run")
			}
		})
	}
}
