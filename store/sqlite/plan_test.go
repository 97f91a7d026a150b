package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/listing"
)

// planOf gives SQLite's plan of a statement, its lines joined.
func planOf(t *testing.T, s *Store, query string) (plan string, opcodes []string) {
	t.Helper()
	c := <-s.writer
	defer func() { s.writer <- c }()
	err := c.Each("explain query plan "+query, func(r *row) error {
		plan += r.ColumnText(3) + "\n"
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	err = c.Each("explain "+query, func(r *row) error {
		opcodes = append(opcodes, r.ColumnText(1))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan, opcodes
}

// What a claim and a settlement run walks an index or a primary key, sorts nothing and builds no table in memory, whatever
// the tables hold.
//
// Q6
// The lease of a claim's tasks gathers as many keys as the claim asks for before it changes the first; it has a test of its
// own.
func TestHotStatementsWalkTheirIndex(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "plan.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	key, byID := "PRIMARY KEY (run=? AND path=?)", "INDEX sqlite_autoindex_runs_1 (id=?)"
	for _, statement := range []struct{ name, query, walks string }{
		{"candidates", candidatesSQL, "INDEX tasks_ready (lane=?)"},
		{"candidates of a run", strings.TrimSuffix(candidatesOfRunSQL, " order by t.rank, t.path"), "PRIMARY KEY (run=?)"},
		{"any ready", anyReadySQL, "INDEX tasks_ready (lane=?)"},
		{"whether a lane is paused", anyReadySQL, "INTEGER PRIMARY KEY (rowid=?)"},
		{"ripe", listing.RipeSQL, "INDEX tasks_due (due<?)"},
		{"lane", listing.LaneSQL, "INTEGER PRIMARY KEY (rowid=?)"},
		{"any due", anyDueSQL, "INDEX tasks_due (due<?)"},
		{"lease", leaseSQL, key},
		{"run", runSQL, byID},
		{"advance", advanceSQL, byID},
		{"stands", standsSQL, byID},
		{"drop", dropSQL, key},
		{"guard", guardSQL, key},
		{"entry", journalSQL, ""},
		{"document", saveSQL, ""},
		{"task", startSQL, ""},
		{"create", createSQL, ""},
		{"held", heldSQL, key},
		{"prolong", prolongSQL, key},
		{"lapsed", lapsedSQL, "INDEX tasks_leased (lease_until<?)"},
		{"due timers", dueSQL, "INDEX timers_due (due<?)"},
		{"next timer", nextSQL, "INDEX timers_due (due>?)"},
		{"remains", remainsSQL, "PRIMARY KEY (run=?)"},
		{"hold", holdSQL, "PRIMARY KEY (run=?)"},
		{"free", freeSQL, "PRIMARY KEY (run=?)"},
		{"letter", letterSQL, ""},
		{"close", closeSQL, "INDEX dead_letters_open (run=? AND kind=? AND path=?)"},
		{"end of tasks", endSQL[0], "PRIMARY KEY (run=?)"},
		{"end of timers", endSQL[1], "PRIMARY KEY (run=?)"},
		{"end of documents", endSQL[2], "PRIMARY KEY (run=?)"},
	} {
		t.Run(statement.name, func(t *testing.T) {
			if strings.Contains(statement.query, "limit ?") {
				t.Error("a bare parameter as the limit has SQLite prepare the statement anew each time it is bound")
			}
			plan, opcodes := planOf(t, s, statement.query)
			if !strings.Contains(plan, statement.walks) {
				t.Errorf("the plan does not walk %s:\n%s", statement.walks, plan)
			}
			plan = strings.ReplaceAll(plan, "SCAN CONSTANT ROW\n", "") // a select from nothing
			if strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("the plan scans or sorts:\n%s", plan)
			}
			for _, op := range opcodes {
				if op == "OpenEphemeral" || op == "SorterOpen" {
					t.Errorf("the statement builds a table: %s", op)
				}
			}
		})
	}
}

// Q6
func TestALeaseWalksTheReadyIndexAndThenThePrimaryKey(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "plan.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	plan, _ := planOf(t, s, leaseFirstSQL)
	for _, walks := range []string{"INDEX tasks_ready (lane=?)", "PRIMARY KEY (run=? AND path=?)"} {
		if !strings.Contains(plan, walks) {
			t.Errorf("the plan does not walk %s:\n%s", walks, plan)
		}
	}
	if strings.Contains(plan, "SCAN tasks") || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("the plan scans or sorts:\n%s", plan)
	}
}

// What people ask of letters walks an index of the letters that are open, or of one run's, whatever else there is.
func TestLettersWalkAnIndex(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "plan.db"), Options{})
	run := benchRun(1).ID
	for _, test := range []struct {
		name   string
		filter store.LetterFilter
		walks  string
	}{
		{"open", store.LetterFilter{State: machine.LetterOpen, Before: 9}, "INDEX dead_letters_open_tenant (tenant=? AND id<?)"},
		{"open of a workflow", store.LetterFilter{State: machine.LetterOpen, Workflow: "w"}, "INDEX dead_letters_open_tenant (tenant=?)"},
		{"of a run", store.LetterFilter{RunID: run}, "INDEX dead_letters_run (run=?)"},
		{"by id", store.LetterFilter{IDs: []int64{1}}, "INDEX dead_letters_tenant (tenant=? AND id=?)"},
		{"all", store.LetterFilter{}, "INDEX dead_letters_tenant (tenant=?)"},
	} {
		query, _, _ := listing.Letters(&test.filter)
		plan, _ := planOf(t, s, query)
		if !strings.Contains(plan, test.walks) || strings.Contains(plan, "SCAN d") {
			t.Errorf("%s does not walk %s:\n%s", test.name, test.walks, plan)
		}
	}
	if plan, _ := planOf(t, s, closeAllSQL); !strings.Contains(plan, "INDEX dead_letters_open (run=?)") {
		t.Errorf("closing all of a run does not walk what is open:\n%s", plan)
	}
}

