package document_test

import (
	"strings"
	"testing"

	"github.com/millrace-go/millrace/workflow/internal/document"
)

func TestPlainJSONIsTold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`null`: true, ` [1, 2.5e3, "a", {"b": [{}]}] `: true, `{"a":{"a":1},"b":[{"a":2},{"a":3}],"c":"a"}`: true, `{"é":"日"}`: true,
		`{"a":1,"a":2}`: false, `{"b":{"a":1,"c":[],"a":2}}`: false, `{"a":"\u0000"}`: false, "\"\xff\"": false, `{"a":1`: false, `1 2`: false,
		`[[[[[[[1]]]]]]]`: false,
	} {
		if got := document.IsPlain([]byte(text), 6); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// What is told to be plain is taken.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{`{"a":{"a":1},"b":[{"a":2},{"a":3}]}`, `{"a":1,"a":2}`, `[[["x"]],{"a":[],"b":"a"}]`, `"\ud800"`} {
		f.Add(text)
	}
	f.Add(strings.Repeat("[", 9) + strings.Repeat("]", 9))
	f.Fuzz(func(t *testing.T, text string) {
		const depth = 5
		if !document.IsPlain([]byte(text), depth) {
			return
		}
		if _, fault := document.ParseJSON([]byte(text), depth); fault != nil {
			t.Fatalf("%q: %s", text, fault.Reason)
		}
	})
}
