package workflow

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nodeKind is the JSON type of a node.
type nodeKind uint8

const (
	nullNode nodeKind = iota
	flagNode
	numberNode
	textNode
	listNode
	objectNode
)

// words name the kinds in messages.
func (k nodeKind) words() string {
	return [...]string{"null", "true or false", "a number", "text", "a list", "an object"}[k]
}

// textStyle tells where in the source the characters of a text are.
type textStyle uint8

const (
	plainStyle  textStyle = iota // at the node's position
	quotedStyle                  // one character after it
	blockStyle                   // on the lines that follow
)

// node is a value of a document with its position. Files, JSON and the builder all make trees of nodes, so that all go
// through the same checks. Numbers keep their exact text.
type node struct {
	kind         nodeKind
	style        textStyle
	text         string  // textNode: the text; numberNode: its digits as written; flagNode: true or false
	keys         []*node // objectNode: its keys, each a textNode
	items        []*node // listNode: its items; objectNode: the values of keys
	line, column int     // from 1; 0 when not from a file
	parent       *node
	name         string // in parent: the key or the number
	broken       bool   // something inside was wrong and has been taken out
}

func newText(s string) *node    { return &node{kind: textNode, text: s} }
func newNumber(s string) *node  { return &node{kind: numberNode, text: s} }
func newFlag(v bool) *node      { return &node{kind: flagNode, text: strconv.FormatBool(v)} }
func newList(of ...*node) *node { return new(node{kind: listNode}).append(of...) }
func newObject() *node          { return &node{kind: objectNode} }
func (n *node) is(text string) bool {
	return n != nil && n.kind != objectNode && n.kind != listNode && n.text == text
}

// append puts items at the end of a list.
func (n *node) append(items ...*node) *node {
	for _, item := range items {
		item.parent, item.name = n, strconv.Itoa(len(n.items))
		n.items = append(n.items, item)
	}
	return n
}

// put adds a member to an object, whose key must be new.
func (n *node) put(key *node, value *node) *node {
	value.parent, value.name = n, key.text
	n.keys, n.items = append(n.keys, key), append(n.items, value)
	return n
}

// set adds or replaces the member called name.
func (n *node) set(name string, value *node) *node {
	for i, key := range n.keys {
		if key.text == name {
			value.parent, value.name = n, name
			n.items[i] = value
			return n
		}
	}
	return n.put(newText(name), value)
}

// get gives the member called name, or nil. It gives nil for what is not an object.
func (n *node) get(name string) *node {
	if i := n.find(name); i >= 0 {
		return n.items[i]
	}
	return nil
}

// find gives the number of the member called name, or -1.
func (n *node) find(name string) int {
	if n == nil {
		return -1
	}
	for i, key := range n.keys {
		if key.text == name {
			return i
		}
	}
	return -1
}