// O6: runs of a rare status are a range of an index, whatever else there is.
func TestListsOfRareStatusesWalkTheirRange(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "plan.db"), Options{})
	for _, test := range []struct {
		name   string
		filter store.Filter
		walks  []string
	}{
		{"dead", store.Filter{Status: []machine.Status{machine.Dead}}, []string{"INDEX runs_rare (tenant=? AND status=?)"}},
		{"dead, older", store.Filter{Status: []machine.Status{machine.Dead}, Before: benchRun(1).ID}, []string{
			"INDEX runs_rare (tenant=? AND status=? AND id<?)",
		}},
		{"failed or dead", store.Filter{Status: []machine.Status{machine.Failed, machine.Dead, machine.Dead}, Workflow: "w"}, []string{
			"INDEX runs_rare (tenant=? AND status=?)", "INDEX runs_rare (tenant=? AND status=?)",
		}},
		{"running or dead", store.Filter{Status: []machine.Status{machine.Running, machine.Dead}}, nil},
	} {
		query, _ := listing.Runs(headerColumns+", id", &test.filter)
		plan, _ := planOf(t, s, query)
		if got := strings.Count(plan, "INDEX runs_rare"); got != len(test.walks) {
			t.Errorf("%s: %d ranges of the index are walked:\n%s", test.name, got, plan)
		}
		for _, walks := range test.walks {
			if !strings.Contains(plan, walks) {
				t.Errorf("%s does not walk %s:\n%s", test.name, walks, plan)
			}
		}
	}
}

// O6: all other lists walk the ids backwards, and stop when they have enough: nothing is sorted.
func TestListsWalkTheIDs(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "plan.db"), Options{})
	for name, test := range map[string]struct {
		filter store.Filter
		walks  string
	}{
		"all":         {store.Filter{}, "SCAN runs USING INDEX sqlite_autoindex_runs_1"},
		"older":       {store.Filter{Before: benchRun(1).ID}, "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id<?)"},
		"by status":   {store.Filter{Status: []machine.Status{machine.Running, machine.Dead}}, "SCAN runs USING INDEX sqlite_autoindex_runs_1"},
		"of workflow": {store.Filter{Workflow: "w", Key: "k", Since: 1}, "SCAN runs USING INDEX sqlite_autoindex_runs_1"},
		"by ending":   {store.Filter{IDSuffix: "abcd"}, "SCAN runs USING INDEX sqlite_autoindex_runs_1"},
	} {
		query, _ := listing.Runs(headerColumns+", id", &test.filter)
		if plan, _ := planOf(t, s, query); !strings.Contains(plan, test.walks) || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s: the plan does not walk %s, or sorts:\n%s", name, test.walks, plan)
		}
	}
}

// C3: what a pause flags is a range of the lanes of one tenant.
func TestAPauseWalksTheLanesOfItsTenant(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "plan.db"), Options{})
	for _, query := range []string{flagSQL, unflagSQL} {
		plan, _ := planOf(t, s, query)
		if !strings.Contains(plan, "lanes USING INDEX sqlite_autoindex_lanes_1 (tenant=?)") || strings.Contains(plan, "SCAN") {
			t.Errorf("a range of lanes is not walked:\n%s", plan)
		}
	}
}

