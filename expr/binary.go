package expr

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// logic is and, or: the right side is evaluated only if the left does not decide.
type logic struct {
	place
	or          bool
	left, right node
}

func (n *logic) eval(e *evaluator) (any, error) {
	l, err := e.boolean(n.left)
	if err != nil || l == n.or {
		return l, err
	}
	return e.boolean(n.right)
}

// not is !.
type not struct {
	place
	operand node
}

func (n *not) eval(e *evaluator) (any, error) {
	b, err := e.boolean(n.operand)
	return !b, err
}

// sign is unary minus, or plus.
type sign struct {
	place
	minus   bool
	operand node
}

func (n *sign) eval(e *evaluator) (any, error) {
	v, err := e.run(n.operand)
	if err != nil {
		return nil, err
	}
	num, err := operandNumber(v)
	if err != nil {
		return nil, err
	}
	if !n.minus {
		return v, nil
	}
	return negate(num)
}

// otherwise is ??.
type otherwise struct {
	place
	left, right node
}

func (n *otherwise) eval(e *evaluator) (any, error) {
	v, err := e.run(n.left)
	if err != nil || v != nil {
		return v, err
	}
	return e.run(n.right)
}

// binary is an operator that needs both of its sides.
type binary struct {
	place
	left, right node
	apply       func(e *evaluator, a, b any) (any, error)
}

func (n *binary) eval(e *evaluator) (any, error) {
	a, err := e.run(n.left)
	if err != nil {
		return nil, err
	}
	b, err := e.run(n.right)
	if err != nil {
		return nil, err
	}
	return n.apply(e, a, b)
}

// operator describes a binary operator for the checker.
type operator struct {
	left, right kinds
	alike       bool // both sides must be of the same kind
	result      kinds
	apply       func(e *evaluator, a, b any) (any, error)
}

var operators = map[string]operator{
	"==": {unknown, unknown, false, isBool, func(e *evaluator, a, b any) (any, error) { return e.equal(a, b) }},
	"!=": {unknown, unknown, false, isBool, func(e *evaluator, a, b any) (any, error) {
		eq, err := e.equal(a, b)
		return !eq, err
	}},
	"<":  comparison(func(c int) bool { return c < 0 }),
	"<=": comparison(func(c int) bool { return c <= 0 }),
	">":  comparison(func(c int) bool { return c > 0 }),
	">=": comparison(func(c int) bool { return c >= 0 }),

	"+":  {isNumeric | isText, isNumeric | isText, true, isNumeric | isText, plus},
	"-":  arithmetic(subtract),
	"*":  arithmetic(multiply),
	"/":  arithmetic(divide),
	"%":  arithmetic(modulo),
	"**": arithmetic(power),
	"^":  arithmetic(power),
	"..": {isNumeric, isNumeric, false, isList, span},

	"in":         {unknown, isList | isObject, false, isBool, isIn},
	"contains":   onTexts(strings.Contains),
	"startsWith": onTexts(strings.HasPrefix),
	"endsWith":   onTexts(strings.HasSuffix),
	"matches":    {isText, isText, false, isBool, matches},
}

func arithmetic(f func(a, b number) (any, error)) operator {
	return operator{isNumeric, isNumeric, false, isNumeric, func(_ *evaluator, a, b any) (any, error) {
		n, err := operandNumber(a)
		if err != nil {
			return nil, err
		}
		m, err := operandNumber(b)
		if err != nil {
			return nil, err
		}
		return f(n, m)
	}}
}

// operandNumber gives the number that an operator computes with.
func operandNumber(v any) (number, error) {
	n, ok, err := numberOf(v)
	if err == nil && !ok {
		f := failf("needs numbers, not %s", kindOf(v))
		if kindOf(v) == isText {
			f.instead("convert with int() or float()")
		}
		return n, f
	}
	return n, err
}

// plus adds numbers and joins texts.
func plus(e *evaluator, a, b any) (any, error) {
	if kindOf(a) != isText && kindOf(b) != isText {
		n, err := operandNumber(a)
		if err != nil {
			return nil, err
		}
		m, err := operandNumber(b)
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
			f := failf("needs texts, not %s", kindOf(v))
			if v == nil {
				return "", "", f.instead("write ?? and a text behind the value that may be null")
			}
			return "", "", f.instead("convert with string()")
		}
		if i == 0 {
			s = x
		} else {
			t = x
		}
	}
	return s, t, nil
}

