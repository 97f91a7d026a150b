package sqlite

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/pruning"
)

func init() {
	roles["prune"] = func(path string) error {
		s, err := Open(context.Background(), path, unhurried(Options{}))
		if err != nil {
			return err
		}
		for o := pruneAll(20); ; {
			out, err := s.Prune(context.Background(), o)
			if err != nil {
				return err
			}
			fmt.Println(len(out.Runs))
			if o.After = out.Next; o.After == "" {
				return s.Close()
			}
		}
	}
}

// pruneAll gives an order for every run that has succeeded, so many at a time.
func pruneAll(limit int) store.PruneOrder {
	later := newHandClock().time().Add(time.Hour) // whatever day this machine takes it to be
	return store.PruneOrder{Tenant: "default", Before: map[machine.Status]machine.Time{machine.Succeeded: later}, Limit: limit}
}

// endRuns starts runs that have ended at once, each with so many entries of so many bytes.
func endRuns(t *testing.T, s *Store, runs, entries, bytes int) (ids []string) {
	t.Helper()
	payload := json.RawMessage(`"` + strings.Repeat("x", bytes) + `"`)
	for range runs {
		st := benchStart(s.o.Clock())
		for i := 1; i < entries; i++ {
			e := st.Entries[0]
			e.Seq, e.Payload = int64(i+1), payload
			st.Entries = append(st.Entries, e)
		}
		r := st.Run
		r.Seq, r.Key, r.Status, r.FinishedAt = int64(len(st.Entries)), r.ID, machine.Succeeded, r.At
		st.Effects = []machine.Effect{
			machine.PutValue{Ref: machine.Ref{Key: "v"}, Data: payload}, machine.EndRun{Status: machine.Succeeded},
		}
		out, err := s.Start(t.Context(), []store.Start{st})
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

// prune carries out an order to its end and gives the number of runs that it removed.
func prune(t *testing.T, s *Store, o store.PruneOrder) (n int) {
	t.Helper()
	for {
		out, err := s.Prune(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		n += len(out.Runs)
		if o.After = out.Next; o.After == "" {
			return n
		}
	}
}

// rows counts the rows of tables that hold what belongs to runs.
func rows(t *testing.T, s *Store) map[string]int {
	t.Helper()
	out := map[string]int{}
	err := s.read(t.Context(), "count", func(c *conn) error {
		for _, table := range []string{"runs", "journal", "run_values", "scopes", "dead_letters", "leftovers", "run_keys", "key_tombstones"} {
			_, err := c.One("select count(*) from "+table, func(r *row) error {
				out[table] = r.ColumnInt(0)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// K1: whenever the process is killed, no run is there by half, and the next call removes what was begun.
func TestPruningThatIsKilledIsEndedByTheNext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s := open(t, path, Options{Clock: newHandClock().time})
	ids := endRuns(t, s, 60, 150, 100)
	ids = append(ids, endRuns(t, s, 3, 5_000, 10)...)
	for kills := range 5 {
		cmd := inRole(t, "prune", path)
		said, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if kills > 0 { // the first is killed before it has told of any
			_, _ = bufio.NewReader(said).ReadString('\n') // it may have nothing more to say
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for _, id := range ids {
			entries, err := s.Journal(t.Context(), "default", id, 0, 10_000)
			state, stateErr := s.State(t.Context(), "default", id, nil, nil)
			if (err == nil) != (stateErr == nil) || err == nil && int64(len(entries)) != state.Run.Seq {
				t.Fatalf("run %s has %d entries: %v, %v", id, len(entries), err, stateErr)
			}
		}
	}
	prune(t, s, pruneAll(0))
	want := map[string]int{"key_tombstones": len(ids)}
	for table, n := range rows(t, s) {
		if n != want[table] {
			t.Errorf("%s has %d rows, want %d", table, n, want[table])
		}
	}
}

// K1: what is removed in one transaction is bounded, in rows and in pages.
func TestPruningWritesLittleAtATime(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "millrace.db"), Options{Clock: newHandClock().time})
	endRuns(t, s, 1, 3_000, 10)
	endRuns(t, s, 1, 120, 100_000)
	left := 0
	for range 2 {
		var found []pruning.Run
		err := s.read(t.Context(), "find", func(c *conn) (err error) {
			found, _, err = pruning.Find(c, &store.PruneOrder{EveryTenant: true, Before: pruneAll(0).Before, Limit: 1})
			return err
		})
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if _, removed, err := s.removeSome(t.Context(), found); err != nil || len(removed) != 1 {
			t.Fatal(removed, err)
		}
		left++
		if n := rows(t, s)["leftovers"]; n != left {
			t.Errorf("%d of the runs are gone as a whole after one transaction each, want none", left-n)
		}
	}
	if n := rows(t, s)["journal"]; n < 1_030 || n > 1_050 {
		t.Errorf("%d entries are left after two transactions", n)
	}
	if n := prune(t, s, pruneAll(0)); n != 0 {
		t.Errorf("%d runs were pruned again", n)
	}
	if n := rows(t, s)["journal"] + rows(t, s)["leftovers"]; n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// K1
func TestTheFileShrinksWhenRunsArePruned(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s := open(t, path, Options{Clock: newHandClock().time})
	keep := endRuns(t, s, 1, 2, 10)
	endRuns(t, s, 200, 20, 4_000)
	size := func() int64 {
		t.Helper()
		if err := s.Close(); err != nil { // the log is brought into the file
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		s = open(t, path, Options{Clock: newHandClock().time})
		return info.Size()
	}
	before := size()
	o := pruneAll(0)
	o.After = keep[0]
	if n := prune(t, s, o); n != 200 {
		t.Fatalf("%d runs were pruned", n)
	}
	if after := size(); after > before/5 {
		t.Errorf("the file had %d bytes and has %d", before, after)
	}
	if _, err := s.State(t.Context(), "default", keep[0], nil, nil); err != nil {
		t.Error(err)
	}
}

// K1: work goes on while old runs go, and none of it waits for long.
func TestRunningWorkDoesNotNoticePruning(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s := open(t, path, Options{Clock: newHandClock().time})
	endRuns(t, s, 300, 60, 200)
	const workers = 2
	var work, begun sync.WaitGroup
	var mu sync.Mutex
	live, longest := []string{}, time.Duration(0)
	done := make(chan struct{})
	begun.Add(workers)
	for worker := range workers {
		work.Go(func() {
			here := sync.OnceFunc(begun.Done)
			defer here()
			for token := int64(worker + 1); ; token += workers {
				select {
				case <-done:
					return
				default:
				}
				began := time.Now()
				st := benchStart(s.o.Clock())
				st.Hand = store.HandOver{Owner: "o", Token: token, Lease: time.Minute, Handlers: []string{"noop"}, Limit: 1}
				out, err := s.Start(t.Context(), []store.Start{st})
				if err != nil || len(out[0].Handed) != 1 {
					t.Error(err, out)
					return
				}
				settled, err := s.Settle(t.Context(), []store.Settlement{benchOutcome(&out[0].Handed[0], s.o.Clock(), true, store.HandOver{})})
				if err != nil || settled[0].Result != store.Won {
					t.Error(err, settled)
					return
				}
				mu.Lock()
				live, longest = append(live, st.Run.ID), max(longest, time.Since(began))
				mu.Unlock()
				here()
			}
		})
	}
	begun.Wait() // however soon the pruning would be over
	n := prune(t, s, pruneAll(0))
	close(done)
	work.Wait()
	if n != 300 || len(live) == 0 {
		t.Fatalf("%d runs were pruned while %d started", n, len(live))
	}
	t.Logf("%d runs went on meanwhile; the longest start and settlement took %s", len(live), longest)
	for _, id := range live {
		tasks, err := s.Tasks(t.Context(), "default", id, nil)
		if err != nil || len(tasks) != 1 {
			t.Fatalf("run %s has the tasks %+v, %v", id, tasks, err)
		}
	}
}

// K1, Q6: what is pruned is found and removed along primary keys and indexes.
func TestPruningWalksKeysAndIndexes(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "plan.db"), Options{})
	walks := []string{
		"INDEX sqlite_autoindex_runs_1 (id>?)", "INDEX dead_letters_open (run=?)", "INDEX sqlite_autoindex_runs_1 (id=?)",
		"INDEX dead_letters_run (run=?)",
		"PRIMARY KEY (tenant=? AND workflow=? AND key=?)",
		"PRIMARY KEY (run=?)", "PRIMARY KEY (run=? AND seq<?)",
		"PRIMARY KEY (run=?)", "PRIMARY KEY (run=? AND (key,idx)<(?,?))",
		"PRIMARY KEY (run=?)", "PRIMARY KEY (run=? AND path<?)",
		"key_tombstones USING PRIMARY KEY (tenant=? AND workflow=? AND key=?)",
	}
	for i, query := range append(pruning.Statements(), keySQL) {
		plan, _ := planOf(t, s, query)
		lines := slices.DeleteFunc(strings.Split(plan, "\n"), func(l string) bool { return strings.Contains(l, "SCAN CONSTANT ROW") })
		plan = strings.Join(lines, "\n")
		if !strings.Contains(plan, walks[i]) || strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s does not walk %s:\n%s", query, walks[i], plan)
		}
	}
}
