// Package eval evaluates expressions: the values, the parts of a compiled program, and the functions of the language.
//
// Nouns: a [Node] is a part of a program, made by package expr, which reads and checks its text; an [Evaluator] is the state
// of one evaluation and pays for each step from a [Budget]; a value is read from JSON only as far as a program asks; a
// [Fault] is an error with its place in the program.
//
// The package is pure: no clock, no I/O, no goroutine, no randomness. It imports nothing of Millrace, and only package expr
// imports it. Nodes are immutable once made and safe for concurrent use; an Evaluator is used once, by one goroutine.
package eval

import "math/bits"

// Env holds values by name: a leaf is a json.RawMessage, a string, a bool, an int or nil, an inner node an Env.
type Env map[string]any

// Budget bounds one evaluation. Zero means the default.
type Budget struct {
	Nodes int // steps of evaluation
	Depth int // nesting of values that are read as a whole and of the program
	Bytes int // size of the result as JSON, and of any text on the way to it
}

// The defaults of a budget.
const (
	defaultNodes = 1_000_000
	DefaultDepth = 128
	defaultBytes = 1 << 20
)

// orDefault gives the budget with the defaults filled in.
func (b Budget) orDefault() Budget {
	if b.Nodes <= 0 {
		b.Nodes = defaultNodes
	}
	if b.Depth <= 0 {
		b.Depth = DefaultDepth
	}
	if b.Bytes <= 0 {
		b.Bytes = defaultBytes
	}
	return b
}

// Evaluator is the state of one evaluation: what is left of the budget, the variables, the element in hand.
type Evaluator struct {
	env    Env
	Budget Budget // with defaults
	left   int    // nodes
	vars   []any
	scope  *scope
	docs   map[docKey]any
}

// scope is one pass of a function with a predicate: the element in hand.
type scope struct {
	item  any
	index int
	acc   any
	outer *scope
}

// Node is a part of a compiled program. eval gives its value; a fault without a place is given the node's.
type Node interface {
	eval(e *Evaluator) (any, error)
	// At gives the byte offset in the program.
	At() int
}

// Place is the byte offset of a node in its program.
type Place int

// At gives the offset as a number.
func (p Place) At() int { return int(p) }

// NewEvaluator gives the state of one evaluation, with the defaults of the budget filled in.
func NewEvaluator(env Env, b Budget) *Evaluator {
	b = b.orDefault()
	return &Evaluator{env: env, Budget: b, left: b.Nodes}
}

// charge takes n nodes from the budget.
func (e *Evaluator) charge(n int) error {
	if n > e.left {
		e.left = 0
		return exceeded("it takes more than %d steps of evaluation", e.Budget.Nodes)
	}
	e.left -= n
	return nil
}

// chargeText pays for work on n bytes of text, and refuses texts larger than a result may be.
func (e *Evaluator) chargeText(n int) error {
	if n > e.Budget.Bytes {
		return e.TooLarge()
	}
	return e.charge(n / textUnit)
}

// TooLarge gives the fault of a result or a text beyond the budget.
func (e *Evaluator) TooLarge() *Fault {
	return exceeded("it makes more than %d bytes", e.Budget.Bytes)
}

// TooDeep gives the fault of a nesting beyond the budget.
func (e *Evaluator) TooDeep() *Fault {
	return exceeded("it is nested deeper than %d levels", e.Budget.Depth)
}

// Run evaluates a node and gives its faults a place.
func (e *Evaluator) Run(n Node) (any, error) {
	err := e.charge(1)
	if err == nil {
		var v any
		if v, err = n.eval(e); err == nil {
			return v, nil
		}
	}
	if f, ok := err.(*Fault); ok && f.At == Unplaced { //nolint:errorlint // faults are never wrapped
		f.At = n.At()
	}
	return nil, err
}

// boolean evaluates a node that must give a boolean.
func (e *Evaluator) boolean(n Node) (bool, error) {
	v, err := e.Run(n)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, FailAt(n.At(), "must be a boolean, not %s", KindOf(v)).Instead("compare it with something")
	}
	return b, nil
}

// list evaluates a node that must give a list.
func (e *Evaluator) list(n Node) ([]any, error) {
	v, err := e.Run(n)
	if err != nil {
		return nil, err
	}
	a, ok := v.(*Array)
	if !ok {
		f := FailAt(n.At(), "must be a list, not %s", KindOf(v))
		if v == nil {
			f = f.Instead("write ?? [] behind it for the empty list")
		}
		return nil, f
	}
	return e.Items(a)
}

// chargeSort pays for sorting n values.
func (e *Evaluator) chargeSort(n int) error { return e.charge(n * bits.Len(uint(n))) }
