package document_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/workflow/internal/document"
)

func drawValue(t *rapid.T, depth int) any {
	text := rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune("ab c\n\t\r\"'é:#-{}[]😀|>&*!%@`,\\\u2028\u0085\ufeff\ufffd~0.")), 0, 14, -1),
		rapid.SampledFrom([]string{"", "true", "null", "~", "yes", "1", "0x1", ".5", "1_0", "5s", "- x", "a: b", "# x", "<<", "=", "|\n", " \n ", "x\n\n", "\n", strings.Repeat("long ", 30)}),
	)
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "flag")
	case 2:
		return json.Number(rapid.SampledFrom([]string{"0", "-0", "1.50", "1e400", "12345678901234567890.10", "-7E+2"}).Draw(t, "number"))
	case 3:
		return text.Draw(t, "text")
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			object[text.Draw(t, "key")] = drawValue(t, depth-1)
		}
		return object
	}
}

// R7: whatever is written as YAML or JSON comes back as it was, numbers to the digit.
func TestDocumentsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(drawValue(t, 3)); err != nil {
			t.Fatal(err)
		}
		n, bad := document.ParseJSON(out.Bytes(), 64)
		if bad != nil {
			t.Fatal(bad.Reason)
		}
		want := string(n.Raw())
		again, bad := document.ParseJSON(n.Raw(), 64)
		if bad != nil || string(again.Raw()) != want {
			t.Fatalf("JSON became %v", again)
		}
		l := &document.Ledger{File: "x.yaml"}
		read := l.Read(n.YAML())
		if len(read) != 1 || l.Count() > 0 {
			t.Fatalf("%v\nof\n%s", l.Err(), n.YAML())
		}
		if diff := cmp.Diff(want, string(read[0].Raw())); diff != "" {
			t.Fatalf("%s\nof\n%s", diff, n.YAML())
		}
	})
}

func TestPointersFindTheirNodes(t *testing.T) {
	t.Parallel()
	n, bad := document.ParseJSON([]byte(`{"a/b":[1,{"c~":2}],"":{"x":3}}`), 64)
	if bad != nil {
		t.Fatal(bad.Reason)
	}
	for pointer, want := range map[string]string{
		"": "", "/a~1b": "/a~1b", "/a~1b/1/c~0": "/a~1b/1/c~0", "//x": "//x", "/nowhere": "", "/a~1b/7": "/a~1b", "/a~1b/-1": "/a~1b", "/a~1b/0/deeper": "/a~1b/0",
	} {
		if got := n.At(pointer).Pointer(); got != want {
			t.Errorf("%q leads to %q, want %q", pointer, got, want)
		}
		if found := n.Resolve(pointer); (found != nil) != (pointer == want) {
			t.Errorf("%q resolves to %v", pointer, found)
		}
	}
	n.Set("a/b", document.NewFlag(true)).Set("new", document.NewNumber("1"))
	if got := string(n.Raw()); got != `{"a/b":true,"":{"x":3},"new":1}` {
		t.Errorf("got %s", got)
	}
	if got := string(n.Clone().Raw()); got != string(n.Raw()) || n.Get("a/b").Pointer() != "/a~1b" {
		t.Errorf("a clone is %s", got)
	}
	var none *document.Node
	if none.Get("x") != nil || none.Find("x") != -1 || none.Is("x") {
		t.Error("nil is not without members")
	}
}

func TestJSONFaultsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{
		`{"a": x}`: {1, 7}, "{\n  \"a\": 1,\n  \"a\": 2 }": {3, 3}, "[1,\n2": {2, 2}, "\"\xff\"": {1, 2}, "é\xff": {1, 2}, "{\"é\": \"\\u0000\"}": {1, 7}, `[1] 2`: {1, 5}, ``: {1, 1},
	} {
		_, bad := document.ParseJSON([]byte(text), 64)
		if bad == nil || [2]int{bad.Line, bad.Column} != want || bad.Reason == "" || bad.Remedy == "" {
			t.Errorf("%q: %+v, want %v", text, bad, want)
		}
	}
}

func TestNearestKnowsTypingErrors(t *testing.T) {
	t.Parallel()
	words := []string{"after", "when", "timeout", "title", "retry"}
	for word, want := range map[string]string{
		"afer": "after", "atfer": "after", "timout": "timeout", "Title": "title", "whne": "when", "zzz": "", "": "", "t": "", "retries": "retry", strings.Repeat("x", 100): "",
	} {
		if got := document.Nearest(word, words); got != want {
			t.Errorf("%q is taken for %q, want %q", word, got, want)
		}
	}
}

func TestMistakesAreOneLineEach(t *testing.T) {
	t.Parallel()
	l := &document.Ledger{File: "f.yaml"}
	if l.Err() != nil {
		t.Error("an empty ledger has an error")
	}
	n := &document.Node{Line: 2, Column: 3}
	l.Add(n, "", "second")
	l.Add(n, "", "second")
	l.Add(&document.Node{Line: 1, Column: 1}, "do it", "%s", strings.Repeat("é", 2000))
	l.Add(document.NewText("x"), "mend it", "built")
	got := strings.Split(l.Err().Error(), "\n")
	if len(got) != 3 || got[0] != "/: built; mend it" || !strings.HasPrefix(got[1], "f.yaml:1:1: éé") || len(got[1]) > 1100 || got[2] != "f.yaml:2:3: second" {
		t.Errorf("got %q", got)
	}
}

// D4: a fault inside { } or [ ] is told where it is, and not where the steps begin.
func TestFaultsInsideBracketsAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a question mark": {"a: 1\nb:\n  - { c: d }\n  - { when: prev?.x, e: f }\n", "4:17: this is not valid YAML: inside { } and [ ] a text with a question mark must be in quotes"},
		"on a later line": {"a: 1\nb: {\n  c: \"x ? y\",\n  d: é ? 1 : 2 }\ne: 1\n", "4:8: this is not valid YAML: inside { } and [ ] a text with a question mark must be in quotes"},
		"a comment":       {"a: 1\nb: { c: len(x, # > 1) }\nd: 1\n", "2:16: this is not valid YAML: a # behind a space begins a comment"},
		"never closed":    {"a: |\n  { b\n\n  [ c\nd: {x: 1, y: 2}\ne: [ f\n", "6:4: this is not valid YAML: this { or [ is never closed"},
		"two texts":       {"- [a, \"b\" c]\n", "1:3: this is not valid YAML: what stands in these { } or [ ] cannot be read"},
		"nothing inside":  {"a: b: c\n", "1:1: this is not valid YAML: mapping values are not allowed in this context"},
		"an anchor":       {"a: [*x]\nb: { c: *x }\n: : :\n", "1:1: this is not valid YAML: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &document.Ledger{File: "x.yaml"}
			if l.Read([]byte(c.text)) != nil && l.Count() == 0 {
				t.Fatal("it was read")
			}
			if got := l.Err().Error(); !strings.HasPrefix(got, "x.yaml:"+c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
