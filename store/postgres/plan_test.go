package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/store"
)

// planned is a node of a plan that was carried out.
type planned struct {
	Type     string    `json:"Node Type"`
	Relation string    `json:"Relation Name"`
	Index    string    `json:"Index Name"`
	Cond     string    `json:"Index Cond"`
	Filter   string    `json:"Filter"`
	Rows     float64   `json:"Actual Rows"`
	Passed   float64   `json:"Rows Removed by Filter"`
	Loops    float64   `json:"Actual Loops"`
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

// Q6: rows that were taken, and that an old snapshot holds, are walked over once a second at most.
func TestDeadRowsUnderAnOldSnapshotAreWalkedOverRarely(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	name := c.Copy(t, "standing", standingStill)
	s := open(t, c.URL(name), Options{MaxConns: 2, NoHints: true})
	benchStartAll(t, s, 500, atStand)
	old, err := pgx.Connect(t.Context(), c.URL(name))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // it wrote nothing
	if _, err := old.Exec(t.Context(), "begin isolation level repeatable read; select 1 from millrace.tasks", pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	dead := `insert into millrace.tasks (run, path, lane, rank, due, cause, entry, lease_ms, priority, attempt, state, env)
		select lpad(to_hex(n), 32, '0')::uuid, 's1', 1, n, 0, 1, 0, 0, 0, 0, 0, '{}' from generate_series(1, ` + strconv.Itoa(amounts().dead) + `) as n`
	if err := c.Exec(t.Context(), name, dead, "delete from millrace.tasks where path = 's1' and rank < 1000000000000"); err != nil {
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
	if learned, ok := s.floors.of[1]; ok { // it holds for as long as the test takes
		s.floors.of[1] = floor{learned.rank, time.Now().Add(time.Hour)}
	}
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

// Q6: what a run goes through is written to its page, and no index of runs hears of it, also when its status changes.
func TestTheHappyPathOfARunTouchesNoIndexOfRuns(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	s := open(t, c.URL(c.Copy(t, "standing", standingStill)), Options{MaxConns: 1, NoHints: true})
	const runs = 20
	var last string
	if err := startSome(t.Context(), s, runs, &last); err != nil {
		t.Fatal(err)
	}
	held, err := s.Claim(t.Context(), store.Claim{
		Owner: "plan", Token: 77, Lease: time.Minute, Limit: runs, Lanes: []store.LaneLimit{{Lane: 1, Limit: runs}},
	})
	if err := wants(err, len(held), runs); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(settleSome(t.Context(), s, held[:1], false), settleSome(t.Context(), s, held[1:], false)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.pool.Exec(t.Context(), "select pg_stat_force_next_flush()"); err != nil {
		t.Fatal(err)
	}
	var all, onPage int
	err = s.pool.QueryRow(t.Context(), "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'runs'").Scan(&all, &onPage)
	if err != nil || all != runs || onPage != runs {
		t.Errorf("%d updates of %d runs, %d without an index, %v", all, runs, onPage, err)
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
	s := open(t, c.URL(c.Copy(t, "standing", standingStill)), Options{MaxConns: 2, NoHints: true})
	benchStartAll(t, s, 10, atStand)
	s.floors.of = map[int64]floor{1: {math.MaxInt64, time.Now().Add(time.Hour)}}
	out, err := s.Claim(t.Context(), store.Claim{
		Owner: "plan", Token: 77, Lease: time.Minute, Limit: 50, Lanes: []store.LaneLimit{{Lane: 1, Limit: 50}},
	})
	if err != nil || len(out) != 10 {
		t.Errorf("claimed %d, %v: what lies below a floor must not be lost", len(out), err)
	}
}
