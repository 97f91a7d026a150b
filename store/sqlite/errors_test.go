package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

// script runs statements on a file as a foreign program would, and gives the connection.
func script(t *testing.T, path, statements string) *sqlite.Conn {
	t.Helper()
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for statement := range strings.SplitSeq(statements, ";") {
		if err := sqlitex.ExecuteTransient(db, statement, nil); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// wants fails unless err is a StoreError of this kind whose hint and text hold the words.
func wants(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	var e *store.StoreError
	if !errors.As(err, &e) || !errors.Is(err, kind) {
		t.Fatalf("got %v, want a StoreError that is %q", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(e.Hint+"\n"+e.Error(), w) {
			t.Errorf("neither hint %q nor error %q says %q", e.Hint, e, w)
		}
	}
}

func TestFilesThatCannotBeUsedAreRefusedWithARemedyAndLeftAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, file := range []struct {
		name  string
		make  func(t *testing.T, path string)
		kind  error
		words []string
	}{
		{"not a database", func(t *testing.T, path string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(strings.Repeat("a line of text\n", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, store.ErrUnusable, []string{"not a SQLite database", "name another file"}},
		{"of another program", func(t *testing.T, path string) {
			t.Helper()
			script(t, path, "create table notes (text)")
		}, store.ErrUnusable, []string{"database of another program", "name another file"}},
		{"marked by another program", func(t *testing.T, path string) {
			t.Helper()
			script(t, path, "pragma application_id = 17")
		}, store.ErrUnusable, []string{"database of another program"}},
		{"of a newer version", func(t *testing.T, path string) {
			t.Helper()
			script(t, path, fmt.Sprintf("create table future (x); pragma application_id = %d; pragma user_version = 99",
				applicationID))
		}, store.ErrUnusable, []string{"version 99", "use the newer millrace"}},
		{"made by another migration", func(t *testing.T, path string) {
			t.Helper()
			open(t, path, Options{})
			script(t, path, "update migrations set sum = 'other'")
		}, store.ErrUnusable, []string{"another migration", "use the millrace that wrote it"}},
		{"a folder", func(t *testing.T, path string) {
			t.Helper()
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, store.ErrUnusable, []string{"is a folder", "name a file inside it"}},
		{"damaged", func(t *testing.T, path string) {
			t.Helper()
			header := "SQLite format 3\x00\x10\x00\x01\x01\x00\x40\x20\x20" + strings.Repeat("\xff", 5000)
			if err := os.WriteFile(path, []byte(header), 0o600); err != nil {
				t.Fatal(err)
			}
		}, store.ErrUnusable, nil},
	} {
		t.Run(file.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "millrace.db")
			file.make(t, path)
			before, _ := os.ReadFile(path)
			_, err := Open(t.Context(), path, Options{})
			wants(t, err, file.kind, file.words...)
			after, _ := os.ReadFile(path)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the file was changed")
			}
		})
	}
}

func TestMissingFolderIsNamed(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "nowhere")
	_, err := Open(t.Context(), filepath.Join(folder, "millrace.db"), Options{})
	wants(t, err, store.ErrUnusable, "mkdir -p "+folder)

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), filepath.Join(file, "millrace.db"), Options{})
	wants(t, err, store.ErrUnusable, "not a folder")
}

func TestADatabaseLockedForGoodIsReportedAfterABoundedWait(t *testing.T) {
	t.Parallel()
	impatient := Options{BusyTimeout: 50 * time.Millisecond}
	for _, lock := range []struct{ name, statements string }{
		{"for writing", "begin immediate"},
		{"as a whole", "pragma locking_mode = exclusive; begin exclusive"},
	} {
		t.Run(lock.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "millrace.db")
			if err := open(t, path, Options{}).Close(); err != nil {
				t.Fatal(err)
			}
			script(t, path, lock.statements)
			began := time.Now()
			s, err := Open(t.Context(), path, impatient)
			if err == nil { // reading alone may work
				t.Cleanup(func() { _ = s.Close() })
				_, err = s.Start(t.Context(), []store.Start{benchStart(s.o.Clock())})
			}
			wants(t, err, store.ErrUnavailable, "keeps "+path+" locked", "fuser")
			if waited := time.Since(began); waited < impatient.BusyTimeout {
				t.Errorf("it was not waited for: %v", waited)
			}
		})
	}
}

