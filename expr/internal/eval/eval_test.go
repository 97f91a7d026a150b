package eval_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/expr"
)

// testEnv is the environment of the table tests.
func testEnv() expr.Env {
	return expr.Env{
		"input": json.RawMessage(`{
			"total": 1.10, "count": 3, "huge": 1e999999999, "big": 12345678901234567890, "max": 9223372036854775807,
			"name": "Ann", "esc": "caf\u00e9 \"x\"", "half": "\ud800", "none": null, "yes": true, "empty": {}, "list": [],
			"nested": {"a": {"b": [10, {"c": "deep"}]}}, "a-b": {"c": 7}, "dup": 1, "dup": 2,
			"lines": [{"sku": "b", "n": 2}, {"sku": "a", "n": 1.0}, {"sku": "b", "n": 3}], "words": ["x", "y", "x"]
		}`),
		"item":  json.RawMessage(` {"a-b": {"c": [1, 2.50]}} `),
		"n":     7,
		"s":     "héllo",
		"t":     true,
		"null":  nil,
		"void":  json.RawMessage(nil),
		"steps": expr.Env{"b": expr.Env{"output": json.RawMessage(`{"x": 1.50}`), "status": "succeeded"}, "a": expr.Env{"output": nil}},
	}
}

// evalText compiles and evaluates, and gives the JSON or the error's reason.
func evalText(t *testing.T, source string) (string, *expr.Error) {
	t.Helper()
	p, err := expr.Compile(expr.Source{Text: source}, nil, expr.Any)
	if err == nil {
		var raw json.RawMessage
		if raw, err = p.Eval(testEnv(), expr.Budget{}); err == nil {
			return string(raw), nil
		}
	}
	var e *expr.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: error %v is no *Error", source, err)
	}
	return "", e
}

type evalCase struct{ source, want string }

func checkEval(t *testing.T, cases []evalCase) {
	t.Helper()
	for _, c := range cases {
		got, err := evalText(t, c.source)
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.source, diff)
		}
	}
}

type failCase struct{ source, reason, remedy string }

func checkFail(t *testing.T, cases []failCase) {
	t.Helper()
	for _, c := range cases {
		got, err := evalText(t, c.source)
		if err == nil {
			t.Errorf("%s: gave %s, want an error with %q", c.source, got, c.reason)
			continue
		}
		if !strings.Contains(err.Reason, c.reason) {
			t.Errorf("%s: reason %q lacks %q", c.source, err.Reason, c.reason)
		}
		if !strings.Contains(err.Remedy, c.remedy) {
			t.Errorf("%s: remedy %q lacks %q", c.source, err.Remedy, c.remedy)
		}
		if err.Source != c.source || err.Offset < 0 || err.Offset > len(c.source) {
			t.Errorf("%s: placed at %d of %q", c.source, err.Offset, err.Source)
		}
	}
}

// R7
func TestAPathHandsOnTheExactBytes(t *testing.T) {
	t.Parallel()
	checkEval(t, []evalCase{
		{"input.total", `1.10`},
		{"input.huge", `1e999999999`},
		{"input.big", `12345678901234567890`},
		{"input.esc", `"caf\u00e9 \"x\""`},
		{"input.half", `"\ud800"`},
		{"input.nested", `{"a": {"b": [10, {"c": "deep"}]}}`},
		{"input.nested.a.b[1].c", `"deep"`},
		{"input.nested.a.b[-1].c", `"deep"`},
		{`input["a-b"].c`, `7`},
		{"item", `{"a-b": {"c": [1, 2.50]}}`},
		{`item["a-b"].c[1]`, `2.50`},
		{"input.dup", `2`},
		{"input.none", `null`},
		{"input.yes", `true`},
		{"steps.b.output.x", `1.50`},
		{"steps.b.status", `"succeeded"`},
		{"steps.a.output", `null`},
		{"n", `7`},
		{"s", `"héllo"`},
		{"t", `true`},
		{"null", `null`},
		{"void", `null`},
		{"steps", `{"a":{"output":null},"b":{"output":{"x": 1.50},"status":"succeeded"}}`},
		{"filter(input.lines, .sku == 'a')", `[{"sku": "a", "n": 1.0}]`},
		{"input.none ?? input.total", `1.10`},
		{"input.yes ? input.huge : 1", `1e999999999`},
		{"[input.total, {x: input.esc}]", `[1.10,{"x":"caf\u00e9 \"x\""}]`},
		{"let l = input.lines; l[1].n", `1.0`},
		{"max(input.total, 1)", `1.10`},
	})
}

