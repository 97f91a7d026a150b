package workflow

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

// Mistakes is the error of [Read] and [Builder.Build]: all that is wrong, in the order of the file.
type Mistakes struct{ List []Mistake }

// Error gives one line for each mistake.
func (m *Mistakes) Error() string {
	lines := make([]string, len(m.List))
	for i, mistake := range m.List {
		lines[i] = mistake.String()
	}
	return strings.Join(lines, "\n")
}

// maxMistakes bounds a report: a file that is not a workflow at all needs no thousand lines to say so.
const maxMistakes = 200

// ledger collects mistakes while a document is read.
type ledger struct {
	file  string
	list  []Mistake
	lines []string // the source, for positions inside a text; nil for a document built in Go
}

// add notes a mistake at n.
func (l *ledger) add(n *node, remedy, format string, args ...any) {
	l.at(n, n.line, n.column, remedy, format, args...)
}

// at notes a mistake at a place inside n.
func (l *ledger) at(n *node, line, column int, remedy, format string, args ...any) {
	m := Mistake{File: l.file, Line: line, Column: column, Message: fmt.Sprintf(format, args...), Remedy: remedy}
	if line == 0 {
		m.File = n.pointer()
	}
	if len(l.list) < 10*maxMistakes {
		l.list = append(l.list, m)
	}
}

// inText notes a mistake at byte offset of n's text.
func (l *ledger) inText(n *node, offset int, remedy, format string, args ...any) {
	line, column := l.locate(n, offset)
	l.at(n, line, column, remedy, format, args...)
}

// locate finds the line and column of a byte offset in n's text, as far as the source shows the text as it is: escapes and
// folded lines move it, and then the beginning of the text is the answer.
func (l *ledger) locate(n *node, offset int) (line, column int) {
	if offset < 0 || offset > len(n.text) || n.line == 0 || n.line > len(l.lines) {
		return n.line, n.column
	}
	before := n.text[:offset]
	if n.style == blockStyle {
		row := n.line + strings.Count(before, "\n")
		if row >= len(l.lines) { // the text begins on the line after its sign, so row counts from 0 here
			return n.line, n.column
		}
		tail := n.text[strings.LastIndexByte(before, '\n')+1:]
		text, _, _ := strings.Cut(tail, "\n")
		indent, _, found := strings.Cut(l.lines[row], text)
		if !found || strings.TrimSpace(indent) != "" {
			return n.line, n.column
		}
		return row + 1, len(indent) + len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
	}
	source := []rune(l.lines[n.line-1])
	start := n.column - 1
	if n.style == quotedStyle {
		start++
	}
	if start < 0 || start > len(source) || !strings.HasPrefix(string(source[start:]), before) {
		return n.line, n.column
	}
	return n.line, start + len([]rune(before)) + 1
}

// err gives what was collected, sorted and without repeats, or nil.
func (l *ledger) err() error {
	if len(l.list) == 0 {
		return nil
	}
	slices.SortStableFunc(l.list, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	l.list = slices.Compact(l.list)
	if more := len(l.list) - maxMistakes; more > 0 {
		l.list = l.list[:maxMistakes]
		last := &l.list[maxMistakes-1]
		*last = Mistake{
			File: last.File, Line: last.Line, Column: last.Column,
			Message: fmt.Sprintf("%d more mistakes follow", more+1), Remedy: "mend those above first",
		}
	}
	return &Mistakes{List: l.list}
}

// nearest gives the word that is most like s, or "" when none is like it: at most a third of its letters differ.
func nearest(s string, words []string) string {
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
