package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mistake is one thing that is wrong in a workflow file: where, what, and what to write instead.
type Mistake struct {
	File    string `json:"file"` // a file's name; for a workflow built in Go, the JSON pointer of the part
	Line    int    `json:"line"` // from 1; 0: built in Go
	Column  int    `json:"column"`
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
}

// String gives the mistake in one line: FILE:LINE:COLUMN: message; remedy.
func (m Mistake) String() string {
	where := m.File
	if m.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", m.File, m.Line, m.Column)
	}
	if m.Remedy == "" {
		return where + ": " + m.Message
	}
	return where + ": " + m.Message + "; " + m.Remedy
}

// Mistakes is the error of reading a workflow: all that is wrong, in the order of the file.
type Mistakes struct{ List []Mistake }

// Error gives one line for each mistake.
func (m *Mistakes) Error() string {
	lines := make([]string, len(m.List))
	for i, mistake := range m.List {
		lines[i] = mistake.String()
	}
	return strings.Join(lines, "\n")
}

// MaxMistakes bounds a report: a file that is not a workflow at all needs no thousand lines to say so.
const MaxMistakes = 200

// Ledger collects mistakes while a document is read.
type Ledger struct {
	File  string // the name for messages; nothing is opened
	list  []Mistake
	later []Mistake
	lines []string // the source, for positions inside a text; nil for a document built in Go
}

// Count gives how many mistakes have been noted.
func (l *Ledger) Count() int { return len(l.list) }

// Many says that enough mistakes have been noted: suggestions are worth their cost no more.
func (l *Ledger) Many() bool { return len(l.list) >= MaxMistakes/4 }

// Add notes a mistake at n.
func (l *Ledger) Add(n *Node, remedy, format string, args ...any) {
	l.place(n, n.Line, n.Column, remedy, format, args...)
}

// Later notes at n a part of the format that this version does not run, which is no mistake.
func (l *Ledger) Later(n *Node, what string) { l.LaterInText(n, -1, what) }

// LaterInText does so at byte offset of n's text.
func (l *Ledger) LaterInText(n *Node, offset int, what string) {
	line, column := l.locate(n, offset)
	if len(l.later) < MaxMistakes {
		l.later = append(l.later, l.mistake(n, line, column, "leave it out, or wait for the version that runs it", "`%s` is part of the format but does not run in this version yet", Clip(what)))
	}
}

// TakeLater gives what Later noted since it was last asked, in the order of the file.
func (l *Ledger) TakeLater() []Mistake {
	found := l.later
	l.later = nil
	slices.SortStableFunc(found, byPlace)
	return slices.Compact(found)
}

// place notes a mistake at a place inside n.
func (l *Ledger) place(n *Node, line, column int, remedy, format string, args ...any) {
	if len(l.list) < 10*MaxMistakes {
		l.list = append(l.list, l.mistake(n, line, column, remedy, format, args...))
	}
}

func (l *Ledger) mistake(n *Node, line, column int, remedy, format string, args ...any) Mistake {
	m := Mistake{File: l.File, Line: line, Column: column, Message: shorten(fmt.Sprintf(format, args...), maxWords), Remedy: shorten(remedy, maxWords)}
	if line == 0 {
		m.File = n.where()
	}
	return m
}

// byPlace orders mistakes as they stand in the file.
func byPlace(a, b Mistake) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
}

// InText notes a mistake at byte offset of n's text.
func (l *Ledger) InText(n *Node, offset int, remedy, format string, args ...any) {
	line, column := l.locate(n, offset)
	l.place(n, line, column, remedy, format, args...)
}

// locate finds the line and column of a byte offset in n's text, as far as the source shows the text as it is: escapes and
// folded lines move it, and then the beginning of the text is the answer.
func (l *Ledger) locate(n *Node, offset int) (line, column int) {
	if offset < 0 || offset > len(n.Text) || n.Line == 0 || n.Line > len(l.lines) {
		return n.Line, n.Column
	}
	before := n.Text[:offset]
	if n.style == blockStyle {
		row := n.Line + strings.Count(before, "\n")
		if row >= len(l.lines) { // the text begins on the line after its sign, so row counts from 0 here
			return n.Line, n.Column
		}
		tail := n.Text[strings.LastIndexByte(before, '\n')+1:]
		text, _, _ := strings.Cut(tail, "\n")
		indent, _, found := strings.Cut(l.lines[row], text)
		if !found || strings.TrimSpace(indent) != "" {
			return n.Line, n.Column
		}
		return row + 1, len(indent) + len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
	}
	source := []rune(l.lines[n.Line-1])
	start := n.Column - 1
	if n.style == quotedStyle {
		start++
	}
	if start < 0 || start > len(source) || !strings.HasPrefix(string(source[start:]), before) {
		return n.Line, n.Column
	}
	return n.Line, start + len([]rune(before)) + 1
}

// Err gives what was collected, sorted and without repeats, or nil.
func (l *Ledger) Err() error {
	if len(l.list) == 0 {
		return nil
	}
	slices.SortStableFunc(l.list, byPlace)
	l.list = slices.Compact(l.list)
	if more := len(l.list) - MaxMistakes; more > 0 {
		l.list = l.list[:MaxMistakes]
		last := &l.list[MaxMistakes-1]
		*last = Mistake{
			File: last.File, Line: last.Line, Column: last.Column,
			Message: fmt.Sprintf("%d more mistakes follow", more+1), Remedy: "mend those above first",
		}
	}
	return &Mistakes{List: l.list}
}

// Nearest gives the word that is most like s, or "" when none is like it: at most a third of its letters differ.
func Nearest(s string, words []string) string {
	best, least := "", len(s)/3+1
	for _, word := range words {
		if len(word) > 64 || len(s) > 64 {
			continue
		}
		if d := distance(strings.ToLower(s), strings.ToLower(word)); d < least || d == least && best == "" && d < len(s) {
			best, least = word, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap to make b of a (optimal string alignment).
func distance(a, b string) int {
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(old[j+1]+1, row[j]+1, old[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], older[j-1]+1)
			}
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
}

// Clip shortens a text for a message.
func Clip(s string) string { return shorten(s, 60) }

// maxWords bounds the words of one mistake in bytes.
const maxWords = 1000

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// where names a part of a document that is not from a file.
func (n *Node) where() string {
	if pointer := n.Pointer(); pointer != "" {
		return pointer
	}
	return "/"
}
