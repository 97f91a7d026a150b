package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/machine"
)

// Page shows a run for people.
func Page(v *millrace.View, items Items, now time.Time, width int, s Style) string {
	var b strings.Builder
	f := Frame{View: v, Now: now, Width: min(width, 200), Style: s, Items: items}
	for _, line := range f.Lines() {
		b.WriteString(line + "\n")
	}
	if v.StepsLeft > 0 {
		fmt.Fprintf(&b, "  %s left out: --all-steps shows them\n", Plural(v.StepsLeft, "step"))
	}
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, Cut(value, max(width-11, 20)))
		}
	}
	b.WriteString("\n")
	field("id", v.ID)
	field("key", v.Key)
	field("home", strings.TrimPrefix(v.Home, "run:"))
	field("labels", Labels(v.Labels))
	field("created", v.CreatedAt.In(now.Location()).Format(time.RFC3339))
	if v.FinishedAt != nil {
		field("finished", v.FinishedAt.In(now.Location()).Format(time.RFC3339))
	}
	field("input", Compact(v.Input))
	for _, w := range v.Waiting {
		field("waits for", waiting(w, now))
	}
	if v.Error != nil {
		writeError(&b, v.Error, width)
	}
	for _, l := range v.Letters {
		field("letter", letterText(&l))
	}
	field("not undone", some(v.NotUndone))
	for _, command := range Next(v) {
		field("next", command)
	}
	field("output", Compact(v.Output))
	return b.String()
}

// letterText tells what a dead letter is about.
func letterText(l *millrace.LetterView) string {
	text := strconv.FormatInt(l.ID, 10) + " " + string(l.Kind)
	if l.Path != "" {
		text += " at " + l.Path
	}
	if l.Error != nil {
		text += ": " + Clean(l.Error.Error())
	}
	return text
}

const someShown = 8

// some names the first few paths.
func some(paths []string) string {
	if len(paths) <= someShown {
		return strings.Join(paths, ", ")
	}
	return strings.Join(paths[:someShown], ", ") + " and " + strconv.Itoa(len(paths)-someShown) + " more"
}

// Next gives the commands by which a person can go on with a run; none when it goes on by itself.
func Next(v *millrace.View) []string {
	var out []string
	for _, l := range v.Letters {
		if l.Kind != machine.LetterFinally && len(out) < maxNext && !slices.Contains(out, l.Help) {
			out = append(out, l.Help)
		}
	}
	switch {
	case len(out) > 0:
	case v.Status == machine.Paused:
		out = append(out, "millrace resume "+Ending(v.ID))
	case v.Status.Ended() && v.Status != machine.Succeeded:
		out = append(out, "millrace retry "+Ending(v.ID))
	}
	return out
}

const maxNext = 3

// Labels gives labels as they are written on the command line.
func Labels(labels map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, name+"="+Clean(labels[name]))
	}
	return strings.Join(out, " ")
}

func waiting(w millrace.WaitView, now time.Time) string {
	text := w.For + ": " + orStart(w)
	if w.Until != nil {
		text += ", " + Span(w.Until.Sub(now)) + " to go"
	}
	if w.Since != nil {
		text += ", since " + Span(now.Sub(*w.Since))
	}
	if w.Needs != "" {
		text += "; needs " + w.Needs
	}
	return text
}

// writeError writes where, what and how often, the message as it came, and what helps.
func writeError(b *strings.Builder, e *millrace.ErrorView, width int) {
	head := e.Code
	if e.Path != "" {
		head += " at " + e.Path
	}
	if e.Attempt > 1 {
		head += ", attempt " + strconv.Itoa(e.Attempt)
	}
	fmt.Fprintf(b, "%-10s %s\n", "error", Clean(head))
	for line := range strings.Lines(e.Message) {
		fmt.Fprintf(b, "%-10s %s\n", "", Cut(Plain(strings.TrimRight(line, "\n")), max(width-11, 20)))
	}
	name := "hint"
	for _, line := range Wrap(e.Hint, max(min(width, MaxProse)-11, 20)) {
		if e.Hint != "" {
			fmt.Fprintf(b, "%-10s %s\n", name, line)
		}
		name = ""
	}
}

// MaxProse is how wide words for people run.
const MaxProse = 120

// orStart names what waits: a step, or the run that has not begun.
func orStart(w millrace.WaitView) string {
	switch {
	case w.Path != "":
		return w.Path
	case w.For == millrace.ForTime:
		return "its start"
	}
	return "the run"
}

// Compact gives a JSON text in one line, nothing for null.
func Compact(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil { // what a store keeps is JSON
		return string(raw)
	}
	return b.String()
}
