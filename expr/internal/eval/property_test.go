package eval_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	library "github.com/expr-lang/expr"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/expr/internal/eval"
)

// evaluateOne compiles and evaluates with a as x and b as y.
func evaluateOne(t interface{ Fatalf(string, ...any) }, source, a, b string) (string, error) {
	p, err := expr.Compile(expr.Source{Text: source}, nil, expr.Any)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	raw, err := p.Eval(expr.Env{"x": json.RawMessage(a), "y": json.RawMessage(b)}, expr.Budget{})
	return string(raw), err
}

// edgy draws whole numbers of 64 bits, often near their ends.
func edgy() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64(), rapid.Int64Range(-100, 100), rapid.Int64Range(math.MaxInt64-3, math.MaxInt64),
		rapid.Int64Range(math.MinInt64, math.MinInt64+3), rapid.Int64Range(math.MaxInt32-3, math.MaxInt32+3),
	)
}

func TestWholeNumbersAreExactOrAnError(t *testing.T) {
	t.Parallel()
	operations := map[string]func(z, x, y *big.Int) *big.Int{
		"x + y": (*big.Int).Add, "x - y": (*big.Int).Sub, "x * y": (*big.Int).Mul,
		"sum([x, y])": (*big.Int).Add, "reduce([x, y], #acc - #)": (*big.Int).Sub,
		"-x":     func(z, x, _ *big.Int) *big.Int { return z.Neg(x) },
		"abs(x)": func(z, x, _ *big.Int) *big.Int { return z.Abs(x) },
		"x ** (y % 9 + 9)": func(z, x, y *big.Int) *big.Int {
			n := new(big.Int).Rem(y, big.NewInt(9))
			return z.Exp(x, n.Add(n, big.NewInt(9)), nil)
		},
		"bitshl(x, 5)": func(z, x, _ *big.Int) *big.Int { return z.Lsh(x, 5) },
		"int(x)":       func(z, x, _ *big.Int) *big.Int { return z.Set(x) },
		"max(x, y)": func(z, x, y *big.Int) *big.Int {
			if x.Cmp(y) >= 0 {
				return z.Set(x)
			}
			return z.Set(y)
		},
	}
	for source, oracle := range operations {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				x, y := edgy().Draw(t, "x"), edgy().Draw(t, "y")
				want := oracle(new(big.Int), big.NewInt(x), big.NewInt(y))
				got, err := evaluateOne(t, source, strconv.FormatInt(x, 10), strconv.FormatInt(y, 10))
				switch {
				case want.IsInt64() && (err != nil || got != want.String()):
					t.Fatalf("%d, %d: got %s, %v, want %s", x, y, got, err, want)
				case !want.IsInt64() && err == nil:
					t.Fatalf("%d, %d: got %s, want an error", x, y, got)
				}
			})
		})
	}
}

func TestDivisionIsWholeWhenNothingIsLeft(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x, y := edgy().Draw(t, "x"), edgy().Draw(t, "y")
		got, err := evaluateOne(t, "x / y", strconv.FormatInt(x, 10), strconv.FormatInt(y, 10))
		switch {
		case y == 0 || x == math.MinInt64 && y == -1:
			if err == nil {
				t.Fatalf("%d / %d gives %s", x, y, got)
			}
		case err != nil:
			t.Fatal(err)
		case x%y == 0:
			if got != strconv.FormatInt(x/y, 10) {
				t.Fatalf("%d / %d gives %s", x, y, got)
			}
		default:
			if f, err := strconv.ParseFloat(got, 64); err != nil || f != float64(x)/float64(y) {
				t.Fatalf("%d / %d gives %s", x, y, got)
			}
		}
	})
}

