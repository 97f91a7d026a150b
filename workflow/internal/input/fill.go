package input

import (
	"strings"

	"github.com/millrace-go/millrace/workflow/internal/document"
)

// filler puts the defaults of a schema into an input.
type filler struct {
	schema *document.Node // the whole schema, for $ref
	left   int            // steps that it may still take, bytes of defaults included
	filled bool
}

// fill follows properties, items, allOf and references inside the schema; alternatives give no defaults.
func (f *filler) fill(n, schema *document.Node, depth int) {
	if f.left--; f.left <= 0 || depth > maxDepth || schema == nil || schema.Kind != document.Object {
		if depth > maxDepth {
			f.left = 0
		}
		return
	}
	if ref := schema.Get("$ref"); ref != nil && strings.HasPrefix(ref.Text, "#") {
		f.fill(n, f.schema.Resolve(strings.TrimPrefix(ref.Text, "#")), depth+1)
	}
	if all := schema.Get("allOf"); all != nil && all.Kind == document.List {
		for _, part := range all.Items {
			f.fill(n, part, depth+1)
		}
	}
	switch n.Kind {
	case document.Object:
		f.members(n, schema.Get("properties"), depth)
	case document.List:
		if items := schema.Get("items"); items != nil {
			for _, item := range n.Items {
				f.fill(item, items, depth+1)
			}
		}
	case document.Null, document.Flag, document.Number, document.Text:
	}
}

func (f *filler) members(n, properties *document.Node, depth int) {
	if properties == nil || properties.Kind != document.Object {
		return
	}
	for i, key := range properties.Keys {
		part := properties.Items[i]
		value := n.Get(key.Text)
		if value == nil {
			given := part.Get("default")
			if given == nil {
				continue
			}
			if f.left -= len(given.Raw()); f.left <= 0 {
				return
			}
			value = given.Clone()
			n.Put(document.NewText(key.Text), value)
			f.filled = true
		}
		f.fill(value, part, depth+1)
	}
}
