package workflow_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/millrace-go/millrace/workflow"
)

// D7: the schema and the reference page come from the format's one description, and those in the repository are not old.
func TestTheSchemaAndTheReferenceAreNotOld(t *testing.T) {
	t.Parallel()
	golden(t, "../docs/reference/workflow.schema.json", string(workflow.Schema()))
	golden(t, "../docs/reference/format.md", string(workflow.Reference()))
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(workflow.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validates gives what the schema says of the documents of a file.
func validates(schema *jsonschema.Schema, data []byte) (err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var v any
		if decoder.Decode(&v) != nil {
			return err
		}
		if v == nil {
			continue
		}
		if fault := schema.Validate(plain(v)); fault != nil {
			err = fault
		}
	}
}

// plain makes of a value read from YAML what would have been read from JSON.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	case map[any]any:
		all := map[string]any{}
		for key, item := range v {
			text, _ := yaml.Marshal(key)
			all[string(bytes.TrimSpace(text))] = plain(item)
		}
		return all
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return v
}

func TestTheSchemaTakesEveryFileThatIsRight(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	found := files(t, "valid")
	for _, pattern := range []string{"../examples/*/*.yaml", "../examples/*/*/*.yaml"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, some...)
	}
	if len(found) < 15 {
		t.Errorf("only %d files", len(found))
	}
	for _, file := range found {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := workflow.ReadAll(file, data); err != nil {
			t.Error(err)
		}
		if err := validates(schema, data); err != nil {
			t.Errorf("%s: %#v", file, err)
		}
	}
}

// beyondSchema are the broken files whose mistakes are not of keys and types: edges, names, expressions, and what is no YAML.
var beyondSchema = []string{
	"02-unknown-step.yaml", "03-cycle.yaml", "05-unreachable.yaml", "09-expression-syntax.yaml",
	"10-expression-types.yaml", "11-unknown-name.yaml", "12-cannot-have-run.yaml", "13-step-output.yaml",
	"14-may-be-null.yaml", "15-join-above-edges.yaml", "19-jumped-to-and-run-into.yaml", "24-secrets.yaml",
	"25-indentation.yaml", "26-tabs.yaml", "27-yaml-traps.yaml", "28-bad-schema.yaml", "29-names-out-of-place.yaml",
	"32-block-text.yaml", "36-empty.yaml", "35-broken.json",
}

func TestTheSchemaRefusesFilesWhoseKeysOrTypesAreWrong(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	for _, file := range files(t, "invalid") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := validates(schema, data); (err == nil) != slices.Contains(beyondSchema, filepath.Base(file)) {
			t.Errorf("%s: the schema says %v", filepath.Base(file), err)
		}
	}
}
