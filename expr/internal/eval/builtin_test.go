package eval_test

import (
	"fmt"
	"strings"
	"testing"

	library "github.com/expr-lang/expr/builtin"

	"github.com/millrace-go/millrace/expr/internal/eval"
)

func TestEveryFunctionOfTheLibraryIsDecidedOn(t *testing.T) {
	t.Parallel()
	for _, name := range library.Names {
		_, plain := eval.Builtins[name]
		_, predicate := eval.PredicateFunctions[name]
		if !plain && !predicate && !eval.ClockFunctions[name] {
			t.Errorf("%s() is neither offered nor refused", name)
		}
	}
}

func TestTextFunctions(t *testing.T) {
	t.Parallel()
	checkEval(t, []evalCase{
		{"trim('  a ')", `"a"`},
		{"trim('__a_', '_')", `"a"`},
		{"trimPrefix('xxa', 'x')", `"xa"`},
		{"trimPrefix(' a')", `"a"`},
		{"trimSuffix('axx', 'x')", `"ax"`},
		{"trimSuffix('a ')", `"a"`},
		{"upper(s)", `"HÉLLO"`},
		{"lower('ÀB')", `"àb"`},
		{"split('a,b,c', ',')", `["a","b","c"]`},
		{"split('a,b,c', ',', 2)", `["a","b,c"]`},
		{"split('a,b,c', ',', -1)", `["a","b","c"]`},
		{"split('a,b', ',', 0)", `[]`},
		{"split('ab', '')", `["a","b"]`},
		{"splitAfter('a,b,c', ',')", `["a,","b,","c"]`},
		{"splitAfter('a,b,c', ',', 2)", `["a,","b,c"]`},
		{"replace('aaa', 'a', 'bb')", `"bbbbbb"`},
		{"replace('aaa', 'a', 'b', 2)", `"bba"`},
		{"replace('aaa', 'a', 'b', -1)", `"bbb"`},
		{"replace('ab', '', '-')", `"-a-b-"`},
		{"repeat('ab', 3)", `"ababab"`},
		{"repeat('', 1000000000000)", `""`},
		{"join(['a', 'b'], '-')", `"a-b"`},
		{"join(['a', 'b'])", `"ab"`},
		{"join([])", `""`},
		{"indexOf(s, 'l')", "2"},
		{"lastIndexOf(s, 'l')", "3"},
		{"indexOf(s, 'z')", "-1"},
		{"hasPrefix(s, 'h')", "true"},
		{"hasSuffix(s, 'o')", "true"},
		{"toBase64('héllo')", `"aMOpbGxv"`},
		{"fromBase64('aMOpbGxv')", `"héllo"`},
		{"input.name | lower() | split('n')", `["a","",""]`},
		{"s[1]", `"é"`},
		{"s[-1]", `"o"`},
		{"s[1:3]", `"él"`},
		{"s[:-3]", `"hé"`},
		{"s[2:]", `"llo"`},
		{"s[5:]", `""`},
		{"s[3:1]", `""`},
		{"s[-99:99]", `"héllo"`},
		{"input.esc", `"caf\u00e9 \"x\""`},
		{"input.esc + '\\n\\t\\r\\\\\\u0001<>&'", `"café \"x\"\n\t\r\\\u0001<>&"`},
		{`string(input.total)`, `"1.10"`},
		{`string(nil)`, `""`},
		{`string(input.nested)`, `"{\"a\": {\"b\": [10, {\"c\": \"deep\"}]}}"`},
		{`string(1 == 1)`, `"true"`},
		{`string(0.5)`, `"0.5"`},
		{
			`toJSON({b: [input.total, input.esc], a: {}})`,
			`"{\n  \"a\": {},\n  \"b\": [\n    1.10,\n    \"café \\\"x\\\"\"\n  ]\n}"`,
		},
		{`fromJSON('{"x": 1.50}').x`, "1.50"},
		{`fromJSON(' [1, 2] ')`, "[1, 2]"},
		{`fromJSON("1.50")`, "1.50"},
		{`fromJSON("nu" + "ll")`, "null"},
	})
	checkFail(t, []failCase{
		{"repeat('a', -1)", "repeat: the count is negative", ""},
		{"repeat('a', 1e9)", "more than 1048576 bytes", ""},
		{"repeat('a', 1000000000)", "more than 1048576 bytes", ""},
		{"upper(repeat('a', 1000000) + repeat('a', 1000000))", "more than 1048576 bytes", ""},
		{"replace(repeat('a', 1000), 'a', repeat('b', 10000))", "more than 1048576 bytes", ""},
		{"toBase64(repeat('a', 1000000))", "more than 1048576 bytes", ""},
		{"toJSON(repeat('a', 1048576))", "more than 1048576 bytes", ""},
		{"join(map(1..20, repeat('a', 100000)))", "more than 1048576 bytes", ""},
		{"join([input.count])", "item 0 is a number", "string(#)"},
		{"join([input.half])", "surrogate", ""},
		{"join(map(1..10, 'a'), repeat('b', 200000))", "more than 1048576 bytes", ""},
		{"upper(input.none)", "upper: takes a text, not null", "??"},
		{"upper(input.half)", "surrogate", ""},
		{"fromBase64('%')", "not base64", ""},
		{"fromBase64('/w==')", "not text in UTF-8", ""},
		{"fromJSON('{')", "not JSON", ""},
		{"toJSON(input.half)", "surrogate", ""},
		{"string(input.half)", "surrogate", ""},
		{"len(input.half)", "surrogate", ""},
		{"s[input.name:]", "whole number, not a text", ""},
		{"s[:input.name]", "whole number, not a text", ""},
		{"input.lines[:input.name]", "whole number, not a text", ""},
		{"input.lines[:input.none.x]", "input.none is null", ""},
		{"input.count[1:]", "a number cannot be sliced", ""},
		{"input.half[1:]", "surrogate", ""},
		{"input.half[input.count]", "surrogate", ""},
		{"split(s, 'l', 1.5)", "fraction", "int()"},
	})
}

