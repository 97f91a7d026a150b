package draw

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/workflow"
	"github.com/millrace-go/millrace/workflow/internal/document"
	"github.com/millrace-go/millrace/workflow/internal/format"
)

// notes gives a step's common keys in words.
func notes(s *workflow.Step) []string {
	var words []string
	note := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch s.Join.Kind {
	case workflow.JoinAll:
	case workflow.JoinSettled:
		note("join settled")
	case workflow.JoinAny:
		note("join any")
	case workflow.JoinCount:
		note("join %d", s.Join.N)
	}
	if s.Need != nil {
		note("need %s", oneLine(s.Need.Source().Text))
	}
	if s.CancelRest {
		note("cancel the rest")
	}
	if len(s.Retry) > 0 {
		note("%s", retryText(s.Retry[0]))
	}
	if s.Timeout > 0 {
		note("timeout %s", format.FormatDuration(s.Timeout))
	}
	if s.OnError != workflow.OnErrorFail {
		note("on error %s", [...]string{"fail", "continue", "skip"}[s.OnError])
	}
	if s.Concurrency != nil {
		note("%d at once", s.Concurrency.Limit)
	}
	if s.Rate != nil {
		note("%d in %s", s.Rate.Limit, format.FormatDuration(s.Rate.Per))
	}
	if s.Next != "" {
		note("next %s", s.Next)
	}
	return words
}

func retryText(p workflow.RetryPolicy) string {
	if p.Attempts >= 10_000 && p.For > 0 {
		return "attempts for " + format.FormatDuration(p.For)
	}
	return strconv.Itoa(p.Attempts) + " attempts"
}

// undoText says how a step is undone, or nothing.
func undoText(c *workflow.Compensation) string {
	switch {
	case c == nil:
		return ""
	case c.Name != "":
		return "by " + c.Name
	}
	return actionText(c.Step.Action)
}

func caseLabel(c *workflow.Case) string {
	if c.When == nil {
		return "else"
	}
	return oneLine(c.When.Source().Text)
}

func catchLabel(c *workflow.Catch) string {
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
	return text
}

// actionText says what a step does.
func actionText(a workflow.Action) string {
	switch a := a.(type) {
	case *workflow.Task:
		return "task " + a.Handler
	case *workflow.Command:
		if a.Args == nil {
			return "shell " + oneLine(a.Script)
		}
		words := make([]string, len(a.Args))
		for i, arg := range a.Args {
			words[i] = templateText(arg.Raw())
		}
		return "run " + oneLine(strings.Join(words, " "))
	case *workflow.HTTP:
		if a.URL == nil {
			return "http"
		}
		return "http " + a.Method + " " + oneLine(templateText(a.URL.Raw()))
	case *workflow.Fail:
		if a.CodeExpr != nil {
			return "fail " + oneLine(templateText(a.CodeExpr.Raw()))
		}
		return "fail " + a.Code
	case *workflow.End:
		if a.Run {
			return "end of the run"
		}
		return "end"
	case *workflow.Map:
		return mapText(a)
	case *workflow.Loop:
		return loopText(a)
	}
	return waitText(a)
}

// waitText says what a step does that waits for somebody or something, or tells it.
func waitText(a workflow.Action) string {
	switch a := a.(type) {
	case *workflow.Await:
		return awaitText(a)
	case *workflow.Emit:
		return "emit " + a.Event
	case *workflow.Approve:
		if a.Title == nil {
			return "approve"
		}
		return "approve " + oneLine(templateText(a.Title.Raw()))
	case *workflow.Call:
		return "workflow " + cmp.Or(a.Workflow, a.File)
	case *workflow.Wait:
		if a.Until != nil {
			return "wait until " + oneLine(a.Until.Source().Text)
		}
		return "wait " + format.FormatDuration(a.For)
	}
	return a.Name()
}

func awaitText(a *workflow.Await) string {
	names := make([]string, len(a.Events))
	for i, e := range a.Events {
		names[i] = e.Event
	}
	text := "await " + strings.Join(names, map[workflow.AwaitMode]string{workflow.AwaitAll: " and ", workflow.AwaitAny: " or "}[a.Mode])
	if a.Within > 0 {
		text += " within " + format.FormatDuration(a.Within)
	}
	return text
}

func mapText(a *workflow.Map) string {
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

func loopText(a *workflow.Loop) string {
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
