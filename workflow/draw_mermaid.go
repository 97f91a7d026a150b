package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// DrawMermaid gives the steps as a Mermaid flowchart: bodies are subgraphs, a switch is a rhombus, an edge to what catches a
// failure is dotted. Equal definitions give equal text, which ends with a line end.
func DrawMermaid(d *Definition) string {
	m := &mermaid{}
	m.line("flowchart TD")
	m.indent = "  "
	m.body(d.Body)
	return m.b.String()
}

type mermaid struct {
	b      strings.Builder
	indent string
}

func (m *mermaid) line(format string, args ...any) {
	m.b.WriteString(m.indent)
	fmt.Fprintf(&m.b, format, args...)
	m.b.WriteByte('\n')
}

// box draws something that holds others.
func (m *mermaid) box(id, label string, inside func()) {
	m.line("subgraph %s[%s]", id, mermaidText(label))
	m.indent += "  "
	inside()
	m.indent = m.indent[2:]
	m.line("end")
}

func (m *mermaid) body(body *Body) {
	for _, s := range body.Steps {
		m.step(s)
	}
	for _, s := range body.Steps {
		if body.Kind == Graph {
			m.graphEdges(s)
		} else {
			m.sequenceEdges(s)
		}
	}
}

func (m *mermaid) step(s *Step) {
	id, label := stepID(s), actionText(s.Action)
	if s.Body.Kind != Single {
		label = s.Key + ": " + label
	}
	if s.When != nil {
		label += "\nwhen " + oneLine(s.When.Source().Text)
	}
	if len(s.Bodies) > 0 {
		m.box(id, label, func() { m.bodies(s) })
		return
	}
	shape := [2]string{"[", "]"}
	switch s.Action.(type) {
	case *Switch:
		shape = [2]string{"{", "}"}
	case *End, *Fail:
		shape = [2]string{"([", "])"}
	case *Wait:
		shape = [2]string{"(", ")"}
	}
	m.line("%s%s%s%s", id, shape[0], mermaidText(label), shape[1])
}

func (m *mermaid) bodies(s *Step) {
	for _, body := range s.Bodies {
		if body.Slot == "" {
			m.body(body)
			continue
		}
		label := body.Slot
		if w, ok := s.Action.(*Switch); ok {
			for i := range w.Cases {
				if w.Cases[i].Body == body {
					label = caseLabel(&w.Cases[i])
				}
			}
		}
		m.box(fmt.Sprintf("b%d", body.ID), label, func() { m.body(body) })
	}
}

func stepID(s *Step) string { return fmt.Sprintf("s%d", s.ID) }

func caseLabel(c *Case) string {
	if c.When == nil {
		return "else"
	}
	return oneLine(c.When.Source().Text)
}

func catchLabel(c *Catch) string {
	switch {
	case len(c.Only) > 0:
		return "catch " + strings.Join(c.Only, ", ")
	case c.When != nil:
		return "catch if " + oneLine(c.When.Source().Text)
	}
	return "catch"
}

func (m *mermaid) graphEdges(s *Step) {
	for _, e := range s.Out {
		from, to := stepID(s), stepID(s.Body.Steps[e.To])
		var labels []string
		for _, i := range e.Cases {
			if w, ok := s.Action.(*Switch); ok && e.Kind == Next {
				labels = append(labels, caseLabel(&w.Cases[i]))
			} else {
				labels = append(labels, catchLabel(&s.Catch[i]))
			}
		}
		label := mermaidText(strings.Join(labels, " or "))
		switch e.Kind {
		case Normal:
			m.line("%s --> %s", from, to)
		case Next:
			m.line("%s -->|%s| %s", from, label, to)
		case Caught:
			m.line("%s -.->|%s| %s", from, label, to)
		}
	}
}

func (m *mermaid) sequenceEdges(s *Step) {
	to := func(i int) string {
		if i >= len(s.Body.Steps) {
			return fmt.Sprintf("e%d((end))", s.Body.ID)
		}
		return stepID(s.Body.Steps[i])
	}
	if w, ok := s.Action.(*Switch); ok {
		for i := range w.Cases {
			if w.Cases[i].Next != "" {
				m.line("%s -->|%s| %s", stepID(s), mermaidText(caseLabel(&w.Cases[i])), to(w.Cases[i].NextTo))
			}
		}
	}
	for i := range s.Catch {
		if s.Catch[i].Next != "" {
			m.line("%s -.->|%s| %s", stepID(s), mermaidText(catchLabel(&s.Catch[i])), to(s.Catch[i].NextTo))
		}
	}
	if !ends(s) && !alwaysJumps(s) && (s.NextIndex < len(s.Body.Steps) || s.Next != "") {
		m.line("%s --> %s", stepID(s), to(s.NextIndex))
	}
}

// mermaidText quotes a label.
func mermaidText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '\n':
			b.WriteString("<br/>")
		case slices.Contains([]rune{'"', '<', '>', '&', '#', ';', '\\', '`'}, c):
			fmt.Fprintf(&b, "#%d;", c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
