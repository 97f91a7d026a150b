package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/batch"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// planned is a node of a plan that was carried out.
type planned struct {
	Type     string    `json:"Node Type"`
	Relation string    `json:"Relation Name"`
	Index    string    `json:"Index Name"`
	Cond     string    `json:"Index Cond"`
	Filter   string    `json:"Filter"`
	Hit      int       `json:"Shared Hit Blocks"`
	Read     int       `json:"Shared Read Blocks"`
	Plans    []planned `json:"Plans"`
}

func (p *planned) each(see func(p *planned)) {
	see(p)
	for i := range p.Plans {
		p.Plans[i].each(see)
	}
}

// explained gives the plans of the statements that fill adds, each with those before it carried out. All is undone.
func explained(t *testing.T, s *Store, fill func(p *pipeline)) map[string]*planned {
	t.Helper()
	p := &pipeline{Text: s.tables.Text}
	fill(p)
	conn, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*planned{}
	for _, q := range p.Batch.QueuedQueries {
		var raw string
		if err := tx.QueryRow(t.Context(), "explain (analyze, buffers, timing off, format json) "+q.SQL, q.Arguments...).Scan(&raw); err != nil {
			t.Fatalf("%v: %s", err, q.SQL)
		}
		var plans []struct{ Plan planned }
		if err := json.Unmarshal([]byte(raw), &plans); err != nil {
			t.Fatal(err)
		}
		out[q.SQL] = &plans[0].Plan
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out
}

// hot gives what claims, renewals and settlements of every kind send, for runs that a claim has taken from a lane.
func hot(t *testing.T, s *Store, lane int64) map[string]func(p *pipeline) {
	t.Helper()
	ask := store.Claim{Owner: "plan", Token: 77, Lease: time.Minute, Limit: 20, Lanes: []store.LaneLimit{{Lane: lane, Limit: 20}}}
	claimed, err := s.Claim(t.Context(), ask)
	if err != nil || len(claimed) != ask.Limit {
		t.Fatalf("claimed %d: %v", len(claimed), err)
	}
	now, err := s.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var runs []id
	var paths []string
	var tokens []int64
	var members []*batch.Member
	for i := range claimed {
		run, _ := wire.ParseID(claimed[i].RunID)
		runs, paths, tokens = append(runs, run), append(paths, claimed[i].Path), append(tokens, ask.Token)
		st := benchOutcome(&claimed[i], now, i%2 == 0, store.HandOver{Owner: "plan", Token: 78, Handlers: []string{"noop"}, Limit: 1})
		st.Inbox, st.Timers = []int64{1}, []string{"t"}
		st.Effects = append([]machine.Effect{
			machine.SetTimer{Key: "u", Due: now.Add(time.Hour)},
			machine.StopTask{Path: "other"},
			machine.PutValue{Ref: machine.Ref{Key: "v"}, Data: json.RawMessage(`1`)},
			machine.OpenLetter{Kind: machine.LetterParked, Path: "a"},
			machine.HoldTasks{},
		}, st.Effects...)
		members = append(members, batch.NewMember(&st, i, nil))
	}
	return map[string]func(p *pipeline){
		"claim": func(p *pipeline) {
			new(gather).fill(p, &ask, []int64{lane, lane + 1, lane + 2}, []int64{20, 20, 20}, []int64{0, 0, 0})
		},
		"renew": func(p *pipeline) {
			p.Do(renewSQL, ids(runs), paths, tokens, int64(1))
			p.Do(standingSQL, ids(runs), paths, tokens)
		},
		"settle": func(p *pipeline) {
			b := batch.New(members)
			b.Careful = true
			b.Advance(p)
			b.CarryOut(p, &s.lanes)
		},
		"look": func(p *pipeline) {
			p.Do(stateSQL, runs[0], "default", []string{"a", "b"}, []string{"m["}, []string{"m\\"})
			p.Do(inboxSQL, 100)
			p.Do(dueSQL, 100)
			p.Do(nextSQL)
			p.Do(lapsedSQL, 100)
			p.Do(stockedSQL, 0, 100)
		},
	}
}

// walksAll says which table a plan walks from one end to the other.
func walksAll(p *planned) (what string) {
	p.each(func(n *planned) {
		whole := n.Type == "Seq Scan" || strings.Contains(n.Type, "Index") && n.Cond == ""
		ordered := n.Index == "inbox_waiting" || n.Index == "tasks_ready" || n.Index == "tasks_due" // walked up to a limit
		if n.Relation != "" && whole && !ordered {
			what = fmt.Sprintf("%s of %s by %s (filter %s)", n.Type, n.Relation, n.Index, n.Filter)
		}
	})
	return what
}

// fill puts in so much: ready tasks in the first lane, lanes with three tasks each, runs that have ended, with entries, scopes
// and values, delayed tasks and leased ones, timers.
const fillSQL = `
	insert into millrace.lanes (tenant, queue, handler, workflow, paused)
		select 'default', 'q', 'h' || n, 'bench', false from generate_series(1, %[1]d) as n;
	insert into millrace.tasks
		(run, path, lane, rank, due, cause, entry, lease_ms, priority, attempt, state, env, token, owner, lease_until)
		select lpad(to_hex(n), 32, '0')::uuid, 's1', case when n %% 2 = 0 then 1 else 2 + n %% %[1]d end, 9000000000000000 + n,
			9000000000000000 + n, 1, 1, 0, 0, 0,
			case n %% 10 when 8 then 1 when 9 then 2 else 0 end, '{}', case n %% 10 when 9 then 5 else 0 end,
			'', n from generate_series(1, %[2]d) as n;
	insert into millrace.runs (id, created_at, started_at, workflow_version, machine_version, tenant, workflow, key, home, options, version,
		seq, at, finished_at, rare, status, doc) select lpad(to_hex(n), 32, '0')::uuid, 1, 1, 1, 1, 'default', 'bench', '', '', '', 1, 1, 1, 1,
		false, 'succeeded', '{}' from generate_series(1, %[2]d) as n;
	insert into millrace.journal select lpad(to_hex(n), 32, '0')::uuid, 1, 1, 0, 1, 'k', '', '', '', '1', null from generate_series(1, %[2]d) as n;
	insert into millrace.scopes select lpad(to_hex(n), 32, '0')::uuid, 'p', '{}' from generate_series(1, %[2]d) as n;
	insert into millrace.run_values select lpad(to_hex(n), 32, '0')::uuid, 'v:0', '1' from generate_series(1, %[2]d) as n;
	insert into millrace.timers select lpad(to_hex(n), 32, '0')::uuid, n, 1, 't', 'default' from generate_series(1, %[2]d) as n;`

// What claims and settlements run walks an index by key, sorts nothing of a claim, and reads so few pages that it does not
// matter what the tables hold, whether the plan was made when they were empty, without statistics, or with them.
//
// Q6
func TestHotStatementsWalkTheirIndex(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	name := c.Copy(t, "plain", migrated)
	s := open(t, c.URL(name), Options{MaxConns: 2, NoHints: true})
	benchStartAll(t, s, 60)
	if err := c.Exec(t.Context(), name, `do $$ declare t text; begin
		foreach t in array array['tasks', 'runs', 'journal', 'scopes', 'run_values', 'timers'] loop
			execute 'alter table millrace.' || t || ' set (autovacuum_enabled = off)';
		end loop; end $$`); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		for what, fill := range hot(t, s, 1) {
			for query, plan := range explained(t, s, fill) {
				name := strings.Join(strings.Fields(query), " ")
				name = name[:min(len(name), 70)]
				if all := walksAll(plan); all != "" {
					t.Errorf("%s, %s: %s: %s", when, what, name, all)
				}
				if pages := plan.Hit + plan.Read; pages > 20*100 {
					t.Errorf("%s, %s: %s: %d pages", when, what, name, pages)
				}
				plan.each(func(n *planned) {
					if what == "claim" && strings.Contains(n.Type, "Sort") {
						t.Errorf("%s, %s: %s sorts", when, what, name)
					}
				})
			}
		}
	}
	check("nearly empty")
	if err := c.Exec(t.Context(), name, strings.Split(fmt.Sprintf(fillSQL, 2_000, 30_000), ";\n")...); err != nil {
		t.Fatal(err)
	}
	check("without statistics")
	if err := c.Exec(t.Context(), name, "analyze"); err != nil {
		t.Fatal(err)
	}
	check("with statistics")
}

