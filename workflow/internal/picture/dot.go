package picture

import (
	"fmt"
	"iter"
	"maps"
	"strings"
)

func mapKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// DOT draws a graph for Graphviz. A node that holds bodies is a cluster with its own text at the top, to which edges lead.
func (p *Picture) DOT() string {
	d := &dot{}
	d.line("digraph {")
	d.nested(func() {
		d.line(`graph [label=%s, labelloc=t, compound=true, fontname="Helvetica", nodesep=0.4, ranksep=0.4]`, dotText(p.Title))
		d.line(`node [shape=box, style="filled", fillcolor=white, fontname="Helvetica", fontsize=11]`)
		d.line(`edge [fontname="Helvetica", fontsize=10]`)
		d.body(p.Body)
		if p.Finally != nil {
			d.cluster(p.Finally.ID, "finally", look{fill: "none", line: "#8c959f"}, func() { d.body(p.Finally) })
		}
	})
	d.line("}")
	return d.b.String()
}

type dot struct{ writer }

func (d *dot) cluster(id, label string, l look, inside func()) {
	d.line("subgraph cluster_%s {", id)
	d.nested(func() {
		d.line("label=%s; style=rounded; color=%q; fillcolor=%q", dotText(label), l.line, l.fill)
		inside()
	})
	d.line("}")
}

func (d *dot) body(body *Body) {
	holders := map[string]bool{}
	for _, n := range body.Nodes {
		holders[n.ID] = len(n.bodies()) > 0
		d.node(n)
	}
	if body.Ends {
		d.line(`%s [label="end", shape=circle, fontsize=9]`, body.End())
	}
	for _, e := range body.Edges {
		var more []string
		if e.Label != "" {
			more = append(more, "label="+dotText(e.Label))
		}
		if e.Kind == Caught {
			more = append(more, "style=dashed", `color="#cf222e"`)
		}
		if holders[e.From] {
			more = append(more, "ltail=cluster_"+e.From)
		}
		if holders[e.To] {
			more = append(more, "lhead=cluster_"+e.To)
		}
		if len(more) > 0 {
			d.line("%s -> %s [%s]", e.From, e.To, strings.Join(more, ", "))
		} else {
			d.line("%s -> %s", e.From, e.To)
		}
	}
}

func (d *dot) node(n *Node) {
	l, label := lookOf(n.Status), strings.Join(n.lines(), "\n")
	parts := n.bodies()
	if len(parts) == 0 {
		shape := [...]string{Box: "", Rounded: `, style="filled,rounded"`, Rhombus: ", shape=diamond", Oval: ", shape=oval"}[n.Shape]
		d.line("%s [label=%s%s, fillcolor=%q, color=%q]", n.ID, dotText(label), shape, l.fill, l.line)
		return
	}
	d.cluster(n.ID, "", l, func() {
		d.line("%s [label=%s, shape=plaintext, fillcolor=%q]", n.ID, dotText(label), l.fill)
		for _, part := range parts {
			draw := func() { d.body(part.Body) }
			if part.Label == "" {
				draw()
			} else {
				d.cluster(part.Body.ID, part.Label, look{fill: "none", line: "#8c959f"}, draw)
			}
			if len(part.Body.Nodes) > 0 { // keeps the text above what it stands for
				d.line("%s -> %s [style=invis]", n.ID, part.Body.Nodes[0].ID)
			}
		}
	})
}

// dotText quotes a label.
func dotText(s string) string {
	return fmt.Sprintf(`"%s"`, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s))
}
