package machine

import (
	"maps"
	"slices"
	"strconv"
)

// encode writes the document of a scope: the bytes that encoding/json gives, at a fifth of the cost for the fields that nearly
// every document has. The others are left to it.
func (s *Scope) encode() []byte {
	b := append(make([]byte, 0, 128), `{"s":`...)
	b = s.States.append(b)
	b = appendInt(b, "w", s.Left)
	b = appendData(b, "i", s.In)
	b = appendMap(b, "o", s.Out, appendValue)
	b = appendMap(b, "e", s.Errs, appendValue)
	b = appendMap(b, "g", s.Got, appendValue)
	if len(s.Blame) > 0 {
		b = append(appendName(b, "b"), encode(s.Blame)...)
	}
	b = appendMap(b, "j", s.Joins, appendTally)
	b = appendMap(b, "h", s.Choice, appendNumber)
	b = appendMap(b, "n", s.Visits, appendNumber)
	b = appendMap(b, "l", s.Live, appendLive)
	if s.Item != nil {
		b = append(appendName(b, "x"), encode(s.Item)...)
	}
	if s.Pass != nil {
		b = append(appendName(b, "p"), encode(s.Pass)...)
	}
	b = appendData(b, "a", s.Caught)
	if s.Stop != nil {
		b = append(appendName(b, "z"), encode(s.Stop)...)
	}
	if s.Run != nil {
		b = s.Run.append(appendName(b, "r"))
	}
	b = appendInt(b, "m", s.Mark)
	if s.Undo != nil {
		b = s.Undo.append(appendName(b, "u"))
	}
	b = appendLog(b, "t", s.Page)
	return append(b, '}')
}

func (d *RunDoc) append(b []byte) []byte {
	b = append(b, '{')
	b = appendInt(b, "a", d.Activations)
	b = appendData(b, "o", d.Output)
	if d.Error != nil {
		b = append(appendName(b, "e"), encode(d.Error)...)
	}
	if len(d.Events) > 0 {
		b = append(appendName(b, "v"), encode(d.Events)...)
	}
	if d.Undo != nil {
		b = d.Undo.append(appendName(b, "u"))
	}
	if d.Control != nil {
		b = append(appendName(b, "c"), encode(d.Control)...)
	}
	return append(b, '}')
}

func appendLive(b []byte, l *Live) []byte {
	if l == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	b = appendData(b, "i", l.In)
	b = appendData(b, "e", l.Err)
	b = appendInt(b, "a", l.Attempt)
	b = appendInt(b, "y", l.Try)
	b = appendMap(b, "c", l.Counts, appendNumber)
	b = appendInt(b, "t", int(l.Since))
	if l.Timer != "" {
		b = append(appendName(b, "w"), encode(l.Timer)...)
	}
	if l.Box != nil {
		b = append(appendName(b, "b"), encode(l.Box)...)
	}
	if l.Unknown {
		b = append(appendName(b, "u"), "true"...)
	}
	if l.Parked != nil {
		b = append(appendName(b, "k"), encode(l.Parked)...)
	}
	if l.Redriven != nil {
		b = append(appendName(b, "r"), encode(l.Redriven)...)
	}
	return append(b, '}')
}

func appendTally(b []byte, t *Tally) []byte {
	if t == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	b = appendInt(b, "t", t.Taken)
	b = appendInt(b, "n", t.NotChosen)
	b = appendInt(b, "m", t.Missing)
	return append(b, '}')
}

// appendName writes the name of a field, and a comma when it is not the first of its object.
func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

func appendInt(b []byte, name string, n int) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(appendName(b, name), int64(n), 10)
}

func appendData(b []byte, name string, d Data) []byte {
	if d.IsZero() {
		return b
	}
	return appendValue(appendName(b, name), d)
}

func appendValue(b []byte, d Data) []byte {
	if d.isEntry() {
		return strconv.AppendInt(b, d.Ref.Seq, 10)
	}
	return append(b, encode(d)...)
}

func appendNumber(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

// appendMap writes a map by the text of its keys, in the order of the texts; nothing when it is empty.
func appendMap[V any](b []byte, name string, m map[int]V, value func([]byte, V) []byte) []byte {
	if len(m) == 0 {
		return b
	}
	b = append(appendName(b, name), '{')
	if len(m) == 1 {
		for k, v := range m {
			b = value(appendName(b, strconv.Itoa(k)), v)
		}
		return append(b, '}')
	}
	texts := make(map[string]int, len(m))
	for k := range m {
		texts[strconv.Itoa(k)] = k
	}
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		b = value(appendName(b, text), m[texts[text]])
	}
	return append(b, '}')
}

// appendText writes a text that is not empty.
func appendText[T ~string](b []byte, name string, text T) []byte {
	if text == "" {
		return b
	}
	return appendQuoted(appendName(b, name), text)
}

// appendQuoted writes a text as encoding/json does.
func appendQuoted[T ~string](b []byte, text T) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return append(b, encode(text)...)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

func appendTrue(b []byte, name string, is bool) []byte {
	if !is {
		return b
	}
	return append(appendName(b, name), "true"...)
}
