// Package arguments reads what people write on the command line for a run: inputs, variables, labels, secrets, times.
//
// Nouns: a [Mistake] is what is wrong with an argument and what to write instead; an [Input] puts a run's input together.
//
// It imports workflow, for its schemas and spellings, and cobra for the flags.
package arguments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/workflow"
)

// Input is how a run's input is given. Its zero value gives an empty object.
type Input struct {
	values []string // NAME=VALUE
	whole  string   // JSON, @FILE or -
}

// Add adds the flags.
func (f *Input) Add(c *cobra.Command) {
	c.Flags().StringArrayVarP(&f.values, "input-value", "i", nil, "an input, `NAME=VALUE`, converted to the type that the schema names")
	c.Flags().StringVar(&f.whole, "input", "", "the whole input: `JSON`, @FILE, or - for standard input")
}

// Mistake is what is wrong with an argument.
type Mistake struct {
	Message string
	Hint    string // what to write instead
}

// Error gives the message.
func (m *Mistake) Error() string { return m.Message }

// Wrong gives a Mistake for what only a command can know.
func Wrong(hint, format string, args ...any) error { return mistake(hint, format, args...) }

// AboutRun says in a command's help how a run is named.
const AboutRun = `RUN is an id, the end of one (4 characters or more), WORKFLOW/KEY, or @last; left out, it is the newest run.`

// AtMost checks the number of arguments of a command; form is how it is called.
func AtMost(n int, form string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return mistake(form, "unexpected argument %q", args[n])
		}
		return nil
	}
}

func mistake(hint, format string, args ...any) error {
	return &Mistake{Message: fmt.Sprintf(format, args...), Hint: hint}
}

const maxInput = 1 << 20

// Build puts the input together: the whole, with the named values in it, each converted to the type that the schema names.
func (f Input) Build(def *workflow.Definition, stdin io.Reader) (json.RawMessage, error) {
	raw := json.RawMessage("{}")
	if f.whole != "" {
		var err error
		if raw, err = ReadJSON(f.whole, stdin); err != nil {
			return nil, err
		}
	}
	if len(f.values) == 0 {
		return raw, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, mistake("leave out -i, or give an object", "-i sets fields of an object, and --input is not one")
	}
	types := propertyTypes(def.Input)
	for _, pair := range f.values {
		name, text, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, mistake("write -i NAME=VALUE", "%q does not name an input", pair)
		}
		value, err := convert(name, text, types[name])
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	return encodeObject(object), nil
}

// ReadJSON reads the value of --input: one JSON value, @FILE, or - for standard input.
func ReadJSON(text string, stdin io.Reader) (json.RawMessage, error) {
	data, from := []byte(text), "--input"
	switch {
	case text == "-":
		from = "standard input"
		var err error
		if data, err = io.ReadAll(io.LimitReader(stdin, maxInput+1)); err != nil {
			return nil, fmt.Errorf("read the input from standard input: %w", err)
		}
	case strings.HasPrefix(text, "@"):
		from = text[1:]
		file, err := os.Open(from)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // it was only read
		if data, err = io.ReadAll(io.LimitReader(file, maxInput+1)); err != nil {
			return nil, err
		}
	}
	if len(data) > maxInput {
		return nil, mistake("put large data into a file and give its name", "the input is larger than %d bytes", maxInput)
	}
	data = bytes.TrimSpace(data)
	var value json.RawMessage
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, mistake("write one JSON value, such as '{\"name\": \"Ada\"}'", "%s is not JSON: %v", from, err)
	}
	return data, nil
}

// encodeObject writes the fields by name; values keep their text.
func encodeObject(object map[string]json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(name))
		b.WriteByte(':')
		b.Write(object[name])
	}
	b.WriteByte('}')
	return b.Bytes()
}

func quote(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // text can always be written
	return bytes.TrimRight(b.Bytes(), "\n")
}

// propertyTypes gives the types that a JSON Schema names for its properties.
func propertyTypes(schema json.RawMessage) map[string][]string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if len(schema) == 0 || json.Unmarshal(schema, &s) != nil {
		return nil
	}
	types := map[string][]string{}
	for name, raw := range s.Properties {
		var one struct {
			Type string `json:"type"`
		}
		var several struct {
			Type []string `json:"type"`
		}
		if json.Unmarshal(raw, &one) == nil && one.Type != "" {
			types[name] = []string{one.Type}
		} else if json.Unmarshal(raw, &several) == nil {
			types[name] = several.Type
		}
	}
	return types
}

// convert makes text a value of the first of types that it can be; without types it stays text.
func convert(name, text string, types []string) (json.RawMessage, error) {
	return convertNamed("input "+name, "-i "+name+"=", text, types)
}

// convertNamed is convert for what people call what, and would write as form.
func convertNamed(what, form, text string, types []string) (json.RawMessage, error) {
	for _, t := range types {
		if v, ok := as(t, text); ok {
			return v, nil
		}
	}
	if len(types) > 0 && !slices.Contains(types, "string") {
		return nil, mistake("`"+form+exampleOf(types[0])+"` would be one",
			"%s must be of type %s, and %q is not", what, strings.Join(types, " or "), text)
	}
	return quote(text), nil
}

// as reads text as a JSON value of a kind of JSON Schema; numbers keep their text.
func as(kind, text string) (json.RawMessage, bool) {
	raw := json.RawMessage(strings.TrimSpace(text))
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if !json.Valid(raw) || d.Decode(&v) != nil {
		return nil, false
	}
	ok := false
	switch kind {
	case "integer", "number":
		_, ok = v.(json.Number)
	case "boolean":
		_, ok = v.(bool)
	case "null":
		ok = v == nil
	case "array":
		_, ok = v.([]any)
	case "object":
		_, ok = v.(map[string]any)
	}
	return raw, ok
}

func exampleOf(kind string) string {
	switch kind {
	case "integer":
		return "3"
	case "number":
		return "2.5"
	case "boolean":
		return "true"
	case "array":
		return `'["a","b"]'`
	case "object":
		return `'{"a":1}'`
	default:
		return kind
	}
}
