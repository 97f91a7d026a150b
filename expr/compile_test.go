package expr

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testNames are the names of the compile tests.
func testNames() *Names {
	open := &Names{Open: true}
	step := func() *Names {
		return &Names{Fields: map[string]*Names{"output": open, "status": {}, "failed": nil}}
	}
	return &Names{Fields: map[string]*Names{
		"input": open, "prev": open, "run": {Fields: map[string]*Names{"id": {}, "key": {}}},
		"vars": {Fields: map[string]*Names{"url": {}, "max-size": {}, "max": {}}},
		"steps": {Fields: map[string]*Names{
			"reserve": step(), "my-step": step(), "my-step-2": step(), "my": step(),
			"later": {Why: "steps.later cannot have run before this step"},
		}},
		"step": {Why: "write steps.KEY.output"},
	}}
}

func compileError(t *testing.T, source string, names *Names, want Kind) *Error {
	t.Helper()
	_, err := Compile(Source{Text: source}, names, want)
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: error %v is no *Error", source, err)
	}
	return e
}

func TestUnknownNamesAreFoundWhenCompiled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source string
		at     int
		reason string
		remedy string
	}{
		{"inptu.x", 0, "unknown name inptu", "write input"},
		{"1 + foo", 4, "unknown name foo", "known are input, prev, run, step, steps, vars"},
		{"null", 0, "unknown name null", "write nil"},
		{"None == 1", 0, "unknown name None", "write nil"},
		{"True", 0, "unknown name True", "write true"},
		{"it.x", 0, "unknown name it", "write #"},
		{"$env", 0, "unknown name $env", "the name itself"},
		{"RUN.id", 0, "unknown name RUN", "write run"},
		{"steps.reserv.output", 6, "steps has no member reserv", "write steps.reserve"},
		{"steps.reserve.outptu.total", 14, "steps.reserve has no member outptu", "write steps.reserve.output"},
		{"steps.zzzzzzzzzzz", 6, "steps has no member zzzzzzzzzzz", "known are later, my, my-step, my-step-2, reserve"},
		{`steps["my-stp"].output`, 6, `steps has no member my-stp`, `write steps["my-step"]`},
		{"run.id.x", 7, "run.id has no members", ""},
		{"run.id[input.x]", 4, "run.id has no members", ""},
		{"run[input.x]", 0, "the members of run must be written out", "known are id, key"},
		{"steps.later.output", 6, "steps.later cannot be used here", "cannot have run before"},
		{"step.output", 0, "step cannot be used here", "write steps.KEY.output"},
		{"steps.my-step.output.x > 1", 6, "reads as a minus", `write steps["my-step"].output.x`},
		{"steps.my-step-2.output", 6, "reads as a minus", `write steps["my-step-2"].output`},
		{"1 + steps.my-step-2.output", 10, "reads as a minus", `write steps["my-step-2"].output`},
		{"inptu.max-2x + steps.reserve", 11, "cannot be read", ""},
		{"vars.max-siz", 9, "unknown name siz", ""},
		{"é == steps.nope", 0, "unknown name é", ""},
		{"'é' == steps.nope", 14, "steps has no member nope", ""},
		{"map(input.x, steps.nope)", 19, "steps has no member nope", ""},
	} {
		e := compileError(t, c.source, testNames(), Any)
		if e == nil {
			t.Errorf("%s: no mistake found", c.source)
			continue
		}
		if e.Offset != c.at || !strings.Contains(e.Reason, c.reason) || !strings.Contains(e.Remedy, c.remedy) {
			t.Errorf("%s: got %d %q %q", c.source, e.Offset, e.Reason, e.Remedy)
		}
	}
}

func TestKnownNamesMayBeUsed(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"input.any.thing[0][input.x].y", "steps.reserve.output.total", `steps["my-step"].output`, "steps.my.output - 1",
		"vars.url", "run", "let x = 1; x", "map(input.l, .a + #.b + it.c + #index)", "steps.reserve.failed.x", "vars.max-input.x",
	} {
		if e := compileError(t, source, testNames(), Any); e != nil {
			t.Errorf("%s: %v", source, e)
		}
	}
	if e := compileError(t, "steps.failing", &Names{Fields: map[string]*Names{"steps": nil}}, Any); e != nil {
		t.Errorf("a name without a description is not open: %v", e)
	}
	withIt := &Names{Fields: map[string]*Names{"it": {Open: true}, "input": {Open: true}}}
	p, err := Compile(Source{Text: "map(input.l, it.x)"}, withIt, Any)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Ref{{"input", "l"}, {"it", "x"}}, p.Refs()); diff != "" {
		t.Errorf("a declared name it is not taken (-want +got):\n%s", diff)
	}
}

