// Package expr is the expression language of workflows behind a small interface: compile once, evaluate often.
//
// Nouns: a [Source] is program text in a named language; a [Program] is one compiled expression; a [Template] is a JSON
// value whose texts may hold ${ expressions }; [Names] says which names a program may use; a [Ref] is a name that it does
// use; an [Env] holds the values at evaluation. The first language is expr (github.com/expr-lang/expr) without its clock:
// its parser reads the text, and an evaluator of this package runs it, because the library's own counts neither steps nor
// integer overflow and turns numbers into doubles. LANGUAGE.md beside this file lists where the two differ.
//
// The package is pure: no clock, no I/O, no goroutine, no randomness. It imports nothing of Millrace. Evaluation is bounded
// by a [Budget] that counts nodes, depth and bytes, never time, so that the same program gives the same answer everywhere.
package expr

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/millrace-go/millrace/expr/internal/eval"
)

// Source is the text of a program and the language it is written in. The zero Language means "expr".
type Source struct {
	Language string `json:"language,omitempty"`
	Text     string `json:"source"`
}

// Names says which names a program may use, as a tree: the root's Fields are the top-level names.
type Names struct {
	// Fields are the known members. A member that is not listed is a mistake unless Open is set. One with neither Fields
	// nor Open has no members; nil is Open.
	Fields map[string]*Names
	// Open allows any member, index or call below this name: payloads whose shape is not known.
	Open bool
	// Why, when set, makes any use of this name a mistake with this remedy (for example: "write steps.a.output").
	Why string
}

// Ref is a static use of a name: the path from the top-level name down through constant members, for example
// ["steps", "reserve", "output", "total"]. A constant index is part of the path as its decimal text. A path ends where the
// program indexes by something computed.
type Ref []string

// String gives the path as it would be written, for messages.
func (r Ref) String() string { return strings.Join(r, ".") }

// Kind is what the author of a program must give.
type Kind int

// The kinds of result that a program can be asked for.
const (
	Any    Kind = iota // any JSON value
	Bool               // when, while, until: a value that is not a boolean is an error, never false
	Number             // need, limit: a whole number of zero or more
	List               // over: a list
)

// Env holds values by name at evaluation. A leaf is a [encoding/json.RawMessage] (valid JSON, decoded only as far as the
// program reads it), a string, a bool, an int or nil; an inner node is an Env. Evaluation does not change it; results may
// share the memory of its leaves, so nobody may change those afterwards. A member that an Env itself lacks is an error, not
// null: it means that the caller did not provide what [Program.Refs] announced.
type Env = eval.Env

// Budget bounds one evaluation. The zero value means the defaults.
type Budget struct {
	Nodes int // steps of evaluation; default 1,000,000
	Depth int // nesting of values that are read as a whole and of the program; default 128
	Bytes int // size of the result as JSON, and of any text on the way to it; default 1 MiB
}

// Error is a mistake in a program or its evaluation: which expression, where in it, why, and what to write instead. It
// holds text of the program, never of the values that it was evaluated with.
type Error struct {
	Source  string // the text of the program; in a template, the whole text that holds the expression
	Offset  int    // byte offset in Source, -1 when unknown
	Pointer string // JSON pointer of the text inside a template, "" for a plain program
	Reason  string
	Remedy  string // may be empty
}

var _ error = (*Error)(nil)

// shownSource is how many bytes of a program an error's line shows.
const shownSource = 160

// Error gives expression, position and reason in one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "expression %q", excerpt(e.Source))
	if e.Pointer != "" {
		fmt.Fprintf(&b, " in %s", e.Pointer)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " at character %d", column(e.Source, e.Offset))
	}
	fmt.Fprintf(&b, ": %s", e.Reason)
	if e.Remedy != "" {
		fmt.Fprintf(&b, "; %s", e.Remedy)
	}
	return b.String()
}

// excerpt cuts a long program at a character's border.
func excerpt(s string) string {
	if len(s) <= shownSource {
		return s
	}
	n := shownSource
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// column gives the place of a byte offset in characters, from 1.
func column(s string, offset int) int {
	return utf8.RuneCountInString(s[:min(offset, len(s))]) + 1
}
