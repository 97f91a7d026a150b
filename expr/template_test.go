package expr

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func compileTemplate(t *testing.T, raw string) *Template {
	t.Helper()
	tpl, err := CompileTemplate(json.RawMessage(raw), nil)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return tpl
}

func TestTemplatesKeepOrderAndTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, want string }{
		{`"${ input.total }"`, `1.10`},
		{`"${input.lines}"`, `[{"sku": "b", "n": 2}, {"sku": "a", "n": 1.0}, {"sku": "b", "n": 3}]`},
		{`"${ input.half }"`, `"\ud800"`},
		{`" ${ input.total }"`, `" 1.10"`},
		{`"a ${ input.total } b ${ input.yes } c${ input.none }d ${ input.words }"`, `"a 1.10 b true cd [\"x\", \"y\", \"x\"]"`},
		{
			`{"z": "${ n }", "a": [1.50, "x", null, "${ s }", {"q": "${ t }"}], "m": "${ input.empty }"}`,
			`{"z": 7, "a": [1.50, "x", null, "héllo", {"q": true}], "m": {}}`,
		},
		{`[ ]`, `[ ]`},
		{` {"a":"x"} `, ` {"a":"x"} `},
		{`"$${ x }"`, `"${ x }"`},
		{`"$$${ x } $ $$ ${ n }$"`, `"$${ x } $ $$ 7$"`},
		{`["$${", "${ n }"]`, `["${", 7]`},
		{`"${ {a: '}'}.a + \"}\" + ` + "`}`" + ` + s[0] /* } */ }"`, `"}}}h"`},
		{`"${ '\\'}' }"`, `"'}"`},
		{`"${ 1 // }\n }"`, `1`},
		{`"${ 4 / 2 }"`, `2`},
		{`"${ {a: {b: [1]}} }!"`, `"{\"a\":{\"b\":[1]}}!"`},
		{`"\u0024{ n }"`, `7`},
		{`{"a/b": {"~": "${ n }"}}`, `{"a/b": {"~": 7}}`},
		{`1.50`, `1.50`},
	} {
		got, err := compileTemplate(t, c.raw).Eval(testEnv(), Budget{})
		if err != nil {
			t.Errorf("%s: %v", c.raw, err)
			continue
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.raw, diff)
		}
		if !json.Valid(got) {
			t.Errorf("%s: %s is not JSON", c.raw, got)
		}
	}
}

// R7
func TestTextOfATemplate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, want string }{
		{`"${ input.total }"`, "1.10"},
		{`"${ input.huge }"`, "1e999999999"},
		{`"${ input.yes }"`, "true"},
		{`"${ input.none }"`, ""},
		{`"${ input.esc }"`, `café "x"`},
		{`"${ input.words }"`, `["x", "y", "x"]`},
		{`"${ {a: 1} }"`, `{"a":1}`},
		{`"a${ n }"`, "a7"},
		{`"$${"`, "${"},
		{`"plain \u00e9"`, "plain é"},
		{`1.10`, "1.10"},
		{`true`, "true"},
		{`null`, ""},
		{` [1, "${ n }"] `, "[1, 7]"},
		{`{"a": 1}`, `{"a": 1}`},
	} {
		got, err := compileTemplate(t, c.raw).Text(testEnv(), Budget{})
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.raw, got, err, c.want)
		}
	}
}

func TestTemplateErrorsNameTheText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw     string
		pointer string
		offset  int
		source  string
		reason  string
	}{
		{`{"a": ["x", "é ${ inp }"]}`, "/a/1", 6, "é ${ inp }", "unknown name inp"},
		{`{"a/b": {"~x": "${ 1 + }"}}`, "/a~1b/~0x", 7, "${ 1 + }", "ends too early"},
		{`"${ }"`, "", 2, "${ }", "the expression is empty"},
		{`"${ 1"`, "", 0, "${ 1", "${ has no end"},
		{`"ab ${ '}"`, "", 3, "ab ${ '}", "${ has no end"},
		{`"ab ${ 1 // }"`, "", 3, "ab ${ 1 // }", "${ has no end"},
		{`"ab ${ 1 /* }"`, "", 3, "ab ${ 1 /* }", "${ has no end"},
		{`{"x": {"${ n }": 1}}`, "/x/${ n }", 0, "${ n }", "keys hold no expressions"},
		{`{"x${a}": {"${ n }": 1}, "b": "${ c }"}`, "/x${a}", 1, "x${a}", "keys hold no expressions"},
		{`["\ud800 ${ n }"]`, "/0", -1, "\uFFFD ${ n }", "surrogate"},
		{`[1,`, "", -1, "", "not valid JSON"},
		{``, "", -1, "", "not valid JSON"},
		{"\"\xff\"", "", -1, "", "not valid JSON"},
		{strings.Repeat("[", 200) + strings.Repeat("]", 200), strings.Repeat("/0", 128), -1, "", "nested deeper than 128"},
	} {
		_, err := CompileTemplate(json.RawMessage(c.raw), &Names{Fields: map[string]*Names{"n": {}}})
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v", c.raw, err)
			continue
		}
		if e.Pointer != c.pointer || e.Offset != c.offset || e.Source != c.source || !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%s: got %+v", c.raw, *e)
		}
	}
}

