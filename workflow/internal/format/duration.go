package format

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/workflow/internal/document"
)

const (
	day  = 24 * time.Hour
	week = 7 * day

	// maxDuration bounds every duration of a workflow: 100 years of 365 days.
	maxDuration = 100 * 365 * day
)

// DurationSpellings is the remedy for what is no duration.
const DurationSpellings = "write 250ms, 90s, 1h30m, 7d, 2w or an ISO 8601 duration such as PT5M"

var (
	plainDuration = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(ms|us|µs|ns|s|m|h|d|w))+$`)
	durationPart  = regexp.MustCompile(`([0-9]+)(?:\.([0-9]+))?(ms|us|µs|ns|s|m|h|d|w)`)
	isoDuration   = regexp.MustCompile(`^P(?:([0-9]+)W|(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?)$`)

	durationUnits = map[string]time.Duration{
		"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "ms": time.Millisecond,
		"s": time.Second, "m": time.Minute, "h": time.Hour, "d": day, "w": week,
	}
)

// ParseDuration reads a duration as files write it: 250ms, 90s, 1h30m, 7d, 2w, or ISO 8601 without years and months, whose
// length depends on the calendar (PT5M, P3D). A bare number is an error that names the spellings. The longest is 100 years.
func ParseDuration(s string) (time.Duration, error) {
	if m := isoDuration.FindStringSubmatch(s); m != nil && s != "P" && !strings.HasSuffix(s, "T") {
		return sumDuration(s, [][3]string{{m[1], "", "w"}, {m[2], "", "d"}, {m[3], "", "h"}, {m[4], "", "m"}, isoSeconds(m[5])})
	}
	if !plainDuration.MatchString(s) {
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			return 0, fmt.Errorf("the duration %s has no unit: %s", s, DurationSpellings)
		}
		return 0, fmt.Errorf("%s is not a duration: %s", strconv.Quote(document.Clip(s)), DurationSpellings)
	}
	var parts [][3]string
	for _, m := range durationPart.FindAllStringSubmatch(s, -1) {
		parts = append(parts, [3]string{m[1], m[2], m[3]})
	}
	return sumDuration(s, parts)
}

func isoSeconds(s string) [3]string {
	whole, fraction, _ := strings.Cut(s, ".")
	return [3]string{whole, fraction, "s"}
}

// sumDuration adds parts of whole number, fraction and unit.
func sumDuration(s string, parts [][3]string) (time.Duration, error) {
	var total time.Duration
	for _, part := range parts {
		if part[0] == "" {
			continue
		}
		unit := durationUnits[part[2]]
		n, err := strconv.ParseInt(part[0], 10, 64)
		if err != nil || n > int64(maxDuration/unit) {
			return 0, fmt.Errorf("the duration %s is too long: 100 years at most", document.Clip(s))
		}
		total += time.Duration(n) * unit
		for scale, digits := unit, part[1]; digits != "" && scale >= 10; digits = digits[1:] {
			scale /= 10
			total += time.Duration(digits[0]-'0') * scale
		}
		if total > maxDuration {
			return 0, fmt.Errorf("the duration %s is too long: 100 years at most", document.Clip(s))
		}
	}
	return total, nil
}

// FormatDuration gives a short spelling that reads back as d.
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	for _, name := range []string{"w", "d", "h", "m", "s", "ms", "us", "ns"} {
		if unit := durationUnits[name]; d >= unit && (name != "w" || d%week == 0) { // nobody reads 30d as 4w2d
			fmt.Fprintf(&b, "%d%s", d/unit, name)
			d %= unit
		}
	}
	return b.String()
}
