package logfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/cmd/millrace/internal/logfile"
)

const run = "0190a000-0000-7000-8000-000000000001"

func lines(t *testing.T, tail *logfile.Tail) []string {
	t.Helper()
	got, err := tail.Lines()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Another process reads what an attempt says while it runs, whatever the path is called.
// A14
func TestLinesAreReadWhileTheAttemptRuns(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"pack", "mirrors/eu/upload", "lines[3]/pack~2#4", strings.Repeat("deep/", 200) + "x", "a%2Fb"} {
		dir := t.TempDir()
		w := logfile.At(dir).Writer(run, path, 2)
		tail := logfile.At(dir).Tail(run, path, 2)
		if got := lines(t, tail); got != nil {
			t.Errorf("%s: before the first line: %q", path, got)
		}
		w.Line("one")
		w.Line("")
		if diff := cmp.Diff([]string{"one", ""}, lines(t, tail)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		w.Line("two")
		if diff := cmp.Diff([]string{"two"}, lines(t, tail)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		if text, found, err := logfile.At(dir).Read(run, path, 2); text != "one\n\ntwo\n" || !found || err != nil {
			t.Errorf("%s: read %q, %v, %v", path, text, found, err)
		}
		if tail.Seen() != len("one\n\ntwo\n") {
			t.Errorf("%s: seen %d", path, tail.Seen())
		}
		if err := tail.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A log never takes more than two halves, its end is kept, and a tail that keeps up misses nothing.
func TestALogIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, tail := logfile.At(dir).Writer(run, "talk", 1), logfile.At(dir).Tail(run, "talk", 1)
	var want, got []string
	for i := range 40_000 {
		line := fmt.Sprintf("line %05d %s", i, strings.Repeat("x", 60))
		w.Line(line)
		want = append(want, line)
		if i%5_000 == 0 {
			got = append(got, lines(t, tail)...)
		}
	}
	got = append(got, lines(t, tail)...)
	if !slices.Equal(want, got) {
		t.Errorf("the tail gave %d lines, want %d", len(got), len(want))
	}
	text, _, err := logfile.At(dir).Read(run, "talk", 1)
	if err != nil || len(text) > 2*logfile.HalfBytes || !strings.HasSuffix(text, want[len(want)-1]+"\n") {
		t.Errorf("%d bytes are kept, %v", len(text), err)
	}
	late := logfile.At(dir).Tail(run, "talk", 1)
	if n := len(lines(t, late)); n*len(want[0]) < logfile.HalfBytes-len(want[0]) {
		t.Errorf("a late tail gave %d lines", n)
	}
}

// What the journal keeps whole leaves no file; more is kept as a whole, up to the bound of its run.
func TestWhatTheJournalKeepsLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := logfile.At(dir)
	w := f.Writer(run, "short", 1)
	w.Line("hi")
	if err := w.End("hi\n", 10); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	w = f.Writer(run, "long", 1)
	w.Line("hi")
	if err := w.End("hi\nand what the program wrote elsewhere\n", 10); err != nil {
		t.Fatal(err)
	}
	if text, found, err := f.Read(run, "long", 1); text != "hi\nand what the program wrote elsewhere\n" || !found || err != nil {
		t.Errorf("read %q, %v, %v", text, found, err)
	}
	big := strings.Repeat("x", logfile.RunBytes/3)
	for i := range 4 {
		if err := f.Writer(run, "big", i).End(big, 10); err != nil {
			t.Fatal(err)
		}
	}
	if _, found, _ := f.Read(run, "big", 1); !found {
		t.Error("a log within the bound was not kept")
	}
	if _, found, _ := f.Read(run, "big", 3); found {
		t.Error("a log beyond the bound was kept")
	}
}

// A disk that takes no files costs the log, not the attempt.
func TestAFaultOfTheDiskEndsTheLogAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := logfile.At(dir).Writer(run, "x", 1)
	w.Line("one")
	w.Line("two")
	if err := w.End("one\ntwo\n", 100); err != nil && !strings.Contains(err.Error(), "not a directory") {
		t.Error(err)
	}
}

// K1
func TestTheLogsOfRunsThatAreGoneAreRemovedAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "logs")
	f := logfile.At(dir)
	for _, run := range []string{"run-1", "run-2"} {
		w := f.Writer(run, "a/b", 1)
		w.Line("said")
		if err := w.End("said\n", 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Remove([]string{"run-1", "run-3"}); err != nil {
		t.Fatal(err)
	}
	for run, want := range map[string]bool{"run-1": false, "run-2": true} {
		if _, found, err := f.Read(run, "a/b", 1); err != nil || found != want {
			t.Errorf("%s: %t, %v", run, found, err)
		}
	}
	for _, name := range []string{"", ".", "..", "../logs", "a/b", "/"} {
		if err := f.Remove([]string{name}); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
	if _, found, err := f.Read("run-2", "a/b", 1); err != nil || !found {
		t.Errorf("run-2 is gone: %v", err)
	}
}