func TestAMemberThatAnObjectLacksIsNull(t *testing.T) {
	t.Parallel()
	checkEval(t, []evalCase{
		{"input.absent", "null"},
		{"input.empty.absent", "null"},
		{"input.absent?.x", "null"},
		{"input.absent?.x.y.z", "null"},
		{"(input.absent?.x).y", "null"},
		{"input.absent?.x[0]", "null"},
		{"input.absent?.x[0:1]", "null"},
		{"input.absent?.[0].x", "null"},
		{"input.absent.x ?? 1", "1"},
		{"input.absent.x.y[2] ?? input.none.x ?? 3", "3"},
		{"input.list[0] ?? 4", "4"},
		{"input.list[-1].x ?? 4", "4"},
		{"steps.a.output.x ?? 0", "0"},
		{"(nil)?.x ?? 1", "1"},
		{"{a: 1}.b", "null"},
		{"{'1': 2}[1]", "2"},
		{"get(input, 'absent')", "null"},
		{"get(nil, 'absent')", "null"},
		{"get(input.list, 3)", "null"},
		{"get(input.words, -1)", `"x"`},
		{"get(s, 1)", `"é"`},
		{"input['na' + 'me']", `"Ann"`},
		{"steps[s == 'x' ? 'a' : 'b'].output.x", "1.50"},
	})
	checkFail(t, []failCase{
		{"input.absent.x", "input.absent is null", "?."},
		{"input.nested.a.zz[0].q", "input.nested.a.zz is null", "??"},
		{"input.words[0].x.y", "a text has no members", ""},
		{"input.none.x", "input.none is null", "?."},
		{"input.a[input.none].c", "input.a is null", ""},
		{"input.empty[input.none]", "whole number, not null", ""},
		{"input.total.x", "a number has no members", ""},
		{"input.total[0]", "a number has no items", ""},
		{"input.lines.sku", "a list has no members", "map()"},
		{"input.words[3]", "outside: the length is 3", "get("},
		{"input.words[1.5]", "fraction", "int()"},
		{"s[9]", "outside: the length is 5", ""},
		{"absent", "absent has no value here", ""},
		{"steps.c.output", "steps.c has no value here", ""},
		{"steps['c'].output", "steps.c has no value here", ""},
		{"steps[s].output", "steps[..] has no value here", ""},
		{"get(1, 'x')", "a number has no members", ""},
		{"(nil).x", "null has no members", ""},
		{"(1).x", "a number has no members", ""},
		{"let x = 1; x.y", "a number has no members", ""},
		{"input.half[0]", "surrogate", ""},
		{"input[input.half]", "surrogate", ""},
		{"(input.yes ? nil : {}).x", "the value is null", ""},
	})
}

