package workflow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/workflow"
)

// docs/format.md 4: the spellings of a duration.
func TestDurationsHaveTheseSpellings(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"250ms": 250 * time.Millisecond, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * day, "2w": 14 * day,
		"1.5h": 90 * time.Minute, "0s": 0, "0.25s": 250 * time.Millisecond, "1us": time.Microsecond, "1µs": time.Microsecond, "3ns": 3,
		"1w2d3h4m5s6ms": 7*day + 2*day + 3*time.Hour + 4*time.Minute + 5*time.Second + 6*time.Millisecond,
		"PT5M":          5 * time.Minute, "P3D": 3 * day, "P1W": 7 * day, "PT1.5S": 1500 * time.Millisecond, "P1DT2H3M4S": day + 2*time.Hour + 3*time.Minute + 4*time.Second,
		"36500d": 36500 * day, "0.1234567891234s": 123456789,
	} {
		if got, err := workflow.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"30": "has no unit", "1.5": "has no unit", "-5": "has no unit", "": "is not a duration", "5 m": "is not a duration", "-5s": "is not a duration",
		"P": "is not a duration", "PT": "is not a duration", "P1DT": "is not a duration", "P1Y": "is not a duration", "P1M": "is not a duration",
		"1h ": "is not a duration", "h": "is not a duration", "1e3s": "is not a duration", "36501d": "too long", "99999999999999999999s": "too long",
		"P99999999999W": "too long", "36500d1s": "too long", "1y": "is not a duration",
	} {
		_, err := workflow.ParseDuration(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", text, err, want)
		}
		if err != nil && want == "has no unit" && !strings.Contains(err.Error(), "write 250ms, 90s, 1h30m, 7d, 2w") {
			t.Errorf("%q: the error does not name the spellings: %v", text, err)
		}
	}
	if _, err := workflow.ParseDuration(strings.Repeat("x", 1000)); err == nil || len(err.Error()) > 300 {
		t.Errorf("a long text gives a long error")
	}
}
