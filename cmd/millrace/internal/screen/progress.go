package screen

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/machine"
)

// Progress tells what has changed since the last view, in plain lines for a pipe. Its zero value has seen nothing. It is not
// safe for concurrent use.
type Progress struct {
	// Served is the handler that this process executes: what is ready for another one waits for a worker.
	Served string
	Driver Driver

	held   map[string]string // processes whose attempts were told of, by path
	steps  map[string]millrace.StepView
	told   map[string]int // tenths of items told of, by map
	needed map[string]int // attempts that waited for somebody and were told of, by step, plus one
	// status is the run's.
	status machine.Status
}

// Said is something to tell, and when it happened: a line of an attempt, a change of a step.
type Said struct {
	At   time.Time
	Text string
}

// Lines gives what has changed from the views before to v, and what was said meanwhile, in the order in which it happened.
// Items of maps are counted, not told one by one, unless they fail.
func (p *Progress) Lines(v *millrace.View, said []Said, now time.Time) []string {
	if p.steps == nil {
		p.steps, p.told, p.needed = map[string]millrace.StepView{}, map[string]int{}, map[string]int{}
		p.held = map[string]string{}
	}
	var out []string
	if p.status == "" {
		out = append(out, headline(v))
	}
	f := Frame{View: v, Served: p.Served, Now: now}
	changes := slices.Clone(said)
	for _, s := range v.Steps {
		changes = append(changes, p.step(f, s)...)
	}
	if p.status != "" && v.Status != p.status && !v.Status.Ended() {
		changes = append([]Said{{turned(v, now), headline(v)}}, changes...)
	}
	slices.SortStableFunc(changes, func(a, b Said) int { return a.At.Compare(b.At) })
	for _, c := range changes {
		out = append(out, c.Text)
	}
	out = append(out, p.holds(v, now)...)
	if p.status != "" && v.Status != p.status && v.Status.Ended() {
		out = append(out, headline(v))
	}
	p.status = v.Status
	return out
}

// turned is when a run began to be undone, as far as its steps tell; now for every other status.
func turned(v *millrace.View, now time.Time) time.Time {
	if v.Status != machine.Compensating {
		return now
	}
	for _, s := range v.Steps {
		if u := s.Undo; u != nil && u.StartedAt != nil && u.StartedAt.Before(now) {
			now = *u.StartedAt
		}
	}
	return now
}

// step gives what there is to tell of one step.
func (p *Progress) step(f Frame, s millrace.StepView) []Said {
	var out []Said
	was := p.steps[s.Path]
	p.steps[s.Path] = s
	at := happened(s, f.Now)
	if s.Items != nil {
		for _, text := range p.items(s) {
			out = append(out, Said{at, text})
		}
	}
	if s.Undo != nil && was.Undo == nil { // what it came to before is told first
		if text := f.change(was, before(s), f.Now); text != "" {
			out = append(out, Said{at, s.Path + ": " + text})
		}
	}
	if text, at := f.undoChange(was, s); text != "" {
		return append(out, Said{at, s.Path + ": " + text})
	}
	text := f.change(was, s, f.Now)
	if text == "" && s.Status == "ready" && p.needed[s.Path] != s.Attempts+1 {
		if text = strings.TrimPrefix(f.needs(s.Path), "ready"); text != "" {
			p.needed[s.Path] = s.Attempts + 1
		}
	}
	if text != "" && (!strings.Contains(s.Path, "[") || s.Error != nil) {
		out = append(out, Said{at, s.Path + ": " + text})
	}
	return out
}

// before is a step as it stood before its compensation began.
func before(s millrace.StepView) millrace.StepView {
	s.Undo, s.Status = nil, s.Before
	return s
}

// happened is when a step came to stand where it stands; now when nobody wrote it down.
func happened(s millrace.StepView, now time.Time) time.Time {
	switch {
	case s.FinishedAt != nil:
		return *s.FinishedAt
	case s.AttemptAt != nil:
		return *s.AttemptAt
	case s.Status == "running" && s.StartedAt != nil && s.Items == nil:
		return *s.StartedAt
	}
	return now
}

