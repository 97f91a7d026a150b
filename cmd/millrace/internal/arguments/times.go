package arguments

import (
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/workflow"
)

// Duration is a flag in the spellings of workflow files.
type Duration time.Duration

// String gives the duration as Go writes it; nothing for zero.
func (d *Duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// Set reads a duration.
func (d *Duration) Set(text string) error {
	v, err := workflow.ParseDuration(text)
	*d = Duration(v)
	return err
}

// Type names what is expected.
func (d *Duration) Type() string { return "duration" }

// layouts are the spellings of times; those without an offset are in the local zone.
var layouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly}

func parseTime(text string) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// Time reads a time; nothing is the zero time.
func Time(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, ok := parseTime(text)
	if !ok {
		return t, mistake("write a time such as 2026-03-01T08:00:00Z or 2026-03-01T08:00", "%s %q is no time", flag, text)
	}
	return t, nil
}

// Moment reads a time, or a duration before now; nothing is zero.
func Moment(flag, text string, now time.Time) (machine.Time, error) {
	if text == "" {
		return 0, nil
	}
	if t, ok := parseTime(text); ok {
		return machine.TimeOf(t), nil
	}
	d, err := workflow.ParseDuration(text)
	if err != nil {
		return 0, mistake("write a time such as 2026-03-01T08:00:00Z or 2026-03-01, or how long ago, such as 90m or 7d",
			"%s %q is neither a time nor a duration", flag, text)
	}
	return machine.TimeOf(now.Add(-d)), nil
}
