package screen

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace"
)

var update = flag.Bool("update", false, "write the pictures anew")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(ms int) *time.Time {
	t := noon.Add(time.Duration(ms) * time.Millisecond)
	return &t
}

// order is a run with a step of every kind.
func order() *millrace.View {
	failed := &millrace.ErrorView{Code: "exit_7", Message: "pay.sh: exit status 7\nthe card was\x1b[31m declined\x1b[0m", Attempt: 2}
	return &millrace.View{
		ID: "01981234-5678-7abc-8def-0123456789ab", Workflow: "order", Version: 3, Status: "running", StartedAt: at(-95_300),
		Steps: []millrace.StepView{
			{Path: "reserve", Status: "succeeded", Attempts: 1, StartedAt: at(-95_300), FinishedAt: at(-94_900)},
			{Path: "audit", Status: "skipped", Reason: "guard"},
			{Path: "charge", Status: "retrying", Attempts: 2, StartedAt: at(-61_000), Due: at(3_400), Error: failed},
			{Path: "pack", Status: "running", StartedAt: at(-12_000), Items: &millrace.ItemsView{Total: 48, Done: 20, Failed: 2}},
			{Path: "pack[20]", Depth: 1, Status: "running", Attempts: 2, StartedAt: at(-800)},
			{Path: "pack[21]", Depth: 1, Status: "running", Attempts: 1, StartedAt: at(-700)},
			{Path: "mirrors", Status: "running", StartedAt: at(-500)},
			{Path: "mirrors/eu/upload", Depth: 1, Status: "running", Attempts: 1, StartedAt: at(-500)},
			{Path: "mirrors/eu/verify", Depth: 1, Status: "pending"},
			{Path: "mirrors/us/upload", Depth: 1, Status: "failed", Attempts: 3, StartedAt: at(-500), FinishedAt: at(-100), Error: failed},
			{Path: "cool", Status: "waiting", Due: at(4 * 3600_000)},
			{Path: "ask", Status: "ready"},
			{Path: "a_step_with_a_name_that_is_longer_than_its_column_can_ever_be_on_any_terminal", Status: "pending"},
		},
		Waiting: []millrace.WaitView{{Path: "ask", For: "worker", Handler: "stock.ask", Needs: "a worker that serves the handler stock.ask"}},
	}
}

func frame(v *millrace.View, width int) Frame {
	return Frame{
		View: v, Now: noon, Width: width, Served: "run@host:/orders",
		Logs: map[string]string{"pack[20]": "packing\tcrate 7 of 12: 世界 fragile goods that need a much longer line than most terminals have to offer"},
		Note: "the database cannot be used now, trying again: the disk is full",
	}
}

func TestPicturesFitEveryWidth(t *testing.T) {
	t.Parallel()
	for _, width := range []int{20, 40, 60, 80, 200} {
		lines := frame(order(), width).Lines()
		for _, line := range lines {
			if Width(line) > width {
				t.Errorf("%d columns: %q has %d", width, line, Width(line))
			}
		}
		if width < 60 {
			continue
		}
		golden(t, "order-"+strconv.Itoa(width)+".txt", strings.Join(lines, "\n")+"\n")
	}
}

func TestPicturesWithoutUnicodeAndWithColour(t *testing.T) {
	t.Parallel()
	f := frame(order(), 80)
	f.Style = Style{ASCII: true}
	golden(t, "order-ascii.txt", strings.Join(f.Lines(), "\n")+"\n")
	f.Style = Style{Color: true}
	coloured := f.Lines()
	f.Style = Style{}
	for i, line := range f.Lines() {
		if diff := cmp.Diff(line, strip(coloured[i])); diff != "" {
			t.Errorf("colour changes the text (-without +with):\n%s", diff)
		}
	}
}

func strip(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		if line[i] == 0x1b {
			i += escapeLength(line[i:])
			continue
		}
		b.WriteByte(line[i])
		i++
	}
	return b.String()
}

