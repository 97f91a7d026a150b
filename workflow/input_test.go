package workflow_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/workflow"
)

func withInput(t *testing.T, schema string) *workflow.Definition {
	t.Helper()
	d, err := workflow.Read("w.yaml", []byte("workflow: w\ninput: "+schema+"\nsteps: { a: { task: a } }\n"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// R5: the input is checked against the schema and its defaults are filled in.
func TestInputGetsTheDefaultsOfItsSchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, input, want string }{
		"nothing given":          {`{ properties: { a: { default: 1.50 } } }`, ``, `{"a":1.50}`},
		"what is given stays":    {`{ properties: { a: { default: 1 } } }`, `{"b":2,"a":null}`, `{"b":2,"a":null}`},
		"in the schema's order":  {`{ properties: { b: { default: 1 }, a: { default: [x] } } }`, `{}`, `{"b":1,"a":["x"]}`},
		"inside a default":       {`{ properties: { a: { default: {}, properties: { b: { default: 1 } } } } }`, `{}`, `{"a":{"b":1}}`},
		"not without the object": {`{ properties: { a: { properties: { b: { default: 1 } } } } }`, `{}`, `{}`},
		"in every item":          {`{ properties: { l: { items: { properties: { n: { default: 1 } } } } } }`, `{"l":[{},{"n":2}]}`, `{"l":[{"n":1},{"n":2}]}`},
		"by reference":           {`{ $ref: "#/$defs/a~1b", $defs: { a/b: { properties: { n: { default: 1 } } } } }`, `{}`, `{"n":1}`},
		"by all of":              {`{ allOf: [{ properties: { n: { default: 1 } } }, { properties: { m: { default: 2 } } }] }`, `{}`, `{"n":1,"m":2}`},
		"not of alternatives":    {`{ anyOf: [{ properties: { n: { default: 1 } } }] }`, `{}`, `{}`},
		"a text as input":        {`{ type: string }`, `"x"`, `"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := withInput(t, c.schema)
			got, err := d.ValidateInput(json.RawMessage(c.input))
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

// R5: a mismatch names the path in the input, and all of them come at once.
func TestWrongInputsAreExplainedByPath(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, input, want string }{
		"missing":        {`{ required: [a, b] }`, `{"a":1}`, `input: missing b`},
		"type":           {`{ properties: { a: { type: [string, "null"] } } }`, `{"a":1}`, `input/a: want null or string, got number`},
		"several":        {`{ properties: { a: { type: string }, b: { items: { type: integer } } } }`, `{"a":1,"b":[1,"x"]}`, `input/a: want string, got number; input/b/1: want integer, got string`},
		"unknown":        {`{ additionalProperties: false }`, `{"a/b":1}`, `input: unknown property a/b`},
		"pattern":        {`{ properties: { a: { pattern: "^x$" } } }`, `{"a":"secret"}`, `input/a: does not match the pattern ^x$`},
		"format":         {`{ properties: { a: { format: date } } }`, `{"a":"secret"}`, `input/a: is not a valid date`},
		"minimum":        {`{ properties: { a: { minimum: 1.5 } } }`, `{"a":1}`, `input/a: is below the minimum of 3/2`},
		"maximum":        {`{ properties: { a: { maximum: 1 } } }`, `{"a":2}`, `input/a: is above the maximum of 1`},
		"above":          {`{ properties: { a: { exclusiveMinimum: 1 } } }`, `{"a":1}`, `input/a: must be above 1`},
		"below":          {`{ properties: { a: { exclusiveMaximum: 1 } } }`, `{"a":1}`, `input/a: must be below 1`},
		"multiple":       {`{ properties: { a: { multipleOf: 2 } } }`, `{"a":3}`, `input/a: is no multiple of 2`},
		"never":          {`{ properties: { a: false } }`, `{"a":3}`, `input/a: must not be there`},
		"alternatives":   {`{ properties: { a: { anyOf: [{ minimum: 3 }, { maximum: 1 }] } } }`, `{"a":2}`, `input/a: fits none of the alternatives`},
		"not":            {`{ properties: { a: { not: { const: 2 } } } }`, `{"a":2}`, `input/a: 'not' failed`},
		"path":           {`{ properties: { "a/b~": { type: string } } }`, `{"a/b~":1}`, `input/a~1b~0: want string, got number`},
		"defaults count": {`{ properties: { a: { type: string, default: 1 } } }`, `{}`, `input/a: want string, got number`},
		"wild number":    {`{ properties: { a: { minimum: 1 } } }`, `{"a":[1e999999999]}`, `input/a/0: the number is out of every range`},
		"no exponent":    {`{ properties: { a: { minimum: 1 } } }`, `{"a":1e99999999999999999999}`, `input/a: the number is out of every range`},
		"endless":        {`{ properties: { a: { default: {}, $ref: "#" } } }`, `{}`, `input: the defaults of the schema never come to an end, or are larger than 8 MiB`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := withInput(t, c.schema)
			_, err := d.ValidateInput(json.RawMessage(c.input))
			var wrong *workflow.InputError
			if !errors.As(err, &wrong) || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Error("the error holds a value of the input")
			}
		})
	}
}

// R7: every number and text comes back as it went in, or is refused.
func TestInputsComeBackAsTheyWentInOrAreRefused(t *testing.T) {
	t.Parallel()
	open, strict := mustRead(t, "workflow: w\nsteps: { a: { task: a } }\n"), withInput(t, `{ properties: { z: { default: 1 } } }`)
	for _, value := range []string{
		`1.50`, `1e5`, `-0`, `12345678901234567890.10`, `"\u00e9"`, `"é\n"`, `"\ud83d\ude00"`, `"\ufffd"`, `null`, `[1, 2]`, `1e999999`,
	} {
		if got, err := open.ValidateInput(json.RawMessage(value)); err != nil || string(got) != value {
			t.Errorf("%s came back as %s, %v", value, got, err)
		}
	}
	for in, want := range map[string]string{
		`{"a": 1.50}`:                      `{"a":1.50,"z":1}`,
		`{"a": 12345678901234567890.10}`:   `{"a":12345678901234567890.10,"z":1}`,
		`{"a": "\u00e9 \ud83d\ude00 <&>"}`: `{"a":"é 😀 <&>","z":1}`,
		`{"a": "\ufffd"}`:                  `{"a":"` + "\ufffd" + `","z":1}`,
		`{"a": "\u2028\u0007\\"}`:          `{"a":"\u2028\u0007\\","z":1}`,
	} {
		if got, err := strict.ValidateInput(json.RawMessage(in)); err != nil || string(got) != want {
			t.Errorf("%s became %s, %v; want %s", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		`"\u0000"`:         "NUL",
		`{"a\u0000":1}`:    "NUL",
		"\"\x00\"":         "not valid JSON",
		"{\"a\":\"\xff\"}": "not valid UTF-8",
		`"\ud800"`:         "surrogate",
		`"\udc00\ud800"`:   "surrogate",
		`{"a":1,"a":2}`:    "there twice",
		`{"a":1`:           "not valid JSON",
		`{"a":1} x`:        "follows",
		`[1,]`:             "not valid JSON",
		`01`:               "follows",
		`{"a" 1}`:          "not valid JSON",
		`nul`:              "not valid JSON",
		strings.Repeat("[", 200) + strings.Repeat("]", 200): "nested deeper",
	} {
		for _, d := range []*workflow.Definition{open, strict} {
			_, err := d.ValidateInput(json.RawMessage(in))
			var wrong *workflow.InputError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
				t.Errorf("%.40q gave %v, want %q", in, err, want)
			}
		}
	}
}

// D5: neither a schema nor an input makes the check take long or read anything.
func TestSchemasReadNoFilesAndNoNetwork(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{"file:///etc/passwd", "http://example.invalid/schema", "other.json", "#/nowhere"} {
		_, err := workflow.Read("w.yaml", []byte("workflow: w\ninput: { $ref: \""+ref+"\" }\nsteps: { a: { task: a } }\n"))
		if err == nil || !strings.Contains(err.Error(), "`input` is not a JSON Schema") || strings.Contains(err.Error(), "millrace:") {
			t.Errorf("%s gave %v", ref, err)
		}
	}
	d := withInput(t, `{ items: { properties: { a: { default: "`+strings.Repeat("x", 100_000)+`" } } } }`)
	_, err := d.ValidateInput(json.RawMessage("[" + strings.Repeat("{},", 1000) + "{}]"))
	if err == nil || !strings.Contains(err.Error(), "8 MiB") {
		t.Errorf("an input swollen by defaults gave %v", err)
	}
	many := "[" + strings.Repeat("{},", 100_000) + "{}]"
	if _, err := withInput(t, `{ items: { type: object } }`).ValidateInput(json.RawMessage(many)); err != nil {
		t.Errorf("a long input is refused: %v", err)
	}
}

func TestInputErrorsListTheirProblems(t *testing.T) {
	t.Parallel()
	_, err := withInput(t, `{ required: [a], properties: { b: { type: string } } }`).ValidateInput(json.RawMessage(`{"b":1}`))
	var wrong *workflow.InputError
	if !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	want := []workflow.InputProblem{{Path: "", Message: "missing a"}, {Path: "/b", Message: "want string, got number"}}
	if diff := cmp.Diff(want, wrong.Problems); diff != "" {
		t.Error(diff)
	}
}

func TestInputsAreCheckedConcurrently(t *testing.T) {
	t.Parallel()
	d := withInput(t, `{ properties: { a: { default: {}, properties: { b: { default: 1 } } } } }`)
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 20 {
				if got, err := d.ValidateInput(nil); err != nil || string(got) != `{"a":{"b":1}}` {
					t.Errorf("got %s, %v", got, err)
				}
			}
		})
	}
}
