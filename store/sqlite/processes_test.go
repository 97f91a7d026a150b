package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/filelock"
)

func init() {
	roles["opener"] = opener
	roles["worker"] = worker
	roles["holder"] = holder
	roles["busy"] = busyRole
}

const stepsOfRun = 5

// opener opens the file and starts a run.
func opener(path string) error {
	s, err := Open(context.Background(), path, unhurried(Options{}))
	if err != nil {
		return err
	}
	_, err = s.Start(context.Background(), []store.Start{benchStart(s.o.Clock())})
	return errors.Join(err, s.Close())
}

// worker claims and settles until all is done, and prints what it settled.
func worker(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, path, unhurried(Options{}))
	if err != nil {
		return err
	}
	owner := fmt.Sprintf("worker-%d", os.Getpid())
	for token := rand.Int64N(1<<40) + 1; ; token++ {
		held, err := s.Claim(ctx, store.Claim{
			Owner: owner, Token: token, Lease: time.Minute, Limit: 7, Lanes: []store.LaneLimit{{Lane: 1, Limit: 7}},
		})
		if err != nil {
			return err
		}
		if len(held) == 0 {
			return errors.Join(s.Retire(ctx, owner), s.Close())
		}
		for len(held) > 0 {
			if held, err = settleHeld(ctx, s, held, owner, token); err != nil {
				return err
			}
		}
	}
}

// settleHeld settles what is held, prints it, and gives what was handed over.
func settleHeld(ctx context.Context, s *Store, held []store.Claimed, owner string, token int64) ([]store.Claimed, error) {
	hand := store.HandOver{Owner: owner, Token: token, Lease: time.Minute, Handlers: []string{"noop"}, Limit: 1}
	var settlements []store.Settlement
	for i := range held {
		more := held[i].Run.Run.Seq < stepsOfRun
		settlements = append(settlements, benchOutcome(&held[i], s.o.Clock(), more, hand))
	}
	settled, err := s.Settle(ctx, settlements)
	if err != nil {
		return nil, err
	}
	var next []store.Claimed
	for i := range settled {
		if settled[i].Result != store.Won {
			return nil, fmt.Errorf("settlement of %s: %+v", held[i].RunID, settled[i])
		}
		if _, err := fmt.Println(held[i].RunID, held[i].Path, held[i].Attempt); err != nil {
			return nil, err
		}
		next = append(next, settled[i].Handed...)
	}
	return next, nil
}

// busyRole starts runs, two in one transaction, and settles steps, for ever, and prints each after its commit.
func busyRole(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, path, unhurried(Options{}))
	if err != nil {
		return err
	}
	owner := fmt.Sprintf("busy-%d", os.Getpid())
	for token := int64(1); ; token++ {
		starts := []store.Start{benchStart(s.o.Clock()), benchStart(s.o.Clock())}
		if _, err := s.Start(ctx, starts); err != nil {
			return err
		}
		if _, err := fmt.Printf("%s\n%s\n", starts[0].Run.ID, starts[1].Run.ID); err != nil {
			return err
		}
		held, err := s.Claim(ctx, store.Claim{
			Owner: owner, Token: token, Lease: time.Minute, Limit: 3, Lanes: []store.LaneLimit{{Lane: 1, Limit: 3}},
		})
		if err != nil {
			return err
		}
		if _, err = settleHeld(ctx, s, held, owner, token); err != nil {
			return err
		}
	}
}

