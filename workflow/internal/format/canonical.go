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
		v = canonicalOf(v, e.shapes)
		if e.wrap != nil {
			v = e.wrap(v)
		}
		if e.zero == "" || string(v.Raw()) != e.zero || e.keep != nil && e.keep(n) {
			out.Put(document.NewText(e.name), v)
		}
	}
	return out
}

// canonicalOf gives a value in the one spelling of the shape that it has.
func canonicalOf(n *document.Node, shapes []shape) *document.Node {
	for i := range shapes {
		if shapes[i].takes(n) {
			return canonicalValue(n, &shapes[i])
		}
	}
	return n.Clone()
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
			out.Append(canonicalOf(item, s.items))
		}
		return out
	case table:
		out := document.NewObject()
		for i, item := range n.Items {
			out.Put(document.NewText(n.Keys[i].Text), canonicalOf(item, s.items))
		}
		if !s.ordered {
			sortMembers(out)
		}
		return out
	case anyText, name, stepKey, flag, choice, value, anything, object:
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

// bare gives the member called key of an object that has no other, as it may stand without the object; else the object.
func bare(n *document.Node, key string) *document.Node {
	if n.Kind == document.Object && len(n.Keys) == 1 && n.Keys[0].Text == key {
		return n.Items[0]
	}
	return n
}

// wrapVars writes a variable that says no more than its default as that. One whose default is an object must stay as it is.
func wrapVars(n *document.Node) *document.Node {
	out := document.NewObject()
	for i, item := range n.Items {
		v := bare(item, "default")
		switch {
		case v.Kind == document.Object && len(v.Keys) == 0 && v == item:
			v = &document.Node{}
		case v.Kind == document.Object:
			v = item
		}
		out.Put(document.NewText(n.Keys[i].Text), v)
	}
	return out
}

// wrapEvents writes an event that has no key as its name.
func wrapEvents(n *document.Node) *document.Node {
	out := document.NewList()
	for _, item := range n.Items {
		out.Append(bare(item, "event"))
	}
	return out
}

// wrapCall writes a child of which only the name is said as that.
func wrapCall(n *document.Node) *document.Node { return bare(n, "name") }
