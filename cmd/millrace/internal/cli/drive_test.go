package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
	"github.com/millrace-go/millrace/store/memory"
	"github.com/millrace-go/millrace/workflow"
)

const hello = "workflow: hello\nsteps:\n  - { id: a, run: [echo, hi] }\n  - { id: b, run: [echo, ho] }\n"

// newApp gives an app that writes into files.
func newApp(t *testing.T) *app {
	t.Helper()
	open := func(name string) *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	return &app{
		in: os.Stdin, out: open("out"), err: open("err"), tenant: "default", interrupts: make(chan os.Signal, 1),
	}
}

func text(t *testing.T, f *os.File) string {
	t.Helper()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func quick(patience time.Duration) driveFlags {
	return driveFlags{patience: arguments.Duration(patience), grace: arguments.Duration(time.Second)}
}

// begin starts a run of hello in a folder of its own.
func begin(t *testing.T, a *app, st store.Store) (id string, db database) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "hello.yaml")
	if err := os.WriteFile(file, []byte(hello), 0o644); err != nil {
		t.Fatal(err)
	}
	def, err := workflow.Read(file, []byte(hello))
	if err != nil {
		t.Fatal(err)
	}
	home, err := homeOf(file)
	if err != nil {
		t.Fatal(err)
	}
	started, err := a.begin(t.Context(), st, []*workflow.Definition{def}, engine.StartRequest{
		Tenant: a.tenant, Workflow: def.Name, Input: []byte("{}"), Home: home,
	})
	if err != nil {
		t.Fatal(err)
	}
	return started.RunID, database{path: filepath.Join(folder, "x.db")}
}

func memoryStore() store.Store {
	return memory.New(func() machine.Time { return machine.TimeOf(time.Now()) })
}

// A10
func TestAnOutageIsWaitedForAndCostsNothing(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	const note = "trying again: the disk is full; make room"
	full := &store.StoreError{Op: "settle", Kind: store.ErrUnavailable, Hint: "make room", Err: errors.New("the disk is full")}
	st := faulty.New(memoryStore(), func(op string, _ int) faulty.Fault {
		if op != "Settle" {
			return faulty.Fault{}
		}
		if said, err := os.ReadFile(a.err.Name()); err != nil || strings.Contains(string(said), note) {
			return faulty.Fault{}
		}
		return faulty.Fault{Fail: full} // until it was spoken of
	})
	id, db := begin(t, a, st)
	if err := a.driveRun(t.Context(), st, db, id, quick(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if out, said := text(t, a.out), text(t, a.err); out != "\"ho\"\n" || a.status != statusDone || !strings.Contains(said, note) {
		t.Errorf("status %d, output %q, said %q", a.status, out, said)
	}
}

func TestADatabaseThatStaysAwayEndsWithStatus5AndARemedy(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	full := &store.StoreError{Op: "settle", Kind: store.ErrUnavailable, Hint: "make room", Err: errors.New("the disk is full")}
	st := faulty.New(memoryStore(), func(op string, _ int) faulty.Fault {
		if op == "Settle" {
			return faulty.Fault{Fail: full}
		}
		return faulty.Fault{}
	})
	id, db := begin(t, a, st)
	err := a.driveRun(t.Context(), st, db, id, quick(200*time.Millisecond))
	if status := a.report(err); status != statusStore {
		t.Errorf("status %d, want %d: %v", status, statusStore, err)
	}
	said := text(t, a.err)
	for _, want := range []string{"the disk is full", "make room", "the run is kept as far as it came", "millrace resume " + id[len(id)-8:]} {
		if !strings.Contains(said, want) {
			t.Errorf("said %q, which lacks %q", said, want)
		}
	}
}

func TestInterruptsLeaveTheRunToBeResumed(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	st := memoryStore()
	id, db := begin(t, a, st)
	a.interrupts <- os.Interrupt
	if err := a.driveRun(t.Context(), st, db, id, quick(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if said := text(t, a.err); a.status == statusInterrupted && !strings.Contains(said, "go on with: millrace resume") {
		t.Errorf("status %d, said %q", a.status, said)
	}
}

// foreign opens the file with SQLite itself, as another program would.
func foreign(t *testing.T, path, statement string) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := sqlitex.ExecuteTransient(c, statement, nil); err != nil {
		t.Fatal(err)
	}
}

func TestDatabasesThatCannotBeUsedGiveStatus5AndARemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ statement, want string }{
		"from a newer version":        {"PRAGMA user_version = 9999", "newer"},
		"another program's":           {"PRAGMA application_id = 77", "another"},
		"locked by a foreign program": {"BEGIN EXCLUSIVE", "locked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApp(t)
			folder := t.TempDir()
			file := filepath.Join(folder, "hello.yaml")
			if err := os.WriteFile(file, []byte(hello), 0o644); err != nil {
				t.Fatal(err)
			}
			a.db = "sqlite:" + filepath.Join(folder, "runs.db")
			f := runFlags{driveFlags: quick(300 * time.Millisecond)}
			if err := a.run(t.Context(), file, f); err != nil {
				t.Fatal(err)
			}
			foreign(t, filepath.Join(folder, "runs.db"), c.statement)
			err := a.run(t.Context(), file, f)
			if err == nil {
				t.Fatal("it could be used")
			}
			if status := a.report(err); status != statusStore {
				t.Errorf("status %d, want %d", status, statusStore)
			}
			if got := explain(err); !strings.Contains(got.message+got.hint, c.want) || got.hint == "" {
				t.Errorf("message %q, hint %q; want %q in it", got.message, got.hint, c.want)
			}
		})
	}
}

// A run is left to people only when nothing of it runs and nothing but people can help.
func TestARunIsLeftToPeopleWhenNothingElseHelps(t *testing.T) {
	t.Parallel()
	now := time.Now()
	paused, person := millrace.WaitView{For: millrace.ForPause}, millrace.WaitView{For: millrace.ForPerson}
	worker := millrace.WaitView{For: millrace.ForWorker}
	running := []millrace.StepView{{Path: "a", AttemptAt: &now}}
	undoing := []millrace.StepView{{Path: "a", Undo: &millrace.UndoView{AttemptAt: &now}}}
	for name, c := range map[string]struct {
		v    millrace.View
		want bool
	}{
		"nothing waits":             {v: millrace.View{Status: machine.Running}},
		"parked":                    {v: millrace.View{Status: machine.Parked}, want: true},
		"paused":                    {v: millrace.View{Status: machine.Paused, Waiting: []millrace.WaitView{worker}}, want: true},
		"paused, one still runs":    {v: millrace.View{Status: machine.Paused, Steps: running}},
		"paused, one is undone":     {v: millrace.View{Status: machine.Paused, Steps: undoing}},
		"its workflow is paused":    {v: millrace.View{Status: machine.Running, Waiting: []millrace.WaitView{paused, person}}, want: true},
		"another step waits":        {v: millrace.View{Status: machine.Running, Waiting: []millrace.WaitView{paused, worker}}},
		"undoing waits for someone": {v: millrace.View{Status: machine.Compensating, Waiting: []millrace.WaitView{person, worker}}},
	} {
		if got := stuck(&c.v); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
