// Package plain makes what programs and servers said fit to be stored and shown: what the executors of file steps share.
//
// It imports the standard library alone.
package plain

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Clean makes s valid UTF-8 without NUL: what is not is replaced by U+FFFD.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Cut shortens s to limit bytes, in whole characters, with dots for what was left out.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	at := limit - len("...")
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + "..."
}

// LongestMessage is how many bytes the message of a failure has at most.
const LongestMessage = 4 << 10

// Message makes s fit for the message of a failure: at most 4 KiB of valid UTF-8 without NUL.
func Message(s string) string { return Cut(Clean(s), LongestMessage) }

// Count counts things: "1 line", "2 lines".
func Count(n int64, word string) string {
	if n != 1 {
		word += "s"
	}
	return strconv.FormatInt(n, 10) + " " + word
}

// Encode gives texts, or lists and objects of texts, as JSON.
func Encode(value any) json.RawMessage {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // texts cannot fail
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
}

// Unstorable finds what no database gives back as it was: bytes that are not UTF-8, and NUL, in JSON also spelled as an
// escape. at is where it stands, -1 when there is none.
func Unstorable(data []byte, isJSON bool) (reason string, at int) {
	if at = bytes.IndexByte(data, 0); at >= 0 {
		return "a NUL character", at
	}
	if at = invalidUTF8(data); at >= 0 {
		return "a byte that is not UTF-8", at
	}
	if isJSON {
		return `a NUL character (\u0000)`, escapedNUL(data)
	}
	return "", -1
}

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// escapedNUL finds \u0000 in JSON. A backslash stands in strings only, and takes the next character with it.
func escapedNUL(data []byte) int {
	for at := 0; at < len(data); at++ {
		if data[at] != '\\' {
			continue
		}
		if bytes.HasPrefix(data[at:], []byte(`\u0000`)) {
			return at
		}
		at++
	}
	return -1
}
