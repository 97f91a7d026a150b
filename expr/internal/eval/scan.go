package eval

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// This file finds its way in JSON text without decoding it. It trusts that the text is valid (callers checked it when it
// came in); text that is not gives ok == false or a wrong value, never a panic and never an endless loop. Nothing here
// recurses, so no depth of nesting harms it.

// skipSpace gives the index of the first byte at or after i that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// Trim cuts white space off both ends.
func Trim(b []byte) []byte {
	i, j := skipSpace(b, 0), len(b)
	for j > i && (b[j-1] == ' ' || b[j-1] == '\n' || b[j-1] == '\t' || b[j-1] == '\r') {
		j--
	}
	return b[i:j:j]
}

// skipValue gives the index after the value that starts at i.
func skipValue(b []byte, i int) (end int, ok bool) {
	if i >= len(b) {
		return i, false
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipContainer(b, i)
	}
	start := i
	for i < len(b) && !endsScalar(b[i]) {
		i++
	}
	return i, i > start
}

// endsScalar tells whether a number, true, false or null ends before c.
func endsScalar(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ']', '}', ':':
		return true
	}
	return false
}

// skipString gives the index after the string that starts at i. It looks for quotes and then back at the backslashes before
// each, so its time is linear.
func skipString(b []byte, i int) (end int, ok bool) {
	const short = 24 // up to here a loop beats a call of bytes.IndexByte
	for i++; i < len(b); i++ {
		for stop := min(i+short, len(b)-1); i < stop && b[i] != '"'; {
			i++
		}
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1, true
		}
	}
	return len(b), false
}

// structural marks the bytes at which skipContainer looks.
var structural = [256]bool{'"': true, '{': true, '[': true, '}': true, ']': true}

// skipContainer gives the index after the object or list that starts at i.
func skipContainer(b []byte, i int) (end int, ok bool) {
	for depth := 0; i < len(b); {
		c := b[i]
		if !structural[c] {
			i++
			continue
		}
		switch c {
		case '"':
			if i, ok = skipString(b, i); !ok {
				return i, false
			}
			continue
		case '{', '[':
			depth++
		default:
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
		i++
	}
	return len(b), false
}

// EachItem calls visit with the place of each item of a list, in order.
func EachItem(b []byte, visit func(start, end int)) bool {
	i := skipSpace(b, 1)
	if i < len(b) && b[i] == ']' {
		return true
	}
	for {
		end, ok := skipValue(b, i)
		if !ok {
			return false
		}
		visit(i, end)
		if i = skipSpace(b, end); i >= len(b) {
			return false
		}
		switch b[i] {
		case ']':
			return true
		case ',':
			i = skipSpace(b, i+1)
		default:
			return false
		}
	}
}

// EachMember calls visit with the places of each key (quotes included) and value of an object, in order.
func EachMember(b []byte, visit func(key, keyEnd, start, end int)) bool {
	i := skipSpace(b, 1)
	if i < len(b) && b[i] == '}' {
		return true
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return false
		}
		keyEnd, ok := skipString(b, i)
		if !ok {
			return false
		}
		v := skipSpace(b, keyEnd)
		if v >= len(b) || b[v] != ':' {
			return false
		}
		v = skipSpace(b, v+1)
		end, ok := skipValue(b, v)
		if !ok {
			return false
		}
		visit(i, keyEnd, v, end)
		if i = skipSpace(b, end); i >= len(b) {
			return false
		}
		switch b[i] {
		case '}':
			return true
		case ',':
			i = skipSpace(b, i+1)
		default:
			return false
		}
	}
}

// Unquote gives the text that a JSON string stands for. Half a surrogate pair and bytes that are not UTF-8 stand for none.
func Unquote(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || !utf8.Valid(raw) {
		return "", false
	}
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	var s string
	if !pairsWhole(inner) || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// pairsWhole tells whether the inside of a JSON string writes no half of a surrogate pair, which encoding/json would
// replace without a word.
func pairsWhole(inner []byte) bool {
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' {
			continue
		}
		i++
		r := escaped(inner[i:])
		if !utf16.IsSurrogate(r) {
			continue
		}
		if i+5 >= len(inner) || inner[i+5] != '\\' || utf16.DecodeRune(r, escaped(inner[i+6:])) == utf8.RuneError {
			return false
		}
		i += 6
	}
	return true
}

// escaped gives the number of an escape that reads uXXXX, or -1.
func escaped(b []byte) rune {
	if len(b) < 5 || b[0] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[1:5]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// keyIs tells whether the text of a key (quotes included) stands for key.
func keyIs(raw []byte, key string) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return len(raw) == len(key)+2 && string(raw[1:len(raw)-1]) == key
	}
	s, ok := Unquote(raw)
	return ok && s == key
}

// isNumber tells whether b is a number as JSON writes it.
func isNumber(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	whole := digits(b)
	if whole == 0 || (whole > 1 && b[0] == '0') {
		return false
	}
	b = b[whole:]
	if len(b) > 0 && b[0] == '.' {
		n := digits(b[1:])
		if n == 0 {
			return false
		}
		b = b[1+n:]
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		b = b[1:]
		if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		n := digits(b)
		if n == 0 {
			return false
		}
		b = b[n:]
	}
	return len(b) == 0
}

// digits counts the decimal digits at the start of b.
func digits(b []byte) int {
	n := 0
	for n < len(b) && '0' <= b[n] && b[n] <= '9' {
		n++
	}
	return n
}

// AppendQuoted appends s as a JSON string, escaping no more than JSON asks for.
func AppendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
