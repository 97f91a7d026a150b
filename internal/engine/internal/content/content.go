// Package content decides what may go into a store: payloads that are small enough and that every store keeps, texts that
// are made so, and when two inputs are the same.
//
// It is pure, and imports machine and store.
package content

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

const (
	// MaxText is how many bytes an error's message may have, and what an attempt said last.
	MaxText = 4 << 10
	// NoCode is the code of an error that was given none.
	NoCode = "error"

	maxCode = 255 // bytes of an error's code
)

// Refuse gives the failure of a payload that is too large or that no store keeps, nil if it is neither.
func Refuse(what string, raw json.RawMessage, limit int) *machine.Error {
	if len(raw) > limit {
		return &machine.Error{
			Code: machine.CodeTooLarge, Final: true,
			Message: fmt.Sprintf("the %s has %d bytes; the limit is %d: store it elsewhere and pass on where it is", what, len(raw), limit),
		}
	}
	if err := store.Storable(raw); err != nil {
		return Unstorable(what, err)
	}
	return nil
}

// Unstorable gives the failure of what a store refused.
func Unstorable(what string, err error) *machine.Error {
	return &machine.Error{
		Code: machine.CodeUnstorable, Final: true,
		Message: Clean(fmt.Sprintf("the %s cannot be stored: %v", what, err), MaxText),
	}
}

// Error makes an error storable whatever a handler put into it.
func Error(e *machine.Error, limit int) *machine.Error {
	c := *e
	c.Code, c.Message, c.Step = Clean(e.Code, maxCode), Clean(e.Message, MaxText), Clean(e.Step, MaxText)
	if c.Code == "" {
		c.Code = NoCode
	}
	if len(c.Data) == 0 {
		c.Data = nil
	} else if bad := Refuse("data of the error", c.Data, limit); bad != nil {
		c.Data = nil
		c.Message = Clean(c.Message+" ("+bad.Message+")", MaxText)
	}
	return &c
}

// Encode writes an error that Error made as JSON.
func Encode(e *machine.Error) json.RawMessage {
	b, err := json.Marshal(e)
	if err != nil { // its data was found to be JSON before
		return json.RawMessage(`{"code":"` + machine.CodeUnstorable + `","final":true}`)
	}
	return b
}

// Text writes a text as JSON.
func Text(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil { // texts can always be written
		return json.RawMessage(`""`)
	}
	return b
}

// Clean makes a text valid UTF-8, without NUL, and at most limit bytes long.
func Clean(s string, limit int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return s
}

// Tail gives the end of a text, at most limit bytes.
func Tail(s string, limit int) string {
	if len(s) > limit {
		s = strings.ToValidUTF8(s[len(s)-limit:], "")
	}
	return s
}

// Hash is equal for inputs that are equal as JSON values: numbers by their exact text, without order of keys and white
// space.
func Hash(input json.RawMessage) [32]byte {
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil { // it was found to be JSON before
		return sha256.Sum256(input)
	}
	var b bytes.Buffer
	canonical(&b, v)
	return sha256.Sum256(b.Bytes())
}

func canonical(b *bytes.Buffer, v any) {
	switch x := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(x)) {
			canonical(b, k)
			b.WriteByte(':')
			canonical(b, x[k])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, item := range x {
			canonical(b, item)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case json.Number:
		b.WriteString(x.String())
	default: // text, true, false, null
		text, err := json.Marshal(x)
		if err == nil {
			b.Write(text)
		}
	}
}