// holder claims a task, says so, and does nothing until it is killed or its input ends.
func holder(path string) error {
	s, err := Open(context.Background(), path, unhurried(Options{}))
	if err != nil {
		return err
	}
	held, err := s.Claim(context.Background(), store.Claim{
		Owner: "holder", Token: 5, Lease: time.Hour, Limit: 1, Lanes: []store.LaneLimit{{Lane: 1, Limit: 1}},
	})
	if err != nil || len(held) != 1 {
		return fmt.Errorf("claimed %d: %w", len(held), err)
	}
	fmt.Println("holding")
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

func startRuns(t *testing.T, s *Store, n int) []string {
	t.Helper()
	var starts []store.Start
	var ids []string
	for range n {
		st := benchStart(s.o.Clock())
		starts = append(starts, st)
		ids = append(ids, st.Run.ID)
	}
	if _, err := s.Start(t.Context(), starts); err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestProcessesThatMakeOneFileAtOnceAllSucceed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	const processes = 6
	var group sync.WaitGroup
	for range processes {
		group.Go(func() {
			if err := inRole(t, "opener", path).Run(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	got, err := all(t.Context(), open(t, path, Options{}))
	if err != nil || len(got) != processes {
		t.Errorf("%d runs, %v", len(got), err)
	}
}

// Several processes share the work of one file: every attempt belongs to one of them and is settled once.
//
// A1
func TestProcessesNeverShareAnAttempt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s := open(t, path, Options{})
	ids := startRuns(t, s, 60)
	var mu sync.Mutex
	settled := map[string]int{}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			out, err := inRole(t, "worker", path).Output()
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for line := range strings.Lines(string(out)) {
				settled[strings.TrimSpace(line)]++
			}
		})
	}
	group.Wait()
	want := map[string]int{}
	for _, run := range ids {
		want[run+" s1 1"] = 1
		for step := 2; step <= stepsOfRun; step++ {
			want[fmt.Sprintf("%s s%d 1", run, step)] = 1
		}
	}
	if diff := cmp.Diff(want, settled); diff != "" {
		t.Errorf("settled (-want +got):\n%s", diff)
	}
	rows, err := s.Runs(t.Context(), store.Filter{Tenant: "default", Status: []machine.Status{machine.Succeeded}})
	if err != nil || len(rows) != len(ids) {
		t.Errorf("%d of %d runs ended, %v", len(rows), len(ids), err)
	}
}

// A process that is killed at any moment loses nothing that it was told is done, and leaves nothing half done.
//
// O3
func TestWhatWasAcknowledgedOutlivesAKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	var acknowledged []string
	for range 6 {
		acknowledged = append(acknowledged, killAfter(t, path, rand.IntN(60))...)
	}
	s := open(t, path, Options{})
	stored, err := all(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(stored)%2 != 0 {
		t.Errorf("a transaction was stored in part: %d runs", len(stored))
	}
	done := map[string]bool{}
	for _, run := range stored {
		done[run] = true
		for _, path := range wholeRun(t, s, run) {
			done[run+" "+path] = true
		}
	}
	for _, line := range acknowledged {
		if what, _ := strings.CutSuffix(line, " 1"); !done[what] {
			t.Errorf("%q was acknowledged and is gone", line)
		}
	}
}

// killAfter lets a busy process work until it has printed so many lines, kills it, and gives all whole lines.
func killAfter(t *testing.T, path string, left int) []string {
	t.Helper()
	cmd := inRole(t, "busy", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var whole []string
	lines := bufio.NewReader(out)
	for ; ; left-- {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		whole = append(whole, strings.TrimSpace(line))
		if left == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the process was not killed")
	}
	return whole
}

// wholeRun checks that a run's row, journal and task agree, and gives the steps that were settled.
func wholeRun(t *testing.T, s *Store, run string) []string {
	t.Helper()
	state, err := s.State(t.Context(), "default", run, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := s.Journal(t.Context(), "default", run, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := s.Tasks(t.Context(), "default", run, nil)
	if err != nil {
		t.Fatal(err)
	}
	seq := state.Run.Seq
	if int64(len(entries)) != seq || state.Version != seq || len(tasks) != 1 || tasks[0].Path != fmt.Sprintf("s%d", seq) {
		t.Errorf("run %s: version %d, length %d, entries %v, tasks %v", run, state.Version, seq, entries, tasks)
	}
	var settled []string
	for i, e := range entries {
		if e.Seq != int64(i)+1 {
			t.Errorf("run %s: entry %d has the number %d", run, i+1, e.Seq)
		}
		settled = append(settled, e.Path)
	}
	return settled
}

// On one machine a dead process is known at once, whatever its leases say; what is left of it is cleared away when it
// holds nothing any more.
func TestADeadProcessIsProvedByItsLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s := open(t, path, Options{})
	startRuns(t, s, 1)
	cmd := inRole(t, "holder", path)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	if live, err := s.Expired(t.Context(), 9); err != nil || len(live) != 0 {
		t.Fatalf("while it lives: %v, %v", live, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	live, err := s.Expired(t.Context(), 9)
	if err != nil || len(live) != 1 || !live[0].Dead || live[0].Owner != "holder" {
		t.Fatalf("after its death: %+v, %v", live, err)
	}
	settleLoss(t, s, &live[0])
	if live, err := s.Expired(t.Context(), 9); err != nil || len(live) != 0 {
		t.Errorf("after the loss: %v, %v", live, err)
	}
	cleared(t, s, "holder")
}

// cleared waits until the lock file of a dead owner is gone. One look may leave it: a process that another test starts at that
// moment has what this one has open, the lock by which it looked among it, until it has become another program.
func cleared(t *testing.T, s *Store, owner string) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; {
		_, err := os.Stat(s.owners.Path(owner))
		switch {
		case errors.Is(err, os.ErrNotExist):
			return
		case err != nil || time.Now().After(until):
			t.Fatalf("its lock file is still there: %v", err)
		}
		if _, err := s.Expired(t.Context(), 9); err != nil {
			t.Fatal(err)
		}
	}
}

func settleLoss(t *testing.T, s *Store, l *store.Live) {
	t.Helper()
	state, err := s.State(t.Context(), l.Tenant, l.RunID, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	claimed := store.Claimed{Task: l.Task, Token: l.Token, Run: state}
	settled, err := s.Settle(t.Context(), []store.Settlement{benchOutcome(&claimed, s.o.Clock(), true, store.HandOver{})})
	if err != nil || settled[0].Result != store.Won {
		t.Fatalf("loss: %+v, %v", settled, err)
	}
}

func TestARetiredProcessLeavesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s := open(t, path, Options{})
	if err := s.Beat(t.Context(), store.Process{Owner: "a/b\x00", Host: "h", PID: 1}); err != nil {
		t.Fatal(err)
	}
	other := open(t, path, Options{})
	if alive, err := other.owners.Alive("a/b\x00"); !alive || err != nil {
		t.Errorf("alive: %v, %v", alive, err)
	}
	long := strings.Repeat("long ", 100)
	if err := s.Beat(t.Context(), store.Process{Owner: long}); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{"a/b\x00", long} {
		if err := s.Retire(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(path + "-procs")
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the turn: %v, %v", entries, err)
	}
}

// Whoever waits for the write lock gets it before a process that has just had it and comes again.
func TestWritersTakeTurns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	greedy, patientOne := open(t, path, Options{}), open(t, path, Options{})
	probe, err := filelock.NewTurnstile(filepath.Join(path+"-procs", "turn"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = probe.Close() })
	var mu sync.Mutex
	var order []string
	say := func(who string) func(*conn) error {
		return func(*conn) error {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, who)
			return nil
		}
	}
	var group sync.WaitGroup
	err = greedy.write(t.Context(), "first", func(*conn) error {
		group.Go(func() {
			if err := patientOne.write(t.Context(), "patient", say("patient")); err != nil {
				t.Error(err)
			}
		})
		for { // until the other stands at the turnstile
			free, err := probe.Free()
			if err != nil || !free {
				return err
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := greedy.write(t.Context(), "again", say("greedy")); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if diff := cmp.Diff([]string{"patient", "greedy"}, order); diff != "" {
		t.Errorf("order:\n%s", diff)
	}
}