func TestNumberFunctions(t *testing.T) {
	t.Parallel()
	checkEval(t, []evalCase{
		{"abs(-3)", "3"},
		{"abs(3)", "3"},
		{"abs(-1.5)", "1.5"},
		{"abs(input.total)", "1.1"},
		{"ceil(1.2)", "2"},
		{"floor(1.8)", "1"},
		{"round(1.5)", "2"},
		{"round(-1.5)", "-2"},
		{"ceil(9007199254740993)", "9007199254740993"},
		{"int('12')", "12"},
		{"int(1.9)", "1"},
		{"int(-1.9)", "-1"},
		{"int(7)", "7"},
		{"int(input.total)", "1"},
		{"float('1.5')", "1.5"},
		{"float(3) + 1", "4"},
		{"float(input.total)", "1.1"},
		{"max(1, 3, 2)", "3"},
		{"min([3, [1, 2]], 5)", "1"},
		{"max([])", "null"},
		{"min(2, 1.5)", "1.5"},
		{"mean(1, 2)", "1.5"},
		{"mean([])", "0"},
		{"mean([1, [3]])", "2"},
		{"median(3, 1, 2)", "2"},
		{"median([1, 2])", "1.5"},
		{"median([])", "0"},
		{"bitand(6, 3)", "2"},
		{"bitor(6, 3)", "7"},
		{"bitxor(6, 3)", "5"},
		{"bitnand(6, 3)", "4"},
		{"bitnot(0)", "-1"},
		{"bitshl(1, 62)", "4611686018427387904"},
		{"bitshl(0, 99)", "0"},
		{"bitshr(-8, 1)", "-4"},
		{"bitshr(-8, 99)", "-1"},
		{"bitushr(-1, 63)", "1"},
		{"bitushr(-1, 64)", "0"},
		{"type(1)", `"int"`},
		{"type(input.count)", `"int"`},
		{"type(1.0)", `"float"`},
		{"type(input.big)", `"float"`},
		{"type(input.huge)", `"float"`},
		{"type(nil)", `"nil"`},
		{"type(s)", `"string"`},
		{"type(t)", `"bool"`},
		{"type([])", `"array"`},
		{"type(steps)", `"map"`},
	})
	checkFail(t, []failCase{
		{"abs(-input.max - 1)", "leaves the 64 bits", ""},
		{"int(1e30)", "leaves the 64 bits", ""},
		{"int(-1e30)", "leaves the 64 bits", ""},
		{"int(input.big)", "leaves the 64 bits", ""},
		{"int('9223372036854775808')", "int: the text is not such a number", ""},
		{"int('x')", "not such a number", ""},
		{"int(input.none)", "takes a number or a text, not null", ""},
		{"int(input.half)", "surrogate", ""},
		{"int(input.huge)", "too large for a double", ""},
		{"float('NaN')", "not a finite number", ""},
		{"float('1e999')", "not such a number", ""},
		{"float(input.yes)", "takes a number or a text", ""},
		{"ceil(input.huge)", "too large for a double", ""},
		{"max(1, input.huge)", "too large for a double", ""},
		{"max('a')", "takes numbers, not a text", ""},
		{"mean(input.huge)", "too large for a double", ""},
		{"median(input.huge)", "too large for a double", ""},
		{"mean(1e308, 1e308)", "not a finite number", ""},
		{"median(1e308, 1e308)", "not a finite number", ""},
		{"bitshl(1, 63)", "leaves the 64 bits", ""},
		{"bitshl(1, 64)", "leaves the 64 bits", ""},
		{"bitshl(1, -1)", "the shift is negative", ""},
		{"bitshr(1, -1)", "the shift is negative", ""},
		{"bitushr(1, -1)", "the shift is negative", ""},
		{"bitand(1.5, 1)", "fraction", ""},
		{"bitand(input.huge, 1)", "too large for a double", ""},
	})
}

