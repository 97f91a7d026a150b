package workflow

import (
	"bytes"
	"crypto/sha256"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Canonical gives the definition as a JSON document in the file format: keys in the format's order, defaults left out, one
// spelling for each value. Definitions of equal content have equal bytes, and [Read] of them gives an equal definition. The
// caller must not change them.
func (d *Definition) Canonical() []byte { return d.canonical }

// Hash is the SHA-256 of the definition's content without its version: the same content has the same hash under any version.
func (d *Definition) Hash() [32]byte { return sha256.Sum256(d.unversioned) }

// Equal says whether two definitions mean the same, wherever and however they were written.
func Equal(a, b *Definition) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.canonical, b.canonical)
}

// YAML gives the definition as a YAML file for people. [Read] of it gives an equal definition.
func (d *Definition) YAML() []byte {
	n, err := parseJSON(d.canonical, maxNesting)
	if err != nil {
		return d.canonical // cannot be: it has been read before
	}
	return appendYAML(nil, n, 0, false)
}

// canonicalPlace gives an object in its canonical form, by the table of its place.
func canonicalPlace(n *node, of string) *node {
	out := newObject()
	for i := range format[of] {
		e := &format[of][i]
		v := n.get(e.name)
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
		if e.zero == "" || string(v.raw()) != e.zero {
			out.put(newText(e.name), v)
		}
	}
	return out
}

// canonicalValue gives a value that has the shape in its one spelling.
func canonicalValue(n *node, s *shape) *node {
	switch s.kind {
	case program, textValue:
		return newText(n.text)
	case whole, decimal:
		v, _ := strconv.ParseFloat(n.text, 64) // checked before
		return newNumber(strconv.FormatFloat(v, 'f', -1, 64))
	case duration:
		d, _ := ParseDuration(n.text) // checked before
		return newText(formatDuration(d))
	case percent:
		return newText(shortNumber(percentage(n.text)) + "%")
	case place:
		return canonicalPlace(n, s.of)
	case list:
		out := newList()
		for _, item := range n.items {
			out.append(canonicalValue(item, s.item))
		}
		return out
	case table:
		out := newObject()
		for i, item := range n.items {
			out.put(newText(n.keys[i].text), canonicalValue(item, s.item))
		}
		if s.item.of == "" { // env, codes: the order means nothing
			sortMembers(out)
		}
		return out
	case anyText, name, stepKey, flag, choice, value, object:
	}
	return n.clone()
}

// sortMembers puts an object's members in the order of their keys.
func sortMembers(n *node) {
	order := make([]int, len(n.keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(n.keys[a].text, n.keys[b].text) })
	keys, items := n.keys, n.items
	n.keys, n.items = nil, nil
	for _, i := range order {
		n.put(keys[i], items[i])
	}
}

// wrapList makes a list of one of a lone value.
func wrapList(n *node) *node {
	if n.kind == listNode {
		return n
	}
	return newList(n)
}

// wrapRetry writes `retry: 5` as the list of one policy that it means.
func wrapRetry(n *node) *node {
	if n.kind != numberNode {
		return wrapList(n)
	}
	policy := newObject()
	if n.text != "4" {
		policy.set("attempts", n)
	}
	return newList(policy)
}

// wrapEnd writes an `end` without output as true.
func wrapEnd(n *node) *node {
	if n.kind == objectNode && len(n.keys) == 0 {
		return newFlag(true)
	}
	return n
}

// plainYAML is text that every reader of YAML takes for text without quotes.
var plainYAML = regexp.MustCompile(`^[A-Za-z_./][A-Za-z0-9_./-]*$`)

var notPlain = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan"}

// appendYAML writes n in block style at an indentation; inline says that a key or a dash stands before it on the line.
func appendYAML(b []byte, n *node, indent int, inline bool) []byte {
	pad := strings.Repeat(" ", indent)
	switch {
	case n.kind == textNode && blockText(n.text):
		return appendBlockText(b, n.text, pad)
	case n.kind != listNode && n.kind != objectNode, len(n.items) == 0, n.kind == listNode && shortList(n):
		return append(appendFlow(b, n), '\n')
	}
	for i, item := range n.items {
		if i > 0 || !inline {
			b = append(b, pad...)
		}
		next := indent + 2
		if n.kind == listNode {
			b = append(b, "- "...)
			b = appendYAML(b, item, next, true)
			continue
		}
		key := n.keys[i].text
		if len(key) > 100 { // a longer key must be announced
			b = append(append(b, "? "...), appendScalar(nil, key)...)
			b = append(append(append(b, '\n'), pad...), ':')
		} else {
			b = append(appendScalar(b, key), ':')
		}
		if (item.kind == objectNode || item.kind == listNode && !shortList(item)) && len(item.items) > 0 {
			b = appendYAML(append(b, '\n'), item, next, false)
		} else {
			b = appendYAML(append(b, ' '), item, next, true)
		}
	}
	return b
}

// blockText says whether a text can be written as a block: several lines of printable characters without surprises.
func blockText(s string) bool {
	body := strings.TrimRight(s, "\n")
	if !strings.Contains(s, "\n") || body == "" || strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.HasPrefix(s, "#") {
		return false
	}
	return !strings.ContainsFunc(body, func(c rune) bool {
		return c != '\n' && c != ' ' && (!unicode.IsGraphic(c) || c == '\u2028' || c == '\u2029' || c == '\ufeff' || c == '\u0085')
	})
}

func appendBlockText(b []byte, s, pad string) []byte {
	if pad == "" {
		pad = "  "
	}
	body := strings.TrimRight(s, "\n")
	switch len(s) - len(body) {
	case 0:
		b = append(b, "|-\n"...)
	case 1:
		b = append(b, "|\n"...)
	default:
		b = append(b, "|+\n"...)
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			b = append(append(b, pad...), line...)
		}
		b = append(b, '\n')
	}
	for range len(s) - len(body) - 1 {
		b = append(b, '\n')
	}
	return b
}

// shortList says whether a list is short enough for one line.
func shortList(n *node) bool {
	width := 0
	for _, item := range n.items {
		if item.kind == listNode || item.kind == objectNode {
			return false
		}
		width += len(item.text) + 2
	}
	return width <= 80
}

func appendFlow(b []byte, n *node) []byte {
	switch {
	case n.kind == textNode:
		return appendScalar(b, n.text)
	case n.kind == listNode:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendFlow(b, item)
		}
		return append(b, ']')
	}
	return n.json(b)
}

func appendScalar(b []byte, s string) []byte {
	if (plainYAML.MatchString(s) || plainDuration.MatchString(s)) && !slices.Contains(notPlain, strings.ToLower(s)) {
		return append(b, s...)
	}
	return appendQuoted(b, s)
}