// F11
func TestEvaluationErrorsOfATemplateNameTheText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw     string
		pointer string
		offset  int
		reason  string
	}{
		{`{"a": "${ input.none.x }"}`, "/a", 14 - 0, "input.none is null"},
		{`{"a": "é ${ input.none.x } ${ n }"}`, "/a", 17, "input.none is null"},
		{`["${ n }", "x${ input.half }"]`, "/1", 10, "surrogate"},
		{`["${ input.none + 1 }"]`, "/0", 14, "needs numbers"},
	} {
		_, err := compileTemplate(t, c.raw).Eval(testEnv(), Budget{})
		var e *Error
		if !errors.As(err, &e) || e.Pointer != c.pointer || !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%s: got %v", c.raw, err)
			continue
		}
		if e.Offset < 0 || e.Offset > len(e.Source) {
			t.Errorf("%s: placed at %d of %q", c.raw, e.Offset, e.Source)
		}
		if _, err := compileTemplate(t, c.raw).Text(testEnv(), Budget{}); err == nil {
			t.Errorf("%s: Text gives no error", c.raw)
		}
	}
	if _, err := compileTemplate(t, `"\ud800"`).Text(nil, Budget{}); err == nil || !strings.Contains(err.Error(), "surrogate") {
		t.Errorf("got %v", err)
	}
}

func TestATemplateWithoutExpressionsIsStatic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw, want string
		static    bool
	}{
		{` {"a": [1.10, "\u00e9", "\ud800"]} `, ` {"a": [1.10, "\u00e9", "\ud800"]} `, true},
		{`["$${ x }"]`, `["${ x }"]`, true},
		{`"$x {} $"`, `"$x {} $"`, true},
		{`"${ 1 }"`, "", false},
		{`["a", "${ 1 }"]`, "", false},
	} {
		tpl := compileTemplate(t, c.raw)
		got, ok := tpl.Static()
		if ok != c.static || string(got) != c.want {
			t.Errorf("%s: got %s, %t", c.raw, got, ok)
		}
		if string(tpl.Raw()) != c.raw {
			t.Errorf("%s: Raw gives %s", c.raw, tpl.Raw())
		}
	}
}

func TestRefsOfATemplate(t *testing.T) {
	t.Parallel()
	tpl := compileTemplate(t, `{"a": "${ input.x } ${ run.id }", "b": ["${ input.x }", "${ b?.c }"]}`)
	if diff := cmp.Diff([]Ref{{"b", "c"}, {"input", "x"}, {"run", "id"}}, tpl.Refs()); diff != "" {
		t.Errorf("refs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Ref{{"input"}, {"run"}}, tpl.Needs()); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
}

func TestTheBytesOfATemplateAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw   string
		bytes int
	}{
		{`["${ s }", "aaaaaaaaaa", "${ n }"]`, 14},
		{`["aaaaaaaaaaaaa", "${ s }"]`, 6},
		{`"${ s }${ s }"`, 10},
		{`[1, "${ input }"]`, 20},
		{`["${ s }", "${ s }"]`, 11},
		{`["${ s } ${ s }"]`, 14},
	} {
		_, err := compileTemplate(t, c.raw).Eval(testEnv(), Budget{Bytes: c.bytes})
		if err == nil || !strings.Contains(err.Error(), "bytes") {
			t.Errorf("%s: got %v", c.raw, err)
		}
	}
}

func TestTheBytesAndStepsOfAListAreCounted(t *testing.T) {
	t.Parallel()
	p, err := Compile(Source{Text: "input.lines"}, nil, List)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []Budget{{Bytes: 40}, {Bytes: 10}, {Nodes: 5}, {Nodes: 2}, {Depth: -1, Nodes: 1}} {
		if _, err := p.List(testEnv(), b); err == nil {
			t.Errorf("%+v is not kept", b)
		}
	}
	deep, err := Compile(Source{Text: "[[[input.lines]]]"}, nil, List)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := deep.List(testEnv(), Budget{Depth: 2}); err == nil || !strings.Contains(err.Error(), "nested deeper than 2") {
		t.Errorf("got %v", err)
	}
}