// at follows a JSON pointer; it gives the last node that exists.
func (n *node) at(pointer string) *node {
	for _, part := range strings.Split(pointer, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		next := n.get(part)
		if n.kind == listNode {
			if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.items) {
				next = n.items[i]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// pointer gives the JSON pointer of n in its document, "/" for the whole.
func (n *node) pointer() string {
	var parts []string
	for at := n; at.parent != nil; at = at.parent {
		parts = append(parts, strings.NewReplacer("~", "~0", "/", "~1").Replace(at.name))
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(parts[i])
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

// clone gives a copy of n that belongs to no parent.
func (n *node) clone() *node {
	c := *n
	c.keys, c.items, c.parent = nil, nil, nil
	for i, item := range n.items {
		if n.kind == objectNode {
			c.put(n.keys[i], item.clone())
		} else {
			c.append(item.clone())
		}
	}
	return &c
}

// size counts the nodes of a tree.
func (n *node) size() int {
	total := 1
	for _, item := range n.items {
		total += item.size()
	}
	return total
}

// depth gives how deep the tree goes: 1 for a scalar.
func (n *node) depth() int {
	deepest := 0
	for _, item := range n.items {
		deepest = max(deepest, item.depth())
	}
	return deepest + 1
}

// texts calls f for each text of the tree, keys included.
func (n *node) texts(f func(*node)) {
	if n.kind == textNode {
		f(n)
	}
	for _, key := range n.keys {
		f(key)
	}
	for _, item := range n.items {
		item.texts(f)
	}
}

// json appends the tree as compact JSON.
func (n *node) json(b []byte) []byte {
	switch n.kind {
	case nullNode:
		return append(b, "null"...)
	case textNode:
		return appendQuoted(b, n.text)
	case flagNode, numberNode:
		return append(b, n.text...)
	case listNode:
		b = append(b, '[')
	case objectNode:
		b = append(b, '{')
	}
	for i, item := range n.items {
		if i > 0 {
			b = append(b, ',')
		}
		if n.kind == objectNode {
			b = append(appendQuoted(b, n.keys[i].text), ':')
		}
		b = item.json(b)
	}
	if n.kind == listNode {
		return append(b, ']')
	}
	return append(b, '}')
}

// raw gives the tree as a JSON value of its own.
func (n *node) raw() json.RawMessage { return n.json(nil) }

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

// jsonError is why bytes are no JSON document that can be kept, and where.
type jsonError struct {
	line, column int
	reason       string
	remedy       string
}

func (e *jsonError) Error() string { return e.reason }

// jsonReader makes a tree of JSON text. Positions are counted while it goes, so a document of one long line costs no more.
type jsonReader struct {
	data         []byte
	decoder      *json.Decoder
	offset       int // up to where line and column have been counted
	line, column int
	maxDepth     int
}

// parseJSON reads one JSON value. It refuses what would not come back as it went in: duplicate keys, NUL, invalid UTF-8 and
// half a surrogate pair.
func parseJSON(data []byte, maxDepth int) (*node, *jsonError) {
	r := &jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1, column: 1, maxDepth: maxDepth}
	r.decoder.UseNumber()
	if !utf8.Valid(data) {
		at := 0
		for rest := data; ; {
			c, size := utf8.DecodeRune(rest)
			if c == utf8.RuneError && size == 1 {
				break
			}
			at, rest = at+size, rest[size:]
		}
		return nil, r.fail(at, "the text is not valid UTF-8", "save it as UTF-8")
	}
	n, err := r.value(1)
	if err != nil {
		return nil, err
	}
	r.seek(int(r.decoder.InputOffset()))
	if r.offset < len(data) {
		return nil, r.fail(r.offset, "something follows the JSON value", "remove it")
	}
	return n, nil
}

// seek moves the position to the first character at or after offset that is not space or a separator.
func (r *jsonReader) seek(offset int) {
	r.advance(offset)
	for r.offset < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[r.offset]) >= 0 {
		r.advance(r.offset + 1)
	}
}

func (r *jsonReader) advance(offset int) {
	for r.offset < min(offset, len(r.data)) {
		c, size := utf8.DecodeRune(r.data[r.offset:])
		r.offset += size
		r.column++
		if c == '\n' {
			r.line, r.column = r.line+1, 1
		}
	}
}

func (r *jsonReader) fail(offset int, reason, remedy string) *jsonError {
	r.advance(offset)
	return &jsonError{line: r.line, column: r.column, reason: reason, remedy: remedy}
}

// token reads one token; the position is then its beginning.
func (r *jsonReader) token() (json.Token, *jsonError) {
	r.seek(int(r.decoder.InputOffset()))
	t, err := r.decoder.Token()
	if err == nil {
		return t, nil
	}
	offset := len(r.data)
	if syntax, ok := err.(*json.SyntaxError); ok { //nolint:errorlint // the decoder returns it unwrapped
		offset = max(int(syntax.Offset)-1, 0)
	}
	return nil, r.fail(offset, "this is not valid JSON: "+strings.TrimPrefix(err.Error(), "json: "), "mend the JSON")
}

// value reads one value with all that is inside it.
func (r *jsonReader) value(depth int) (*node, *jsonError) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	n := &node{line: r.line, column: r.column}
	if depth > r.maxDepth {
		return nil, r.fail(r.offset, "values are nested deeper than "+strconv.Itoa(r.maxDepth), "make it flatter")
	}
	switch t := t.(type) {
	case bool:
		n.kind, n.text = flagNode, strconv.FormatBool(t)
	case json.Number:
		n.kind, n.text = numberNode, t.String()
	case string:
		n.kind, n.text, n.style = textNode, t, quotedStyle
		return n, r.sound(t)
	case json.Delim:
		return n, r.inside(n, t, depth)
	}
	return n, nil
}

// sound refuses a text that could not be stored or would change on its way.
func (r *jsonReader) sound(text string) *jsonError {
	if strings.IndexByte(text, 0) >= 0 {
		return r.fail(r.offset, "a text holds the character NUL, which cannot be stored", "leave it out, or encode it as base64")
	}
	raw := r.data[r.offset:r.decoder.InputOffset()]
	if strings.ContainsRune(text, utf8.RuneError) && bytes.Contains(bytes.ToLower(raw), []byte(`\ud`)) {
		return r.fail(r.offset, "a text holds half of a surrogate pair, which is no character", "write both halves, or leave it out")
	}
	return nil
}

// inside reads the members of an object or the items of a list up to its end.
func (r *jsonReader) inside(n *node, open json.Delim, depth int) *jsonError {
	n.kind = listNode
	if open == '{' {
		n.kind = objectNode
	}
	seen := map[string]bool{}
	for r.decoder.More() {
		var key *node
		if n.kind == objectNode {
			t, err := r.token()
			if err != nil {
				return err
			}
			text, _ := t.(string)
			key = &node{kind: textNode, text: text, line: r.line, column: r.column, style: quotedStyle}
			if err := r.sound(text); err != nil {
				return err
			}
			if seen[text] {
				return r.fail(r.offset, "the key "+strconv.Quote(text)+" is there twice", "keep one of the two")
			}
			seen[text] = true
		}
		value, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		if key != nil {
			n.put(key, value)
		} else {
			n.append(value)
		}
	}
	_, err := r.token()
	return err
}
