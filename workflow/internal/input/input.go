// Package input checks the input of a run against the JSON Schema of its workflow, and fills in defaults.
//
// Nouns: a [Schema] is compiled once; an [Error] lists the [Problem]s of an input. No reference leads out of a schema: nothing
// is loaded, no file and no connection is opened. The package is pure; of Millrace it imports workflow/internal/document.
package input

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millrace-go/millrace/workflow/internal/document"
)

// Error is why an input does not start a run: everything that is wrong with it.
type Error struct{ Problems []Problem }

// Problem is one thing that is wrong with an input, or with a schema.
type Problem struct {
	Path    string // JSON pointer, "" for the whole
	Message string // what is wrong; never holds a value of the input
}

// Error gives the problems in one line, each with its path.
func (e *Error) Error() string {
	parts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		parts[i] = "input" + p.Path + ": " + p.Message
	}
	return strings.Join(parts, "; ")
}

// Bounds of an input beside its size, which the engine bounds.
const (
	maxDepth    = 128
	maxExponent = 400 // a comparison with a larger number would cost more than it is worth
	maxFills    = 8 << 20
)

// schemaURL names the schema inside the compiler; nothing is loaded from it.
const (
	schemaBase = "millrace://workflow/"
	schemaURL  = schemaBase + "input"
)

// noLoader refuses every reference that leads out of the schema.
type noLoader struct{}

// Load gives no document.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s lies outside the schema", document.Clip(strings.TrimPrefix(url, schemaBase)))
}

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use; nil takes everything.
type Schema struct {
	compiled *jsonschema.Schema
	root     *document.Node // the schema itself, for its defaults
}

// Compile compiles a schema. Without problems the schema is whole; the schema keeps no reference to n.
func Compile(n *document.Node) (*Schema, []Problem) {
	compiled, err := compile(n.Raw())
	if err == nil {
		return &Schema{compiled: compiled, root: n.Clone()}, nil
	}
	var invalid *jsonschema.SchemaValidationError
	var detail *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &detail) {
		return nil, sorted(problems(detail))
	}
	var outside *jsonschema.LoadURLError
	if errors.As(err, &outside) {
		return nil, []Problem{{Message: outside.Err.Error()}}
	}
	text := strings.ReplaceAll(err.Error(), strconv.Quote(schemaURL), "the schema")
	return nil, []Problem{{Message: strings.ReplaceAll(text, schemaURL, "")}}
}

func compile(raw json.RawMessage) (schema *jsonschema.Schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be compiled (%v)", p)
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.AssertFormat()
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// Check checks an input and gives it with defaults filled in. The error is an *[Error] with everything that is wrong.
func (s *Schema) Check(raw json.RawMessage) (json.RawMessage, error) {
	if len(strings.TrimSpace(string(raw))) == 0 {
		raw = json.RawMessage(`{}`)
	}
	if s == nil && document.IsPlain(raw, maxDepth) {
		return raw, nil
	}
	n, bad := document.ParseJSON(raw, maxDepth)
	if bad != nil {
		return nil, fault("", fmt.Sprintf("%s (line %d, column %d)", bad.Reason, bad.Line, bad.Column))
	}
	if s == nil {
		return raw, nil
	}
	if wild := wildNumber(n); wild != nil {
		return nil, fault(wild.Pointer(), "the number is out of every range")
	}
	f := &filler{schema: s.root, left: maxFills + 8*n.Size()}
	f.fill(n, s.root, 0)
	if f.left <= 0 {
		return nil, fault("", "the defaults of the schema never come to an end, or are larger than 8 MiB")
	}
	if f.filled {
		raw = n.Raw()
	}
	if err := s.match(raw); err != nil {
		return nil, err
	}
	return raw, nil
}

func fault(path, message string) *Error { return &Error{[]Problem{{path, message}}} }

// wildNumber gives a number whose exponent is beyond what a schema can be asked about.
func wildNumber(n *document.Node) (wild *document.Node) {
	n.Numbers(func(n *document.Node) {
		if i := strings.IndexAny(n.Text, "eE"); i >= 0 {
			if e, err := strconv.Atoi(n.Text[i+1:]); err != nil || math.Abs(float64(e)) > maxExponent {
				wild = n
			}
		}
	})
	return wild
}

// match validates an input that is sound JSON.
func (s *Schema) match(raw json.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault("", "the schema cannot be applied to it")
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err == nil {
		err = s.compiled.Validate(doc)
	}
	var detail *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &detail):
		return &Error{sorted(problems(detail))}
	}
	return fault("", "the schema cannot be applied to it")
}
