package screen

import (
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/machine"
)

// row describes one step: its mark, name, time and what there is to say of it now.
func (f Frame) row(s millrace.StepView, name string) row {
	m := statusMark(s.Status)
	if s.Undo != nil && s.Undo.Status == "failed" { // it waits for a person
		m = statusMark("failed")
	}
	return row{
		step:   s,
		name:   strings.Repeat("  ", s.Depth) + Clean(name),
		mark:   m,
		took:   f.took(s),
		detail: f.detail(s),
	}
}

// took is how long the step has taken, from its first attempt; while it is being undone, how long that has.
func (f Frame) took(s millrace.StepView) string {
	if u := s.Undo; u != nil && u.StartedAt != nil && s.Status == "compensating" {
		end := f.Now
		if u.Status == "failed" && u.FinishedAt != nil {
			end = *u.FinishedAt
		}
		return Span(end.Sub(*u.StartedAt))
	}
	switch {
	case s.StartedAt == nil:
		return ""
	case s.FinishedAt != nil:
		return Span(s.FinishedAt.Sub(*s.StartedAt))
	case live(s.Status):
		return Span(f.Now.Sub(*s.StartedAt))
	}
	return ""
}

func (f Frame) detail(s millrace.StepView) string {
	var parts []string
	if s.Items != nil {
		parts = append(parts, f.items(*s.Items))
	}
	switch s.Status {
	case "running":
		parts = append(parts, f.attempt(s, "attempt ")...)
		if s.Reason != "" {
			parts = append(parts, s.Reason)
		}
		if s.Due != nil {
			parts = append(parts, f.countdown(s.Due, "goes on"))
		}
		parts = append(parts, f.hold(s.Hold, s.AttemptAt), Clean(f.Logs[s.Path]))
	case "retrying":
		parts = append(parts, f.countdown(s.Due, "attempt "+strconv.Itoa(s.Attempts+1)), problem(s.Error))
	case "waiting":
		parts = append(parts, f.countdown(s.Due, ""))
	case "ready":
		parts = append(parts, f.needs(s.Path))
	case "failed", "caught":
		parts = append(parts, f.attempt(s, "after attempt ")...)
		parts = append(parts, problem(s.Error))
	case "skipped":
		parts = append(parts, skipped(s.Reason))
	case "succeeded":
		parts = append(parts, f.attempt(s, "in attempt ")...)
	case "cancelled":
		parts = append(parts, "stopped")
	case "parked":
		parts = append(parts, "waits for a person")
		parts = append(parts, f.attempt(s, "after attempt ")...)
		parts = append(parts, problem(s.Error))
	case "compensating":
		parts = append(parts, f.undoing(s.Undo)...)
	case "compensated":
		parts = append(parts, undone(s)...)
	}
	return join(parts, " "+f.Style.glyph(dotGlyph)+" ")
}

// undoing tells how a compensation stands.
func (f Frame) undoing(u *millrace.UndoView) []string {
	if u == nil {
		return []string{"being undone"}
	}
	attempt := "attempt " + strconv.Itoa(u.Attempts)
	switch u.Status {
	case "failed":
		return []string{"could not be undone", problem(u.Error)}
	case "ready":
		return []string{"to be undone", strings.TrimPrefix(f.needs(u.Path), "ready")}
	case "waiting", "retrying":
		return []string{"being undone", f.countdown(u.Due, "attempt "+strconv.Itoa(u.Attempts+1)), problem(u.Error)}
	}
	if u.Attempts < 2 {
		attempt = ""
	}
	return []string{"being undone", attempt, f.hold(u.Hold, u.AttemptAt), Clean(f.Logs[u.Path])}
}

// undone tells what was undone: a step that had failed perhaps had done something.
func undone(s millrace.StepView) []string {
	parts := []string{"undone"}
	if s.Undo != nil && s.Undo.Attempts > 1 {
		parts[0] += " in attempt " + strconv.Itoa(s.Undo.Attempts)
	}
	switch {
	case s.Error != nil:
		parts = append(parts, "it had failed: "+problem(s.Error))
	case s.Before == "cancelled":
		parts = append(parts, "it had been stopped")
	}
	return parts
}

func (f Frame) attempt(s millrace.StepView, words string) []string {
	if s.Attempts < 2 {
		return nil
	}
	return []string{words + strconv.Itoa(s.Attempts)}
}

// items draws the progress of a map: a bar, done of total, failures.
func (f Frame) items(i millrace.ItemsView) string {
	text := strconv.Itoa(i.Done) + "/" + strconv.Itoa(i.Total)
	width := min(24, f.Width/5)
	full := width
	if i.Total > 0 {
		full = width * i.Done / i.Total
	}
	text += " " + strings.Repeat(f.Style.glyph(fullGlyph), full) + strings.Repeat(f.Style.glyph(emptyGlyph), width-full)
	if i.Failed > 0 {
		text += " " + strconv.Itoa(i.Failed) + " failed"
	}
	return text
}

// countdown says how long until due, and the moment itself when that is far away.
func (f Frame) countdown(due *time.Time, what string) string {
	if due == nil {
		return what
	}
	text := "in " + Span(due.Sub(f.Now))
	if due.Sub(f.Now) >= 10*time.Minute {
		text += " (" + due.In(f.Now.Location()).Format("Mon 2 Jan 15:04") + ")"
	}
	if what == "" {
		return text
	}
	return what + " " + text
}

// patience is how long a ready step may wait before a process that serves nothing says what it needs: until then somebody
// may be about to take it.
const patience = 2 * time.Second

// needs says what a ready step waits for.
func (f Frame) needs(path string) string {
	if f.View.Status == "paused" {
		return "held"
	}
	for _, w := range f.View.Waiting {
		if w.Path == path && w.For == millrace.ForPause {
			return join([]string{"paused", w.Needs}, ": ")
		}
		if w.Path != path || w.Handler == "" || f.serves(w.Handler) || w.Needs == "" {
			continue
		}
		if f.Served != "" || w.Since != nil && f.Now.Sub(*w.Since) >= patience {
			return "waits for " + w.Needs
		}
	}
	return "ready"
}

// serves says whether this process executes a handler: with the commands of a folder it makes the requests of http steps too.
func (f Frame) serves(handler string) bool {
	return handler == f.Served || f.Served != "" && handler == machine.HTTPHandler
}

func problem(e *millrace.ErrorView) string {
	if e == nil {
		return ""
	}
	if e.Message == "" {
		return e.Code
	}
	return Clean(e.Code + ": " + e.Message)
}

func skipped(reason string) string {
	switch reason {
	case "guard":
		return "skipped: its `when` was false"
	case "branch":
		return "skipped: the flow went another way"
	case "failure":
		return "skipped: something before it failed"
	case "end":
		return "not reached"
	}
	return "skipped"
}

func join(parts []string, by string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, by)
}