func TestListAndObjectFunctions(t *testing.T) {
	t.Parallel()
	checkEval(t, []evalCase{
		{"first([1, 2])", "1"},
		{"last([1, 2])", "2"},
		{"first([])", "null"},
		{"last(input.list)", "null"},
		{"take([1, 2, 3], 2)", "[1,2]"},
		{"take([1], 5)", "[1]"},
		{"reverse([1, 2, 3])", "[3,2,1]"},
		{"uniq([1, 1.0, 'a', 'a', {x: 1, y: 2}, {y: 2.0, x: 1}, nil, nil])", `[1,"a",{"x":1,"y":2},null]`},
		{"uniq([input.huge, input.huge, 1e300, 0.5, true])", `[1e999999999,1e+300,0.5,true]`},
		{"concat([1], [2, 3], [])", "[1,2,3]"},
		{"flatten([1, [2, [3, []]], 4])", "[1,2,3,4]"},
		{"sort([3, 1.5, 2])", "[1.5,2,3]"},
		{"sort(['b', 'a'], 'desc')", `["b","a"]`},
		{"sort([], 'asc')", "[]"},
		{"keys({b: 1, a: 2})", `["a","b"]`},
		{"values({b: 1, a: 2})", "[2,1]"},
		{"toPairs({b: 1, a: 2})", `[["a",2],["b",1]]`},
		{"keys(input)[:3]", `["a-b","big","count"]`},
		{"keys(steps)", `["a","b"]`},
		{"fromPairs([['a', 1], [2, 'x'], [1.0, nil], [true, false]])", `{"a":1,"2":"x","1":null,"true":false}`},
		{"len([1, 2])", "2"},
		{"len({a: 1})", "1"},
		{"len(s)", "5"},
		{"len(input.words)", "3"},
		{"len(input.empty)", "0"},
		{"input.words[1:]", `["y","x"]`},
		{"input.words[:-1]", `["x","y"]`},
		{"input.words[5:]", "[]"},
		{"get({a: {b: 1}}, 'a').b", "1"},
	})
	checkFail(t, []failCase{
		{"take([1], -1)", "the count is negative", ""},
		{"uniq([input.half])", "surrogate", ""},
		{"sort([1, 'a'])", "sort: a text and a number have no order", ""},
		{"sort([3, 2, 'a', 1, nil])", "have no order", ""},
		{"sort([1], 'up')", `"asc" or "desc"`, ""},
		{"keys([1])", "must be an object, not a list", ""},
		{"fromPairs([1])", "item 0 is a number, not a pair", ""},
		{"fromPairs([[1]])", "item 0 has the length 1, not 2", ""},
		{"fromPairs([[nil, 1]])", "null cannot be a key", "string()"},
		{"fromPairs([[input.half, 1]])", "surrogate", ""},
		{"first(input.none)", "takes a list, not null", "??"},
		{"len(input.none)", "takes a text or a list or an object, not null", "??"},
		{"len(input.none.x)", "input.none is null", ""},
	})
}

