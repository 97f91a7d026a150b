package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// InputError is why an input does not start a run: everything that is wrong with it.
type InputError struct{ Problems []InputProblem }

// InputProblem is one thing that is wrong with an input.
type InputProblem struct {
	Path    string // JSON pointer into the input, "" for the whole
	Message string // what is wrong; never holds a value of the input
}

// Error gives the problems in one line, each with its path.
func (e *InputError) Error() string {
	parts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		parts[i] = "input" + p.Path + ": " + p.Message
	}
	return strings.Join(parts, "; ")
}

// Bounds of an input beside its size, which the engine bounds.
const (
	maxInputDepth = 128
	maxExponent   = 400 // beyond it a comparison in a schema would cost more than it is worth
	maxFills      = 100_000
)

// schemaURL names the schema of the input inside the compiler; nothing is loaded from it.
const schemaURL = "millrace:input"

// noLoader refuses every $ref that leads out of the schema: reading a workflow opens no file and no connection.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s lies outside the schema", clip(url))
}

// compileSchema compiles the schema of the input, and notes what is wrong with it.
func (r *reader) compileSchema(n *node, raw json.RawMessage) *jsonschema.Schema {
	schema, err := compileSchema(raw)
	if err == nil {
		return schema
	}
	var invalid *jsonschema.SchemaValidationError
	var detail *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &detail) {
		for _, p := range problems(detail) {
			r.add(n.at(p.Path), "mend the JSON Schema", "`input` is not a JSON Schema: %s", p.Message)
		}
		return nil
	}
	text := strings.ReplaceAll(err.Error(), strconv.Quote(schemaURL), "the schema")
	r.add(n, "write the whole schema here; $ref may name a part of it, as in #/$defs/NAME", "`input` is not a JSON Schema: %s",
		strings.ReplaceAll(text, schemaURL, ""))
	return nil
}

func compileSchema(raw json.RawMessage) (schema *jsonschema.Schema, err error) {
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

// ValidateInput checks the input of a run against the workflow's schema and gives it with defaults filled in; without a
// schema everything that can be stored is right. An absent input (nil or empty) is {}. Numbers and texts keep their exact
// spelling, and an input that lacks no default comes back as it was. What could not be stored and given back as it is (text
// that is not UTF-8, NUL, half a surrogate pair, a key that is there twice, what is not JSON) is refused. The error is an
// *[InputError] with everything that is wrong. It is safe for concurrent use.
func (d *Definition) ValidateInput(raw json.RawMessage) (json.RawMessage, error) {
	if len(strings.TrimSpace(string(raw))) == 0 {
		raw = json.RawMessage(`{}`)
	}
	n, bad := parseJSON(raw, maxInputDepth)
	if bad != nil {
		return nil, &InputError{[]InputProblem{{Message: fmt.Sprintf("%s (line %d, column %d)", bad.reason, bad.line, bad.column)}}}
	}
	if d.schema == nil {
		return raw, nil
	}
	var wild *node
	n.numbers(func(n *node) {
		if i := strings.IndexAny(n.text, "eE"); i >= 0 {
			if e, err := strconv.Atoi(n.text[i+1:]); err != nil || math.Abs(float64(e)) > maxExponent {
				wild = n
			}
		}
	})
	if wild != nil {
		return nil, &InputError{[]InputProblem{{Path: strings.TrimSuffix(wild.pointer(), "/"), Message: "the number is out of every range"}}}
	}
	f := &filler{schema: d.root, left: maxFills}
	f.fill(n, d.root, 0)
	if f.left <= 0 {
		return nil, &InputError{[]InputProblem{{Message: "the defaults of the schema never come to an end"}}}
	}
	if f.filled {
		raw = n.raw()
	}
	return raw, d.match(raw)
}

// numbers calls f for each number of the tree.
func (n *node) numbers(f func(*node)) {
	if n.kind == numberNode {
		f(n)
	}
	for _, item := range n.items {
		item.numbers(f)
	}
}

// match validates an input that is sound JSON.
func (d *Definition) match(raw json.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &InputError{[]InputProblem{{Message: "the schema cannot be applied to it"}}}
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		return &InputError{[]InputProblem{{Message: "this is not valid JSON"}}}
	}
	var detail *jsonschema.ValidationError
	switch err := d.schema.Validate(doc); {
	case err == nil:
		return nil
	case errors.As(err, &detail):
		return &InputError{problems(detail)}
	default:
		return &InputError{[]InputProblem{{Message: "the schema cannot be applied to it"}}}
	}
}

