package workflow

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/millrace-go/millrace/workflow/internal/document"
	"github.com/millrace-go/millrace/workflow/internal/format"
	"github.com/millrace-go/millrace/workflow/internal/input"
)

// Mistake is one thing that is wrong in a workflow: where, what, and what to write instead. Its String is one line,
// FILE:LINE:COLUMN: message; remedy. In a workflow built in Go, File is the JSON pointer of the part and Line is 0.
type Mistake = document.Mistake

// Mistakes is the error of [Read] and [Builder.Build]: all that is wrong, in the order of the file, one line each.
type Mistakes = document.Mistakes

// InputError is the error of [Definition.ValidateInput]: everything that is wrong with an input, each with its path.
type InputError = input.Error

// InputProblem is one thing that is wrong with an input.
type InputProblem = input.Problem

// ParseDuration reads a duration as files write it: 250ms, 90s, 1h30m, 7d, 2w, or ISO 8601 without years and months, whose
// length depends on the calendar (PT5M, P3D). A bare number is an error that names the spellings. The longest is 100 years.
func ParseDuration(s string) (time.Duration, error) { return format.ParseDuration(s) }

// Canonical gives the definition as a JSON document in the file format: keys in the format's order, defaults left out, one
// spelling for each value. Definitions of equal content have equal bytes, and [Read] of them gives an equal definition. The
// caller must not change them.
func (d *Definition) Canonical() []byte { return d.canonical }

// Hash is the SHA-256 of the definition's content without its version: the same content has the same hash under any version.
func (d *Definition) Hash() [32]byte { return sha256.Sum256(d.unversioned) }

// Equal says whether two definitions mean the same, wherever and however they were written.
func Equal(a, b *Definition) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.canonical, b.canonical)
}

// NotYet gives every use of a part of the format that this version does not run, with its place. Such a workflow can be
// validated and drawn, but not started. The caller must not change the list.
func (d *Definition) NotYet() []Mistake { return d.notYet }

// YAML gives the definition as a YAML file for people. [Read] of it gives an equal definition.
func (d *Definition) YAML() []byte {
	n, err := document.ParseJSON(d.canonical, document.MaxNesting)
	if err != nil {
		return d.canonical // cannot be: it was made of such a tree
	}
	return n.YAML()
}

// ValidateInput checks the input of a run against the workflow's schema and gives it with defaults filled in; without a
// schema everything that can be stored is right. An absent input (nil or empty) is {}. Numbers and texts keep their exact
// spelling, and an input that lacks no default comes back as it was. What could not be stored and given back as it is (text
// that is not UTF-8, NUL, half a surrogate pair, a key that is there twice, what is not JSON) is refused. The error is an
// *[InputError] with everything that is wrong. It is safe for concurrent use.
func (d *Definition) ValidateInput(raw json.RawMessage) (json.RawMessage, error) {
	return d.schema.Check(raw)
}
