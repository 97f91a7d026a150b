package draw_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/workflow"
	"github.com/millrace-go/millrace/workflow/draw"
)

func mustRead(t *testing.T, text string) *workflow.Definition {
	t.Helper()
	d, err := workflow.Read("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func readFile(t *testing.T, file string) *workflow.Definition {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return mustRead(t, string(text))
}

func validFiles(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../testdata/valid/*.yaml")
	if err != nil || len(found) == 0 {
		t.Fatalf("%d files, %v", len(found), err)
	}
	return found
}

func TestDrawingsShowTheStatesOfARun(t *testing.T) {
	t.Parallel()
	d := mustRead(t, `
workflow: w
steps:
  a: { task: a }
  m: { after: a, map: { over: input.l, do: { task: item } } }
  l: { after: a, loop: { limit: 2, steps: [{ id: x, task: x }, { id: y, task: y }] } }
  p: { after: [m, l], parallel: { eu: { do: { task: eu } } } }
  z: { after: p, task: z }
`)
	states := draw.States{
		"a": "succeeded", "m": "running", "m[0]": "succeeded", "m[1]": "failed", "m[2]": "running", "l": "waiting",
		"l[1]/x": "succeeded", "l[2]/x": "retrying", "l[2]/y#2": "parked", "p~2/eu": "ready", "p": "nonsense",
	}
	want := `w
├─ ✓ a  task a
├─ ▶ m  map over input.l as item · after a
│  └─ ✗ task item
├─ ◷ l  loop, at most 2 · after a
│  ├─ ↻ x  task x
│  └─ ‖ y  task y
├─ · p  parallel · after m, l
│  └─ eu:
│     └─ ○ task eu
└─ · z  task z · after p
`
	if diff := cmp.Diff(want, draw.Text(d, states)); diff != "" {
		t.Error(diff)
	}
	if drawn := draw.Mermaid(d, states); !strings.Contains(drawn, "class s2 failed") || !strings.Contains(drawn, "classDef failed fill:#ffebe9") {
		t.Errorf("drawn as\n%s", drawn)
	}
	for name, drawn := range map[string]string{"dot": draw.DOT(d, states), "svg": draw.SVG(d, states)} {
		if strings.Count(drawn, "#ffebe9") != 1 || strings.Count(drawn, "#ffd8b5") != 1 {
			t.Errorf("%s drawn as\n%s", name, drawn)
		}
	}
}

func TestDrawingsShowHowARunIsUndone(t *testing.T) {
	t.Parallel()
	d := mustRead(t, `
workflow: w
finally: { steps: [{ id: tell, task: tell }] }
steps:
  - { id: a, task: a, compensate: { task: undo } }
  - { id: b, retry: { attempts: 2 }, compensate: { task: undo }, steps: [{ id: x, task: x, compensate: { task: undo } }] }
  - { id: c, task: c }
`)
	states := draw.States{
		"a": "compensating", "b": "compensated", "b/x": "compensated", "b~2/x": "compensating", "c": "cancelled", "finally/tell": "running",
	}
	want := `w
├─ ↺ a  task a
│  └─ undo task undo
├─ ↩ b  steps · 2 attempts
│  ├─ ↺ x  task x
│  │  └─ undo task undo
│  └─ undo task undo
├─ ■ c  task c
└─ finally
   └─ ▶ tell  task tell
`
	if diff := cmp.Diff(want, draw.Text(d, states)); diff != "" {
		t.Error(diff)
	}
	if drawn := draw.SVG(d, states); strings.Count(drawn, "#fbefff") != 3 {
		t.Errorf("drawn as\n%s", drawn)
	}
}

// An SVG is well-formed whatever the texts, and the same each time.
func TestPicturesAreWellFormed(t *testing.T) {
	t.Parallel()
	found := validFiles(t)
	for _, file := range found {
		d := readFile(t, file)
		drawn := draw.SVG(d, nil)
		if drawn != draw.SVG(d, nil) || drawn != draw.SVG(d, draw.States{}) {
			t.Errorf("%s is drawn differently each time", file)
		}
		decoder, texts := xml.NewDecoder(strings.NewReader(drawn)), 0
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
				texts++
			}
		}
		if texts <= len(d.Body.Steps) {
			t.Errorf("%s has %d texts for %d steps", file, texts, len(d.Body.Steps))
		}
	}
	odd := mustRead(t, "workflow: w\ntitle: \"<&> \\u0007 \\uFFFE\"\nsteps:\n  - { id: a, switch: [{ when: 'input.x == \"<\"', next: a }, { next: end }] }\n")
	if err := xml.Unmarshal([]byte(draw.SVG(odd, nil)), new(struct{})); err != nil {
		t.Error(err)
	}
}