// problems lists the innermost causes of a validation error.
func problems(e *jsonschema.ValidationError) []InputProblem {
	var all []InputProblem
	for _, cause := range e.Causes {
		all = append(all, problems(cause)...)
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains:
		all = nil // the causes are of alternatives: none of them alone is the mistake
	}
	if len(all) > 0 {
		return all
	}
	return []InputProblem{{Path: pointerOf(e.InstanceLocation), Message: explain(e.ErrorKind)}}
}

func pointerOf(parts []string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return b.String()
}

// explain says what is wrong without the value that is wrong.
func explain(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "want " + strings.Join(k.Want, " or ") + ", got " + k.Got
	case *kind.Required:
		return "missing " + strings.Join(k.Missing, ", ")
	case *kind.AdditionalProperties:
		return "unknown property " + strings.Join(k.Properties, ", ")
	case *kind.Pattern:
		return "does not match the pattern " + k.Want
	case *kind.Format:
		return "is not a valid " + k.Want
	case *kind.Minimum:
		return "is below the minimum of " + ratText(k.Want.RatString())
	case *kind.Maximum:
		return "is above the maximum of " + ratText(k.Want.RatString())
	case *kind.ExclusiveMinimum:
		return "must be above " + ratText(k.Want.RatString())
	case *kind.ExclusiveMaximum:
		return "must be below " + ratText(k.Want.RatString())
	case *kind.MultipleOf:
		return "is no multiple of " + ratText(k.Want.RatString())
	case *kind.FalseSchema:
		return "must not be there"
	case *kind.AnyOf, *kind.OneOf:
		return "fits none of the alternatives"
	}
	return k.LocalizedString(message.NewPrinter(language.English))
}

func ratText(s string) string { return clip(s) }

// filler puts the defaults of a schema into an input.
type filler struct {
	schema *node // the whole schema, for $ref
	left   int   // steps that it may still take
	filled bool
}

// fill follows properties, items, allOf and references inside the schema; alternatives give no defaults.
func (f *filler) fill(n, schema *node, depth int) {
	if f.left--; f.left <= 0 || depth > maxInputDepth || schema == nil || schema.kind != objectNode {
		if depth > maxInputDepth {
			f.left = 0
		}
		return
	}
	if ref := schema.get("$ref"); ref != nil && strings.HasPrefix(ref.text, "#") {
		f.fill(n, f.schema.resolve(strings.TrimPrefix(ref.text, "#")), depth+1)
	}
	if all := schema.get("allOf"); all != nil && all.kind == listNode {
		for _, part := range all.items {
			f.fill(n, part, depth+1)
		}
	}
	switch n.kind {
	case objectNode:
		f.members(n, schema.get("properties"), depth)
	case listNode:
		if items := schema.get("items"); items != nil {
			for _, item := range n.items {
				f.fill(item, items, depth+1)
			}
		}
	case nullNode, flagNode, numberNode, textNode:
	}
}

func (f *filler) members(n, properties *node, depth int) {
	if properties == nil || properties.kind != objectNode {
		return
	}
	for i, key := range properties.keys {
		part := properties.items[i]
		value := n.get(key.text)
		if value == nil {
			given := part.get("default")
			if given == nil {
				continue
			}
			value = given.clone()
			n.put(newText(key.text), value)
			f.filled = true
		}
		f.fill(value, part, depth+1)
	}
}

// resolve follows a JSON pointer to the end; it gives nil when a part is missing.
func (n *node) resolve(pointer string) *node {
	if pointer == "" {
		return n
	}
	found := n.at(pointer)
	if strings.TrimSuffix(found.pointer(), "/") != pointer {
		return nil
	}
	return found
}
