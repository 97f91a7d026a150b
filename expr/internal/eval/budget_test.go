package eval_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/expr"
)

// template compiles a template.
func template(t *testing.T, raw string) *expr.Template {
	t.Helper()
	tpl, err := expr.CompileTemplate(json.RawMessage(raw), nil)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return tpl
}

// F11
func TestEvaluationIsBoundedWithoutAClock(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"len(n..1000000000)",
		"n - n..9223372036854775807",
		"(-input.max)..input.max",
		"map(1..2000, map(1..2000, # + n))",
		"all(1..100000, all(1..n, all(1..n, true)))",
		"count(1..100000, any(1..n * 10, false))",
		"reduce(1..n * 1000, concat(#acc, [#]), [])",
		"reduce(1..100000, #acc + 'xxxxxxxxxxxxxxxx', s)",
		"any(1..10000, repeat('ab', 10000) matches '(a|b)*' + s)",
		"any(1..10000, repeat('ab', 10000) contains s)",
		"any(1..10000, split(repeat('ab', 10000), '') == [])",
		"any(1..100000, sort(1..n * 100) == [])",
		"any(1..100000, uniq(1..n * 100) == [])",
		"any(1..100000, reverse(1..n * 100) == [])",
		"any(1..100000, (1..n * 100)[0] in 2..n * 100)",
		"any(1..100000, flatten([1..n * 100]) == [])",
		"any(1..100000, sum(1..n * 100) == 0)",
		"any(1..100000, max(1..n * 100) == 0)",
		"any(1..100000, median(1..n * 100) == 0)",
		"any(1..100000, toPairs(fromPairs(map(1..n, [#, #]))) == [])",
		"any(1..100000, join(map(1..n * 100, 'a')) == '')",
		"any(1..100000, keys(steps) == [])",
		"any(1..100000, keys(fromJSON('{\"a\": 1, \"b\": 2}')) == [])",
		"any(1..200000, len(fromJSON('[1, 2, 3]')) == 0)",
		"any(1..1000, trim(repeat('a', 10000), repeat('b', 10000)) == '')",
		"any(1..1000, repeat('a', 100000)[5] == 'b')",
		"any(1..1000, repeat('a', 100000)[5:] == 'b')",
		"any(1..1000, repeat('a', 100000) < repeat('a', 100001) ? false : true)",
	} {
		p, err := expr.Compile(expr.Source{Text: source}, nil, expr.Any)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Eval(testEnv(), expr.Budget{Nodes: 50_000})
		if err == nil || !strings.Contains(err.Error(), "more than 50000 steps") {
			t.Errorf("%s: got %v", source, err)
		}
	}
	large := "more than 1048576 bytes"
	checkFail(t, []failCase{
		{"len(n..1000000000)", "more than 1000000 steps", ""},
		{"reduce(1..30, #acc + #acc, s)", large, ""},
		{"reduce(1..100, [#acc, #acc], n)", large, ""},
		{"reduce(1..100, [#acc, #acc], n) == reduce(1..100, [#acc, #acc], n)", large, ""},
		{"reduce(1..n * 50, [#acc], n)", "nested deeper than 128", ""},
		{"flatten([reduce(1..n * 50, [#acc], n)])", "nested deeper than 128", ""},
		{"max(reduce(1..n * 50, [#acc], n))", "nested deeper than 128", ""},
		{"mean(reduce(1..n * 50, [#acc], n))", "nested deeper than 128", ""},
		{"toJSON(reduce(1..n * 50, [#acc], n))", "nested deeper than 128", ""},
		{"uniq([reduce(1..n * 50, [#acc], n)])", "nested deeper than 128", ""},
		{"map(1..n * 1000, repeat(s, 1000))", large, ""},
		{"map(1..n * 25000, s)", large, ""},
		{"map(1..n * 10000, input)", large, ""},
		{"repeat(s, n * 1000000)", large, ""},
	})
}

func TestABudgetOfTheCallerHolds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source string
		budget expr.Budget
		reason string
	}{
		{"input.total", expr.Budget{Bytes: 3}, "more than 3 bytes"},
		{"input.words", expr.Budget{Bytes: 10}, "more than 10 bytes"},
		{"1 + n", expr.Budget{Nodes: 2}, "more than 2 steps"},
		{"[[[[n]]]]", expr.Budget{Depth: 3}, "nested deeper than 3"},
		{"n + (n + (n + n))", expr.Budget{Depth: 2}, "nested deeper than 2"},
		{"steps", expr.Budget{Depth: 1}, "nested deeper than 1"},
		{"steps", expr.Budget{Nodes: 3}, "more than 3 steps"},
		{"input.absent", expr.Budget{Nodes: 3}, "more than 3 steps"},
		{"len(input)", expr.Budget{Nodes: 5}, "more than 5 steps"},
		{"len(input.words)", expr.Budget{Nodes: 8}, "more than 8 steps"},
		{"s + s", expr.Budget{Bytes: 11}, "more than 11 bytes"},
		{"1..3", expr.Budget{Nodes: 5}, "more than 5 steps"},
		{"input.words", expr.Budget{Nodes: 1}, "more than 1 steps"},
		{"[s, n, nil, true, 1.5]", expr.Budget{Bytes: 5}, "more than 5 bytes"},
		{"[n, nil]", expr.Budget{Bytes: 4}, "more than 4 bytes"},
		{"[input.total]", expr.Budget{Bytes: 3}, "more than 3 bytes"},
		{"[input.words]", expr.Budget{Bytes: 8}, "more than 8 bytes"},
		{"[input.empty]", expr.Budget{Bytes: 2}, "more than 2 bytes"},
		{"{a: 1}", expr.Budget{Bytes: 2}, "more than 2 bytes"},
		{"toJSON([1, 2])", expr.Budget{Bytes: 6}, "more than 6 bytes"},
	} {
		p, err := expr.Compile(expr.Source{Text: c.source}, nil, expr.Any)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Eval(testEnv(), c.budget)
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: got %v, want %q", c.source, err, c.reason)
		}
	}
	p, err := expr.Compile(expr.Source{Text: "input.lines"}, nil, expr.List)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []expr.Budget{{Bytes: 40}, {Bytes: 10}, {Nodes: 5}} {
		if _, err := p.List(testEnv(), b); err == nil {
			t.Errorf("%+v is not kept by List", b)
		}
	}
}

