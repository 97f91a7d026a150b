package document

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// YAML gives the tree as YAML for people: block style, text without quotes where every reader takes it for text.
func (n *Node) YAML() []byte { return appendYAML(nil, n, 0, false) }

// plainYAML is text that every reader of YAML takes for text without quotes.
var plainYAML = regexp.MustCompile(`^(\./|[A-Za-z_/])[A-Za-z0-9_./-]*$`)

// plainTime is a duration, which no reader takes for a number.
var plainTime = regexp.MustCompile(`^([0-9]+(ms|s|m|h|d|w))+$`)

var notPlain = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan"}

// appendYAML writes n in block style at an indentation; inline says that a key or a dash stands before it on the line.
func appendYAML(b []byte, n *Node, indent int, inline bool) []byte {
	pad := strings.Repeat(" ", indent)
	switch {
	case n.Kind == Text && blockText(n.Text):
		return appendBlockText(b, n.Text, pad)
	case n.Kind != List && n.Kind != Object, len(n.Items) == 0, n.Kind == List && shortList(n):
		return append(appendFlow(b, n), '\n')
	}
	for i, item := range n.Items {
		if i > 0 || !inline {
			b = append(b, pad...)
		}
		next := indent + 2
		if n.Kind == List {
			b = append(b, "- "...)
			b = appendYAML(b, item, next, true)
			continue
		}
		key := n.Keys[i].Text
		if len(key) > 100 { // a longer key must be announced
			b = append(append(b, "? "...), appendScalar(nil, key)...)
			b = append(append(append(b, '\n'), pad...), ':')
		} else {
			b = append(appendScalar(b, key), ':')
		}
		if (item.Kind == Object || item.Kind == List && !shortList(item)) && len(item.Items) > 0 {
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
func shortList(n *Node) bool {
	width := 0
	for _, item := range n.Items {
		if item.Kind == List || item.Kind == Object {
			return false
		}
		width += len(item.Text) + 2
	}
	return width <= 80
}

func appendFlow(b []byte, n *Node) []byte {
	switch n.Kind {
	case Text:
		return appendScalar(b, n.Text)
	case List:
		b = append(b, '[')
		for i, item := range n.Items {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendFlow(b, item)
		}
		return append(b, ']')
	case Null, Flag, Number, Object:
	}
	return n.json(b)
}

func appendScalar(b []byte, s string) []byte {
	if (plainYAML.MatchString(s) || plainTime.MatchString(s)) && !slices.Contains(notPlain, strings.ToLower(s)) {
		return append(b, s...)
	}
	return appendQuoted(b, s)
}