func TestMistakesAreFoundWhenCompiled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source string
		want   Kind
		reason string
		remedy string
	}{
		{"", Any, "the expression is empty", ""},
		{" \n", Any, "the expression is empty", ""},
		{"1 +", Any, "ends too early", ""},
		{"(1", Any, "ends too early", ""},
		{"1 2", Any, "cannot be read: unexpected token", ""},
		{"input.x = 1", Any, "cannot be read", "write =="},
		{"'abc", Any, "literal not terminated", ""},
		{"a\xff", Any, "not UTF-8", ""},
		{"${ input.x }", Bool, "${ } is for texts", "leave out"},
		{" ${ input.x }", Bool, "${ } is for texts", ""},
		{"# > 1", Any, "cannot be read", "inside of map()"},
		{"map([1], #foo)", Any, "unknown name #foo", "#index"},
		{"b'x'", Any, "bytes have no place", ""},
		{strings.Repeat("1+", maxSource), Any, "more than 16384 bytes", ""},
		{strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200), Any, "", ""},
		{strings.Repeat("[", 200) + "1" + strings.Repeat("]", 200), Any, "nested deeper than 128", ""},
		{strings.Repeat("-", 9000) + "1", Any, "nested deeper than 128", ""},
		{strings.Repeat("!", 9000) + "true", Any, "nested deeper than 128", ""},
		{strings.Repeat("!", 16000) + "true", Any, "more than 10000 parts", ""},
		{"1" + strings.Repeat("+1", 4000), Any, "", ""},
		{strings.Repeat("1<len([", 40) + "1" + strings.Repeat("])<1", 40), Any, "more than 10000 parts", ""},
		{"a" + strings.Repeat(".a", 4000), Any, "more than 128 levels of members", ""},
		{"a" + strings.Repeat(".a", 128), Any, "", ""},
		{"foo(1)", Any, "unknown function foo()", ""},
		{"uper('a')", Any, "unknown function uper()", "write upper()"},
		{"fliter(input.x, true)", Any, "unknown function fliter()", "write filter()"},
		{"input.x.len()", Any, "values have no methods", "write len(value)"},
		{"input.x.foo()", Any, "values have no methods", "leave out the parentheses"},
		{"input.x[0]()", Any, "", ""},
		{"upper()", Any, "takes one argument, not 0", ""},
		{"indexOf('a')", Any, "takes 2 arguments, not 1", ""},
		{"split('a')", Any, "takes 2 to 3 arguments, not 1", ""},
		{"max()", Any, "takes at least one argument, not 0", ""},
		{"upper(1)", Any, "argument 1 of upper() must be a text, not a number", ""},
		{"filter('a', true)", Any, "argument 1 of filter() must be a list", ""},
		{"filter([1], 1)", Any, "the predicate of filter() must be a boolean", ""},
		{"filter([1], .x + )", Any, "cannot be read", ""},
		{"1 + 'a'", Any, "+ cannot work on a number and a text", "string()"},
		{"1 + nil", Any, "+ needs a number or a text, not null", ""},
		{"1 == 'a'", Any, "a number and a text are never equal", ""},
		{"1 != nil", Any, "never equal", ""},
		{"'a' in 'abc'", Any, "in needs a list or an object, not a text", "contains"},
		{"1 < 'a'", Any, "cannot work", ""},
		{"!1", Any, "the operand of ! must be a boolean", ""},
		{"-'a'", Any, "the operand of - must be a number", ""},
		{"true and 1", Any, "the right side of and must be a boolean", ""},
		{"1 or true", Any, "the left side of or must be a boolean", ""},
		{"1 ? 2 : 3", Any, "the condition must be a boolean", ""},
		{"input.x ? 2 + nil : 3", Any, "+ needs", ""},
		{"input.x ? 2 : 3 + nil", Any, "+ needs", ""},
		{"nil + 1 ?? 1", Any, "+ needs", ""},
		{"input.x ?? (1 + nil)", Any, "+ needs", ""},
		{"1 + (1 + nil)", Any, "+ needs", ""},
		{"(1 + nil) > 1", Any, "+ needs", ""},
		{"(1 + nil) and true", Any, "+ needs", ""},
		{"[1 + nil]", Any, "+ needs", ""},
		{"{a: 1 + nil}", Any, "+ needs", ""},
		{"{(1): 1}", Any, "a key must be a text, not a number", ""},
		{"{a: 1, 'a': 2}", Any, "the key a is written twice", ""},
		{"input[true]", Any, "what stands in [ ] must be a number or a text", ""},
		{"input['a':]", Any, "an end of a slice must be a number", ""},
		{"input[:'a']", Any, "an end of a slice must be a number", ""},
		{"(1 + nil).x", Any, "+ needs", ""},
		{"let a = 1 + nil; a", Any, "+ needs", ""},
		{"let upper = 1; upper", Any, "let cannot declare upper", ""},
		{"let now = 1; now", Any, "let cannot declare now", ""},
		{"let a = 1; let a = 2; a", Any, "let cannot declare a", ""},
		{"sortBy([1], #, 1 + nil)", Any, "+ needs", ""},
		{"s matches '('", Any, "the regular expression cannot be read", ""},
		{"s matches '((a{100}){100}){10}'", Any, "regular expression", ""},
		{"s matches '" + strings.Repeat("(a{90}b){9}", 100) + "'", Any, "regular expression is too large", ""},
		{"s matches '" + strings.Repeat("a", 10_001) + "'", Any, "cannot be read", "at most 10000"},
		{"1 / 0", Any, "division by zero", ""},
		{"first([]).x", Any, "is null", ""},
		{"foo()[0]", Any, "unknown function foo()", ""},
		{"[1, 2](3)", Any, "cannot be read", ""},
		{"a[b()]", Any, "unknown function b()", ""},
		{"input?.x()", Any, "values have no methods", ""},
		{"max(map(1..9, 9) | sum(), 1 + nil)", Any, "+ needs", ""},
		{"let a = nil; a.b", Any, "null has no members", ""},
		{"(nil).b ?? 1", Any, "", ""},

		{"1 + 1", Bool, "must give a boolean, not a number", "compare"},
		{"'yes'", Bool, "must give a boolean, not a text", ""},
		{"nil", Bool, "must give a boolean, not null", ""},
		{"len(input.x)", Bool, "must give a boolean", ""},
		{"'1'", Number, "must give a number, not a text", ""},
		{"-1", Number, "zero or more", ""},
		{"1.5", Number, "not a fraction", ""},
		{"first([true])", Number, "must give a number, not a boolean", ""},
		{"1", List, "must give a list, not a number", "?? []"},
		{"first([1])", List, "must give a list, not a number", ""},
		{"first([1])", Bool, "must give a boolean, not a number", ""},
	} {
		e := compileError(t, c.source, nil, c.want)
		name := excerpt(c.source)
		switch {
		case c.reason == "" && e != nil && c.source != "input.x[0]()":
			t.Errorf("%s: %v", name, e)
		case c.reason == "":
		case e == nil:
			t.Errorf("%s: no mistake found, want %q", name, c.reason)
		case !strings.Contains(e.Reason, c.reason) || !strings.Contains(e.Remedy, c.remedy):
			t.Errorf("%s: got %q %q", name, e.Reason, e.Remedy)
		}
	}
}

func TestWhatIsWantedIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source string
		want   Kind
	}{
		{"input.x", Bool},
		{"input.x > 1", Bool},
		{"true", Bool},
		{"input.x ? true : 1", Bool},
		{"input.x ?? false", Bool},
		{"any([1], # > 0)", Bool},
		{"input.x", Number},
		{"2.0", Number},
		{"4 / 2", Number},
		{"len(input.x)", Number},
		{"1..3", List},
		{"input.x", List},
		{"map(1..100000, #)", List},
		{"sum(map(1..100000, #))", Number},
	} {
		if e := compileError(t, c.source, nil, c.want); e != nil {
			t.Errorf("%s: %v", c.source, e)
		}
	}
}

func TestAnUnknownLanguageIsRefused(t *testing.T) {
	t.Parallel()
	_, err := Compile(Source{Language: "jq", Text: ".a"}, nil, Any)
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Reason, `"jq"`) {
		t.Fatalf("got %v", err)
	}
	src := Source{Language: "expr", Text: "1"}
	p, err := Compile(src, nil, Any)
	if err != nil {
		t.Fatal(err)
	}
	if p.Source() != src {
		t.Errorf("Source gives %v", p.Source())
	}
}

func TestRefsAreTheLongestStaticPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source      string
		refs, needs []Ref
	}{
		{"1", nil, nil},
		{"input", []Ref{{"input"}}, nil},
		{
			"steps.b.output.x + steps.a.output.y[0].z + steps.b.output.x",
			[]Ref{{"steps", "a", "output", "y", "0", "z"}, {"steps", "b", "output", "x"}},
			[]Ref{
				{"steps"},
				{"steps", "a"},
				{"steps", "a", "output"},
				{"steps", "a", "output", "y"},
				{"steps", "a", "output", "y", "0"},
				{"steps", "b"},
				{"steps", "b", "output"},
			},
		},
		{"steps.b.output?.x", []Ref{{"steps", "b", "output", "x"}}, []Ref{{"steps"}, {"steps", "b"}}},
		{"steps.b.output.x ?? 1", []Ref{{"steps", "b", "output", "x"}}, nil},
		{"(steps.b.output.x ?? a.b) ?? 1", []Ref{{"a", "b"}, {"steps", "b", "output", "x"}}, nil},
		{"a[b.c].d", []Ref{{"a"}, {"b", "c"}}, []Ref{{"a"}, {"b"}}},
		{"a.b[-1].c[1:].d", []Ref{{"a", "b", "-1", "c"}}, []Ref{{"a"}, {"a", "b"}, {"a", "b", "-1"}, {"a", "b", "-1", "c"}}},
		{"let x = a.b; x.c", []Ref{{"a", "b"}}, []Ref{{"a"}}},
		{"map(a, #.x + .y + it.z + b)", []Ref{{"a"}, {"b"}}, nil},
		{"{a: 1}.a", nil, nil},
	} {
		p, err := Compile(Source{Text: c.source}, nil, Any)
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
			continue
		}
		if diff := cmp.Diff(c.refs, p.Refs()); diff != "" {
			t.Errorf("%s: refs (-want +got):\n%s", c.source, diff)
		}
		if diff := cmp.Diff(c.needs, p.Needs()); diff != "" {
			t.Errorf("%s: needs (-want +got):\n%s", c.source, diff)
		}
	}
	if got := (Ref{"a", "b"}).String(); got != "a.b" {
		t.Errorf("a ref reads %s", got)
	}
}

