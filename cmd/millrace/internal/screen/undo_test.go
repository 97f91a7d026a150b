package screen

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/machine"
)

// undoing is a run with a compensation of every kind.
func undoing() *millrace.View {
	closed := &millrace.ErrorView{Code: "exit_3", Message: "the bank is closed", Path: "charge~undo", Attempt: 1}
	return &millrace.View{
		ID: "01981234-5678-7abc-8def-0123456789ab", Workflow: "order", Version: 3, Status: "compensating",
		Reason: "cancelled by ada@shop: ordered twice", StartedAt: at(-95_300),
		Steps: []millrace.StepView{
			{Path: "reserve", Status: "succeeded", Attempts: 1, StartedAt: at(-95_300), FinishedAt: at(-94_900)},
			{Path: "charge", Status: "compensating", Before: "succeeded", Attempts: 1, StartedAt: at(-61_000), FinishedAt: at(-60_000), Undo: &millrace.UndoView{
				Path: "charge~undo", Status: "retrying", Attempts: 1, StartedAt: at(-2_000), Due: at(3_000), Error: closed,
			}},
			{Path: "pack", Status: "compensating", Before: "succeeded", StartedAt: at(-61_000), FinishedAt: at(-60_000), Undo: &millrace.UndoView{
				Path: "pack~undo", Status: "running", Attempts: 2, StartedAt: at(-1_500), AttemptAt: at(-500),
			}},
			{Path: "label", Status: "compensating", Before: "succeeded", StartedAt: at(-61_000), FinishedAt: at(-60_000), Undo: &millrace.UndoView{
				Path: "label~undo", Status: "failed", Attempts: 3, StartedAt: at(-1_500), FinishedAt: at(-500), Error: closed,
			}},
			{Path: "seal", Status: "compensating", Before: "succeeded", StartedAt: at(-61_000), FinishedAt: at(-60_000), Undo: &millrace.UndoView{Path: "seal~undo", Status: "ready"}},
			{Path: "weigh", Status: "compensated", Before: "cancelled", StartedAt: at(-61_000), FinishedAt: at(-60_000), Undo: &millrace.UndoView{
				Path: "weigh~undo", Status: "succeeded", Attempts: 2, StartedAt: at(-3_000), FinishedAt: at(-2_500),
			}},
			{
				Path: "ship", Status: "compensated", Before: "failed", StartedAt: at(-61_000), FinishedAt: at(-60_000),
				Error: &millrace.ErrorView{Code: "timeout", Path: "ship", Attempt: 1},
				Undo:  &millrace.UndoView{Path: "ship~undo", Status: "succeeded", Attempts: 1, StartedAt: at(-4_000), FinishedAt: at(-3_500)},
			},
			{Path: "ask", Status: "parked", StartedAt: at(-9_000), Error: closed},
		},
		Waiting: []millrace.WaitView{{Path: "seal~undo", For: millrace.ForPause, Needs: "`millrace resume queue:mail`"}},
		Letters: []millrace.LetterView{
			{ID: 4, Kind: "compensation", Path: "label~undo", Help: "millrace dead redrive 4"},
			{ID: 5, Kind: "finally", Path: "finally/tidy", Help: "millrace dead drop 5"},
		},
	}
}

// X4
func TestUndoingIsShownStepByStep(t *testing.T) {
	t.Parallel()
	f := Frame{View: undoing(), Now: noon, Width: 100, Logs: map[string]string{"pack~undo": "unwrapping"}}
	golden(t, "undo.txt", strings.Join(f.Lines(), "\n")+"\n")
	if diff := cmp.Diff([]string{"millrace dead redrive 4"}, Next(f.View)); diff != "" {
		t.Error(diff)
	}
}

// X4: what a step came to is told before its compensation, in the order in which it happened.
func TestProgressTellsOfUndoingInOrder(t *testing.T) {
	t.Parallel()
	before := &millrace.View{ID: "01981234", Workflow: "w", Version: 1, Status: "running"}
	var p Progress
	p.Lines(before, nil, noon)
	want := []string{
		"reserve: succeeded after 0.4s",
		"charge: succeeded after 1.0s",
		"pack: succeeded after 1.0s",
		"label: succeeded after 1.0s",
		"seal: succeeded after 1.0s",
		"weigh: stopped",
		"ship: failed after 1.0s: timeout",
		"run 456789ab of order v3: compensating (cancelled by ada@shop: ordered twice)",
		"ship: undone after 0.5s",
		"weigh: undone after 0.5s",
		"pack: being undone, attempt 2",
		"label: could not be undone: exit_3: the bank is closed",
		"charge: undoing it failed in attempt 1, the next one in 3.0s: exit_3: the bank is closed",
		"ask: waits for a person: exit_3: the bank is closed",
	}
	if diff := cmp.Diff(want, p.Lines(undoing(), nil, noon)); diff != "" {
		t.Error(diff)
	}
	if again := p.Lines(undoing(), nil, noon); len(again) > 0 {
		t.Errorf("told again: %q", again)
	}
}

func TestTheNextCommandIsThatOfTheStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[machine.Status][]string{
		"running": nil, "succeeded": nil, "paused": {"millrace resume 01981234"}, "failed": {"millrace retry 01981234"},
		"aborted": {"millrace retry 01981234"},
	} {
		if diff := cmp.Diff(want, Next(&millrace.View{ID: "01981234", Status: status})); diff != "" {
			t.Errorf("%s: %s", status, diff)
		}
	}
}

// A column that gives way leaves the last one whole: it is the command that helps.
func TestATableKeepsTheColumnThatHelps(t *testing.T) {
	t.Parallel()
	table := Table{Mark: -1, Gives: "ERROR", Head: []string{"ID", "ERROR", "HELP"}, Rows: [][]string{{"1", strings.Repeat("long ", 30), "millrace dead redrive 1"}}}
	lines := strings.Split(table.Text(60, Style{}), "\n")
	if !strings.HasSuffix(lines[1], "millrace dead redrive 1") || Width(lines[1]) > 60 {
		t.Errorf("%q", lines[1])
	}
	table.Drops, table.Head, table.Rows[0] = []string{"OPENED"}, append(table.Head, "OPENED"), append(table.Rows[0], "just now")
	narrow := table.Text(44, Style{})
	if lines := strings.Split(narrow, "\n"); !strings.HasSuffix(lines[1], "millrace dead redrive 1") || strings.Contains(narrow, "OPENED") {
		t.Errorf("%q", narrow)
	}
	if whole := table.Text(1<<20, Style{}); !strings.Contains(whole, strings.TrimSpace(strings.Repeat("long ", 30))) {
		t.Errorf("cut without need: %q", whole)
	}
}
