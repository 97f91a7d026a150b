package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite"
	"github.com/millrace-go/millrace/workflow"
)

const (
	crashMoments      = 25
	crashMomentsShort = 3
	crashKey          = "crash"
)

// TestCrash kills the program with SIGKILL at random moments of a run of forty steps and resumes it: nothing that was
// recorded is done again, nothing is missing, and the invariants hold. MILLRACE_CRASH_SEED repeats a series.
// A6 A11 O1 O3
func TestCrash(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("MILLRACE_CRASH_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("MILLRACE_CRASH_SEED: %v", err)
		}
	}
	t.Logf("MILLRACE_CRASH_SEED=%d", seed)
	calm := newCrash(t)
	began := time.Now()
	calm.run(t)
	whole := time.Since(began)
	want := calm.check(t)
	if len(want) != 40 {
		t.Fatalf("the workflow has %d tasks, want 40", len(want))
	}
	moments := crashMoments
	if testing.Short() {
		moments = crashMomentsShort
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range moments {
		after := time.Duration(random.Int64N(int64(whole)))
		t.Run(fmt.Sprintf("%d-after-%dms", i, after.Milliseconds()), func(t *testing.T) {
			t.Parallel()
			c := newCrash(t)
			c.killAfter(t, after)
			c.run(t)
			if diff := cmp.Diff(want, c.check(t)); diff != "" {
				t.Errorf("steps that ended (-undisturbed +killed):\n%s", diff)
			}
		})
	}
}

// crash is one run in a folder of its own.
type crash struct{ folder, ledger, db string }

func newCrash(t *testing.T) crash {
	t.Helper()
	c := crash{folder: t.TempDir()}
	c.ledger, c.db = filepath.Join(c.folder, "ledger"), filepath.Join(c.folder, "runs.db")
	file, err := os.ReadFile(filepath.Join("testdata", "crash", "forty.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.folder, "forty.yaml"), file, 0o644); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c crash) command(args ...string) *exec.Cmd {
	cmd := exec.Command("millrace", append(args, "--db", "sqlite:"+c.db)...)
	cmd.Dir = c.folder
	return cmd
}

// killAfter starts the run and kills its process.
func (c crash) killAfter(t *testing.T, after time.Duration) {
	t.Helper()
	cmd := c.command("run", "forty.yaml", "--key", crashKey)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // it was killed, or was faster
}

// run drives the run to its end: it resumes it if it was started before, else starts it.
func (c crash) run(t *testing.T) {
	t.Helper()
	args := []string{"resume", "forty/" + crashKey}
	if out, err := c.command("show", "forty/"+crashKey).CombinedOutput(); err != nil {
		t.Logf("it was killed before it was started: %s", bytes.TrimSpace(out))
		args = []string{"run", "forty.yaml", "--key", crashKey}
	}
	var stdout, stderr bytes.Buffer
	cmd := c.command(append(args, "--json")...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, stderr.Bytes(), stdout.Bytes())
	}
	var v struct{ Status, Output string }
	if err := json.Unmarshal(stdout.Bytes(), &v); err != nil || v.Status != "succeeded" || v.Output != "all done" {
		t.Fatalf("the run ended %q with %q, %v", v.Status, v.Output, err)
	}
}

// check compares journal, ledger and state, and gives the paths of the tasks that succeeded.
func (c crash) check(t *testing.T) []string {
	t.Helper()
	st, err := sqlite.Open(t.Context(), c.db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	id := c.only(t, st)
	entries, err := st.Journal(t.Context(), "default", id, 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	events := make([]machine.Event, len(entries))
	succeeded := map[string]int{} // path -> attempt
	for i, e := range entries {
		if e.Seq != int64(i+1) {
			t.Fatalf("entry %d has number %d", i+1, e.Seq)
		}
		events[i] = machine.Event{
			Kind: e.Kind, At: e.At, Path: e.Path, Name: e.Name, Key: e.Key, Attempt: e.Attempt, Cause: e.Cause, Payload: e.Payload,
		}
		if e.Kind != machine.TaskSucceeded {
			continue
		}
		if _, twice := succeeded[e.Path]; twice {
			t.Errorf("%s succeeded twice", e.Path)
		}
		succeeded[e.Path] = e.Attempt
	}
	c.checkLedger(t, succeeded)
	c.checkState(t, st, id, events)
	return slices.Sorted(maps.Keys(succeeded))
}

func (c crash) only(t *testing.T, st *sqlite.Store) string {
	t.Helper()
	runs, err := st.Runs(t.Context(), store.Filter{Tenant: "default"})
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, want one: %v", len(runs), err)
	}
	return runs[0].ID
}

// checkLedger: every attempt began once at most, none after the one that is recorded as succeeded, and that one began.
func (c crash) checkLedger(t *testing.T, succeeded map[string]int) {
	t.Helper()
	data, err := os.ReadFile(c.ledger)
	if err != nil {
		t.Fatal(err)
	}
	began := map[string][]int{}
	for line := range strings.Lines(string(data)) {
		path, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		attempt, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("the ledger has the line %q", line)
		}
		if slices.Contains(began[path], attempt) {
			t.Errorf("%s: attempt %d began twice", path, attempt)
		}
		began[path] = append(began[path], attempt)
	}
	for path, attempts := range began {
		if last := slices.Max(attempts); last > succeeded[path] {
			t.Errorf("%s: attempt %d began, and attempt %d is recorded as succeeded", path, last, succeeded[path])
		}
	}
	for path, attempt := range succeeded {
		if !slices.Contains(began[path], attempt) {
			t.Errorf("%s: attempt %d is recorded as succeeded and never began", path, attempt)
		}
	}
}

// checkState: an ended run has no live task and no timer, and a replay of its journal gives its state.
func (c crash) checkState(t *testing.T, st *sqlite.Store, id string, events []machine.Event) {
	t.Helper()
	ctx := t.Context()
	tasks, err := st.Tasks(ctx, "default", id, nil)
	if err != nil || len(tasks) > 0 {
		t.Errorf("the ended run has %d live tasks, %v", len(tasks), err)
	}
	timers, err := st.Timers(ctx, "default", id)
	if err != nil || len(timers) > 0 {
		t.Errorf("the ended run has %d timers, %v", len(timers), err)
	}
	state, err := st.State(ctx, "default", id, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := st.Workflow(ctx, "default", "forty", state.Run.Header.Version)
	if err != nil {
		t.Fatal(err)
	}
	def, err := workflow.Read("forty", w.Doc)
	if err != nil {
		t.Fatal(err)
	}
	again, err := machine.Replay(def, state.Run.Header, events)
	if err != nil {
		t.Fatalf("replay: %v", err)
	}
	if diff := cmp.Diff(string(state.Run.EncodeRoot()), string(again.EncodeRoot())); diff != "" {
		t.Errorf("a replay gives another state (-stored +replayed):\n%s", diff)
	}
}