// F11
func TestBoolIntAndListRefuseOtherValues(t *testing.T) {
	t.Parallel()
	env := testEnv()
	program := func(source string) *Program {
		p, err := Compile(Source{Text: source}, nil, Any)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, source := range []string{"input.count", "input.none", "input.name", "input.absent", "input.none.x", "input.list"} {
		if v, err := program(source).Bool(env, Budget{}); err == nil {
			t.Errorf("%s counts as %t", source, v)
		}
	}
	for _, source := range []string{"input.total", "input.none", "-n", "input.huge", "input.none.x", "'1' + ''"} {
		if v, err := program(source).Int(env, Budget{}); err == nil {
			t.Errorf("%s counts as %d", source, v)
		}
	}
	for _, source := range []string{"input", "input.none", "input.none.x", "s"} {
		if v, err := program(source).List(env, Budget{}); err == nil {
			t.Errorf("%s counts as %s", source, v)
		}
	}
	if b, err := program("input.yes").Bool(env, Budget{}); err != nil || !b {
		t.Errorf("got %t, %v", b, err)
	}
	if i, err := program("input.lines[1].n + 1").Int(env, Budget{}); err != nil || i != 2 {
		t.Errorf("got %d, %v", i, err)
	}
}

// R7
func TestItemsOfAListKeepTheirBytes(t *testing.T) {
	t.Parallel()
	env := Env{"a": json.RawMessage(`[1.10, "\u00e9", {"x": 1e999999999}, null, [ ]]`)}
	for _, source := range []string{"a", "filter(a, true)", "a[:]", "a ?? []"} {
		p, err := Compile(Source{Text: source}, nil, List)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.List(env, Budget{})
		if err != nil {
			t.Fatal(err)
		}
		want := []json.RawMessage{[]byte(`1.10`), []byte(`"\u00e9"`), []byte(`{"x": 1e999999999}`), []byte(`null`), []byte(`[ ]`)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
}

func TestAnErrorReadsAsOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  Error
		want string
	}{
		{
			Error{Source: "é + x", Offset: 5, Reason: "unknown name x", Remedy: "write y"},
			`expression "é + x" at character 5: unknown name x; write y`,
		},
		{Error{Source: "a\nb", Offset: -1, Pointer: "/a/0", Reason: "r"}, `expression "a\nb" in /a/0: r`},
		{
			Error{Source: strings.Repeat("é", 100), Offset: 999, Reason: "r"},
			`expression "` + strings.Repeat("é", 80) + `..." at character 101: r`,
		},
		{
			Error{Source: "x" + strings.Repeat("é", 100), Offset: 0, Reason: "r"},
			`expression "x` + strings.Repeat("é", 79) + `..." at character 1: r`,
		},
	} {
		if diff := cmp.Diff(c.want, c.err.Error()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
