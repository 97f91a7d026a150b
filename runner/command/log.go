package command

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/millrace-go/millrace/runner/internal/plain"
)

// splitter cuts a stream into lines, the lines to limit bytes, and makes them fit to show and to store.
type splitter struct {
	limit int
	emit  func(text string)

	line    []byte
	begun   bool
	dropped int
}

func (s *splitter) write(p []byte) {
	for len(p) > 0 {
		part, rest, ended := bytes.Cut(p, []byte{'\n'})
		s.begun = true
		room := min(len(part), s.limit-len(s.line))
		s.line = append(s.line, part[:room]...)
		s.dropped += len(part) - room
		if ended {
			s.flush()
		}
		p = rest
	}
}

// flush emits the line in hand, if one was begun.
func (s *splitter) flush() {
	if !s.begun {
		return
	}
	line := s.line
	if s.dropped > 0 {
		whole := trimPartialRune(line)
		s.dropped += len(line) - len(whole)
		line = whole
	}
	text := plain.Clean(string(bytes.TrimSuffix(line, []byte{'\r'})))
	if s.dropped > 0 {
		text = fmt.Sprintf("%s [%s cut]", text, plain.Count(int64(s.dropped), "byte"))
	}
	s.line, s.begun, s.dropped = s.line[:0], false, 0
	s.emit(text)
}

// trimPartialRune takes a character off the end of p that the cut left incomplete.
func trimPartialRune(p []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if b := p[len(p)-n]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-n:]) {
				return p[:len(p)-n]
			}
			break
		}
	}
	return p
}

// record is the log of an attempt: its first lines and its last ones, half of the limit each.
type record struct {
	mu      sync.Mutex
	half    int
	telling sync.Mutex // guards calls of notify
	notify  func(Line)

	head      []byte
	full      bool // the head takes nothing any more
	tail      []byte
	lostLines int64
	lostBytes int64
}

func newRecord(limit int, notify func(Line)) *record {
	return &record{half: limit / 2, notify: notify}
}

// add appends a line and tells whoever follows the log.
func (r *record) add(l Line) {
	r.keep(l.Text)
	r.tell(l)
}

// keep appends a line.
func (r *record) keep(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(text)
}

// tell tells whoever follows the log: one line at a time.
func (r *record) tell(l Line) {
	r.telling.Lock()
	defer r.telling.Unlock()
	if r.notify != nil {
		r.notify(l)
	}
}

func (r *record) put(text string) {
	if !r.full && len(r.head)+len(text)+1 <= r.half {
		r.head = append(append(r.head, text...), '\n')
		return
	}
	r.full = true
	r.tail = append(append(r.tail, text...), '\n')
	if len(r.tail) > 2*r.half {
		r.trim()
	}
}

// trim drops the oldest whole lines of the tail until it is within its half.
func (r *record) trim() {
	excess := len(r.tail) - r.half
	if excess <= 0 {
		return
	}
	cut := excess + bytes.IndexByte(r.tail[excess-1:], '\n')
	r.lostLines += int64(bytes.Count(r.tail[:cut], []byte{'\n'}))
	r.lostBytes += int64(cut)
	r.tail = append(r.tail[:0], r.tail[cut:]...)
}

// bytes gives the log; between head and tail stands what was left out.
func (r *record) bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trim()
	out := bytes.Clone(r.head)
	if r.lostLines > 0 {
		out = fmt.Appendf(out, "[%s, %s left out]\n", plain.Count(r.lostLines, "line"), plain.Count(r.lostBytes, "byte"))
	}
	return append(out, r.tail...)
}

// lastLines keeps the end of a stream for a message: at most ten lines and 2 KiB, without empty lines.
type lastLines struct{ lines []string }

const (
	messageLines = 10
	messageBytes = 2 << 10
)

func (l *lastLines) add(text string) {
	text = strings.TrimRight(text, " \t")
	if text == "" {
		return
	}
	if len(l.lines) == messageLines {
		l.lines = append(l.lines[:0], l.lines[1:]...)
	}
	l.lines = append(l.lines, text)
}

func (l *lastLines) text() string { return tailText(strings.Join(l.lines, "\n"), messageBytes) }

// tailText gives at most limit bytes of the end of s, in whole characters.
func tailText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[len(s)-limit:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return "..." + s
}
