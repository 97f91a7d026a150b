package eval

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// Logic is and, or: the right side is evaluated only if the left does not decide.
type Logic struct {
	Place
	Or          bool
	Left, Right Node
}

func (n *Logic) eval(e *Evaluator) (any, error) {
	l, err := e.boolean(n.Left)
	if err != nil || l == n.Or {
		return l, err
	}
	return e.boolean(n.Right)
}

// Not is !.
type Not struct {
	Place
	Operand Node
}

func (n *Not) eval(e *Evaluator) (any, error) {
	b, err := e.boolean(n.Operand)
	return !b, err
}

// Sign is unary minus, or plus.
type Sign struct {
	Place
	Minus   bool
	Operand Node
}

func (n *Sign) eval(e *Evaluator) (any, error) {
	v, err := e.Run(n.Operand)
	if err != nil {
		return nil, err
	}
	num, err := operandNumber(v)
	if err != nil {
		return nil, err
	}
	if !n.Minus {
		return v, nil
	}
	return negate(num)
}

// Otherwise is ??.
type Otherwise struct {
	Place
	Left, Right Node
}

func (n *Otherwise) eval(e *Evaluator) (any, error) {
	v, err := e.Run(n.Left)
	if err != nil || v != nil {
		return v, err
	}
	return e.Run(n.Right)
}

// Binary is an operator that needs both of its sides.
type Binary struct {
	Place
	Left, Right Node
	Apply       func(e *Evaluator, a, b any) (any, error)
}

func (n *Binary) eval(e *Evaluator) (any, error) {
	a, err := e.Run(n.Left)
	if err != nil {
		return nil, err
	}
	b, err := e.Run(n.Right)
	if err != nil {
		return nil, err
	}
	return n.Apply(e, a, b)
}

// Operator describes a binary operator for the checker.
type Operator struct {
	Left, Right Kinds
	Alike       bool // both sides must be of the same kind
	Result      Kinds
	Apply       func(e *Evaluator, a, b any) (any, error)
}

// Operators are the binary operators but and, or and ??, by their spelling. Nobody changes them.
var Operators = map[string]Operator{
	"==": {Unknown, Unknown, false, IsBool, func(e *Evaluator, a, b any) (any, error) { return e.equal(a, b) }},
	"!=": {Unknown, Unknown, false, IsBool, func(e *Evaluator, a, b any) (any, error) {
		eq, err := e.equal(a, b)
		return !eq, err
	}},
	"<":  comparison(func(c int) bool { return c < 0 }),
	"<=": comparison(func(c int) bool { return c <= 0 }),
	">":  comparison(func(c int) bool { return c > 0 }),
	">=": comparison(func(c int) bool { return c >= 0 }),

	"+":  {IsNumeric | IsText, IsNumeric | IsText, true, IsNumeric | IsText, plus},
	"-":  arithmetic(subtract),
	"*":  arithmetic(multiply),
	"/":  arithmetic(divide),
	"%":  arithmetic(modulo),
	"**": arithmetic(power),
	"^":  arithmetic(power),
	"..": {IsNumeric, IsNumeric, false, IsList, span},

	"in":         {Unknown, IsList | IsObject, false, IsBool, isIn},
	"contains":   onTexts(strings.Contains),
	"startsWith": onTexts(strings.HasPrefix),
	"endsWith":   onTexts(strings.HasSuffix),
	"matches":    {IsText, IsText, false, IsBool, matches},
}

func arithmetic(f func(a, b number) (any, error)) Operator {
	return Operator{IsNumeric, IsNumeric, false, IsNumeric, func(_ *Evaluator, a, b any) (any, error) {
		n, m, err := operandNumbers(a, b)
		if err != nil {
			return nil, err
		}
		return f(n, m)
	}}
}

// operandNumbers is operandNumber for both sides: the left one is looked at first.
func operandNumbers(a, b any) (n, m number, err error) {
	if n, err = operandNumber(a); err == nil {
		m, err = operandNumber(b)
	}
	return n, m, err
}

// operandNumber gives the number that an operator computes with.
func operandNumber(v any) (number, error) {
	n, ok, err := numberOf(v)
	if err == nil && !ok {
		f := failf("needs numbers, not %s", KindOf(v))
		if KindOf(v) == IsText {
			f = f.Instead("convert with int() or float()")
		}
		return n, f
	}
	return n, err
}

// plus adds numbers and joins texts.
func plus(e *Evaluator, a, b any) (any, error) {
	if KindOf(a) != IsText && KindOf(b) != IsText {
		n, m, err := operandNumbers(a, b)
		if err != nil {
			return nil, err
		}
		return add(n, m)
	}
	s, t, err := operandTexts(a, b)
	if err != nil {
		return nil, err
	}
	return s + t, e.chargeText(len(s) + len(t))
}

