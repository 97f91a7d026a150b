package screen

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/machine"
)

var start = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

// driven is a run of which another process holds some attempts since before it was resumed.
func driven(paths ...string) *millrace.View {
	began := start.Add(-time.Minute)
	v := &millrace.View{ID: "01a22997-e674-7019-bc3b-41ae3618f9e2", Workflow: "order", Version: 1, Status: machine.Running}
	for _, path := range paths {
		v.Steps = append(v.Steps, millrace.StepView{
			Path: path, Status: "running", Attempts: 1, StartedAt: &began, AttemptAt: &began,
			Hold: &millrace.HoldView{By: "laptop-71-0a", Until: start.Add(25 * time.Second)},
		})
	}
	return v
}

func TestWhoDrivesARunSaysWhoseLeaseItWaitsFor(t *testing.T) {
	t.Parallel()
	p := Progress{Driver: Driver{Owner: "laptop-99-0b", Since: start}}
	v := driven("a", "m[0]", "m[1]", "m[2]")
	var got []string
	for _, after := range []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second} {
		got = append(got, p.Lines(v, nil, start.Add(after))...)
	}
	if diff := cmp.Diff([]string{
		"run 3618f9e2 of order v1: running", "a: running",
		"a, m[0], m[1], m[2]: waiting for the lease of laptop-71-0a until 2026-11-30T08:00:25Z, unless that process goes on",
	}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestAFrameCountsDownTheLeaseThatIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		after time.Duration
		owner string
		want  string
	}{
		{time.Second, "laptop-99-0b", ""},
		{5 * time.Second, "laptop-99-0b", "waiting for the lease of laptop-71-0a, which ends in 20.0s"},
		{30 * time.Second, "laptop-99-0b", "waiting for the lease of laptop-71-0a, which has ended"},
		{5 * time.Second, "laptop-71-0a", ""}, // its own
		{5 * time.Second, "", ""},             // it only looks
		{30 * time.Second, "", "the lease of laptop-71-0a has ended: others take it up"},
	} {
		f := Frame{View: driven("a"), Now: start.Add(c.after), Width: 120, Driver: Driver{Owner: c.owner, Since: start}}
		line := f.Lines()[1]
		if c.want == "" && strings.Contains(line, "lease") || !strings.Contains(line, c.want) {
			t.Errorf("after %v, as %q: %q, want %q", c.after, c.owner, line, c.want)
		}
	}
}

func TestWhatADriverBeganItselfIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	p := Progress{Driver: Driver{Owner: "laptop-99-0b", Since: start.Add(-time.Hour)}}
	for _, line := range p.Lines(driven("a"), nil, start) {
		if strings.Contains(line, "lease") { // a worker took a step that became ready meanwhile
			t.Errorf("it says %q", line)
		}
	}
}