func TestFunctionsWithAPredicate(t *testing.T) {
	t.Parallel()
	checkEval(t, []evalCase{
		{"all([1, 2], # > 0)", "true"},
		{"all([1, 2], # > 1)", "false"},
		{"all([], false)", "true"},
		{"any([1, 2], # > 1)", "true"},
		{"any([], true)", "false"},
		{"none([1, 2], # > 2)", "true"},
		{"none([1, 2], # > 1)", "false"},
		{"one([1, 2], # > 1)", "true"},
		{"one([1, 2], # > 0)", "false"},
		{"count([1, 2], # > 1)", "1"},
		{"count([true, false, true])", "2"},
		{"filter(input.lines, .n > 1)", `[{"sku": "b", "n": 2},{"sku": "b", "n": 3}]`},
		{"filter([1], false)", "[]"},
		{"map(input.lines, .n)", "[2,1.0,3]"},
		{"map([1, 2], #index)", "[0,1]"},
		{"map([], #)", "[]"},
		{"map(input.lines, {let n = .n; n * 2})", "[4,2,6]"},
		{"map(input.lines, it.sku)", `["b","a","b"]`},
		{"map([[1, 2], [3]], map(#, # * 10))", "[[10,20],[30]]"},
		{"map([[1, 2], [3]], {let o = #; map(o, len(o))})", "[[2,2],[1]]"},
		{"find(input.lines, .sku == 'b').n", "2"},
		{"find([1], # > 1)", "null"},
		{"findLast(input.lines, .sku == 'b').n", "3"},
		{"findIndex([1, 2], # == 2)", "1"},
		{"findIndex([1], # == 2)", "null"},
		{"findLastIndex([2, 2], # == 2)", "1"},
		{"findLastIndex([1], # == 2)", "null"},
		{"sum([1, 2, 3])", "6"},
		{"sum(input.lines, .n)", "6"},
		{"sum([])", "0"},
		{"sum([1, 0.5])", "1.5"},
		{"groupBy(input.lines, .sku)", `{"b":[{"sku": "b", "n": 2},{"sku": "b", "n": 3}],"a":[{"sku": "a", "n": 1.0}]}`},
		{"keys(groupBy([1, 1.0, 2.5, true], #))", `["1","2.5","true"]`},
		{"groupBy([1, 1.0, 2], #)[1]", `[1,1]`},
		{"map(sortBy(input.lines, .n), .n)", "[1.0,2,3]"},
		{"map(sortBy(input.lines, .n, 'desc'), .n)", "[3,2,1.0]"},
		{"map(sortBy(input.lines, .sku), .n)", "[1.0,2,3]"},
		{"map(sortBy(input.lines, .sku, 'desc'), .n)", "[2,3,1.0]"},
		{"reduce([1, 2, 3], #acc + #)", "6"},
		{"reduce([1, 2], #acc + #, 10)", "13"},
		{"reduce([1, 2, 3], #acc + #index, 0)", "3"},
		{"reduce([], #acc, 5)", "5"},
		{"input.lines | filter(.n > 1) | map(.sku) | uniq()", `["b"]`},
		{"len(map(1..20, {({a: #})}))", "20"},
	})
	checkFail(t, []failCase{
		{"all(input.none, true)", "must be a list, not null", "?? []"},
		{"all(input.name, true)", "must be a list, not a text", ""},
		{"all([1], .x)", "a number has no members", ""},
		{"any([1], input.count)", "any: the predicate must give a boolean, not a number", "compare"},
		{"none([1], input.none.x)", "input.none is null", ""},
		{"one([1], input.none)", "must give a boolean", ""},
		{"count([nil])", "must give a boolean", ""},
		{"filter([1], input.none)", "must give a boolean", ""},
		{"find([1], input.none)", "must give a boolean", ""},
		{"map([1], #.a)", "a number has no members", ""},
		{"map(input.none.x, 1)", "input.none is null", ""},
		{"sum(['a'])", "needs numbers, not a text", "int()"},
		{"sum([1], input.none.x)", "input.none is null", ""},
		{"sum([input.max, 1])", "leaves the 64 bits", ""},
		{"groupBy([1], nil)", "null cannot be a key", ""},
		{"groupBy([1], input.none.x)", "input.none is null", ""},
		{"sortBy([1, 2], #index == 0 ? 'a' : 1)", "have no order", ""},
		{"sortBy([1], #, input.none)", `"asc" or "desc"`, ""},
		{"sortBy([1], #, input.none.x)", "input.none is null", ""},
		{"sortBy([1], input.none.x)", "input.none is null", ""},
		{"reduce([], #acc)", "an empty list without a start", ""},
		{"reduce([1], #acc, input.none.x)", "input.none is null", ""},
		{"reduce([1, 2], input.none.x)", "input.none is null", ""},
	})
}

// F11
func TestTheClockIsLeftOut(t *testing.T) {
	t.Parallel()
	for name := range eval.ClockFunctions {
		_, err := evalText(t, name+"('x')")
		if err == nil || !strings.Contains(err.Reason, "no clock") {
			t.Errorf("%s(): %v", name, err)
		}
	}
}

func TestWhatFollowsAnObjectFollowsItsKeysNotItsSpelling(t *testing.T) {
	t.Parallel()
	var members, backwards []string
	for i := range 40 {
		m := fmt.Sprintf("k%02d: %d", i, i)
		members, backwards = append(members, m), append([]string{m}, backwards...)
	}
	for _, f := range []string{"keys", "values", "toPairs", "toJSON"} {
		a, err := evalText(t, f+"({"+strings.Join(members, ", ")+"})")
		if err != nil {
			t.Fatal(err)
		}
		b, err := evalText(t, f+"({"+strings.Join(backwards, ", ")+"})")
		if err != nil {
			t.Fatal(err)
		}
		if a != b {
			t.Errorf("%s() depends on the order of members", f)
		}
	}
}
