package workflow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow"
	"github.com/millrace-go/millrace/workflow/draw"
)

// flat is a definition without its pointers from step to body and back, which make comparing slow: they are compared by number.
type flat struct {
	Definition workflow.Definition
	Steps      []workflow.Step
	Bodies     []workflow.Body
}

func flatten(d *workflow.Definition) flat {
	f := flat{Definition: *d}
	for _, s := range d.Steps {
		f.Steps = append(f.Steps, *s)
	}
	for _, b := range d.Bodies {
		f.Bodies = append(f.Bodies, *b)
	}
	return f
}

// sameValue compares flattened definitions field by field, apart from where they were written.
var sameValue = cmp.Options{
	cmpopts.IgnoreTypes(workflow.Origin{}),
	cmpopts.IgnoreUnexported(workflow.Definition{}),
	cmp.Comparer(func(a, b *workflow.Step) bool { return a == nil && b == nil || a != nil && b != nil && a.ID == b.ID }),
	cmp.Comparer(func(a, b *workflow.Body) bool { return a == nil && b == nil || a != nil && b != nil && a.ID == b.ID }),
	cmp.Comparer(func(a, b *expr.Program) bool {
		if a == nil || b == nil {
			return a == b
		}
		return a.Source() == b.Source() && cmp.Equal(a.Refs(), b.Refs())
	}),
	cmp.Comparer(func(a, b *expr.Template) bool {
		if a == nil || b == nil {
			return a == b
		}
		return string(a.Raw()) == string(b.Raw()) && cmp.Equal(a.Refs(), b.Refs())
	}),
}

func mustRead(t *testing.T, text string) *workflow.Definition {
	t.Helper()
	d, err := workflow.Read("test.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\nof\n%s", err, text)
	}
	return d
}

func readFile(t *testing.T, file string) *workflow.Definition {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := workflow.Read(filepath.Base(file), data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// D6: a definition survives write and read unchanged, as JSON and as YAML, and its hash is stable.
func TestDefinitionsSurviveWriteAndRead(t *testing.T) {
	t.Parallel()
	for _, file := range files(t, "valid") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			d := readFile(t, file)
			for name, written := range map[string][]byte{"canonical.json": d.Canonical(), "written.yaml": d.YAML()} {
				again, err := workflow.Read(name, written)
				if err != nil {
					t.Fatalf("%v\nof\n%s", err, written)
				}
				if diff := cmp.Diff(flatten(d), flatten(again), sameValue); diff != "" {
					t.Errorf("%s (-first +again):\n%s", name, diff)
				}
				if !workflow.Equal(d, again) || d.Hash() != again.Hash() {
					t.Errorf("%s is not equal:\n%s\n%s", name, d.Canonical(), again.Canonical())
				}
			}
		})
	}
}

// The drawings of the valid files are kept beside them, with their canonical form and their YAML.
func TestDrawingsAndCanonicalForms(t *testing.T) {
	t.Parallel()
	for _, file := range files(t, "valid") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			d := readFile(t, file)
			base := strings.ReplaceAll(file, ".", "_")
			golden(t, base+".text", draw.Text(d, nil))
			golden(t, base+".mermaid", draw.Mermaid(d, nil))
			golden(t, base+".dot", draw.DOT(d, nil))
			golden(t, base+".canonical", string(d.Canonical())+"\n")
			golden(t, base+".written", string(d.YAML()))
			var later strings.Builder
			for _, m := range d.NotYet() {
				later.WriteString(m.String() + "\n")
			}
			if later.Len() > 0 {
				golden(t, base+".later", later.String())
			}
		})
	}
}