func onTexts(f func(s, t string) bool) operator {
	return operator{isText, isText, false, isBool, func(e *evaluator, a, b any) (any, error) {
		s, t, err := operandTexts(a, b)
		if err != nil {
			return nil, err
		}
		return f(s, t), e.charge((len(s) + len(t)) / textUnit)
	}}
}

func comparison(holds func(c int) bool) operator {
	both := isNumeric | isText
	return operator{both, both, true, isBool, func(e *evaluator, a, b any) (any, error) {
		c, err := e.order(a, b)
		return holds(c), err
	}}
}

// order compares two numbers or two texts.
func (e *evaluator) order(a, b any) (int, error) {
	if kindOf(a) == isText && kindOf(b) == isText {
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
		return 0, failf("%s and %s have no order", kindOf(a), kindOf(b)).
			instead("compare two numbers or two texts; write ?? behind a value that may be null")
	}
	return n.compare(m), nil
}

// span is a..b: the whole numbers from a to b.
func span(e *evaluator, a, b any) (any, error) {
	from, err := wholeArgument(a)
	if err != nil {
		return nil, err
	}
	to, err := wholeArgument(b)
	if err != nil {
		return nil, err
	}
	if to < from {
		return newArray(nil), nil
	}
	size := uint64(to) - uint64(from) //nolint:gosec // the difference of ordered int64 fits uint64
	if size >= uint64(e.left) {       //nolint:gosec // never negative
		return nil, e.charge(e.left + 1)
	}
	if err := e.charge(int(size) + 1); err != nil { //nolint:gosec // below left
		return nil, err
	}
	items := make([]any, size+1)
	for i := range items {
		items[i] = from + int64(i)
	}
	return newArray(items), nil
}

// isIn tells whether a list has an item, or an object a key.
func isIn(e *evaluator, a, b any) (any, error) {
	switch b := b.(type) {
	case nil:
		return nil, failf("null has no items").instead("write ?? [] behind the list that may be null")
	case *object:
		key, ok, err := text(a)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, failf("a key must be a text, not %s", kindOf(a)).instead("convert with string()")
		}
		_, found, err := e.member(b, key)
		return found, err
	case *array:
		items, err := e.items(b)
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
	return nil, failf("%s has no items", kindOf(b)).instead("write contains for a text")
}

// maxPattern is how many instructions a compiled regular expression may have.
const maxPattern = 10_000

// pattern is a compiled regular expression and what matching costs.
type pattern struct {
	re   *regexp.Regexp
	size int
}

// compilePattern compiles a regular expression (RE2), bounded in size.
func compilePattern(s string) (*pattern, error) {
	bad := failf("the regular expression cannot be read")
	if len(s) > maxPattern {
		return nil, bad.instead("write one of at most %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, bad.instead("see https://github.com/google/re2/wiki/Syntax")
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

func (p *pattern) match(e *evaluator, s string) (any, error) {
	if err := e.charge((1 + len(s)) * p.size / textUnit); err != nil {
		return nil, err
	}
	return p.re.MatchString(s), nil
}

// matches compiles a pattern that is not constant, each time.
func matches(e *evaluator, a, b any) (any, error) {
	s, t, err := operandTexts(a, b)
	if err != nil {
		return nil, err
	}
	p, err := compilePattern(t)
	if err != nil {
		return nil, err
	}
	if err := e.charge(p.size); err != nil {
		return nil, err
	}
	return p.match(e, s)
}

// matchesConstant matches against a pattern that the program writes.
type matchesConstant struct {
	place
	left    node
	pattern *pattern
}

func (n *matchesConstant) eval(e *evaluator) (any, error) {
	v, err := e.run(n.left)
	if err != nil {
		return nil, err
	}
	s, _, err := operandTexts(v, "")
	if err != nil {
		return nil, err
	}
	return n.pattern.match(e, s)
}