func TestArithmetic(t *testing.T) {
	t.Parallel()
	checkEval(t, []evalCase{
		{"1 + 2", "3"},
		{"input.count * 2 - 1", "5"},
		{"9223372036854775806 + 1", "9223372036854775807"},
		{"-9223372036854775807 - 1", "-9223372036854775808"},
		{"input.max - 1", "9223372036854775806"},
		{"4 / 2", "2"},
		{"7 / 2", "3.5"},
		{"9007199254740993 / 1", "9007199254740993"},
		{"6 / -1", "-6"},
		{"7 % 3", "1"},
		{"-7 % 3", "-1"},
		{"7 % -1", "0"},
		{"2 ** 62", "4611686018427387904"},
		{"(-2) ** 63", "-9223372036854775808"},
		{"3 ^ 3", "27"},
		{"0 ** 0", "1"},
		{"1 ** 9223372036854775807", "1"},
		{"2 ** -1", "0.5"},
		{"2.0 ** 100", "1.2676506002282294e+30"},
		{"0.1 + 0.2", "0.30000000000000004"},
		{"1.0 + 1", "2"},
		{"input.total + 1", "2.1"},
		{"input.big + 0", "1.2345678901234567e+19"},
		{"9007199254740992.0", "9.007199254740992e+15"},
		{"9007199254740991.0", "9007199254740991"},
		{"0.0000001", "1e-07"},
		{"0.00001", "0.00001"},
		{"-0.0", "0"},
		{"+input.total", "1.10"},
		{"-input.count", "-3"},
		{"-input.total", "-1.1"},
		{"0x10 + 0b11 + 0o7 + 1_000", "1026"},
		{"'a' + \"b\" + `c`", `"abc"`},
		{"input.name + '!'", `"Ann!"`},
		{"1..4", "[1,2,3,4]"},
		{"3..1", "[]"},
		{"2.0..input.count", "[2,3]"},
		{"// one\n1 /* two */", "1"},
	})
	checkFail(t, []failCase{
		{"9223372036854775807 + 1", "leaves the 64 bits", "float()"},
		{"input.max + 1", "leaves the 64 bits", ""},
		{"-input.max - 2", "leaves the 64 bits", ""},
		{"input.max * 2", "leaves the 64 bits", ""},
		{"input.max * -2", "leaves the 64 bits", ""},
		{"input.max * input.max", "leaves the 64 bits", ""},
		{"-(-input.max - 1)", "leaves the 64 bits", ""},
		{"(-input.max - 1) / -1", "leaves the 64 bits", ""},
		{"2 ** 63", "leaves the 64 bits", ""},
		{"2 ** 200", "leaves the 64 bits", ""},
		{"3 ** 41", "leaves the 64 bits", ""},
		{"9223372036854775808", "leaves the 64 bits", "double"},
		{"1 / 0", "division by zero", ""},
		{"1 / 0.0", "division by zero", ""},
		{"1 % 0", "division by zero", ""},
		{"1.5 % 1", "whole numbers", "int()"},
		{"1e308 * 10", "not a finite number", ""},
		{"1e308 + 1e308", "not a finite number", ""},
		{"-1e308 - 1e308", "not a finite number", ""},
		{"1e308 / 1e-308", "not a finite number", ""},
		{"(-1.0) ** 0.5", "not a finite number", ""},
		{"input.huge + 1", "too large for a double", ""},
		{"1 + input.huge", "too large for a double", ""},
		{"-input.huge", "too large for a double", ""},
		{"input.name + 1", "needs texts, not a number", "string()"},
		{"input.name + input.none", "needs texts, not null", "??"},
		{"input.count + input.yes", "needs numbers, not a boolean", ""},
		{"input.none + input.count", "needs numbers, not null", ""},
		{"input.name * 2", "needs numbers, not a text", "int()"},
		{"2 * input.name", "needs numbers, not a text", "int()"},
		{"-input.name", "needs numbers, not a text", ""},
		{"input.half + 'x'", "surrogate", ""},
		{"1..input.total", "fraction", ""},
		{"input.name..3", "whole number, not a text", ""},
	})
}

