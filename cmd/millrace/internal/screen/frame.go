// Package screen shows a run while it is driven: in place on a terminal, as plain lines in a pipe.
//
// Nouns: a [Frame] is everything that one picture shows, and gives its lines without looking at anything else; a [Live]
// draws frames over each other on a terminal; [Progress] tells what has changed between two views in plain lines.
//
// It imports the root package for its views, and golang.org/x/term.
package screen

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace"
)

// Frame is one picture of a run.
type Frame struct {
	View *millrace.View
	// Logs are the last log lines of attempts under way, by path.
	Logs map[string]string
	// Served is the handler that this process executes: what is ready for another one waits for a worker.
	Served string
	Driver Driver
	Note   string // below the steps
	Now    time.Time
	Width  int // columns; lines are never wider
	Height int // rows; 0: any number
	Items  Items
	Style  Style
}

// Items says which items of a map, passes of a loop and tries of a composite get a row of their own; the others are counted.
type Items int

// Which items get a row.
const (
	FirstItems Items = iota // the first few: what a frame has room for
	OpenItems               // those under way, and those that failed, up to a few
	AllItems
)

const (
	minName   = 8
	timeWidth = 7
	maxItems  = 8 // rows of one map or loop
	noteRows  = 3 // of the note: a fault ends with what to do about it
)

// row is one line of steps before it is laid out.
type row struct {
	step   millrace.StepView
	name   string
	detail string
	mark   mark
	took   string
	more   bool // stands for several steps
}

// Lines gives the picture, one text per row, without line ends.
func (f Frame) Lines() []string {
	lines := []string{f.header()}
	tail := f.footer()
	rows := f.rows()
	if f.Height > 0 {
		rows = f.window(rows, f.Height-len(lines)-len(tail))
	}
	nameWidth := f.nameWidth(rows)
	for _, r := range rows {
		lines = append(lines, f.line(r, nameWidth))
	}
	return append(lines, tail...)
}

func (f Frame) header() string {
	v := f.View
	took := ""
	if v.StartedAt != nil {
		end := f.Now
		if v.FinishedAt != nil {
			end = *v.FinishedAt
		}
		took = Span(end.Sub(*v.StartedAt))
	}
	if due := begins(v); due != nil {
		took = "begins " + f.countdown(due, "")
	}
	m := statusMark(string(v.Status))
	parts := []string{v.Workflow + " v" + strconv.Itoa(v.Version), "run " + Ending(v.ID), string(v.Status), took}
	if v.Reason != "" {
		parts[2] += " (" + v.Reason + ")"
	}
	dot := " " + f.Style.glyph(dotGlyph) + " "
	text := Cut(Clean(strings.Trim(strings.Join(parts, dot), dot)), f.Width-2)
	return f.Style.paint(m.color, f.Style.mark(m, f.Now)) + " " + f.Style.paint(bold, text)
}

// begins is when a run that was started for later begins, nil for any other.
func begins(v *millrace.View) *time.Time {
	for _, w := range v.Waiting {
		if w.Path == "" && w.For == millrace.ForTime {
			return w.Until
		}
	}
	return nil
}

func (f Frame) footer() []string {
	if f.Note == "" {
		return nil
	}
	lines := Wrap(Clean(f.Note), max(f.Width-2, minName))
	if len(lines) > noteRows {
		lines = append(lines[:noteRows-1], strings.Join(lines[noteRows-1:], " "))
	}
	for i, line := range lines {
		lines[i] = f.Style.paint(dim, Cut("  "+line, f.Width))
	}
	return lines
}

