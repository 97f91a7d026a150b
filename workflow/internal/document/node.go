// Package document is the tree of a workflow file: JSON values with the positions at which they were written.
//
// Nouns: a [Node] is a value; a [Ledger] collects the [Mistake]s found in a file. YAML, JSON and values built in Go all
// become nodes, so that all go through the same checks. The package is pure and imports nothing of Millrace.
package document

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is the JSON type of a node.
type Kind uint8

// The kinds of node.
const (
	Null Kind = iota
	Flag
	Number
	Text
	List
	Object
)

// String names the kind in messages.
func (k Kind) String() string {
	return [...]string{"null", "true or false", "a number", "text", "a list", "an object"}[k]
}

// textStyle tells where in the source the characters of a text are.
type textStyle uint8

const (
	plainStyle  textStyle = iota // at the node's position
	quotedStyle                  // one character after it
	blockStyle                   // on the lines that follow
)

// Node is a value of a document. Its methods take a nil receiver only where they say so.
type Node struct {
	Kind         Kind
	Text         string  // Text: the text; Number: its digits as written; Flag: true or false
	Keys         []*Node // Object: its keys, each of kind Text
	Items        []*Node // List: its items; Object: the values of Keys
	Line, Column int     // from 1, in characters; 0 when not from a file
	Broken       bool    // something inside was wrong and has been taken out

	style  textStyle
	parent *Node
	name   string // in parent: the key or the number
}

// NewText makes a text.
func NewText(s string) *Node { return &Node{Kind: Text, Text: s} }

// NewNumber makes a number of its digits.
func NewNumber(s string) *Node { return &Node{Kind: Number, Text: s} }

// NewFlag makes true or false.
func NewFlag(v bool) *Node { return &Node{Kind: Flag, Text: strconv.FormatBool(v)} }

// NewList makes a list.
func NewList(of ...*Node) *Node { return new(Node{Kind: List}).Append(of...) }

// NewTexts makes a list of texts.
func NewTexts(words []string) *Node {
	list := NewList()
	for _, word := range words {
		list.Append(NewText(word))
	}
	return list
}

// NewObject makes an object without members.
func NewObject() *Node { return &Node{Kind: Object} }

// Is says whether n is a scalar with this text. It may be called on nil.
func (n *Node) Is(text string) bool {
	return n != nil && n.Kind != Object && n.Kind != List && n.Text == text
}

// Append puts items at the end of a list.
func (n *Node) Append(items ...*Node) *Node {
	for _, item := range items {
		item.parent, item.name = n, strconv.Itoa(len(n.Items))
		n.Items = append(n.Items, item)
	}
	return n
}

// Put adds a member to an object, whose key must be new.
func (n *Node) Put(key *Node, value *Node) *Node {
	key.parent, key.name = n, key.Text
	value.parent, value.name = n, key.Text
	n.Keys, n.Items = append(n.Keys, key), append(n.Items, value)
	return n
}

// Set adds or replaces the member called name.
func (n *Node) Set(name string, value *Node) *Node {
	for i, key := range n.Keys {
		if key.Text == name {
			value.parent, value.name = n, name
			n.Items[i] = value
			return n
		}
	}
	return n.Put(NewText(name), value)
}

// Each gives the items of a list, or the lone value where one may stand for a list of one.
func (n *Node) Each() []*Node {
	if n.Kind == List {
		return n.Items
	}
	return []*Node{n}
}

// Get gives the member called name, or nil. It may be called on nil and on what is not an object.
func (n *Node) Get(name string) *Node {
	if i := n.Find(name); i >= 0 {
		return n.Items[i]
	}
	return nil
}

// Find gives the number of the member called name, or -1. It may be called on nil.
func (n *Node) Find(name string) int {
	if n == nil {
		return -1
	}
	for i, key := range n.Keys {
		if key.Text == name {
			return i
		}
	}
	return -1
}

// At follows a JSON pointer; it gives the last node that exists.
func (n *Node) At(pointer string) *Node {
	for _, part := range strings.Split(pointer, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		next := n.Get(part)
		if n.Kind == List {
			if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.Items) {
				next = n.Items[i]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// pointerEscapes is made once: to make it costs more than to read a step.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer gives the JSON pointer of n in its document, "" for the whole.
func (n *Node) Pointer() string {
	var parts []string
	for at := n; at.parent != nil; at = at.parent {
		parts = append(parts, pointerEscapes.Replace(at.name))
	}
	var b strings.Builder
	for _, part := range slices.Backward(parts) {
		b.WriteByte('/')
		b.WriteString(part)
	}
	return b.String()
}

// Root gives the whole document that n is part of.
func (n *Node) Root() *Node {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// Clone gives a copy of n that belongs to no parent.
func (n *Node) Clone() *Node {
	c := *n
	c.Keys, c.Items, c.parent = nil, nil, nil
	for i, item := range n.Items {
		if n.Kind == Object {
			c.Put(n.Keys[i], item.Clone())
		} else {
			c.Append(item.Clone())
		}
	}
	return &c
}

// Size counts the nodes of a tree.
func (n *Node) Size() int {
	total := 1
	for _, item := range n.Items {
		total += item.Size()
	}
	return total
}

// Depth gives how deep the tree goes: 1 for a scalar.
func (n *Node) Depth() int {
	deepest := 0
	for _, item := range n.Items {
		deepest = max(deepest, item.Depth())
	}
	return deepest + 1
}

// Texts calls f for each text of the tree, keys included.
func (n *Node) Texts(f func(*Node)) {
	if n.Kind == Text {
		f(n)
	}
	for _, key := range n.Keys {
		f(key)
	}
	for _, item := range n.Items {
		item.Texts(f)
	}
}

// json appends the tree as compact JSON.
func (n *Node) json(b []byte) []byte {
	switch n.Kind {
	case Null:
		return append(b, "null"...)
	case Text:
		return appendQuoted(b, n.Text)
	case Flag, Number:
		return append(b, n.Text...)
	case List:
		b = append(b, '[')
	case Object:
		b = append(b, '{')
	}
	for i, item := range n.Items {
		if i > 0 {
			b = append(b, ',')
		}
		if n.Kind == Object {
			b = append(appendQuoted(b, n.Keys[i].Text), ':')
		}
		b = item.json(b)
	}
	if n.Kind == List {
		return append(b, ']')
	}
	return append(b, '}')
}

// Raw gives the tree as a JSON value of its own.
func (n *Node) Raw() json.RawMessage { return n.json(nil) }

// appendQuoted appends s in double quotes, as JSON and YAML both read it: what is not printable is escaped.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < 0x10000 && c != ' ' && c != utf8.RuneError && !unicode.IsGraphic(c):
			b = append(b, '\\', 'u', hex[c>>12&15], hex[c>>8&15], hex[c>>4&15], hex[c&15])
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return append(b, '"')
}

// Numbers calls f for each number of the tree.
func (n *Node) Numbers(f func(*Node)) {
	if n.Kind == Number {
		f(n)
	}
	for _, item := range n.Items {
		item.Numbers(f)
	}
}

// Resolve follows a JSON pointer to its end; it gives nil when a part is missing.
func (n *Node) Resolve(pointer string) *Node {
	if found := n.At(pointer); n.Pointer()+pointer == found.Pointer() {
		return found
	}
	return nil
}

// Hollow gives an empty object in the place of n, for a value that was wrong.
func (n *Node) Hollow() *Node {
	return &Node{Kind: Object, Broken: true, Line: n.Line, Column: n.Column, parent: n.parent, name: n.name}
}
