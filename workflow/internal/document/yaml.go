package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
)

// Bounds of a document: bytes, depth, and values with aliases written out; so that reading takes bounded time and memory whatever the bytes.
const (
	MaxBytes   = 1 << 20
	MaxNesting = 64
	MaxValues  = 250_000
)

// jsonNumber is what JSON and YAML 1.2 both call a number.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// otherNumber is what some reader of YAML would take for a number and another for text.
var otherNumber = regexp.MustCompile(`^[-+]?(0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*\.?[0-9_]*([eE][-+]?[0-9]+)?` +
	`|\.[0-9][0-9_]*([eE][-+]?[0-9]+)?|\.(inf|Inf|INF))$|^\.(nan|NaN|NAN)$`)

// yamlLine finds the line in an error of the YAML library.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// Read makes trees of the bytes of a file, JSON or YAML, in which several documents may stand behind each other. It gives none
// when mistakes leave nothing to check. It never panics, and takes bounded time and memory whatever the bytes.
func (l *Ledger) Read(data []byte) []*Node {
	top := &Node{Line: 1, Column: 1}
	if len(data) > MaxBytes {
		l.Add(top, "split the workflow, or keep data in files of its own", "the file is larger than 1 MiB")
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	l.lines = strings.Split(string(data), "\n")
	text := bytes.TrimLeft(data, " \t\r\n")
	braced := len(text) > 0 && text[0] == '{'
	if !utf8.Valid(data) || path.Ext(l.File) == ".json" || braced && json.Valid(data) {
		n, err := ParseJSON(data, MaxNesting)
		if err != nil {
			l.place(top, err.Line, err.Column, err.Remedy, "%s", err.Reason)
			return nil
		}
		if n.Size() > MaxValues {
			l.Add(top, "split the workflow", "the file holds more than 250,000 values")
			return nil
		}
		return []*Node{n}
	}
	return l.yaml(data)
}

// yaml makes trees of YAML text. A document that holds nothing is passed over.
func (l *Ledger) yaml(data []byte) []*Node {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	c := &yamlTree{ledger: l, open: map[*yaml.Node]bool{}}
	var all []*Node
	for {
		root, err := decodeNext(decoder)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			l.yamlError(err)
			return nil
		}
		if len(root.Content) == 0 || root.Content[0].Tag == "!!null" && root.Content[0].Value == "" {
			continue
		}
		n := c.convert(root.Content[0], 1)
		if c.broken {
			return nil
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		l.place(&Node{}, 1, 1, "write `workflow: NAME` and `steps:`", "the file is empty")
	}
	return all
}

// decodeNext reads one document. A panic of the library is an error like any other.
func decodeNext(decoder *yaml.Decoder) (root *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: this cannot be read (%v)", p)
		}
	}()
	root = new(yaml.Node)
	return root, decoder.Decode(root)
}

func (l *Ledger) yamlError(err error) {
	text, line := err.Error(), 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		text = strings.TrimPrefix(text, m[0])
		if at, err := strconv.Atoi(m[1]); err == nil {
			line = max(at, 1)
		}
	}
	if fault := findFlowFault(l.lines); fault != nil {
		l.place(&Node{}, fault.line, fault.column, fault.remedy, "this is not valid YAML: %s", fault.reason)
		return
	}
	remedy := "mend the YAML: look at the indentation and the quotes of this line and the one before"
	switch {
	case line <= len(l.lines) && strings.HasPrefix(strings.TrimLeft(l.lines[line-1], " "), "\t"):
		remedy = "indent with spaces, not with tabs"
	case strings.Contains(text, "cannot start any token"):
		remedy = "put the text into quotes"
	case strings.Contains(text, "mapping values are not allowed"):
		remedy = "a text that holds `: ` must be in quotes; a key must stand on a line of its own"
	case strings.Contains(text, "unknown anchor"):
		remedy = "define it with &NAME before it is used, or put a text that begins with * into quotes"
	}
	column := 1
	if line <= len(l.lines) {
		column += len(l.lines[line-1]) - len(strings.TrimLeft(l.lines[line-1], " "))
	}
	l.place(&Node{}, line, column, remedy, "this is not valid YAML: %s", text)
}