func TestLogicAndComparison(t *testing.T) {
	t.Parallel()
	checkEval(t, []evalCase{
		{"1 == 1.0", "true"},
		{"input.count == 3", "true"},
		{"input.lines[1].n == 1", "true"},
		{"9007199254740993 == 9007199254740992.0", "false"},
		{"input.max < 9223372036854775808.0", "true"},
		{"input.max > -1e30", "true"},
		{"input.max > 1e30", "false"},
		{"1.5 > input.n ?? 1", "true"},
		{"1e30 > input.max", "true"},
		{"-1e30 < input.max", "true"},
		{"1 < 1.5", "true"},
		{"2 < 1.5", "false"},
		{"1.5 < 2.5", "true"},
		{"1 != 2", "true"},
		{"input.huge == input.huge", "true"},
		{"input.none == nil", "true"},
		{"input.name == 'Ann'", "true"},
		{"input.name == input.count", "false"},
		{"input.yes == true", "true"},
		{"[1, 2.0] == [1.0, 2]", "true"},
		{"[1] == [2]", "false"},
		{"{a: 1, b: [nil]} == {b: [nil], a: 1.0}", "true"},
		{`input.esc == "café \"x\""`, "true"},
		{"'a' < 'b' and 'b' >= 'b'", "true"},
		{"1 < 2 < 3", "true"},
		{"1 < 2 > 3", "false"},
		{"not true || !false && true", "true"},
		{"false && input.none.x", "false"},
		{"true or input.none.x", "true"},
		{"'x' in input.words", "true"},
		{"'z' not in input.words", "true"},
		{"'name' in input", "true"},
		{"'b' in steps and 'q' not in steps", "true"},
		{"1.0 in [1]", "true"},
		{"input.name contains 'n' and input.name startsWith 'A' and input.name endsWith 'nn'", "true"},
		{"input.name matches '^A'", "true"},
		{"input.name matches input.words[0] + 'y'", "false"},
		{"input.yes ? 1 : 2", "1"},
		{"if input.count > 5 {1} else if input.count > 2 {2} else {3}", "2"},
		{"input.yes ?: 1", "true"},
		{"1; 2", "2"},
		{"let a = 1; let b = a + 1; [a, b]", "[1,2]"},
	})
	checkFail(t, []failCase{
		{"input.count and true", "must be a boolean, not a number", "compare"},
		{"true && input.none", "must be a boolean, not null", ""},
		{"!input.name", "must be a boolean, not a text", ""},
		{"input.name ? 1 : 2", "must be a boolean", ""},
		{"input.none > 1", "null and a number have no order", "??"},
		{"input.yes < true", "< needs a number or a text, not a boolean", ""},
		{"input.huge == 1", "too large for a double", ""},
		{"1 == input.huge", "too large for a double", ""},
		{"input.huge < 1", "too large for a double", ""},
		{"1 < input.huge", "too large for a double", ""},
		{"input.half == 'x'", "surrogate", ""},
		{"'x' == input.half", "surrogate", ""},
		{"input.half < 'x'", "surrogate", ""},
		{"[input.half] == ['x']", "surrogate", ""},
		{"['x'] == [input.half]", "surrogate", ""},
		{"'x' in input.half", "a text has no items", "contains"},
		{"'x' in input.absent", "null has no items", "?? []"},
		{"1 in input", "a key must be a text", "string()"},
		{"input.half in input", "surrogate", ""},
		{"input.half in input.words", "surrogate", ""},
		{"input.none contains 'x'", "needs texts, not null", ""},
		{"input.half matches 'x'", "surrogate", ""},
		{"input.none matches 'x'", "needs texts", ""},
		{"input.name matches input.count", "needs texts", ""},
		{"input.name matches ('(' + input.name)", "regular expression cannot be read", "re2"},
		{"1; input.none.x; 2", "input.none is null", ""},
		{"let x = input.none.x; 1", "input.none is null", ""},
		{"[input.none.x]", "input.none is null", ""},
		{"{a: input.none.x}", "input.none is null", ""},
		{"{(input.none.x): 1}", "input.none is null", ""},
		{"{(input.count): 1}", "a key must be a text", "string()"},
		{"{(input.half): 1}", "surrogate", ""},
	})
}
