package document

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Of makes a tree of a Go value, by way of encoding/json. The reason says why it cannot be; the tree is then an empty object.
func Of(v any) (n *Node, reason string) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return NewObject(), "the value cannot be written as JSON: " + err.Error()
	}
	n, fault := ParseJSON(out.Bytes(), MaxNesting)
	if fault != nil {
		return NewObject(), fault.Reason
	}
	n.forget()
	return n, ""
}

// forget clears the positions of a tree, which are those of no file.
func (n *Node) forget() {
	n.Line, n.Column, n.style = 0, 0, plainStyle
	for _, key := range n.Keys {
		key.Line, key.Column, key.style = 0, 0, plainStyle
	}
	for _, item := range n.Items {
		item.forget()
	}
}

// Storable notes the texts of a tree that no store can keep. Trees read from files hold none.
func (l *Ledger) Storable(n *Node) {
	n.Texts(func(n *Node) {
		if !utf8.ValidString(n.Text) || strings.ContainsRune(n.Text, 0) {
			l.Add(n, "leave it out, or encode it as base64", "a text holds NUL or is not UTF-8, which cannot be stored")
		}
	})
}
