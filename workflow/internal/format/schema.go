package format

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/millrace-go/millrace/workflow/internal/document"
)

// The steps of a map, of a list, and the one under `do` take different keys: these are the keys that each leaves out.
var stepForms = []struct {
	def    string
	misses []string
}{
	{"graph_step", []string{"id", "next"}},
	{"sequence_step", []string{"after", "join"}},
	{"lone_step", []string{"id", "next", "after", "join"}},
}

const (
	durationPattern = `^([0-9]+(\.[0-9]+)?(ms|us|µs|ns|s|m|h|d|w))+$|^P([0-9]+W|([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+(\.[0-9]+)?S)?)?)$`
	schemaID        = "https://github.com/millrace-go/millrace/docs/reference/workflow.schema.json"
)

// Schema gives the JSON Schema (2020-12) of a workflow file, for editors: what the tables say of keys and types. What only the
// reader can tell, such as expressions and edges, it leaves open.
func Schema() []byte {
	defs := document.NewObject()
	for _, of := range placeOrder {
		if of != "workflow" {
			defs.Set(of, placeSchema(of))
		}
	}
	for _, form := range stepForms {
		out := document.NewObject()
		for _, key := range form.misses {
			out.Set(key, document.NewFlag(false))
		}
		defs.Set(form.def, reference("step").Set("properties", out))
	}
	top := document.NewObject().
		Set("$schema", document.NewText("https://json-schema.org/draft/2020-12/schema")).
		Set("$id", document.NewText(schemaID)).
		Set("title", document.NewText("Millrace workflow"))
	placed := placeSchema("workflow")
	for i, key := range placed.Keys {
		top.Set(key.Text, placed.Items[i].Clone())
	}
	top.Set("patternProperties", document.NewObject().Set("^x-", document.NewObject()))
	top.Set("$defs", defs)
	var out bytes.Buffer
	_ = json.Indent(&out, top.Raw(), "", "  ") // it is JSON
	out.WriteByte('\n')
	return out.Bytes()
}

func reference(def string) *document.Node {
	return document.NewObject().Set("$ref", document.NewText("#/$defs/"+def))
}

func typed(of string) *document.Node {
	return document.NewObject().Set("type", document.NewText(of))
}

// placeSchema gives the schema of an object.
func placeSchema(of string) *document.Node {
	properties, needed := document.NewObject(), document.NewList()
	depends := document.NewObject()
	for i := range format[of] {
		e := &format[of][i]
		properties.Set(e.name, entrySchema(e))
		if e.required {
			needed.Append(document.NewText(e.name))
		}
		if e.actions != nil && of == "step" {
			depends.Set(e.name, oneRequired("anyOf", e.actions))
		}
	}
	out := typed("object").Set("properties", properties).Set("additionalProperties", document.NewFlag(false))
	if len(needed.Items) > 0 {
		out.Set("required", needed)
	}
	if ways := alternatives(of); len(ways) > 0 {
		choice := oneRequired("oneOf", ways)
		out.Set("oneOf", choice.Get("oneOf").Clone())
	}
	if len(depends.Keys) > 0 {
		out.Set("dependentSchemas", depends)
	}
	return out
}

// alternatives gives the keys of a place of which exactly one must be there.
func alternatives(of string) []string {
	switch of {
	case "workflow":
		return nil
	case "await":
		return []string{"event", "all", "any"}
	}
	var ways []string
	for _, e := range format[of] {
		if e.action || formatIndex[of]["do"] != nil && slices.Contains([]string{"do", "steps", "next"}, e.name) {
			ways = append(ways, e.name)
		}
	}
	return ways
}

func oneRequired(how string, keys []string) *document.Node {
	list := document.NewList()
	for _, key := range keys {
		list.Append(document.NewObject().Set("required", document.NewTexts([]string{key})))
	}
	return document.NewObject().Set(how, list)
}

func entrySchema(e *entry) *document.Node {
	out := shapesSchema(e.shapes).Set("description", document.NewText(says(e)))
	if zero, fault := document.ParseJSON([]byte(e.zero), document.MaxNesting); fault == nil && len(zero.Items) == 0 && zero.Kind != document.Null {
		out.Set("default", zero)
	}
	return out
}

// says describes a key, and whether it runs.
func says(e *entry) string {
	switch {
	case e.since > Stage && e.since != reserved:
		return e.says + " Does not run in this version yet."
	case e.action:
		return e.says + " Output: " + e.output + "."
	}
	return e.says
}

func shapesSchema(shapes []shape) *document.Node {
	if len(shapes) == 1 {
		return shapeSchema(&shapes[0])
	}
	list := document.NewList()
	for i := range shapes {
		list.Append(shapeSchema(&shapes[i]))
	}
	return document.NewObject().Set("anyOf", list)
}

func shapeSchema(s *shape) *document.Node {
	switch s.kind {
	case name:
		return typed("string").Set("minLength", document.NewNumber("1")).Set("maxLength", document.NewNumber("255")).Set("pattern", document.NewText(`^\S(.*\S)?$`))
	case stepKey:
		return typed("string").Set("pattern", document.NewText(keyPattern.String()))
	case flag:
		return typed("boolean")
	case whole, decimal:
		of := "integer"
		if s.kind == decimal {
			of = "number"
		}
		return typed(of).Set("minimum", document.NewNumber(ShortNumber(s.min))).Set("maximum", document.NewNumber(ShortNumber(s.max)))
	case duration:
		return typed("string").Set("pattern", document.NewText(durationPattern))
	case choice:
		return document.NewObject().Set("enum", document.NewTexts(s.words))
	case percent:
		return typed("string").Set("pattern", document.NewText(percentPattern.String()))
	case program, textValue:
		return document.NewObject().Set("type", document.NewTexts([]string{"string", "number", "boolean"}))
	case value, anything:
		return valueSchema(s)
	case object:
		return typed("object")
	case place:
		if s.of == "step" {
			return reference("lone_step")
		}
		return reference(s.of)
	case list, table:
		return manySchema(s)
	case anyText:
	}
	return typed("string")
}

func valueSchema(s *shape) *document.Node {
	if s.of != "object" {
		return document.NewObject()
	}
	text := typed("string").Set("pattern", document.NewText(`\$\{`))
	return document.NewObject().Set("anyOf", document.NewList(typed("object"), text))
}

func manySchema(s *shape) *document.Node {
	items, of := shapesSchema(s.items), "array"
	if s.kind == table {
		of = "object"
	}
	if s.items[0].of == "step" {
		items = reference(map[string]string{"array": "sequence_step", "object": "graph_step"}[of])
	}
	out := typed(of)
	if s.kind == list {
		out.Set("items", items)
	} else {
		out.Set("additionalProperties", items)
		if s.ordered && s.items[0].kind == place {
			out.Set("propertyNames", document.NewObject().Set("pattern", document.NewText(keyPattern.String())))
		}
	}
	if s.filled {
		out.Set(map[string]string{"array": "minItems", "object": "minProperties"}[of], document.NewNumber("1"))
	}
	return out
}
