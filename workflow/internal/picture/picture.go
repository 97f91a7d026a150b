// Package picture draws workflows: as a tree of text, as a Mermaid flowchart, as Graphviz DOT, and as SVG with a layout of its
// own.
//
// Nouns: a [Picture] has a [Body]; a body has [Node]s and the [Edge]s between them; a node may have [Part]s, which hold bodies
// of their own. Edges never leave a body, so each body is laid out by itself and is then a box in the one around it. A node
// may have a status, which gives it a mark and a colour. The package is pure and imports nothing of Millrace.
package picture

// Picture is what is drawn. Equal pictures give equal text.
type Picture struct {
	Title   string
	Body    *Body
	Finally *Body // nil: none
	Marked  bool  // nodes have a status
}

// Body is nodes and how they follow each other.
type Body struct {
	ID    string
	Nodes []*Node
	Edges []Edge
	Ends  bool // some edge leads to the end of the body, whose id is that of [Body.End]
}

// End gives the id of the end of the body.
func (b *Body) End() string { return "e" + b.ID[1:] }

// Shape is the form of a node.
type Shape uint8

// The shapes of nodes.
const (
	Box     Shape = iota
	Rounded       // it waits
	Rhombus       // it chooses
	Oval          // it ends or fails
)

// Node is a step.
type Node struct {
	ID     string
	Key    string   // "": the only one of its body
	Action string   // what it does
	Guard  string   // "": none
	Notes  []string // what else the tree says of it
	Undo   string   // how it is undone; "": not at all
	Shape  Shape
	Status string // "": not known
	Parts  []Part
}

// Part is a way out of a node or a body inside it.
type Part struct {
	Label string // "": the body needs no box of its own
	Next  string // the key that it leads to; "": none
	Body  *Body  // nil: none
	Side  bool   // it is told in the tree only, as a notification is
}

// Kind is the sort of an edge.
type Kind uint8

// The kinds of edge.
const (
	Plain  Kind = iota
	Chosen      // by a case of a switch
	Caught      // by a catch
)

// Edge leads from one node of a body to another, or to its end.
type Edge struct {
	From, To string
	Label    string
	Kind     Kind
}

// bodies gives the parts of a node that hold a body.
func (n *Node) bodies() []Part {
	var all []Part
	for _, p := range n.Parts {
		if p.Body != nil {
			all = append(all, p)
		}
	}
	return all
}

// lines gives the text of a node in a drawing of boxes.
func (n *Node) lines() []string {
	text := n.Action
	if n.Key != "" {
		text = n.Key + ": " + text
	}
	all := []string{text}
	if n.Guard != "" {
		all = append(all, "when "+n.Guard)
	}
	if n.Undo != "" {
		all = append(all, "undo "+n.Undo)
	}
	return all
}

// look is how a status shows.
type look struct{ mark, fill, line string }

var unknown = look{"·", "#ffffff", "#57606a"}

var looks = map[string]look{
	"pending":      {"·", "#f6f8fa", "#8c959f"},
	"waiting":      {"◷", "#fff8c5", "#9a6700"},
	"ready":        {"○", "#ddf4ff", "#0969da"},
	"running":      {"▶", "#b6e3ff", "#0969da"},
	"retrying":     {"↻", "#fff1b8", "#9a6700"},
	"succeeded":    {"✓", "#dafbe1", "#1a7f37"},
	"failed":       {"✗", "#ffebe9", "#cf222e"},
	"caught":       {"!", "#fff1e5", "#bc4c00"},
	"skipped":      {"–", "#f6f8fa", "#afb8c1"},
	"cancelled":    {"■", "#eaeef2", "#57606a"},
	"compensating": {"↺", "#fbefff", "#8250df"},
	"compensated":  {"↩", "#fbefff", "#8250df"},
	"parked":       {"‖", "#ffd8b5", "#bc4c00"},
}

// lookOf gives how a status shows.
func lookOf(status string) look {
	if l, ok := looks[status]; ok {
		return l
	}
	return unknown
}