func TestNumbersCompareByTheirExactValues(t *testing.T) {
	t.Parallel()
	number := rapid.OneOf(
		rapid.Map(edgy(), func(i int64) string { return strconv.FormatInt(i, 10) }),
		rapid.Map(edgy(), func(i int64) string { return strconv.FormatFloat(float64(i), 'e', -1, 64) }),
		rapid.Map(rapid.Float64(), func(f float64) string { return strconv.FormatFloat(f, 'e', -1, 64) }),
		rapid.Map(rapid.Float64Range(-5, 5), func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }),
	)
	// exact is what a text computes as: whole numbers as they are, others as doubles.
	exact := func(s string) *big.Float {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return new(big.Float).SetInt64(i)
		}
		f, _ := strconv.ParseFloat(s, 64)
		return big.NewFloat(f)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		c := exact(a).Cmp(exact(b))
		want := fmt.Sprintf("[%t,%t,%t,%t,%t,%t]", c < 0, c <= 0, c == 0, c != 0, c >= 0, c > 0)
		got, err := evaluateOne(t, "[x < y, x <= y, x == y, x != y, x >= y, x > y]", a, b)
		if err != nil || got != want {
			t.Fatalf("%s and %s: got %s, %v, want %s", a, b, got, err, want)
		}
		in, err := evaluateOne(t, "[len(uniq([x, y])) == 1, [x] == [y]]", a, b)
		if want := fmt.Sprintf("[%t,%t]", c == 0, c == 0); err != nil || in != want {
			t.Fatalf("%s and %s: uniq and lists say %s, %v, want %s", a, b, in, err, want)
		}
	})
}

func TestComputedDoublesReadBackTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		text := strconv.FormatFloat(f, 'e', -1, 64)
		got, err := evaluateOne(t, "x + 0.0", text, "null")
		if err != nil {
			t.Fatal(err)
		}
		if back, err := strconv.ParseFloat(got, 64); err != nil || back != f || !json.Valid([]byte(got)) {
			t.Fatalf("%s gives %s", text, got)
		}
	})
}

// jsonText draws JSON of any shape, with odd spellings.
func jsonText(depth int) *rapid.Generator[string] {
	scalar := rapid.OneOf(
		rapid.SampledFrom([]string{"null", "true", "false", "1.10", "-0", "1E+2", "1e999999999", `"\u00e9\/"`, `"\ud83d\ude00"`, `"\ud800"`, `""`}),
		rapid.Map(rapid.String(), func(s string) string { return string(eval.AppendQuoted(nil, s)) }),
		rapid.Map(rapid.Int64(), func(i int64) string { return strconv.FormatInt(i, 10) }),
	)
	if depth == 0 {
		return scalar
	}
	inner := jsonText(depth - 1)
	space := rapid.SampledFrom([]string{"", " ", "\n\t"})
	list := rapid.Custom(func(t *rapid.T) string {
		items := rapid.SliceOfN(inner, 0, 4).Draw(t, "items")
		return "[" + space.Draw(t, "space") + strings.Join(items, ","+space.Draw(t, "space")) + space.Draw(t, "space") + "]"
	})
	object := rapid.Custom(func(t *rapid.T) string {
		members := rapid.SliceOfN(inner, 0, 4).Draw(t, "values")
		for i, v := range members {
			members[i] = fmt.Sprintf(`"k%d"%s:%s%s`, i, space.Draw(t, "space"), space.Draw(t, "space"), v)
		}
		return "{" + space.Draw(t, "space") + strings.Join(members, ","+space.Draw(t, "space")) + space.Draw(t, "space") + "}"
	})
	return rapid.OneOf(scalar, list, object)
}

// R7
func TestAnyJSONIsHandedOnAsItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := jsonText(3).Draw(t, "v")
		if !json.Valid([]byte(v)) {
			t.Fatalf("the generator gives %s", v)
		}
		leaf := json.RawMessage(`{"a": [0, ` + v + `], "b": 1}`)
		for _, source := range []string{"x.a[1]", "x.a[-1] ?? nil", "last(x.a)", "[x][0].a[1]", "find(x.a, #index == 1)"} {
			p, err := expr.Compile(expr.Source{Text: source}, nil, expr.Any)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := p.Eval(expr.Env{"x": leaf}, expr.Budget{}); err != nil || string(got) != v {
				t.Fatalf("%s gives %s, %v, want %s", source, got, err, v)
			}
		}
		tpl, err := expr.CompileTemplate(json.RawMessage(`{"q": "${ x.a[1] }", "r": [`+v+`]}`), nil)
		if err != nil {
			return // the text drawn holds ${
		}
		want := `{"q": ` + v + `, "r": [` + v + `]}`
		if got, err := tpl.Eval(expr.Env{"x": leaf}, expr.Budget{}); err != nil || string(got) != want {
			t.Fatalf("the template gives %s, %v, want %s", got, err, want)
		}
	})
}