// yamlTree turns the library's nodes into ours: aliases are written out, and scalars read by the rules of YAML 1.2.
type yamlTree struct {
	ledger *Ledger
	open   map[*yaml.Node]bool // the nodes around the one in hand
	values int
	broken bool // the tree is too large or too deep to go on with
}

// refuse notes a mistake after which the document is not looked at any further.
func (c *yamlTree) refuse(y *yaml.Node, remedy, message string) *Node {
	if !c.broken {
		c.ledger.place(&Node{}, y.Line, y.Column, remedy, "%s", message)
	}
	c.broken = true
	return &Node{Line: y.Line, Column: y.Column}
}

func (c *yamlTree) convert(y *yaml.Node, depth int) *Node {
	n := &Node{Line: y.Line, Column: y.Column}
	c.values++
	switch {
	case c.broken:
		return n
	case c.values > MaxValues:
		return c.refuse(y, "write less with aliases, or split the workflow", "the file holds more than 250,000 values")
	case depth > MaxNesting:
		return c.refuse(y, "make it flatter", "values are nested deeper than 64")
	case c.open[y]:
		return c.refuse(y, "write it out", "an alias stands inside what it names")
	case y.Style&yaml.TaggedStyle != 0:
		c.ledger.Add(n, "leave the tag out; put text into quotes", "tags such as %s are not part of the format", y.Tag)
	}
	c.open[y] = true
	defer delete(c.open, y)
	switch y.Kind {
	case yaml.AliasNode:
		return c.convert(y.Alias, depth)
	case yaml.SequenceNode:
		n.Kind = List
		for _, item := range y.Content {
			n.Append(c.convert(item, depth+1))
		}
	case yaml.MappingNode:
		n.Kind = Object
		c.members(n, y, depth)
	case yaml.DocumentNode, yaml.ScalarNode:
		c.scalar(n, y)
	}
	return n
}

func (c *yamlTree) members(n *Node, y *yaml.Node, depth int) {
	first := map[string]*Node{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := c.key(y.Content[i]), c.convert(y.Content[i+1], depth+1)
		switch before := first[key.Text]; {
		case y.Content[i].Tag == "!!merge":
			c.ledger.Add(key, "write the keys out", "merge keys (`<<`) are not part of the format")
		case before != nil:
			c.ledger.Add(key, "keep one of the two", "the key %q is there twice: line %d has it too", key.Text, before.Line)
		default:
			first[key.Text] = key
			n.Put(key, value)
		}
	}
}

// key reads a key: it is text however it is written, so that `402: declined` is the key "402".
func (c *yamlTree) key(y *yaml.Node) *Node {
	key := &Node{Kind: Text, Text: y.Value, Line: y.Line, Column: y.Column}
	if y.Kind == yaml.AliasNode {
		y = y.Alias
		key.Text = y.Value
	}
	if y.Kind != yaml.ScalarNode {
		c.refuse(y, "write text as key", "a key must be text, not a list or an object")
	}
	c.storable(key)
	return key
}

func (c *yamlTree) scalar(n *Node, y *yaml.Node) {
	n.Kind, n.Text = Text, y.Value
	switch {
	case y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		n.style = quotedStyle
	case y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		n.style = blockStyle
	case y.Value == "" || y.Value == "~" || y.Value == "null" || y.Value == "Null" || y.Value == "NULL":
		n.Kind, n.Text = Null, ""
	case y.Value == "true" || y.Value == "false":
		n.Kind = Flag
	case jsonNumber.MatchString(y.Value):
		n.Kind = Number
	case otherNumber.MatchString(y.Value):
		n.Broken = true
		c.ledger.Add(n, fmt.Sprintf("quote it (%q) if it is text, or write a plain decimal number", y.Value),
			"%s is a number to some readers of YAML and text to others", y.Value)
	}
	c.storable(n)
}

// storable refuses a text that no store can keep.
func (c *yamlTree) storable(n *Node) {
	if strings.IndexByte(n.Text, 0) >= 0 {
		c.ledger.Add(n, "leave it out, or encode it as base64", "a text holds the character NUL, which cannot be stored")
	}
}
