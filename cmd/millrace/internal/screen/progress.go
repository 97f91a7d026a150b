package screen

import (
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

	steps map[string]millrace.StepView
	told  map[string]int // tenths of items told of, by map
	// status is the run's.
	status machine.Status
}

// Lines gives what has changed from the views before to v. Items of maps are counted, not told one by one, unless they fail.
func (p *Progress) Lines(v *millrace.View, now time.Time) []string {
	if p.steps == nil {
		p.steps, p.told = map[string]millrace.StepView{}, map[string]int{}
	}
	var out []string
	if p.status == "" {
		out = append(out, headline(v))
	}
	f := Frame{View: v, Served: p.Served}
	for _, s := range v.Steps {
		was := p.steps[s.Path]
		p.steps[s.Path] = s
		if s.Items != nil {
			out = append(out, p.items(s)...)
		}
		if text := f.change(was, s, now); text != "" && (!strings.Contains(s.Path, "[") || s.Error != nil) {
			out = append(out, s.Path+": "+text)
		}
	}
	if p.status != "" && v.Status != p.status {
		out = append(out, headline(v))
	}
	p.status = v.Status
	return out
}

func headline(v *millrace.View) string {
	text := "run " + Ending(v.ID) + " of " + v.Workflow + " v" + strconv.Itoa(v.Version) + ": " + string(v.Status)
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
	case "ready":
		return strings.TrimPrefix(f.needs(s.Path), "ready")
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
	}
	return ""
}

func reason(e *millrace.ErrorView) string {
	if e == nil {
		return ""
	}
	return ": " + problem(e)
}