func headline(v *millrace.View) string {
	text := "run " + Ending(v.ID) + " of " + v.Workflow + " v" + strconv.Itoa(v.Version) + ": " + string(v.Status)
	if v.Reason != "" && v.Reason != "failure" {
		text += " (" + Clean(v.Reason) + ")"
	}
	if due := begins(v); due != nil {
		text += " until " + due.UTC().Format(time.RFC3339)
	}
	if v.StartedAt != nil && v.FinishedAt != nil {
		text += " after " + Span(v.FinishedAt.Sub(*v.StartedAt))
	}
	return text
}

// items tells the progress of a map in tenths.
func (p *Progress) items(s millrace.StepView) []string {
	tenth := 10 * s.Items.Done / max(s.Items.Total, 1)
	if tenth == p.told[s.Path] {
		return nil
	}
	p.told[s.Path] = tenth
	text := s.Path + ": " + strconv.Itoa(s.Items.Done) + " of " + strconv.Itoa(s.Items.Total) + " items"
	if s.Items.Failed > 0 {
		text += ", " + strconv.Itoa(s.Items.Failed) + " failed"
	}
	return []string{text}
}

// change tells what became of a step between two views, empty when there is nothing to tell.
func (f Frame) change(was, s millrace.StepView, now time.Time) string {
	if was.Status == s.Status && was.Attempts == s.Attempts {
		return ""
	}
	took := ""
	if s.StartedAt != nil && s.FinishedAt != nil {
		took = " after " + Span(s.FinishedAt.Sub(*s.StartedAt))
	}
	switch s.Status {
	case "running":
		if s.Attempts > 1 {
			return "running, attempt " + strconv.Itoa(s.Attempts)
		}
		return "running"
	case "succeeded":
		return "succeeded" + took
	case "failed", "caught":
		return s.Status + took + reason(s.Error)
	case "retrying":
		text := "attempt " + strconv.Itoa(s.Attempts) + " failed"
		if s.Due != nil {
			text += ", the next one in " + Span(s.Due.Sub(now))
		}
		return text + reason(s.Error)
	case "waiting":
		if s.Due != nil {
			return "waiting until " + s.Due.UTC().Format(time.RFC3339)
		}
		return "waiting"
	case "skipped":
		return skipped(s.Reason)
	case "cancelled":
		return "stopped"
	case "parked":
		return "waits for a person" + reason(s.Error)
	}
	return ""
}

// undoChange tells what became of the compensation of a step between two views, and when; empty when there is nothing to tell.
func (f Frame) undoChange(was, s millrace.StepView) (string, time.Time) {
	u, before := s.Undo, millrace.UndoView{}
	if was.Undo != nil {
		before = *was.Undo
	}
	if u == nil || before.Status == u.Status && before.Attempts == u.Attempts {
		return "", f.Now
	}
	at := f.Now
	for _, t := range []*time.Time{u.FinishedAt, u.AttemptAt} {
		if t != nil {
			at = *t
			break
		}
	}
	switch u.Status {
	case "running":
		if u.Attempts > 1 {
			return "being undone, attempt " + strconv.Itoa(u.Attempts), at
		}
		return "being undone", at
	case "succeeded":
		if u.StartedAt != nil && u.FinishedAt != nil {
			return "undone after " + Span(u.FinishedAt.Sub(*u.StartedAt)), at
		}
		return "undone", at
	case "failed":
		return "could not be undone" + reason(u.Error), at
	case "retrying":
		text := "undoing it failed in attempt " + strconv.Itoa(u.Attempts)
		if u.Due != nil {
			text += ", the next one in " + Span(u.Due.Sub(f.Now))
		}
		return text + reason(u.Error), f.Now
	}
	return "", at
}

func reason(e *millrace.ErrorView) string {
	if e == nil {
		return ""
	}
	return ": " + problem(e)
}