// rows gives a row for each step, with long lists of items cut short.
func (f Frame) rows() []row {
	var out []row
	var around []string // paths of the steps around, by depth
	items := map[string][]millrace.StepView{}
	shown := map[string]int{}
	hidden := map[string]bool{}
	counted := map[string]bool{} // maps that say themselves how many of their items have succeeded
	flush := func(depth int) {
		for len(around) > depth {
			path := around[len(around)-1]
			around = around[:len(around)-1]
			if rest := items[path]; len(rest) > 0 && !(f.Items == OpenItems && counted[path] && allSucceeded(rest)) {
				out = append(out, f.more(rest, len(around)+1))
			}
		}
	}
	for _, s := range f.View.Steps {
		flush(min(s.Depth, len(around)))
		parent := ""
		if s.Depth > 0 && len(around) > 0 {
			parent = around[len(around)-1]
		}
		around = append(around, s.Path)
		counted[s.Path] = s.Items != nil
		name := strings.TrimPrefix(s.Path, parent)
		switch {
		case hidden[parent]:
			hidden[s.Path] = true
			continue
		case strings.HasPrefix(name, "[") || strings.HasPrefix(name, "~"):
			if !f.shows(s, shown[parent]) {
				items[parent] = append(items[parent], s)
				hidden[s.Path] = true
				continue
			}
			shown[parent]++
		}
		out = append(out, f.row(s, strings.TrimPrefix(name, "/")))
	}
	flush(0)
	return out
}

// shows says whether an item gets a row of its own, when so many of its map have one.
func (f Frame) shows(s millrace.StepView, shown int) bool {
	switch f.Items {
	case AllItems:
		return true
	case OpenItems:
		return shown < maxItems && (live(s.Status) && s.Status != "ready" || s.Status == "failed" || s.Status == "caught")
	default:
		return shown < maxItems
	}
}

func (f Frame) more(steps []millrace.StepView, depth int) row {
	return row{
		name: strings.Repeat("  ", depth) + f.Style.glyph(moreGlyph), more: true, mark: blank, detail: counts(steps),
	}
}

func allSucceeded(steps []millrace.StepView) bool {
	return !slices.ContainsFunc(steps, func(s millrace.StepView) bool { return s.Status != "succeeded" })
}

// counts says how many steps stand where: "3 running, 5 ready".
func counts(steps []millrace.StepView) string {
	var order []string
	n := map[string]int{}
	for _, s := range steps {
		if n[s.Status] == 0 {
			order = append(order, s.Status)
		}
		n[s.Status]++
	}
	for i, status := range order {
		order[i] = strconv.Itoa(n[status]) + " " + status
	}
	return strings.Join(order, ", ")
}

// window cuts rows to height, keeping what is under way in sight.
func (f Frame) window(rows []row, height int) []row {
	height = max(height, 3)
	if len(rows) <= height {
		return rows
	}
	inner := height - 2 // a line above and one below tell what was left out
	first := len(rows) - inner
	for i, r := range rows {
		if live(r.step.Status) {
			first = i - inner/3
			break
		}
	}
	first = max(0, min(first, len(rows)-inner))
	last := first + inner
	out := make([]row, 0, height)
	if first > 0 {
		out = append(out, f.left(rows[:first]))
	}
	out = append(out, rows[first:last]...)
	if last < len(rows) {
		out = append(out, f.left(rows[last:]))
	}
	return out
}

func (f Frame) left(rows []row) row {
	var steps []millrace.StepView
	for _, r := range rows {
		if !r.more {
			steps = append(steps, r.step)
		}
	}
	return f.more(steps, 0)
}

func live(status string) bool {
	switch status {
	case "running", "retrying", "ready", "waiting", "compensating", "parked":
		return true
	}
	return false
}

// nameWidth makes the column of names as wide as the longest, within what the width allows.
func (f Frame) nameWidth(rows []row) int {
	w := minName
	for _, r := range rows {
		w = max(w, Width(r.name))
	}
	return max(minName, min(w, max(f.Width/3, f.Width-120)))
}

func (f Frame) line(r row, nameWidth int) string {
	left := "  " + f.Style.paint(r.mark.color, f.Style.mark(r.mark, f.Now)) + " "
	color := r.mark.text
	name := pad(Cut(r.name, nameWidth), nameWidth)
	rest := f.Width - 4 - nameWidth
	took := ""
	if rest >= 2+timeWidth {
		took = "  " + padLeft(r.took, timeWidth)
		rest -= 2 + timeWidth
	}
	detail := ""
	if r.detail != "" && rest > 4 {
		detail = "  " + Cut(r.detail, rest-2)
	}
	text := strings.TrimRight(name+took, " ")
	if detail != "" {
		text = name + took
	}
	return left + f.Style.paint(color, text) + f.Style.paint(dim, detail)
}

// Ending is the part of a run's id that lists show: its last eight characters.
func Ending(id string) string {
	if len(id) <= 8 {
		return id
	}
	return id[len(id)-8:]
}