func TestTheBudgetIsForAWholeTemplate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw    string
		budget expr.Budget
		text   bool
		reason string
	}{
		{`["${ n }", "${ n }", "${ n }"]`, expr.Budget{Nodes: 5}, false, "more than 5 steps"},
		{`["${ s }", "${ s }"]`, expr.Budget{Bytes: 12}, false, "more than 12 bytes"},
		{`["${ s }", "aaaaaaaaaa", "${ n }"]`, expr.Budget{Bytes: 14}, false, "more than 14 bytes"},
		{`["aaaaaaaaaaaaa", "${ s }"]`, expr.Budget{Bytes: 6}, false, "more than 6 bytes"},
		{`"${ s }${ s }"`, expr.Budget{Bytes: 10}, false, "more than 10 bytes"},
		{`"abcdef"`, expr.Budget{Bytes: 3}, true, "more than 3 bytes"},
	} {
		tpl := template(t, c.raw)
		_, err := tpl.Eval(testEnv(), c.budget)
		if c.text {
			_, err = tpl.Text(testEnv(), c.budget)
		}
		var e *expr.Error
		if !errors.As(err, &e) || !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%s: got %v, want %q", c.raw, err, c.reason)
		}
	}
}

// D5
func TestDeepAndLongValuesAreHandedOnInBoundedTime(t *testing.T) {
	t.Parallel()
	const levels = 100_000
	deep := strings.Repeat(`{"a":[`, levels) + "1" + strings.Repeat("]}", levels)
	digits := strings.Repeat("9", 10_000)
	env := expr.Env{"v": json.RawMessage(`{"deep": ` + deep + `, "digits": ` + digits + `, "last": 1}`)}
	for source, want := range map[string]string{"v.deep": deep, "v.digits": digits, "v.last": "1"} {
		p, err := expr.Compile(expr.Source{Text: source}, nil, expr.Any)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Eval(env, expr.Budget{Bytes: 2 << 20})
		if err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v", source, len(got), err)
		}
	}
	for _, source := range []string{"v.deep == v.deep", "toJSON(v.deep)", "v.digits + 1", "uniq([v.deep])"} {
		p, err := expr.Compile(expr.Source{Text: source}, nil, expr.Any)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Eval(env, expr.Budget{}); err == nil {
			t.Errorf("%s gives %s", source, got[:min(len(got), 100)])
		}
	}
}

func TestALeafIsScannedOnceHoweverOftenItIsRead(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, `,"k%d": {"v": %d, "pad": %q}`, i, i, strings.Repeat("x", 400))
	}
	env := expr.Env{"input": json.RawMessage("{" + b.String()[1:] + "}")}
	p, err := expr.Compile(expr.Source{Text: "sum(0..1999, input['k' + string(#)].v)"}, nil, expr.Any)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Eval(env, expr.Budget{Nodes: 100_000})
	if err != nil || string(got) != "1999000" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestLeavesThatBreakTheContractAreErrors(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"{", `{"a"`, `{"a":`, `{"a":1`, `{"a":1;`, `{a:1}`, `{"a" 1}`, `{"a": }`, "[", "[1", "[1;", "[,", `"x`, `["x`, "nul", "01", "1.", "1e",
		"-", "+1", `{"b": "x`, " ", `{"b\q": 1}`, `{"b": {"c"`, "[tru]",
	} {
		for _, source := range []string{"v.a.b", "v[0].a", "keys(v)", "v + 1", "v == v", "toJSON(v)", "v + ''"} {
			p, err := expr.Compile(expr.Source{Text: source}, nil, expr.Any)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Eval(expr.Env{"v": json.RawMessage(raw)}, expr.Budget{})
			var e *expr.Error
			if err != nil && !errors.As(err, &e) {
				t.Errorf("%s of %s: %v", source, raw, err)
			}
		}
	}
	for _, env := range []expr.Env{{"v": json.RawMessage("nul")}, {"v": 1.5}, {"v": "\xff"}, {"v": expr.Env{"x": 1.5}}, {"v": json.RawMessage("[1")}} {
		p, err := expr.Compile(expr.Source{Text: "[v, len(v)]"}, nil, expr.Any)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Eval(env, expr.Budget{}); err == nil {
			t.Errorf("%v gives %s", env, got)
		}
	}
}

func TestProgramsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	p, err := expr.Compile(expr.Source{Text: "map(sortBy(input.lines, .n), {let k = .sku; k + string(#index)})"}, nil, expr.List)
	if err != nil {
		t.Fatal(err)
	}
	tpl := template(t, `{"a": "${ input.total } ${ input.words }", "b": "${ steps }"}`)
	env := testEnv()
	want, err := p.Eval(env, expr.Budget{})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			got, err := p.Eval(env, expr.Budget{})
			if err != nil || !cmp.Equal(want, got) {
				t.Errorf("got %s, %v", got, err)
			}
			if _, err := tpl.Eval(env, expr.Budget{}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}
