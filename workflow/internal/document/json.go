package document

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Fault is why bytes are no JSON document that can be kept, and where.
type Fault struct {
	Line, Column int
	Reason       string
	Remedy       string
}

// jsonReader makes a tree of JSON text. Positions are counted while it goes, so a document of one long line costs no more.
type jsonReader struct {
	data         []byte
	decoder      *json.Decoder
	offset       int // up to where line and column have been counted
	line, column int
	maxDepth     int
}

// ParseJSON reads one JSON value. It refuses what would not come back as it went in: duplicate keys, NUL, invalid UTF-8 and
// half a surrogate pair.
func ParseJSON(data []byte, maxDepth int) (*Node, *Fault) {
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

func (r *jsonReader) fail(offset int, reason, remedy string) *Fault {
	r.advance(offset)
	return &Fault{Line: r.line, Column: r.column, Reason: reason, Remedy: remedy}
}

// token reads one token; the position is then its beginning.
func (r *jsonReader) token() (json.Token, *Fault) {
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
func (r *jsonReader) value(depth int) (*Node, *Fault) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	n := &Node{Line: r.line, Column: r.column}
	if depth > r.maxDepth {
		return nil, r.fail(r.offset, "values are nested deeper than "+strconv.Itoa(r.maxDepth), "make it flatter")
	}
	switch t := t.(type) {
	case bool:
		n.Kind, n.Text = Flag, strconv.FormatBool(t)
	case json.Number:
		n.Kind, n.Text = Number, t.String()
	case string:
		n.Kind, n.Text, n.style = Text, t, quotedStyle
		return n, r.sound(t)
	case json.Delim:
		return n, r.inside(n, t, depth)
	}
	return n, nil
}

// sound refuses a text that could not be stored or would change on its way.
func (r *jsonReader) sound(text string) *Fault {
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
func (r *jsonReader) inside(n *Node, open json.Delim, depth int) *Fault {
	n.Kind = List
	if open == '{' {
		n.Kind = Object
	}
	seen := map[string]bool{}
	for r.decoder.More() {
		var key *Node
		if n.Kind == Object {
			t, err := r.token()
			if err != nil {
				return err
			}
			text, _ := t.(string)
			key = &Node{Kind: Text, Text: text, Line: r.line, Column: r.column, style: quotedStyle}
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
			n.Put(key, value)
		} else {
			n.Append(value)
		}
	}
	_, err := r.token()
	return err
}
