package mask

import (
	"bytes"
	"encoding/json"
)

// JSON gives a document with every secret in its texts, keys and numbers replaced. It stays JSON: a number that holds a secret
// becomes a text. A document that is one itself, or that is no JSON, is replaced by a text as a whole. What holds no secret
// comes back as it is, byte for byte.
func (m *Masker) JSON(raw json.RawMessage) json.RawMessage {
	if len(m.known()) == 0 || len(raw) == 0 {
		return raw
	}
	escaped := bytes.IndexByte(raw, '\\') >= 0 // a text may be written in ways that no form has
	if !escaped && len(m.find(string(raw))) == 0 {
		return raw
	}
	if !json.Valid(raw) {
		return m.whole(raw)
	}
	var out []byte
	for i := 0; i < len(raw); {
		j := token(raw, i)
		out = append(out, m.token(raw[i:j])...)
		i = j
	}
	if len(m.find(string(out))) > 0 { // a secret that is JSON itself
		return m.whole(raw)
	}
	return out
}

// whole hides a document altogether.
func (m *Masker) whole(raw json.RawMessage) json.RawMessage {
	if json.Valid(raw) {
		return json.RawMessage(`"` + Hidden + `"`)
	}
	return json.RawMessage(m.Text(string(raw)))
}

// token gives the end of the token of a valid document that begins at i: a text, a number, or one other byte.
func token(raw []byte, i int) int {
	switch c := raw[i]; {
	case c == '"':
		for i++; raw[i] != '"'; i++ {
			if raw[i] == '\\' {
				i++
			}
		}
		return i + 1
	case c == '-' || c >= '0' && c <= '9':
		for i++; i < len(raw) && bytes.IndexByte([]byte("+-.eE0123456789"), raw[i]) >= 0; i++ {
		}
		return i
	}
	return i + 1
}

func (m *Masker) token(t []byte) []byte {
	switch c := t[0]; {
	case c == '"':
		var text string
		if json.Unmarshal(t, &text) != nil { // the document was found to be valid
			return t
		}
		masked := m.Text(text)
		if masked == text {
			return t
		}
		return []byte(`"` + inJSON(masked, false) + `"`)
	case (c == '-' || c >= '0' && c <= '9') && len(m.find(string(t))) > 0:
		return []byte(`"` + Hidden + `"`)
	}
	return t
}
