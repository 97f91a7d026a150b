// Package draw draws workflows: as a tree for a terminal, as a Mermaid flowchart, as a graph for Graphviz, and as a picture for
// a web page; with the states of a run if there are any.
//
// Nouns: a drawing is text in one of these languages; [States] are the statuses of a run's steps by path. The package is pure;
// of Millrace it imports workflow and its divisions. It stands beside package workflow because only who shows a workflow to
// people needs it.
package draw

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/workflow"
	"github.com/millrace-go/millrace/workflow/internal/picture"
)

// States are the statuses of the steps of a run by path, as a run names them: ship, mirrors/eu/upload, lines[3]/pack. Where one
// step has several (items, passes, visits), a drawing shows the one that a person wants to know of first: what failed, else
// what goes on, else what is still to come.
type States map[string]string

// Text gives the steps as a tree for a terminal: each step with its action, what it comes after, its guards and its
// bodies. States may be nil; else each step has a mark. Equal arguments give equal text, which ends with a line end.
func Text(d *workflow.Definition, states States) string { return pictureOf(d, states).Tree() }

// Mermaid gives the steps as a Mermaid flowchart: bodies are subgraphs, a switch is a rhombus, an edge to what catches a
// failure is dotted. States may be nil; else they are classes. Equal arguments give equal text, which ends with a line end.
func Mermaid(d *workflow.Definition, states States) string { return pictureOf(d, states).Mermaid() }

// DOT gives the steps as a graph for Graphviz: bodies are clusters. States may be nil; else they are colours. Equal
// arguments give equal text, which ends with a line end.
func DOT(d *workflow.Definition, states States) string { return pictureOf(d, states).DOT() }

// SVG gives the steps as a picture for a web page. States may be nil; else they are colours. Equal arguments give equal
// text, which ends with a line end. It needs no other program.
func SVG(d *workflow.Definition, states States) string { return pictureOf(d, states).SVG() }

// painter makes a picture of a definition.
type painter struct{ states map[string]string }

func pictureOf(d *workflow.Definition, states States) *picture.Picture {
	p := &painter{states: gather(states)}
	title := d.Name
	if d.Version > 0 {
		title += " version " + strconv.Itoa(d.Version)
	}
	if d.Title != "" {
		title += ": " + oneLine(d.Title)
	}
	return &picture.Picture{Title: title, Body: p.body(d.Body, ""), Finally: p.body(d.Finally, "finally"), Marked: states != nil}
}

// activation is what a path says beside the names of steps: the number of an item or a pass, of a visit, of a try.
var activation = regexp.MustCompile(`\[[^]/]*\]|[#~][0-9]+`)

// urgency orders statuses: what comes first is what a person wants to know of.
var urgency = []string{
	"failed", "parked", "compensating", "running", "retrying", "waiting", "ready", "pending", "caught", "cancelled", "compensated", "succeeded", "skipped",
}

// gather gives the statuses by the paths of the definition. The one step of an item or a pass has the path of its container
// with a number, which here becomes its own.
func gather(states States) map[string]string {
	found := map[string]string{}
	for path, status := range states {
		plain := activation.ReplaceAllString(path, "")
		if strings.HasSuffix(path, "]") {
			plain += "/do"
		}
		before, ok := found[plain]
		if !ok || slices.Index(urgency, status) < slices.Index(urgency, before) {
			found[plain] = status
		}
	}
	return found
}

// body draws a body, whose path is that of its scope; nil gives nil.
func (p *painter) body(b *workflow.Body, path string) *picture.Body {
	if b == nil {
		return nil
	}
	drawn := &picture.Body{ID: "b" + strconv.Itoa(b.ID)}
	for _, s := range b.Steps {
		drawn.Nodes = append(drawn.Nodes, p.step(s, path))
	}
	for _, s := range b.Steps {
		if b.Kind == workflow.Graph {
			drawn.Edges = append(drawn.Edges, graphEdges(s)...)
		} else {
			drawn.Edges = append(drawn.Edges, sequenceEdges(s)...)
		}
	}
	drawn.Ends = slices.ContainsFunc(drawn.Edges, func(e picture.Edge) bool { return e.To == drawn.End() })
	return drawn
}

func stepID(s *workflow.Step) string { return "s" + strconv.Itoa(s.ID) }

