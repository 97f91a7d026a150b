package expr

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/millrace-go/millrace/expr/internal/eval"
)

// fuzzBudget keeps one input short.
var fuzzBudget = Budget{Nodes: 20_000, Depth: 64, Bytes: 64 << 10}

// checkError fails for an error that does not keep its promises.
func checkError(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *Error", err)
	}
	if e.Reason == "" || e.Offset > len(e.Source) || strings.ContainsAny(e.Error(), "\n\r") {
		t.Fatalf("%+v reads %q", *e, e.Error())
	}
}

// D5
func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		"steps.a.output.x > 1 and input.y?.z ?? 3", "map(input.lines, {let n = .n; n * #index + 1})", "1..3 | sum()",
		"if a {b} else {c}", "{a: [1, {'b': nil}], (\"c\"): -0x1F}", "input.a[1:-2][0] not in ['x']", "s matches '^a+$'",
		"reduce(1..9, #acc + #, 0)", "a ?: b", "1 < 2 < 3", "`raw`", "// c\n1", "not not true", "a.b-c.d", "2 ** 63", "::len(a)",
		"groupBy(input.lines, .sku)", "sortBy(a, #, 'desc')", "toJSON(input)", "fromJSON(s)", "a?.b[c?.d]", "((((((1", "'\\u{1F600}'",
	} {
		f.Add(s, `{"a": [1, 2.50], "lines": [{"sku": "x", "n": 1}]}`)
	}
	names := &Names{Fields: map[string]*Names{
		"input": {Open: true}, "s": {}, "steps": {Fields: map[string]*Names{"a-b": {Open: true}, "a": {Fields: map[string]*Names{"output": {Open: true}}}}},
	}}
	f.Fuzz(func(t *testing.T, source, input string) {
		if _, err := Compile(Source{Text: source}, names, Bool); err != nil {
			checkError(t, err)
		}
		p, err := Compile(Source{Text: source}, nil, Any)
		if err != nil {
			checkError(t, err)
			return
		}
		leaf := json.RawMessage(input)
		env := Env{"input": leaf, "a": leaf, "s": "text", "steps": Env{"a": Env{"output": leaf}}, "n": 3}
		first, err := p.Eval(env, fuzzBudget)
		second, again := p.Eval(env, fuzzBudget)
		if string(first) != string(second) || (err == nil) != (again == nil) {
			t.Fatalf("%q gives %s, %v and then %s, %v", source, first, err, second, again)
		}
		if err != nil {
			checkError(t, err)
			if err.Error() != again.Error() {
				t.Fatalf("%q fails with %v and then %v", source, err, again)
			}
			return
		}
		if len(first) > fuzzBudget.Bytes {
			t.Fatalf("%q gives %d bytes", source, len(first))
		}
		if json.Valid(leaf) && utf8.Valid(leaf) && !json.Valid(first) {
			t.Fatalf("%q gives %s", source, first)
		}
		for _, want := range []Kind{Bool, Number, List} {
			if err := p.as(eval.NewEvaluator(env, eval.Budget(fuzzBudget)), want); err != nil {
				checkError(t, asError(err, source))
			}
		}
	})
}

// D5
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		`"${ input.x }"`, `{"a": ["$${", "x ${ n } y", {"b/~": "${ {a: '}'} }"}], "c": 1.50}`, `"\u0024{ n }"`, `["\ud800"]`, `"${"`, `null`,
		` [ ] `, `"${ 1 // }\n}"`, `{"${x}": 1}`, `"${ repeat('ab', 9) }"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tpl, err := CompileTemplate(raw, nil)
		if err != nil {
			checkError(t, err)
			return
		}
		env := Env{"input": json.RawMessage(`{"x": [1.10]}`), "n": 3}
		if static, ok := tpl.Static(); ok && !strings.Contains(string(raw), "$") && !strings.Contains(string(raw), `\u0024`) {
			if string(static) != string(raw) {
				t.Fatalf("%s is static and gives %s", raw, static)
			}
			if got, err := tpl.Eval(env, Budget{Bytes: len(raw) + 1}); err != nil || string(got) != string(raw) {
				t.Fatalf("%s is static and evaluates to %s, %v", raw, got, err)
			}
		}
		first, err := tpl.Eval(env, fuzzBudget)
		second, again := tpl.Eval(env, fuzzBudget)
		if string(first) != string(second) || (err == nil) != (again == nil) {
			t.Fatalf("%s gives %s, %v and then %s, %v", raw, first, err, second, again)
		}
		if err != nil {
			checkError(t, err)
		} else if !json.Valid(first) || len(first) > fuzzBudget.Bytes {
			t.Fatalf("%s gives %s", raw, first)
		}
		if _, err := tpl.Text(env, fuzzBudget); err != nil {
			checkError(t, err)
		}
	})
}
