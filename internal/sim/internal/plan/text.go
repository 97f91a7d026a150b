package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// Text writes a plan as a workflow file.
func (p *Plan) Text() string {
	w := &writer{}
	w.line(0, "workflow: %s", p.Name)
	w.line(0, "version: 1")
	if p.OnFailure != "" {
		w.line(0, "on_failure: %s", p.OnFailure)
	}
	if p.Continue {
		w.line(0, "on_compensation_failure: continue")
	}
	if p.Deadline != "" {
		w.line(0, "deadline: %s", p.Deadline)
	}
	if len(p.Shared) > 0 {
		w.line(0, "compensations:")
	}
	for _, u := range p.Shared {
		w.line(1, "%s:", u.Name)
		w.undo(2, u)
		if u.Once {
			w.line(2, "once: true")
		}
	}
	w.body(0, p.Root)
	if p.Finally != nil {
		w.line(0, "finally:")
		w.body(1, p.Finally)
	}
	return w.String()
}

// undo writes what a compensation does.
func (w *writer) undo(d int, u *Undo) {
	w.line(d, "task: undo")
	if u.Attempts > 0 {
		w.line(d, "retry: { attempts: %d, delay: 3s, max_delay: 20s }", u.Attempts)
	}
	if u.Timeout {
		w.line(d, "timeout: 7s")
	}
	if u.With {
		w.line(d, "with: { undo: \"${ step.key }\", got: \"${ step.input }\", gave: \"${ step.output }\", why: \"${ error }\" }")
	}
}

// undone writes how a step is undone.
func (w *writer) undone(d int, s *Step) {
	if s.UndoKnown {
		w.line(d, "compensate_unknown: false")
	}
	if s.AtMostOnce {
		w.line(d, "at_most_once: true")
	}
	switch {
	case s.Undo == nil:
	case s.Undo.Name != "":
		w.line(d, "compensate: %s", s.Undo.Name)
	default:
		w.line(d, "compensate:")
		w.undo(d+1, s.Undo)
	}
}

type writer struct{ strings.Builder }

func (w *writer) line(depth int, format string, args ...any) {
	w.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// body writes `steps:` or `do:` at a depth.
func (w *writer) body(depth int, b *Body) {
	switch b.Kind {
	case Single:
		w.line(depth, "do:")
		w.step(depth+1, b, b.Steps[0])
	case Sequence, Graph:
		w.line(depth, "steps:")
		w.items(depth, b)
	}
}

func (w *writer) items(depth int, b *Body) {
	for _, s := range b.Steps {
		if b.Kind == Graph {
			w.line(depth+1, "%s:", s.Key)
		} else {
			w.line(depth+1, "- id: %s", s.Key)
		}
		w.step(depth+2, b, s)
	}
}

func (b *Body) target(i int) string {
	if i == len(b.Steps) {
		return "end"
	}
	return b.Steps[i].Key
}

func (w *writer) step(d int, b *Body, s *Step) {
	if len(s.After) > 0 {
		keys := make([]string, len(s.After))
		for i, k := range s.After {
			keys[i] = b.Steps[k].Key
		}
		w.line(d, "after: [%s]", strings.Join(keys, ", "))
	}
	switch s.Join {
	case "":
	case "n":
		w.line(d, "join: %d", s.N)
	default:
		w.line(d, "join: %s", s.Join)
	}
	if s.Guard != Always {
		w.line(d, "when: %s", strconv.Quote(string(s.Guard)))
	}
	if s.Next >= 0 {
		w.line(d, "next: %s", b.target(s.Next))
	}
	if s.Attempts > 0 {
		w.line(d, "retry: { attempts: %d, delay: 2s, max_delay: 20s }", s.Attempts)
	}
	if s.OnError != "" {
		w.line(d, "on_error: %s", s.OnError)
	}
	if s.CancelRest && s.Action != "map" {
		w.line(d, "cancel_rest: true")
	}
	for _, x := range s.Extra {
		w.line(d, "%s", x)
	}
	w.undone(d, s)
	w.action(d, b, s)
	if len(s.Catches) > 0 {
		w.line(d, "catch:")
		w.ways(d, b, s.Catches)
	}
}

func (w *writer) ways(d int, b *Body, ways []Way) {
	for _, c := range ways {
		switch {
		case c.Only != "":
			w.line(d+1, "- only: %s", c.Only)
		case c.When != Always:
			w.line(d+1, "- when: %s", strconv.Quote(string(c.When)))
		case c.Next >= 0:
			w.line(d+1, "- next: %s", b.target(c.Next))
			continue
		default: // a body alone: its own key begins the item
			inner := &writer{}
			inner.body(d+2, c.Body)
			first := strings.Repeat("  ", d+1) + "- "
			w.WriteString(first + strings.TrimLeft(inner.String(), " "))
			continue
		}
		if c.Next >= 0 {
			w.line(d+2, "next: %s", b.target(c.Next))
		} else {
			w.body(d+2, c.Body)
		}
	}
}

func (w *writer) action(d int, b *Body, s *Step) {
	switch s.Action {
	case "task":
		if s.Doomed {
			w.line(d, "task: fails")
		} else {
			w.line(d, "task: work")
		}
	case "set":
		w.line(d, "set: { made: 1 }")
	case "wait":
		w.line(d, "wait: %s", s.Code)
	case "fail":
		w.line(d, "fail: { code: %s }", s.Code)
	case "savepoint":
		w.line(d, "savepoint: true")
	case "end":
		if s.EndRun {
			w.line(d, "end: run")
		} else {
			w.line(d, "end: true")
		}
	case "switch":
		w.line(d, "switch:")
		w.ways(d, b, s.Cases)
	case "steps":
		w.body(d, s.Inner[0])
	case "parallel":
		if s.Need > 0 {
			w.line(d, "need: %d", s.Need)
		}
		w.line(d, "parallel:")
		for i, branch := range s.Inner {
			w.line(d+1, "%s:", Branch(i))
			w.body(d+2, branch)
		}
	case "map":
		w.mapAction(d, s)
	case "loop":
		w.loopAction(d, s)
	}
}

func list(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strconv.Itoa(i + 1)
	}
	return strconv.Quote("[" + strings.Join(items, ", ") + "]")
}

func (w *writer) mapAction(d int, s *Step) {
	w.line(d, "map:")
	w.line(d+1, "over: %s", list(s.Items))
	if s.Limit > 0 {
		w.line(d+1, "parallel: %d", s.Limit)
	}
	if s.Tolerate >= 0 {
		w.line(d+1, "tolerate: %d", s.Tolerate)
	}
	if s.Need > 0 {
		w.line(d+1, "need: %d", s.Need)
	}
	if s.CancelRest {
		w.line(d+1, "cancel_rest: true")
	}
	w.body(d+1, s.Inner[0])
}

func (w *writer) loopAction(d int, s *Step) {
	w.line(d, "loop:")
	switch s.Loop {
	case "over":
		w.line(d+1, "over: %s", list(s.Items))
	case "while":
		w.line(d+1, "while: \"pass.number <= %d\"", s.Passes)
	case "until":
		w.line(d+1, "until: \"pass.number >= %d\"", s.Passes)
	}
	if s.Limit > 0 {
		w.line(d+1, "limit: %d", s.Limit)
	}
	for _, x := range []string{"every: 3s", "collect: true"} {
		if strings.Contains(s.Code, x[:5]) {
			w.line(d+1, "%s", x)
		}
	}
	w.body(d+1, s.Inner[0])
}
