package load

import (
	"slices"
	"testing"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/machine"
)

// undone is a run that failed at b, and was undone, as it must be.
func undone() (Case, Seen) {
	c := Case{Want: Want{Status: machine.Failed, Paths: []string{"a"}, Failed: "b", Undone: []string{"b~undo", "a~undo"}}}
	s := Seen{Status: machine.Failed}
	add := func(kind machine.EventKind, what fleet.What, path string, attempt int) {
		s.Journal = append(s.Journal, millrace.JournalEntry{Seq: int64(len(s.Journal)) + 1, Kind: kind, Path: path, Attempt: attempt})
		if what != "" {
			s.Ledger = append(s.Ledger, fleet.Line{What: fleet.Begun, Path: path, Attempt: attempt}, fleet.Line{What: what, Path: path, Attempt: attempt})
		}
	}
	add(machine.RunStarted, "", "", 0)
	add(machine.TaskLost, fleet.Succeeded, "a", 1)
	add(machine.TaskSucceeded, fleet.Succeeded, "a", 2)
	add(machine.TaskFailed, fleet.Failed, "b", 1)
	add(machine.TaskSucceeded, fleet.Succeeded, "b~undo", 1)
	add(machine.TaskSucceeded, fleet.Succeeded, "a~undo", 1)
	return c, s
}

func TestTheJudgeFindsWhatIsWrongWithARun(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *Seen){
		"another ending":                 func(s *Seen) { s.Status = machine.Succeeded },
		"a gap in the journal":           func(s *Seen) { s.Journal[3].Seq = 9 },
		"two outcomes of one attempt":    func(s *Seen) { s.Journal[1].Attempt = 2 },
		"a task that succeeded twice":    func(s *Seen) { s.Journal[1].Kind = machine.TaskSucceeded },
		"a task that never succeeded":    func(s *Seen) { s.Journal[2].Kind = machine.TaskLost },
		"undone in another order":        func(s *Seen) { s.Journal[4].Path, s.Journal[5].Path = "a~undo", "b~undo" },
		"not undone":                     func(s *Seen) { s.Journal = s.Journal[:5] },
		"a handler called twice":         func(s *Seen) { s.Ledger = append(s.Ledger, s.Ledger[0]) },
		"a handler called for nothing":   func(s *Seen) { s.Ledger = append(s.Ledger, fleet.Line{What: fleet.Begun, Path: "c", Attempt: 1}) },
		"an outcome that nobody gave":    func(s *Seen) { s.Ledger = s.Ledger[:len(s.Ledger)-1] },
		"an outcome other than was said": func(s *Seen) { s.Ledger[3].What = fleet.Failed },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s := undone()
			if wrong := Judge(&c, &s); len(wrong) > 0 {
				t.Fatalf("of a run that is right it says %v", wrong)
			}
			s.Journal, s.Ledger = slices.Clone(s.Journal), slices.Clone(s.Ledger)
			spoil(&s)
			if wrong := Judge(&c, &s); len(wrong) == 0 {
				t.Error("it finds nothing wrong")
			}
		})
	}
}
