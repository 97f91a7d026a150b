// Package mask keeps secrets out of what is stored and shown: it replaces every value that it was told of, in all the forms
// in which one gets into outputs, errors and logs.
//
// Nouns: a [Masker] knows values; a form is a value as it is written plain, in a JSON text, in a URL, or in base64, there also
// as a part of something longer; [Hidden] is what stands in its place.
//
// It is pure but for a lock, and imports nothing of Millrace.
package mask

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// Hidden stands in the place of a secret.
	Hidden = "***"
	// Shortest is how many bytes a value must have to be masked: shorter ones are everywhere.
	Shortest = 4

	shortestLine = 8 // bytes of a line of a value with several: a log shows it by itself
)

// Masker replaces the values that it was told of. The zero value knows none. It is safe for concurrent use.
type Masker struct {
	forms atomic.Pointer[[]string]

	mu   sync.Mutex
	seen map[string]bool
}

// Add tells it a value. One shorter than Shortest is not masked.
func (m *Masker) Add(value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(value) < Shortest || m.seen[value] {
		return
	}
	if m.seen == nil {
		m.seen = map[string]bool{}
	}
	m.seen[value] = true
	all := slices.Clone(m.known())
	for _, part := range parts(value) {
		all = append(all, formsOf(part)...)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	all = slices.Compact(all)
	m.forms.Store(&all)
}

func (m *Masker) known() []string {
	if all := m.forms.Load(); all != nil {
		return *all
	}
	return nil
}

// parts gives a value and, when it has several lines, those of them that are long enough to tell something.
func parts(value string) []string {
	out := []string{value}
	if trimmed := strings.TrimSpace(value); trimmed != value && len(trimmed) >= Shortest {
		out = append(out, trimmed)
	}
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); len(line) >= shortestLine && line != value {
			out = append(out, line)
		}
	}
	return out
}

// formsOf gives all ways in which a value may be written.
func formsOf(value string) []string {
	query, path := url.QueryEscape(value), url.PathEscape(value)
	out := []string{
		value, inJSON(value, true), inJSON(value, false), query, path, lowerHex(query), lowerHex(path), percented(value),
		lowerHex(percented(value)),
	}
	for _, code := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		out = append(out, inBase64(value, code)...)
	}
	return out
}

// inJSON writes a value as a JSON text holds it, with or without the escapes for HTML.
func inJSON(value string, html bool) string {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(html)
	if w.Encode(value) != nil { // texts can always be written
		return value
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// percented is the URL form of encoders that leave only letters, digits and -._~ alone (RFC 3986, 2.3).
func percented(value string) string {
	return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
}

// lowerHex writes the escapes of a URL in small letters.
func lowerHex(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// inBase64 gives what base64 makes of a value: alone, and within something longer, where it begins at one of three places of a
// group of three bytes. Of that only the characters that depend on nothing else are sure.
func inBase64(value string, code *base64.Encoding) []string {
	out := []string{code.EncodeToString([]byte(value)), code.WithPadding(base64.NoPadding).EncodeToString([]byte(value))}
	for before := range 3 {
		padded := append(make([]byte, before), value...)
		text := code.WithPadding(base64.NoPadding).EncodeToString(padded)
		first := (before*8 + 5) / 6           // the characters before it hold bits of what stands before
		last := (before + len(value)) * 8 / 6 // the one behind it holds bits of what follows
		if core := text[first:last]; len(core) >= Shortest {
			out = append(out, core)
		}
	}
	return out
}

// Text gives s with every form replaced. Occurrences that overlap are replaced as one.
func (m *Masker) Text(s string) string {
	found := m.find(s)
	if len(found) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(s[at:f.from])
		b.WriteString(Hidden)
		at = f.to
	}
	b.WriteString(s[at:])
	return b.String()
}

type span struct{ from, to int }

// find gives where forms stand, in order; what overlaps is one span.
func (m *Masker) find(s string) []span {
	var all []span
	for _, form := range m.known() {
		for from := 0; ; {
			i := strings.Index(s[from:], form)
			if i < 0 {
				break
			}
			all = append(all, span{from + i, from + i + len(form)})
			from += i + 1
		}
	}
	if len(all) < 2 {
		return all
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	out := all[:1]
	for _, f := range all[1:] {
		if last := &out[len(out)-1]; f.from < last.to {
			last.to = max(last.to, f.to)
			continue
		}
		out = append(out, f)
	}
	return out
}

// Tail is Text for the end of something longer, whose first bytes may be the last of a secret: they are replaced too when at
// least Shortest of them are.
func (m *Masker) Tail(s string) string {
	longest := 0
	for _, form := range m.known() {
		for n := min(len(form)-1, len(s)); n >= max(Shortest, longest+1); n-- {
			if strings.HasSuffix(form, s[:n]) {
				longest = n
				break
			}
		}
	}
	if longest > 0 {
		return Hidden + m.Text(s[longest:])
	}
	return m.Text(s)
}