func TestLowTerminalsKeepWhatRunsInSight(t *testing.T) {
	t.Parallel()
	v := &millrace.View{ID: "01981234", Workflow: "long", Version: 1, Status: "running"}
	for i := range 60 {
		s := millrace.StepView{Path: "step-" + strconv.Itoa(i), Status: "pending"}
		if i < 30 {
			s.Status = "succeeded"
		}
		if i == 30 || i == 31 {
			s.Status = "running"
		}
		v.Steps = append(v.Steps, s)
	}
	f := Frame{View: v, Now: noon, Width: 60, Height: 12, Note: "a note"}
	lines := f.Lines()
	if len(lines) != 12 {
		t.Errorf("12 rows give %d lines", len(lines))
	}
	golden(t, "low.txt", strings.Join(lines, "\n")+"\n")
}

func TestLongMapsShowTheFirstItemsAndCountTheRest(t *testing.T) {
	t.Parallel()
	v := &millrace.View{ID: "01981234", Workflow: "wide", Version: 1, Status: "running"}
	v.Steps = append(v.Steps, millrace.StepView{Path: "m", Status: "running", Items: &millrace.ItemsView{Total: 500}})
	for i := range 20 {
		s := millrace.StepView{Path: "m[" + strconv.Itoa(i) + "]", Depth: 1, Status: "running", Attempts: 1, StartedAt: at(-100)}
		if i > 11 {
			s.Status, s.StartedAt = "ready", nil
		}
		v.Steps = append(v.Steps, s)
	}
	v.Steps = append(v.Steps, millrace.StepView{Path: "after", Status: "pending"})
	golden(t, "wide.txt", strings.Join(Frame{View: v, Now: noon, Width: 80}.Lines(), "\n")+"\n")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestCleanMakesTextHarmless(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":                           "plain",
		"a\tb\r\nc":                       "a b c",
		"\x1b[2J\x1b[31mred\x1b[0m":       "red",
		"\x1b]0;title\x07text":            "text",
		"bell\x07 null\x00":               "bell null",
		"\u202eright to left":             "right to left",
		"cut off \x1b[3":                  "cut off",
		"\x1bP q evil \x1b\\ after":       "after",
		"invalid \xff":                    "invalid \ufffd",
		"  leading and trailing spaces  ": "leading and trailing spaces",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSpanFitsItsColumn(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second:                  "0.0s",
		400 * time.Millisecond:        "0.4s",
		59_940 * time.Millisecond:     "59.9s",
		59_960 * time.Millisecond:     "0m59s",
		65 * time.Second:              "1m05s",
		3*time.Hour + 7*time.Minute:   "3h07m",
		52 * time.Hour:                "2d04h",
		4000*24*time.Hour + time.Hour: "4000d01h",
	} {
		if got := Span(d); got != want {
			t.Errorf("Span(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestFramesAreDrawnOverEachOther(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := NewLive(&out)
	draw := func(lines ...string) string {
		out.Reset()
		if err := l.Draw(lines, 20); err != nil {
			t.Fatal(err)
		}
		return strings.NewReplacer(hideCursor, "", beginFrame, "", endFrame, "").Replace(out.String())
	}
	for _, step := range []struct {
		lines []string
		want  string
	}{
		{[]string{"one", "two"}, "one\x1b[K\r\ntwo\x1b[K\r\n\x1b[J"},
		{[]string{"one", "2"}, "\r\x1b[2A\r\n2\x1b[K\r\n\x1b[J"},
		{[]string{"one"}, "\r\x1b[2A\r\n\x1b[J"},
	} {
		if diff := cmp.Diff(step.want, draw(step.lines...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", step.lines, diff)
		}
	}
	out.Reset()
	if err := l.Close(); err != nil || out.String() != "\r"+clearBelow+showCursor {
		t.Errorf("closing writes %q, %v", out.String(), err)
	}
}

func TestProgressTellsChangesOnce(t *testing.T) {
	t.Parallel()
	var p Progress
	v := order()
	first := p.Lines(v, nil, noon)
	if len(first) == 0 {
		t.Error("nothing is told of the first view")
	}
	if again := p.Lines(v, nil, noon); len(again) != 0 {
		t.Errorf("told again: %q", again)
	}
	text, err := json.MarshalIndent(first, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "progress.json", string(text)+"\n")
}
