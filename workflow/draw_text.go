package workflow

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/workflow/internal/document"
	"github.com/millrace-go/millrace/workflow/internal/format"
)

// DrawText gives the steps as a tree for a terminal: each step with its action, what it comes after, its guards and its
// bodies. Equal definitions give equal text, which ends with a line end.
func DrawText(d *Definition) string {
	var b strings.Builder
	b.WriteString(d.Name)
	if d.Version > 0 {
		fmt.Fprintf(&b, " version %d", d.Version)
	}
	if d.Title != "" {
		b.WriteString(": " + oneLine(d.Title))
	}
	b.WriteByte('\n')
	drawBranches(&b, stepsOf(d.Body), "")
	return b.String()
}

// branchOf is a line of the tree with what hangs below it.
type branchOf struct {
	text string
	more []branchOf
}

// stepsOf gives a line for each step of a body; cases and catches may have none.
func stepsOf(body *Body) []branchOf {
	if body == nil {
		return nil
	}
	width := 0
	for _, s := range body.Steps {
		width = max(width, len(s.Key))
	}
	const most = 24
	var all []branchOf
	for _, s := range body.Steps {
		text := summary(s)
		if body.Kind != Single {
			text = fmt.Sprintf("%-*s  %s", min(width, most), s.Key, text)
		}
		all = append(all, branchOf{text: text, more: parts(s)})
	}
	return all
}

func drawBranches(b *strings.Builder, branches []branchOf, indent string) {
	for i, branch := range branches {
		sign, further := "├─ ", "│  "
		if i == len(branches)-1 {
			sign, further = "└─ ", "   "
		}
		b.WriteString(strings.TrimRight(indent+sign+branch.text, " ") + "\n")
		drawBranches(b, branch.more, indent+further)
	}
}

// summary gives a step's action and common keys in one line.
func summary(s *Step) string {
	words := []string{actionText(s.Action)}
	note := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	if len(s.After) > 0 {
		note("after %s", strings.Join(s.After, ", "))
	}
	switch s.Join.Kind {
	case JoinAll:
	case JoinSettled:
		note("join settled")
	case JoinAny:
		note("join any")
	case JoinCount:
		note("join %d", s.Join.N)
	}
	if s.When != nil {
		note("when %s", oneLine(s.When.Source().Text))
	}
	if s.Need != nil {
		note("need %s", oneLine(s.Need.Source().Text))
	}
	if s.CancelRest {
		note("cancel the rest")
	}
	if len(s.Retry) > 0 {
		note("%d attempts", s.Retry[0].Attempts)
	}
	if s.Timeout > 0 {
		note("timeout %s", format.FormatDuration(s.Timeout))
	}
	if s.OnError != OnErrorFail {
		note("on error %s", [...]string{"fail", "continue", "skip"}[s.OnError])
	}
	if s.Next != "" {
		note("next %s", s.Next)
	}
	return strings.Join(words, " · ")
}

// parts gives what hangs below a step: the cases or branches of its action, its body, its catches.
func parts(s *Step) []branchOf {
	var all []branchOf
	switch a := s.Action.(type) {
	case *Switch:
		for i := range a.Cases {
			c := &a.Cases[i]
			text := "else"
			if c.When != nil {
				text = "if " + oneLine(c.When.Source().Text)
			}
			all = append(all, branchOf{text: text + arrow(c.Next), more: stepsOf(c.Body)})
		}
	case *Parallel:
		for _, branch := range a.Branches {
			all = append(all, branchOf{text: branch.Name + ":", more: stepsOf(branch.Body)})
		}
	case *Block:
		all = stepsOf(a.Body)
	case *Map:
		all = stepsOf(a.Body)
	case *Loop:
		all = stepsOf(a.Body)
	}
	for i := range s.Catch {
		c := &s.Catch[i]
		text := "catch"
		if len(c.Only) > 0 {
			text += " " + strings.Join(c.Only, ", ")
		}
		if len(c.Except) > 0 {
			text += " all but " + strings.Join(c.Except, ", ")
		}
		if c.When != nil {
			text += " if " + oneLine(c.When.Source().Text)
		}
		all = append(all, branchOf{text: text + arrow(c.Next), more: stepsOf(c.Body)})
	}
	return all
}

func arrow(next string) string {
	if next == "" {
		return ""
	}
	return " -> " + next
}

// actionText says what a step does.
func actionText(a Action) string {
	switch a := a.(type) {
	case *Task:
		return "task " + a.Handler
	case *Command:
		if a.Args == nil {
			return "shell " + oneLine(a.Script)
		}
		words := make([]string, len(a.Args))
		for i, arg := range a.Args {
			words[i] = templateText(arg.Raw())
		}
		return "run " + oneLine(strings.Join(words, " "))
	case *Wait:
		if a.Until != nil {
			return "wait until " + oneLine(a.Until.Source().Text)
		}
		return "wait " + format.FormatDuration(a.For)
	case *Fail:
		return "fail " + a.Code
	case *End:
		if a.Run {
			return "end of the run"
		}
		return "end"
	case *Map:
		return mapText(a)
	case *Loop:
		return loopText(a)
	}
	return a.Name()
}

func mapText(a *Map) string {
	text := "map over " + oneLine(a.Over.Source().Text) + " as " + a.As
	if a.Parallel > 0 {
		text += ", " + strconv.Itoa(a.Parallel) + " at once"
	}
	switch {
	case a.Tolerate.Percent > 0:
		text += ", " + format.ShortNumber(a.Tolerate.Percent) + "% may fail"
	case a.Tolerate.Count > 0:
		text += ", " + strconv.Itoa(a.Tolerate.Count) + " may fail"
	}
	return text
}

func loopText(a *Loop) string {
	text := "loop"
	if a.Over != nil {
		text += " over " + oneLine(a.Over.Source().Text) + " as " + a.As
	}
	if a.While != nil {
		text += " while " + oneLine(a.While.Source().Text)
	}
	if a.Until != nil {
		text += " until " + oneLine(a.Until.Source().Text)
	}
	if a.Limit != nil {
		text += ", at most " + oneLine(a.Limit.Source().Text)
	}
	if a.Every > 0 {
		text += ", every " + format.FormatDuration(a.Every)
	}
	return text
}

// templateText gives a template's text without quotes.
func templateText(raw []byte) string {
	if n, err := document.ParseJSON(raw, document.MaxNesting); err == nil && n.Kind == document.Text {
		return n.Text
	}
	return string(raw)
}

// oneLine shortens a text to what fits a line of a drawing.
func oneLine(s string) string {
	first, rest, found := strings.Cut(strings.TrimSpace(s), "\n")
	const most = 72
	if found && strings.TrimSpace(rest) != "" {
		return strings.TrimSpace(document.Clip(first)) + " ..."
	}
	if len(first) > most {
		return document.Clip(first)
	}
	return first
}
