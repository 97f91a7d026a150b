package workflow_test

import (
	"errors"
	"os"
	"testing"

	"github.com/millrace-go/millrace/workflow"
	"github.com/millrace-go/millrace/workflow/draw"
)

// D5, D6: whatever the bytes, reading ends with a definition or with mistakes that say where; and a definition that was read
// is the same after writing and reading.
func FuzzRead(f *testing.F) {
	for _, folder := range []string{"valid", "invalid"} {
		entries, err := os.ReadDir("testdata/" + folder)
		if err != nil {
			f.Fatal(err)
		}
		for _, e := range entries {
			data, err := os.ReadFile("testdata/" + folder + "/" + e.Name())
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := workflow.ReadAll("fuzz.yaml", data)
		if err != nil {
			var mistakes *workflow.Mistakes
			if !errors.As(err, &mistakes) || len(mistakes.List) == 0 {
				t.Fatalf("%v is no *workflow.Mistakes", err)
			}
			for _, m := range mistakes.List {
				if m.Line < 1 || m.Column < 1 || m.Message == "" || m.Remedy == "" {
					t.Fatalf("a mistake lacks its place, words or remedy: %+v", m)
				}
			}
			return
		}
		for _, d := range all {
			survives(t, d)
		}
	})
}

// survives fails when a definition is another after writing and reading, or cannot be drawn.
func survives(t *testing.T, d *workflow.Definition) {
	t.Helper()
	for name, written := range map[string][]byte{"fuzz.json": d.Canonical(), "fuzz.yaml": d.YAML()} {
		again, err := workflow.Read(name, written)
		if err != nil {
			t.Fatalf("%v\nof\n%s", err, written)
		}
		if !workflow.Equal(d, again) || d.Hash() != again.Hash() {
			t.Fatalf("%s is another definition:\n%s\n%s", name, d.Canonical(), again.Canonical())
		}
	}
	draw.Text(d, nil)
	draw.Mermaid(d, nil)
	draw.DOT(d, nil)
	draw.SVG(d, draw.States{"a": "failed"})
}