// Q6: rows that were taken, and that an old snapshot holds, are walked over once a second at most.
func TestDeadRowsUnderAnOldSnapshotAreWalkedOverRarely(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	name := c.Copy(t, "plain", migrated)
	s := open(t, c.URL(name), Options{MaxConns: 2, NoHints: true})
	benchStartAll(t, s, 500)
	old, err := pgx.Connect(t.Context(), c.URL(name))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // it wrote nothing
	if _, err := old.Exec(t.Context(), "begin isolation level repeatable read; select 1 from millrace.tasks", pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	dead := `insert into millrace.tasks (run, path, lane, rank, due, cause, entry, lease_ms, priority, attempt, state, env)
		select lpad(to_hex(n), 32, '0')::uuid, 's1', 1, n, 0, 1, 0, 0, 0, 0, 0, '{}' from generate_series(1, 50000) as n`
	if err := c.Exec(t.Context(), name, dead, "delete from millrace.tasks where path = 's1' and rank <= 50000"); err != nil {
		t.Fatal(err)
	}
	pages := func(rank int64) int {
		ask := store.Claim{Owner: "plan", Token: 77, Limit: 50}
		n := 0
		for _, plan := range explained(t, s, func(p *pipeline) { new(gather).fill(p, &ask, []int64{1}, []int64{50}, []int64{rank}) }) {
			n += plan.Hit + plan.Read
		}
		return n
	}
	claim := func() []store.Claimed {
		out, err := s.Claim(t.Context(), store.Claim{
			Owner: "plan", Token: 77, Lease: time.Minute, Limit: 50, Lanes: []store.LaneLimit{{Lane: 1, Limit: 50}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	s.floors.learn([]int64{1}, []int64{50}, []int64{math.MinInt64}, taken(claim()), floorSlow)
	ranks, some := s.floors.use([]int64{1})
	if !some {
		t.Fatal("a slow claim has left no floor")
	}
	if above, below := pages(ranks[0]), pages(math.MinInt64); above*2 > below {
		t.Errorf("a claim reads %d pages with a floor, %d without", above, below)
	}
	if got := claim(); len(got) != 50 {
		t.Errorf("a claim above the floor gave %d", len(got))
	}
}

// taken gives rows as a claim read them.
func taken(claimed []store.Claimed) []brought {
	out := make([]brought, len(claimed))
	for i, c := range claimed {
		out[i] = brought{lane: c.Lane.ID, task: c.Task}
	}
	return out
}

func TestAFloorIsForgottenWhenALaneIsEmptied(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	s := open(t, c.URL(c.Copy(t, "plain", migrated)), Options{MaxConns: 2, NoHints: true})
	benchStartAll(t, s, 10)
	s.floors.of = map[int64]floor{1: {math.MaxInt64, time.Now().Add(time.Hour)}}
	out, err := s.Claim(t.Context(), store.Claim{
		Owner: "plan", Token: 77, Lease: time.Minute, Limit: 50, Lanes: []store.LaneLimit{{Lane: 1, Limit: 50}},
	})
	if err != nil || len(out) != 10 {
		t.Errorf("claimed %d, %v: what lies below a floor must not be lost", len(out), err)
	}
}
