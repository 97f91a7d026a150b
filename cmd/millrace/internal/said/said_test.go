package said

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/logfile"
	"github.com/millrace-go/millrace/cmd/millrace/internal/voices"
	"github.com/millrace-go/millrace/machine"
)

func TestALateOutcomeIsAnAttemptThatEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, payload, title string
		failed               bool
	}{
		{machine.LateSuccess, `{"code":"x"}`, "succeeded, too late", false},
		{machine.LateFailure, `{"code":"exit_4","message":"no"}`, "failed, too late (exit_4)", true},
	} {
		e := millrace.JournalEntry{Kind: machine.TaskLate, Name: c.name, Path: "a", Attempt: 1, Payload: json.RawMessage(c.payload)}
		got, ok := endedAttempt(e)
		if !ok || got.Status != "late" || got.title() != c.title {
			t.Errorf("%s: %v, status %q, title %q", c.name, ok, got.Status, got.title())
		}
		if l := (&logs{Choice: Choice{Failed: true}}); l.wanted(got) != c.failed {
			t.Errorf("%s: with --failed: %v", c.name, !c.failed)
		}
	}
}

func TestTheFileOfAnAttemptGoesWithItsLateOutcome(t *testing.T) {
	t.Parallel()
	entries := []millrace.JournalEntry{
		{Seq: 1, Kind: machine.TaskLost, Path: "a", Attempt: 1},
		{Seq: 2, Kind: machine.TaskLost, Path: "b", Attempt: 1},
		{Seq: 3, Kind: machine.TaskLate, Name: machine.LateSuccess, Path: "a", Attempt: 1},
	}
	dir := t.TempDir()
	for _, path := range []string{"a", "b"} {
		w := logfile.At(dir).Writer("r", path, 1)
		w.Line("said by " + path)
		if err := w.End("said by "+path+"\n", 0); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	p := &Printer{Desk: desk.Desk{Out: &out, Err: &out}, Folder: logfile.At(dir)}
	l := &logs{Printer: p, Choice: Choice{Run: "r"}, room: voices.New(p.Folder, "r"), told: map[voices.Voice]int{}}
	later := lateness{until: 3}
	for _, e := range entries {
		a, _ := endedAttempt(e)
		fromFile := true
		if a.open() {
			var err error
			if fromFile, err = later.none(a, e.Seq, func(after int64) ([]millrace.JournalEntry, error) { return entries[after:], nil }); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.attempt(a, e, fromFile); err != nil {
			t.Fatal(err)
		}
	}
	want := "== a, attempt 1: lost\n\n== b, attempt 1: lost\nsaid by b\n\n== a, attempt 1: succeeded, too late\nsaid by a\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// A14: who follows hears each line once, of an attempt that is taken for lost too, whose outcome comes later, and how both came out.
func TestWhoFollowsHearsALateOutcomeAndEachLineOnce(t *testing.T) {
	t.Parallel()
	folder := logfile.At(t.TempDir())
	w := folder.Writer("r", "a", 1)
	var out bytes.Buffer
	p := &Printer{Desk: desk.Desk{Out: &out, Err: &out}, Folder: folder}
	l := &logs{Printer: p, Choice: Choice{Run: "r", Follow: true}, room: voices.New(folder, "r"), told: map[voices.Voice]int{}}
	hear := func(e millrace.JournalEntry) {
		a, ok := endedAttempt(e)
		if !ok {
			t.Fatalf("entry %d ends no attempt", e.Seq)
		}
		if err := l.attempt(a, e, true); err != nil {
			t.Fatal(err)
		}
	}
	running := &millrace.View{Steps: []millrace.StepView{{Path: "a", Attempts: 1, AttemptAt: &time.Time{}}}}
	listen := func() {
		if err := l.room.Listen(running, l.line); err != nil {
			t.Fatal(err)
		}
	}
	w.Line("one")
	listen()
	w.Line("two")
	hear(millrace.JournalEntry{Seq: 1, Kind: machine.TaskLost, Path: "a", Attempt: 1})
	w.Line("three")
	const whole = "one\ntwo\nthree\n"
	if err := w.End(whole, len(whole)); err != nil {
		t.Fatal(err)
	}
	hear(millrace.JournalEntry{
		Seq: 2, Kind: machine.TaskLate, Name: machine.LateSuccess, Path: "a", Attempt: 1, Facts: json.RawMessage(`{"log":"one\ntwo\nthree\n"}`),
	})
	want := "a | one\na | two\na | [lost]\na | three\na | [succeeded, too late]\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
