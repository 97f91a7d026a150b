package arguments_test

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// O6
func TestFiltersOfRunsSayWhatTheCommandLineSays(t *testing.T) {
	t.Parallel()
	open := []machine.Status{machine.Running}
	for name, c := range map[string]struct {
		args  []string
		want  store.Filter
		given bool
		wrong string
	}{
		"nothing":         {want: store.Filter{Status: open}},
		"limit alone":     {args: []string{"--limit", "3"}, want: store.Filter{Status: open, Limit: 3}},
		"statuses":        {args: []string{"--status", "failed,dead"}, want: store.Filter{Status: []machine.Status{"failed", "dead"}}, given: true},
		"labels":          {args: []string{"--label", "a=1", "--label", "b=2"}, want: store.Filter{Status: open, Labels: map[string]string{"a": "1", "b": "2"}}, given: true},
		"the failure":     {args: []string{"--failed-at", "s", "--code", "c"}, want: store.Filter{Status: open, FailedAt: "s", Code: "c"}, given: true},
		"the times":       {args: []string{"--since", "1h", "--until", "2026-03-01T11:30:00Z"}, want: store.Filter{Status: open, Since: machine.TimeOf(noon.Add(-time.Hour)), Until: machine.TimeOf(noon.Add(-30 * time.Minute))}, given: true},
		"workflow, key":   {args: []string{"--workflow", "w", "--key", "k"}, want: store.Filter{Status: open, Workflow: "w", Key: "k"}, given: true},
		"unknown status":  {args: []string{"--status", "rested"}, wrong: `there is no status "rested"`},
		"negative limit":  {args: []string{"--limit", "-1"}, wrong: "--limit -1 is out of range"},
		"no time":         {args: []string{"--since", "lunch"}, wrong: `--since "lunch" is neither a time nor a duration`},
		"half of a label": {args: []string{"--label", "a"}, wrong: `--label "a" has no name and value`},
	} {
		var f arguments.Filter
		cmd := command(t, c.args, func(cmd *cobra.Command) { f.Add(cmd, 0) })
		got, err := f.Build(noon, open...)
		if c.wrong != "" {
			if err == nil || err.Error() != c.wrong {
				t.Errorf("%s: %v, want %s", name, err, c.wrong)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		if arguments.Given(cmd) != c.given {
			t.Errorf("%s: chosen by a filter: %v", name, !c.given)
		}
	}
}

// X9
func TestFiltersOfLettersSayWhatIsAskedOfThemAndOfTheirRuns(t *testing.T) {
	t.Parallel()
	var f arguments.LetterFilter
	command(t, []string{"--workflow", "w", "--kind", "parked", "--code", "c", "--failed-at", "s", "--status", "dead", "--since", "1h"},
		func(cmd *cobra.Command) { f.Add(cmd, 20) })
	letters, runs, err := f.Build(noon)
	if err != nil || !f.OfRuns() {
		t.Fatalf("%v, of runs: %v", err, f.OfRuns())
	}
	since := machine.TimeOf(noon.Add(-time.Hour))
	if diff := cmp.Diff(store.LetterFilter{Workflow: "w", Kind: machine.LetterParked, Code: "c", FailedAt: "s", Since: since, Limit: 20}, letters); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(store.Filter{Workflow: "w", Status: []machine.Status{"dead"}}, runs); diff != "" {
		t.Error(diff)
	}
	var wrong arguments.LetterFilter
	command(t, []string{"--kind", "park"}, func(cmd *cobra.Command) { wrong.Add(cmd, 20) })
	if _, _, err := wrong.Build(noon); err == nil || err.Error() != `there is no kind "park"` {
		t.Errorf("an unknown kind: %v", err)
	}
}

func command(t *testing.T, args []string, add func(*cobra.Command)) *cobra.Command {
	t.Helper()
	c := &cobra.Command{RunE: func(*cobra.Command, []string) error { return nil }}
	c.SetOut(io.Discard)
	c.SetErr(io.Discard)
	add(c)
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return c
}