// backlog fills the ready index: so many tasks in one lane, so many lanes of three, and so many ended runs with a journal.
func backlog(t *testing.T, s *Store, deep, lanes, ended int) {
	t.Helper()
	defer func(d time.Duration) { s.o.CallTimeout = d }(s.o.CallTimeout)
	s.o.CallTimeout = 10 * time.Minute // a busy machine takes its time to fill
	const task = "select randomblob(16), 'x', %s, n, 0, 0, 0, 0, 1, 0, n, 0, '', 0, 0, 0, '1', '{}' from many"
	err := s.write(t.Context(), "fill", func(c *conn) error {
		for _, fill := range []struct {
			query string
			n     int
		}{
			{"insert into lanes (tenant, queue, handler, workflow) select 'b' || n, 'q', 'noop', 'w' from many", lanes},
			{"insert into lanes (tenant, queue, handler, workflow) select 'deep', 'q', 'noop', 'w' from many", min(deep, 1)},
			{"insert into tasks " + strings.Replace(task, "%s", "(select max(id) from lanes)", 1), deep},
			{"insert into tasks " + strings.Replace(task, "%s", "(select min(id) from lanes where tenant like 'b%') + n / 3", 1), 3 * lanes},
			{`insert into runs select randomblob(16), 'default', 'w', 1, '', '', 1, 1, 'succeeded', 3, 3, 1, 1, 1, 0, null, '', x'7b7d'
				from many`, ended},
			{"insert into journal select id, 1, 1, 'run_started', '', '', '', 0, 0, x'31', null from runs where status = 'succeeded' limit ?1", ended},
		} {
			into, from, _ := strings.Cut(fill.query, " select ")
			query := into + " with recursive many (n) as (select 0 where ?1 > 0 union all select n + 1 from many where n + 1 < ?1) select " + from
			if _, err := c.Exec(query, fill.n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Q6: what a claim costs does not grow with what lies in other lanes, with how many these are, or with history; nor does
// finding the lanes that hold work with how much lies in one.
func TestAClaimCostsTheSameHoweverMuchThereIs(t *testing.T) {
	t.Parallel()
	const least, most, limit = 20, 100, 5 // rounds, and tasks of a claim
	stores, best := map[string]*Store{}, map[string]time.Duration{}
	for name, fill := range map[string]func(s *Store){
		"nothing":                     func(*Store) {},
		"a long line in another lane": func(s *Store) { backlog(t, s, 20_000, 0, 0) },
		"many lanes":                  func(s *Store) { backlog(t, s, 0, 4_000, 0) },
		"a long history":              func(s *Store) { backlog(t, s, 0, 0, 20_000) },
	} {
		s := open(t, filepath.Join(t.TempDir(), "claim.db"), Options{})
		c := <-s.writer
		if err := c.Do("pragma synchronous = off"); err != nil { // what the disk takes is not what is compared
			t.Fatal(err)
		}
		s.writer <- c
		startRuns(t, s, most*limit) // lane 1
		fill(s)
		stores[name], best[name] = s, time.Hour
	}
	dear := func() (names []string) {
		for name, took := range best {
			if took > 4*best["nothing"]+time.Millisecond {
				names = append(names, name)
			}
		}
		return names
	}
	// In turns, so that whatever else this machine does befalls all alike, and for as long as it may have befallen one alone.
	for round := 1; round <= least || round <= most && len(dear()) > 0; round++ {
		for name, s := range stores {
			best[name] = min(best[name], costOfAClaim(t, s, int64(round), limit))
		}
	}
	for _, name := range dear() {
		t.Errorf("beside %s a claim takes %s, beside nothing %s", name, best[name], best["nothing"])
	}
}

// costOfAClaim finds the lanes that hold work, claims so many tasks, and gives what both took.
func costOfAClaim(t *testing.T, s *Store, token int64, limit int) time.Duration {
	t.Helper()
	began := time.Now()
	if _, err := s.Stocked(t.Context(), 0, 3); err != nil {
		t.Fatal(err)
	}
	got, err := s.Claim(t.Context(), store.Claim{
		Owner: "o", Token: token, Lease: time.Minute, Limit: limit, Lanes: []store.LaneLimit{{Lane: 1, Limit: limit}},
	})
	took := time.Since(began)
	if err != nil || len(got) != limit {
		t.Fatal(len(got), err)
	}
	return took
}

// Q6
func TestStockedLanesAreFoundByOneProbeEach(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "plan.db"), Options{})
	plan, _ := planOf(t, s, listing.StockedSQL)
	for _, walks := range []string{"SEARCH tasks USING COVERING INDEX tasks_ready (lane>?)", "SEARCH lanes USING INTEGER PRIMARY KEY (rowid=?)"} {
		if !strings.Contains(plan, walks) {
			t.Errorf("the plan does not hold %s:\n%s", walks, plan)
		}
	}
	if strings.Contains(plan, "SCAN tasks") || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("the plan scans or sorts:\n%s", plan)
	}
	backlog(t, s, 5_000, 2_500, 0)
	var all []store.Lane
	for after := int64(0); ; {
		page, err := s.Stocked(t.Context(), after, 1_000)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if len(page) < 1_000 {
			break
		}
		after = page[999].ID
	}
	if len(all) != 2_501 {
		t.Errorf("%d lanes hold work", len(all))
	}
}