func (p *painter) step(s *workflow.Step, scope string) *picture.Node {
	path := strings.TrimPrefix(scope+"/"+s.Key, "/")
	if s.Body.Kind == workflow.Single {
		path = scope
		if s.Body.Slot == "" {
			path += "/do"
		}
	}
	n := &picture.Node{ID: stepID(s), Action: actionText(s.Action), Notes: notes(s), Undo: undoText(s.Compensate), Status: p.states[path], Parts: p.parts(s, path)}
	if s.Body.Kind != workflow.Single {
		n.Key = s.Key
	}
	if s.When != nil {
		n.Guard = oneLine(s.When.Source().Text)
	}
	if len(s.After) > 0 {
		n.Notes = append([]string{"after " + strings.Join(s.After, ", ")}, n.Notes...)
	}
	switch s.Action.(type) {
	case *workflow.Switch:
		n.Shape = picture.Rhombus
	case *workflow.End, *workflow.Fail:
		n.Shape = picture.Oval
	case *workflow.Wait, *workflow.Await, *workflow.Approve:
		n.Shape = picture.Rounded
	}
	return n
}

// parts gives the cases or branches of a step's action, its body, what it notifies, its catches.
func (p *painter) parts(s *workflow.Step, path string) []picture.Part {
	var all []picture.Part
	inner := func(b *workflow.Body) *picture.Body {
		if b == nil || b.Slot == "" {
			return p.body(b, path)
		}
		return p.body(b, path+"/"+b.Slot)
	}
	switch a := s.Action.(type) {
	case *workflow.Switch:
		for i := range a.Cases {
			c := &a.Cases[i]
			label := caseLabel(c)
			if c.When != nil {
				label = "if " + label
			}
			all = append(all, picture.Part{Label: label, Next: c.Next, Body: inner(c.Body)})
		}
	case *workflow.Parallel:
		for _, branch := range a.Branches {
			all = append(all, picture.Part{Label: branch.Name + ":", Body: inner(branch.Body)})
		}
	case *workflow.Block:
		all = append(all, picture.Part{Body: inner(a.Body)})
	case *workflow.Map:
		all = append(all, picture.Part{Body: inner(a.Body)})
	case *workflow.Loop:
		all = append(all, picture.Part{Body: inner(a.Body)})
	case *workflow.Approve:
		if a.Notify != nil {
			all = append(all, picture.Part{Label: "notify " + actionText(a.Notify.Action)})
		}
	}
	for i := range s.Catch {
		c := &s.Catch[i]
		all = append(all, picture.Part{Label: catchLabel(c), Next: c.Next, Body: inner(c.Body)})
	}
	return all
}

func graphEdges(s *workflow.Step) []picture.Edge {
	var all []picture.Edge
	for _, e := range s.Out {
		var labels []string
		for _, i := range e.Cases {
			if w, ok := s.Action.(*workflow.Switch); ok && e.Kind == workflow.Next {
				labels = append(labels, caseLabel(&w.Cases[i]))
			} else {
				labels = append(labels, catchLabel(&s.Catch[i]))
			}
		}
		all = append(all, picture.Edge{From: stepID(s), To: stepID(s.Body.Steps[e.To]), Label: strings.Join(labels, " or "), Kind: picture.Kind(e.Kind)})
	}
	return all
}

func sequenceEdges(s *workflow.Step) []picture.Edge {
	to := func(i int) string {
		if i >= len(s.Body.Steps) {
			return "e" + strconv.Itoa(s.Body.ID)
		}
		return stepID(s.Body.Steps[i])
	}
	var all []picture.Edge
	add := func(i int, label string, kind picture.Kind) {
		all = append(all, picture.Edge{From: stepID(s), To: to(i), Label: label, Kind: kind})
	}
	if w, ok := s.Action.(*workflow.Switch); ok {
		for i := range w.Cases {
			if w.Cases[i].Next != "" {
				add(w.Cases[i].NextTo, caseLabel(&w.Cases[i]), picture.Chosen)
			}
		}
	}
	for i := range s.Catch {
		if s.Catch[i].Next != "" {
			add(s.Catch[i].NextTo, catchLabel(&s.Catch[i]), picture.Caught)
		}
	}
	if s.GoesOn() && (s.NextIndex < len(s.Body.Steps) || s.Next != "") {
		add(s.NextIndex, "", picture.Plain)
	}
	if s.When != nil && s.Next != "" && s.NextIndex != s.Index+1 {
		add(s.Index+1, "passed over", picture.Plain)
	}
	return all
}
