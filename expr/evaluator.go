package expr

import "math/bits"

// evaluator is the state of one evaluation: what is left of the budget, the variables, the element in hand.
type evaluator struct {
	env    Env
	budget Budget // with defaults
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

// node is a part of a compiled program. eval gives its value; a fault without a place is given the node's.
type node interface {
	eval(e *evaluator) (any, error)
	at() int
}

// place is the byte offset of a node in its program.
type place int

func (p place) at() int { return int(p) }

func newEvaluator(env Env, b Budget) *evaluator {
	b = b.orDefault()
	return &evaluator{env: env, budget: b, left: b.Nodes}
}

// charge takes n nodes from the budget.
func (e *evaluator) charge(n int) error {
	if n > e.left {
		e.left = 0
		return exceeded("it takes more than %d steps of evaluation", e.budget.Nodes)
	}
	e.left -= n
	return nil
}

// chargeText pays for work on n bytes of text, and refuses texts larger than a result may be.
func (e *evaluator) chargeText(n int) error {
	if n > e.budget.Bytes {
		return e.tooLarge()
	}
	return e.charge(n / textUnit)
}

func (e *evaluator) tooLarge() *fault {
	return exceeded("it makes more than %d bytes", e.budget.Bytes)
}

func (e *evaluator) tooDeep() *fault {
	return exceeded("it is nested deeper than %d levels", e.budget.Depth)
}

// run evaluates a node and gives its faults a place.
func (e *evaluator) run(n node) (any, error) {
	err := e.charge(1)
	if err == nil {
		var v any
		if v, err = n.eval(e); err == nil {
			return v, nil
		}
	}
	if f, ok := err.(*fault); ok && f.at == unplaced { //nolint:errorlint // faults are never wrapped
		f.at = n.at()
	}
	return nil, err
}

// boolean evaluates a node that must give a boolean.
func (e *evaluator) boolean(n node) (bool, error) {
	v, err := e.run(n)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, failAt(n.at(), "must be a boolean, not %s", kindOf(v)).instead("compare it with something")
	}
	return b, nil
}

// list evaluates a node that must give a list.
func (e *evaluator) list(n node) ([]any, error) {
	v, err := e.run(n)
	if err != nil {
		return nil, err
	}
	a, ok := v.(*array)
	if !ok {
		f := failAt(n.at(), "must be a list, not %s", kindOf(v))
		if v == nil {
			f.instead("write ?? [] behind it for the empty list")
		}
		return nil, f
	}
	return e.items(a)
}

// chargeSort pays for sorting n values.
func (e *evaluator) chargeSort(n int) error { return e.charge(n * bits.Len(uint(n))) }
