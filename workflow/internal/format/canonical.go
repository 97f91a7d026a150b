package format

import (
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/workflow/internal/document"
)

// Canonical gives an object in its canonical form, by the table of its place.
func Canonical(n *document.Node, of string) *document.Node {
	out := document.NewObject()
	for i := range format[of] {
		e := &format[of][i]
		v := n.Get(e.name)
		if v == nil {
			continue
		}
		for s := range e.shapes {
			if e.shapes[s].takes(v) {
				v = canonicalValue(v, &e.shapes[s])
				break
			}
		}
		if e.wrap != nil {
			v = e.wrap(v)
		}
		if e.zero == "" || string(v.Raw()) != e.zero {
			out.Put(document.NewText(e.name), v)
		}
	}
	return out
}

// canonicalValue gives a value that has the shape in its one spelling.
func canonicalValue(n *document.Node, s *shape) *document.Node {
	switch s.kind {
	case program, textValue:
		return document.NewText(n.Text)
	case whole, decimal:
		v, _ := strconv.ParseFloat(n.Text, 64) // checked before
		return document.NewNumber(strconv.FormatFloat(v, 'f', -1, 64))
	case duration:
		d, _ := ParseDuration(n.Text) // checked before
		return document.NewText(FormatDuration(d))
	case percent:
		return document.NewText(ShortNumber(Percentage(n.Text)) + "%")
	case place:
		return Canonical(n, s.of)
	case list:
		out := document.NewList()
		for _, item := range n.Items {
			out.Append(canonicalValue(item, s.item))
		}
		return out
	case table:
		out := document.NewObject()
		for i, item := range n.Items {
			out.Put(document.NewText(n.Keys[i].Text), canonicalValue(item, s.item))
		}
		if s.item.of == "" { // env, codes: the order means nothing
			sortMembers(out)
		}
		return out
	case anyText, name, stepKey, flag, choice, value, object:
	}
	return n.Clone()
}

// sortMembers puts an object's members in the order of their keys.
func sortMembers(n *document.Node) {
	order := make([]int, len(n.Keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(n.Keys[a].Text, n.Keys[b].Text) })
	keys, items := n.Keys, n.Items
	n.Keys, n.Items = nil, nil
	for _, i := range order {
		n.Put(keys[i], items[i])
	}
}

// wrapList makes a list of one of a lone value.
func wrapList(n *document.Node) *document.Node {
	if n.Kind == document.List {
		return n
	}
	return document.NewList(n)
}

// wrapRetry writes `retry: 5` as the list of one policy that it means.
func wrapRetry(n *document.Node) *document.Node {
	if n.Kind != document.Number {
		return wrapList(n)
	}
	policy := document.NewObject()
	if n.Text != "4" {
		policy.Set("attempts", n)
	}
	return document.NewList(policy)
}

// wrapEnd writes an `end` without output as true.
func wrapEnd(n *document.Node) *document.Node {
	if n.Kind == document.Object && len(n.Keys) == 0 {
		return document.NewFlag(true)
	}
	return n
}