func TestALockThatEndsInTimeIsNoticedByNobody(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s := open(t, path, Options{})
	foreign := script(t, path, "begin immediate")
	started := make(chan error, 1)
	go func() {
		_, err := s.Start(t.Context(), []store.Start{benchStart(s.o.Clock())})
		started <- err
	}()
	select {
	case err := <-started:
		t.Fatalf("the lock was passed by: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	if err := sqlitex.ExecuteTransient(foreign, "rollback", nil); err != nil {
		t.Fatal(err)
	}
	if err := <-started; err != nil {
		t.Fatal(err)
	}
}

// fill starts batches of runs until one fails, and gives the ids that were acknowledged and those of the batch that failed.
func fill(ctx context.Context, s *Store) (kept, lost []string, err error) {
	for range 10_000 {
		var batch []string
		var starts []store.Start
		for range 20 {
			st := benchStart(s.o.Clock())
			batch = append(batch, st.Run.ID)
			starts = append(starts, st)
		}
		if _, err := s.Start(ctx, starts); err != nil {
			return kept, batch, err
		}
		kept = append(kept, batch...)
	}
	return kept, nil, errors.New("the disk was never full")
}

// all reads the ids of all runs.
func all(ctx context.Context, s *Store) ([]string, error) {
	rows, err := s.Runs(ctx, store.Filter{Tenant: "default", Limit: 1 << 20})
	var out []string
	for _, r := range slices.Backward(rows) {
		out = append(out, r.ID)
	}
	return out, err
}

func TestAFullDiskLosesNothingAndLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s := open(t, path, Options{maxPages: 80})
	kept, lost, err := fill(t.Context(), s)
	wants(t, err, store.ErrUnavailable, "full", "make room")
	got, err := all(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept, got); diff != "" {
		t.Errorf("acknowledged and stored runs differ:\n%s", diff)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, Options{})
	starts := []store.Start{benchStart(s.o.Clock())}
	starts[0].Run.ID = lost[0]
	started, err := s.Start(t.Context(), starts)
	if err != nil || !started[0].Created {
		t.Errorf("with room again: %+v, %v", started, err)
	}
}

func init() { roles["limited"] = limited }

// limited fills the file while the operating system lets no file grow beyond a limit.
func limited(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, path, unhurried(Options{}))
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 400_000, Max: 400_000}); err != nil {
		return err
	}
	kept, _, err := fill(ctx, s)
	if !errors.Is(err, store.ErrUnavailable) {
		return fmt.Errorf("the writing that failed gave %w", err)
	}
	if _, err := os.Stdout.WriteString(strings.Join(kept, "\n")); err != nil {
		return err
	}
	got, err := all(ctx, s)
	if diff := cmp.Diff(kept, got); diff != "" || err != nil {
		return fmt.Errorf("acknowledged and stored runs differ: %w\n%s", err, diff)
	}
	return nil // without closing, as if it had died
}

func TestAWriteThatTheSystemRefusesLosesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	out, err := inRole(t, "limited", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := all(t.Context(), open(t, path, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(out), "\n"), got); diff != "" {
		t.Errorf("acknowledged and stored runs differ:\n%s", diff)
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s := open(t, path, Options{})
	script(t, path, "begin immediate")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.Start(ctx, []store.Start{benchStart(s.o.Clock())})
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestAQueryIsInterrupted(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "millrace.db"), Options{CallTimeout: 20 * time.Millisecond})
	endless := "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n"
	err := s.read(t.Context(), "count", func(c *conn) error {
		return c.Each(endless, func(*row) error { return nil })
	})
	wants(t, err, store.ErrUnavailable, "longer than 20ms")
	s.o.CallTimeout = time.Minute
	if _, err := s.Runs(t.Context(), store.Filter{Tenant: "default"}); err != nil {
		t.Errorf("the connection is of no more use: %v", err)
	}
}

func TestADamagedRunStopsNoOther(t *testing.T) {
	t.Parallel()
	clock := newHandClock()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s := open(t, path, Options{Clock: clock.time})
	starts := []store.Start{benchStart(clock.time()), benchStart(clock.time())}
	if _, err := s.Start(t.Context(), starts); err != nil {
		t.Fatal(err)
	}
	bad, _ := link.ParseID(starts[0].Run.ID)
	script(t, path, fmt.Sprintf("update runs set doc = 'no document' where id = x'%x'", bad[:]))
	claim := store.Claim{Owner: "o", Token: 1, Lease: time.Second, Limit: 9, Lanes: []store.LaneLimit{{Lane: 1, Limit: 9}}}
	got, err := s.Claim(t.Context(), claim)
	if err != nil || len(got) != 1 || got[0].RunID != starts[1].Run.ID {
		t.Errorf("claimed %v, %v", got, err)
	}
	_, err = s.State(t.Context(), "default", starts[0].Run.ID, nil, nil)
	if err == nil || !strings.Contains(err.Error(), starts[0].Run.ID) {
		t.Errorf("reading it gives %v", err)
	}
	tasks, err := s.Tasks(t.Context(), "default", starts[0].Run.ID, nil)
	want := clock.time().Add(store.SetAside)
	if err != nil || len(tasks) != 1 || tasks[0].State != store.Delayed || tasks[0].Due != want {
		t.Errorf("its task is %+v, %v", tasks, err)
	}
	if e := machine.Time(0); tasks[0].LeaseUntil != e || tasks[0].Attempt != 0 {
		t.Errorf("its task was used: %+v", tasks[0])
	}
}