// operandTexts gives the texts that an operator works on.
func operandTexts(a, b any) (s, t string, err error) {
	for i, v := range []any{a, b} {
		x, ok, err := text(v)
		if err != nil {
			return "", "", err
		}
		if !ok {
			f := failf("needs texts, not %s", KindOf(v))
			if v == nil {
				return "", "", f.Instead("write ?? and a text behind the value that may be null")
			}
			return "", "", f.Instead("convert with string()")
		}
		if i == 0 {
			s = x
		} else {
			t = x
		}
	}
	return s, t, nil
}

func onTexts(f func(s, t string) bool) Operator {
	return Operator{IsText, IsText, false, IsBool, func(e *Evaluator, a, b any) (any, error) {
		s, t, err := operandTexts(a, b)
		if err != nil {
			return nil, err
		}
		return f(s, t), e.charge((len(s) + len(t)) / textUnit)
	}}
}

func comparison(holds func(c int) bool) Operator {
	both := IsNumeric | IsText
	return Operator{both, both, true, IsBool, func(e *Evaluator, a, b any) (any, error) {
		c, err := e.order(a, b)
		return holds(c), err
	}}
}

// order compares two numbers or two texts.
func (e *Evaluator) order(a, b any) (int, error) {
	if KindOf(a) == IsText && KindOf(b) == IsText {
		s, t, err := operandTexts(a, b)
		if err != nil {
			return 0, err
		}
		return strings.Compare(s, t), e.charge((len(s) + len(t)) / textUnit)
	}
	n, ok, err := numberOf(a)
	if err != nil {
		return 0, err
	}
	m, ok2, err := numberOf(b)
	if err != nil {
		return 0, err
	}
	if !ok || !ok2 {
		return 0, failf("%s and %s have no order", KindOf(a), KindOf(b)).
			Instead("compare two numbers or two texts; write ?? behind a value that may be null")
	}
	return n.compare(m), nil
}

// span is a..b: the whole numbers from a to b.
func span(e *Evaluator, a, b any) (any, error) {
	from, err := WholeArgument(a)
	if err != nil {
		return nil, err
	}
	to, err := WholeArgument(b)
	if err != nil {
		return nil, err
	}
	if to < from {
		return newArray(nil), nil
	}
	size := uint64(to) - uint64(from)
	if size >= uint64(e.left) {
		return nil, e.charge(e.left + 1)
	}
	if err := e.charge(int(size) + 1); err != nil {
		return nil, err
	}
	items := make([]any, size+1)
	for i := range items {
		items[i] = from + int64(i)
	}
	return newArray(items), nil
}

// isIn tells whether a list has an item, or an object a key.
func isIn(e *Evaluator, a, b any) (any, error) {
	switch b := b.(type) {
	case nil:
		return nil, failf("null has no items").Instead("write ?? [] behind the list that may be null")
	case *object:
		key, ok, err := text(a)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, failf("a key must be a text, not %s", KindOf(a)).Instead("convert with string()")
		}
		_, found, err := e.member(b, key)
		return found, err
	case *Array:
		items, err := e.Items(b)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			if err := e.charge(1); err != nil {
				return nil, err
			}
			if eq, err := e.equal(item, a); eq || err != nil {
				return eq, err
			}
		}
		return false, nil
	}
	return nil, failf("%s has no items", KindOf(b)).Instead("write contains for a text")
}

// maxPattern is how many instructions a compiled regular expression may have.
const maxPattern = 10_000

// Pattern is a compiled regular expression and what matching costs.
type pattern struct {
	re   *regexp.Regexp
	size int
}

// CompilePattern compiles a regular expression (RE2), bounded in size.
func CompilePattern(s string) (*pattern, error) {
	bad := failf("the regular expression cannot be read")
	if len(s) > maxPattern {
		return nil, bad.Instead("write one of at most %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, bad.Instead("see https://github.com/google/re2/wiki/Syntax")
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxPattern {
		return nil, failf("the regular expression is too large")
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, bad
	}
	return &pattern{re: re, size: len(prog.Inst)}, nil
}

func (p *pattern) match(e *Evaluator, s string) (any, error) {
	if err := e.charge((1 + len(s)) * p.size / textUnit); err != nil {
		return nil, err
	}
	return p.re.MatchString(s), nil
}

// matches compiles a pattern that is not constant, each time.
func matches(e *Evaluator, a, b any) (any, error) {
	s, t, err := operandTexts(a, b)
	if err != nil {
		return nil, err
	}
	p, err := CompilePattern(t)
	if err != nil {
		return nil, err
	}
	if err := e.charge(p.size); err != nil {
		return nil, err
	}
	return p.match(e, s)
}

// MatchesConstant matches against a pattern that the program writes.
type MatchesConstant struct {
	Place
	Left    Node
	Pattern *pattern
}

func (n *MatchesConstant) eval(e *Evaluator) (any, error) {
	v, err := e.Run(n.Left)
	if err != nil {
		return nil, err
	}
	s, _, err := operandTexts(v, "")
	if err != nil {
		return nil, err
	}
	return n.Pattern.match(e, s)
}
