package said

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace"
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
	p := &Printer{Folder: logfile.At(dir), Out: &out, Err: &out}
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
