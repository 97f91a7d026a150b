package picture

import (
	"fmt"
	"slices"
	"strings"
)

// writer writes indented lines.
type writer struct {
	b      strings.Builder
	indent string
}

func (w *writer) line(format string, args ...any) {
	w.b.WriteString(w.indent)
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

// nested writes what is inside something.
func (w *writer) nested(inside func()) {
	w.indent += "  "
	inside()
	w.indent = w.indent[2:]
}

// Mermaid draws a Mermaid flowchart: bodies are subgraphs, an edge to what catches a failure is dotted.
func (p *Picture) Mermaid() string {
	m := &mermaid{classes: map[string][]string{}}
	m.line("flowchart TD")
	m.nested(func() {
		m.body(p.Body)
		if p.Finally != nil {
			m.box(p.Finally.ID, "finally", func() { m.body(p.Finally) })
		}
		for _, status := range slices.Sorted(mapKeys(m.classes)) {
			l := lookOf(status)
			m.line("classDef %s fill:%s,stroke:%s", status, l.fill, l.line)
			m.line("class %s %s", strings.Join(m.classes[status], ","), status)
		}
	})
	return m.b.String()
}

type mermaid struct {
	writer
	classes map[string][]string // ids by status
}

// box draws something that holds others.
func (m *mermaid) box(id, label string, inside func()) {
	m.line("subgraph %s[%s]", id, mermaidText(label))
	m.nested(inside)
	m.line("end")
}

func (m *mermaid) body(body *Body) {
	for _, n := range body.Nodes {
		m.node(n)
	}
	for _, e := range body.Edges {
		to := e.To
		if to == body.End() {
			to += "((end))"
		}
		switch {
		case e.Kind == Caught:
			m.line("%s -.->|%s| %s", e.From, mermaidText(e.Label), to)
		case e.Label != "":
			m.line("%s -->|%s| %s", e.From, mermaidText(e.Label), to)
		default:
			m.line("%s --> %s", e.From, to)
		}
	}
}

func (m *mermaid) node(n *Node) {
	if _, ok := looks[n.Status]; ok {
		m.classes[n.Status] = append(m.classes[n.Status], n.ID)
	}
	label := strings.Join(n.lines(), "\n")
	if parts := n.bodies(); len(parts) > 0 {
		m.box(n.ID, label, func() {
			for _, part := range parts {
				if part.Label == "" {
					m.body(part.Body)
				} else {
					m.box(part.Body.ID, part.Label, func() { m.body(part.Body) })
				}
			}
		})
		return
	}
	sign := [...][2]string{Box: {"[", "]"}, Rounded: {"(", ")"}, Rhombus: {"{", "}"}, Oval: {"([", "])"}}[n.Shape]
	m.line("%s%s%s%s", n.ID, sign[0], mermaidText(label), sign[1])
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
