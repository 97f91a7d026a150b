package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X14, C2, C3, C4: each has transcripts, whose titles begin with its name or end
// with it.
func TestStatementsOfUndoingAndControlHaveTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			title, ok := strings.CutPrefix(line, "# ")
			if !ok {
				continue
			}
			for _, word := range strings.FieldsFunc(title, func(r rune) bool { return strings.ContainsRune(" :,.\n", r) }) {
				held[word] = true
			}
		}
	}
	var missing []string
	for id := range strings.FieldsSeq("X1 X2 X3 X4 X5 X6 X7 X8 X9 X10 X11 X14 C2 C3 C4") {
		if !held[id] {
			missing = append(missing, id)
		}
	}
	if diff := cmp.Diff([]string(nil), missing); diff != "" {
		t.Errorf("without a transcript (-want +got):\n%s", diff)
	}
}

// F11, F12: a number of 10,000 digits in a condition is compared as what it is, or fails the step by name, in bounded time.
func TestAnEndlessNumberInAConditionEndsTheRunByName(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("9", 10_000)
	for _, number := range []string{digits, "-" + digits, "0." + digits, "1e999999999", "1e-999999999"} {
		a := succeeds("a")
		a.Payload = []byte(`{"n":` + number + `}`)
		w := runs(t, `workflow: t
steps:
  a: { task: h, compensate: { task: u } }
  b: { after: a, when: "prev.n > 1", set: { b: 1 } }
`, a, succeeds("a~undo"))
		if code := w.load("", true).Root.Run.Error; w.status != Succeeded && (w.status != Failed || code == nil || code.Code != CodeExpression) {
			t.Errorf("%.20s: the run is %s: %v", number, w.status, code)
		}
	}
}