// TestTheLibraryGivesTheSame runs what both read alike through the library's own machine. Left out is findLast(), which
// leaves a value on that machine's stack when it finds nothing.
func TestTheLibraryGivesTheSame(t *testing.T) {
	t.Parallel()
	env := map[string]any{
		"i": 7, "f": 2.5, "s": "abc", "b": true, "z": nil, "l": []any{3, 1, 2}, "w": []any{"x", "y", "x"},
		"o": map[string]any{"p": map[string]any{"q": 5}, "n": nil}, "rows": []any{
			map[string]any{"k": "a", "v": 1}, map[string]any{"k": "b", "v": 2}, map[string]any{"k": "a", "v": 3},
		},
	}
	leaves := expr.Env{}
	for name, v := range env {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		leaves[name] = json.RawMessage(raw)
	}
	atoms := []string{"i", "f", "s", "b", "z", "l", "w", "o", "rows", "1", "2.5", "'b'", "nil", "true", "[]", "o.p.q", "o.n", "l[0]", "o?.x", "w[-1]", "rows[1].v"}
	forms := []string{
		"(A + B)", "(A - B)", "(A * B)", "(A > B)", "(A <= B)", "(A == B)", "(A != B)", "(A and B)", "(A or B)", "(!A)", "(-A)",
		"(A ?? B)", "(A in B)", "(A..B)", "(A ? B : A)", "[A, B]", "{x: A, y: B}", "len(A)", "map(A, #)", "filter(A, # != B)",
		"all(A, # > B)", "any(A, # == B)", "count(A, # == B)", "sum(A)", "find(A, # == B)", "findIndex(A, # == B)", "sort(A)",
		"first(A)", "last(A)", "take(A, 1)", "reverse(A)", "uniq(A)", "concat([1], A, B)", "flatten([A, B])", "min(A)", "max(A)",
		"upper(A)", "split(A, B)", "join(A, B)", "indexOf(A, B)", "trim(A)", "replace(A, B, 'q')", "type(A)", "get(o, B)", "get(rows, B)", "A[:2]",
		"map(A, .v)", "map(sortBy(A, .v, 'desc'), .k)", "reduce(A, #acc + #)", "(A contains B)", "(A startsWith B)", "int(A)",
		"{let y = A; y}", "(if A == B {A} else {B})", "abs(A)", "one(A, # == B)", "none(A, # == B)",
	}
	rapid.Check(t, func(t *rapid.T) {
		var draw func(depth int) string
		draw = func(depth int) string {
			if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
				return rapid.SampledFrom(atoms).Draw(t, "atom")
			}
			form, out := rapid.SampledFrom(forms).Draw(t, "form"), ""
			for _, r := range form {
				switch r {
				case 'A', 'B':
					out += draw(depth - 1)
				default:
					out += string(r)
				}
			}
			return out
		}
		source := draw(2)
		p, err := expr.Compile(expr.Source{Text: source}, nil, expr.Any)
		if err != nil {
			return
		}
		got, err := p.Eval(leaves, expr.Budget{})
		if err != nil {
			return // this evaluator refuses more: null with operators, mixed kinds
		}
		program, err := library.Compile(source)
		if err != nil {
			return // the library's own checker refuses some of what is known to fit
		}
		v, err := library.Run(program, env)
		if err != nil {
			return
		}
		want, err := json.Marshal(v)
		if err != nil {
			return
		}
		var a, b any
		if json.Unmarshal(got, &a) != nil || json.Unmarshal(want, &b) != nil {
			t.Fatalf("%s gives %s", source, got)
		}
		if a == nil && cmp.Equal(b, []any{}) || b == nil && cmp.Equal(a, []any{}) {
			return // the library writes an empty list as null
		}
		if diff := cmp.Diff(b, a); diff != "" {
			t.Fatalf("%s differs from the library (-library +this):\n%s", source, diff)
		}
	})
}