// X13
func TestARowOfGarbageStopsNoOther(t *testing.T) {
	t.Parallel()
	clock := newHandClock()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s := open(t, path, Options{Clock: clock.time})
	starts := []store.Start{benchStart(clock.time()), benchStart(clock.time()), benchStart(clock.time())}
	for i := range starts {
		letter := machine.OpenLetter{Kind: machine.LetterParked, Path: "s1", Error: &machine.Error{Code: "declined", Step: "s1"}}
		starts[i].Effects = append(starts[i].Effects, letter)
		starts[i].Hand = store.HandOver{Owner: "o", Token: 7, Lease: time.Second, Handlers: []string{"noop"}, Limit: 1}
		starts[i].Run.Options.Labels = map[string]string{"team": "blue"}
	}
	if _, err := s.Start(t.Context(), starts); err != nil {
		t.Fatal(err)
	}
	bad, _ := link.ParseID(starts[0].Run.ID)
	where := fmt.Sprintf("x'%x'", bad[:])
	script(t, path, "update runs set error = 'x', options = 'x' where id = "+where+
		"; update tasks set env = 'x' where run = "+where+"; update dead_letters set error = 'x' where run = "+where)

	for _, f := range []store.Filter{{}, {Code: "none"}, {FailedAt: "none"}, {Labels: map[string]string{"team": "blue"}}} {
		want := map[bool]int{true: 3}[f.Code+f.FailedAt == ""]
		if f.Labels != nil {
			want = 2
		}
		f.Tenant = "default"
		rows, err := s.Runs(t.Context(), f)
		if err != nil || len(rows) != want {
			t.Errorf("runs of %+v: %d, %v, want %d", f, len(rows), err, want)
		}
		if f.Labels == nil && want == 3 && rows[2].Error.Code != store.CodeDamaged {
			t.Errorf("its error is %v", rows[2].Error)
		}
	}
	for _, f := range []store.LetterFilter{{}, {Code: "declined"}, {FailedAt: "s1"}} {
		want := 2
		if f.Code+f.FailedAt == "" {
			want = 3
		}
		f.Tenant = "default"
		letters, err := s.Letters(t.Context(), f)
		if err != nil || len(letters) != want {
			t.Errorf("letters of %+v: %d, %v, want %d", f, len(letters), err, want)
		}
	}
	held, err := s.HeldBy(t.Context(), "o", 7)
	if err != nil || len(held) != 2 {
		t.Errorf("held: %d, %v, want the tasks that can be read", len(held), err)
	}
	tasks, err := s.Tasks(t.Context(), "default", starts[0].Run.ID, nil)
	if err != nil || len(tasks) != 1 || tasks[0].Token != 7 || tasks[0].Refs != nil {
		t.Errorf("tasks: %+v, %v, want the one without its programs", tasks, err)
	}
	clock.advance(time.Minute)
	expired, err := s.Expired(t.Context(), 9)
	if err != nil || len(expired) != 3 {
		t.Errorf("expired: %d, %v, want all", len(expired), err)
	}
}

func init() {
	roles["forbidden"] = func(path string) error {
		if err := becomeNobody(); err != nil {
			return err
		}
		_, err := Open(context.Background(), path, unhurried(Options{}))
		var e *store.StoreError
		if !errors.Is(err, store.ErrUnusable) || !errors.As(err, &e) || !strings.Contains(e.Hint, "right to") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	}
}

// becomeNobody gives up the rights of the superuser, whom nothing is forbidden. The program that is to be nobody's is not copied
// for that: a file that was just written cannot be executed while a process that another test starts has it open.
func becomeNobody() error {
	if os.Geteuid() != 0 {
		return nil
	}
	const nobody = 65534
	return errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody))
}

func TestWhatOneMayNotWriteIsSaid(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	used := filepath.Join(folder, "used.db")
	if err := open(t, used, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(used, 0o444); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(folder, "new.db"), used} {
		if err := inRole(t, "forbidden", path).Run(); err != nil {
			t.Error(err)
		}
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
}
