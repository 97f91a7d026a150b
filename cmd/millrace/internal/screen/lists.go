package screen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/machine"
)

// RunsTable lists runs for people.
func RunsTable(runs []millrace.RunSummary, now time.Time) Table {
	t := Table{Mark: 2, Head: []string{"RUN", "WORKFLOW", "STATUS", "CREATED", "TOOK", "KEY", "LABELS", "ERROR"}}
	for _, r := range runs {
		took, created := "", ""
		if r.StartedAt != nil {
			end := now
			if r.FinishedAt != nil {
				end = *r.FinishedAt
			}
			took = Span(end.Sub(*r.StartedAt))
		}
		if r.CreatedAt != nil {
			created = Ago(now.Sub(*r.CreatedAt))
		}
		problem := ""
		if r.Error != nil {
			problem = r.Error.Error()
			if r.Error.Step != "" {
				problem = r.Error.Step + ": " + problem
			}
		}
		t.Rows = append(t.Rows, []string{
			Ending(r.ID), r.Workflow + " v" + strconv.Itoa(r.Version), string(r.Status), created, took, r.Key, Labels(r.Labels), problem,
		})
	}
	return t
}

// Ago says how long ago something was.
func Ago(d time.Duration) string {
	if d < 2*time.Second {
		return "just now"
	}
	return Span(d.Truncate(time.Second)) + " ago"
}

// QueuesTable lists queues for people.
func QueuesTable(queues []millrace.QueueDepth, now time.Time) Table {
	t := Table{
		Mark: -1, Head: []string{"QUEUE", "WORKFLOW", "READY", "DELAYED", "RUNNING", "HELD", "OLDEST", "WORKERS", "HANDLER"},
	}
	for _, q := range queues {
		oldest, held, served := "", "", strconv.Itoa(len(q.ServedBy))
		if q.Held > 0 { // a column that is there when something is
			held = strconv.Itoa(q.Held)
		}
		if q.OldestAt != nil {
			oldest = Span(now.Sub(*q.OldestAt))
		}
		if len(q.ServedBy) == 0 && q.Ready > 0 {
			served = "none"
		}
		if q.Paused {
			served = "paused"
		}
		t.Rows = append(t.Rows, []string{
			q.Queue, q.Workflow, strconv.Itoa(q.Ready), strconv.Itoa(q.Delayed), strconv.Itoa(q.Running), held, oldest, served, handlerName(q.Handler),
		})
	}
	return t
}

// PauseLine tells of something that is paused: since when, by whom and why, and how that ends.
func PauseLine(p *millrace.PausedSupply, tenant string, now time.Time) string {
	name := p.Name
	if p.Kind == "tenant" {
		name = tenant
	}
	text := p.Kind + " " + name + " is paused"
	if p.By != "" {
		text += " by " + p.By
	}
	if p.PausedAt != nil {
		text += ", " + Ago(now.Sub(*p.PausedAt))
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return Clean(text) + "; millrace resume " + p.Kind + ":" + name
}

// ProcessesTable lists processes for people.
func ProcessesTable(processes []millrace.ProcessView, now time.Time) Table {
	t := Table{Mark: -1, Head: []string{"PROCESS", "PID", "SEEN", "STATE", "SERVES"}}
	for _, p := range processes {
		state, seen := "working", ""
		switch {
		case !p.Live:
			state = "silent"
		case p.Draining:
			state = "draining"
		}
		if p.SeenAt != nil {
			seen = Ago(now.Sub(*p.SeenAt))
		}
		serves := slices.Clone(p.Serves)
		for i := range serves {
			serves[i] = handlerName(serves[i])
		}
		t.Rows = append(t.Rows, []string{p.Name, strconv.Itoa(p.PID), seen, state, strings.Join(serves, ", ")})
	}
	return t
}

// handlerName shows a handler to people: that of commands by its home.
func handlerName(handler string) string {
	if home, ok := strings.CutPrefix(handler, "run@"); ok {
		if home, ok := strings.CutPrefix(home, "run:"); ok {
			return "commands of `run` and `resume` in " + home
		}
		return "commands of " + home
	}
	return handler
}

// LetterPage shows a dead letter for people.
func LetterPage(l *millrace.DeadLetter, now time.Time, width int) string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, Cut(Clean(value), max(width-11, 20)))
		}
	}
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.In(now.Location()).Format(time.RFC3339)
	}
	field("letter", strconv.FormatInt(l.ID, 10)+" "+string(l.State))
	field("run", l.Run+" of "+l.Workflow)
	field("kind", string(l.Kind)+": "+LetterKind(l.Kind))
	field("at", l.Path)
	field("opened", at(l.CreatedAt))
	field("closed", at(l.ClosedAt))
	if e := l.Error; e != nil {
		writeError(&b, &millrace.ErrorView{Code: e.Code, Message: e.Message, Path: e.Step}, width)
		field("data", Compact(e.Data))
	}
	field("help", l.Help())
	return b.String()
}

// LetterKind says in words what a dead letter of a kind is about.
func LetterKind(k machine.LetterKind) string {
	switch k {
	case machine.LetterFailure:
		return "a failure that nothing handles"
	case machine.LetterParked:
		return "a step that waits for a person"
	case machine.LetterCompensation:
		return "a step that could not be undone"
	case machine.LetterUnknown:
		return "nobody knows whether some steps were done; they were not undone"
	case machine.LetterFinally:
		return "a failure of what runs at the end"
	}
	return "a failure"
}
