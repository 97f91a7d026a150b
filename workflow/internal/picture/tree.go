package picture

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Tree draws a tree for a terminal: a line for each node, its parts below it.
func (p *Picture) Tree() string {
	var b strings.Builder
	b.WriteString(p.Title + "\n")
	all := p.branches(p.Body)
	if p.Finally != nil {
		all = append(all, branch{text: "finally", more: p.branches(p.Finally)})
	}
	drawBranches(&b, all, "")
	return b.String()
}

// branch is a line of the tree with what hangs below it.
type branch struct {
	text string
	more []branch
}

// branches gives a line for each node of a body, which may be nil.
func (p *Picture) branches(body *Body) []branch {
	if body == nil {
		return nil
	}
	width := 0
	for _, n := range body.Nodes {
		width = max(width, utf8.RuneCountInString(n.Key))
	}
	const most = 24
	var all []branch
	for _, n := range body.Nodes {
		words := []string{n.Action}
		if n.Guard != "" {
			words = append(words, "when "+n.Guard)
		}
		text := strings.Join(append(words, n.Notes...), " · ")
		if n.Key != "" {
			text = fmt.Sprintf("%-*s  %s", min(width, most), n.Key, text)
		}
		if p.Marked {
			text = lookOf(n.Status).mark + " " + text
		}
		all = append(all, branch{text: text, more: p.parts(n)})
	}
	return all
}

// parts gives what hangs below a node.
func (p *Picture) parts(n *Node) []branch {
	var all []branch
	for _, part := range n.Parts {
		if part.Label == "" {
			all = append(all, p.branches(part.Body)...)
			continue
		}
		text := part.Label
		if part.Next != "" {
			text += " -> " + part.Next
		}
		all = append(all, branch{text: text, more: p.branches(part.Body)})
	}
	if n.Undo != "" {
		all = append(all, branch{text: "undo " + n.Undo})
	}
	return all
}

func drawBranches(b *strings.Builder, branches []branch, indent string) {
	for i, branch := range branches {
		sign, further := "├─ ", "│  "
		if i == len(branches)-1 {
			sign, further = "└─ ", "   "
		}
		b.WriteString(strings.TrimRight(indent+sign+branch.text, " ") + "\n")
		drawBranches(b, branch.more, indent+further)
	}
}
