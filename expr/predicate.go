package expr

// predicateFunction is a function that evaluates a predicate for each item of a list.
type predicateFunction struct {
	bare  bool // the predicate may be left out
	extra bool // takes one more argument behind the predicate
	test  bool // the predicate must give a boolean
	gives kinds
	run   func(e *evaluator, l *loop) (any, error)
}

// predicateFunctions are the functions with a predicate.
var predicateFunctions = map[string]predicateFunction{
	"all":           {test: true, gives: isBool, run: quantified(false, false)},
	"any":           {test: true, gives: isBool, run: quantified(true, true)},
	"none":          {test: true, gives: isBool, run: quantified(true, false)},
	"one":           {test: true, gives: isBool, run: one},
	"count":         {test: true, bare: true, gives: isNumeric, run: count},
	"filter":        {test: true, gives: isList, run: filter},
	"find":          {test: true, gives: unknown, run: search(false, itemFound)},
	"findLast":      {test: true, gives: unknown, run: search(true, itemFound)},
	"findIndex":     {test: true, gives: isNumeric | isNull, run: search(false, indexFound)},
	"findLastIndex": {test: true, gives: isNumeric | isNull, run: search(true, indexFound)},
	"map":           {gives: isList, run: mapItems},
	"sum":           {bare: true, gives: isNumeric, run: sum},
	"groupBy":       {gives: isObject, run: groupBy},
	"sortBy":        {extra: true, gives: isList, run: sortBy},
	"reduce":        {extra: true, gives: unknown, run: reduce},
}

// loop is a call of such a function.
type loop struct {
	place
	name     string
	function predicateFunction
	over     node
	body     node // nil: the item itself
	extra    node // may be nil
	items    []any
}

func (n *loop) eval(e *evaluator) (any, error) {
	items, err := e.list(n.over)
	if err != nil {
		return nil, err
	}
	l := *n
	l.items = items
	e.scope = &scope{outer: e.scope}
	v, err := n.function.run(e, &l)
	e.scope = e.scope.outer
	if f, ok := err.(*fault); ok && f.at == unplaced { //nolint:errorlint // faults are never wrapped
		f.reason = n.name + ": " + f.reason
	}
	return v, err
}

// at evaluates the predicate for the i-th item.
func (n *loop) value(e *evaluator, i int) (any, error) {
	e.scope.item, e.scope.index = n.items[i], i
	if n.body == nil {
		return n.items[i], e.charge(1)
	}
	return e.run(n.body)
}

// holds evaluates a predicate that must give a boolean.
func (n *loop) holds(e *evaluator, i int) (bool, error) {
	v, err := n.value(e, i)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, failf("the predicate must give a boolean, not %s", kindOf(v)).instead("compare it with something")
	}
	return b, nil
}

// option evaluates the argument behind the predicate, outside of the loop's scope.
func (n *loop) option(e *evaluator) (any, error) {
	inner := e.scope
	e.scope = inner.outer
	v, err := e.run(n.extra)
	e.scope = inner
	return v, err
}

// quantified stops at the first item for which the predicate gives stop, with the answer found.
func quantified(stop, found bool) func(*evaluator, *loop) (any, error) {
	return func(e *evaluator, l *loop) (any, error) {
		for i := range l.items {
			if b, err := l.holds(e, i); err != nil || b == stop {
				return found, err
			}
		}
		return !found, nil
	}
}

func one(e *evaluator, l *loop) (any, error) {
	n, err := count(e, l)
	return n == any(int64(1)), err
}

func count(e *evaluator, l *loop) (any, error) {
	n := int64(0)
	for i := range l.items {
		b, err := l.holds(e, i)
		if err != nil {
			return nil, err
		}
		if b {
			n++
		}
	}
	return n, nil
}

func filter(e *evaluator, l *loop) (any, error) {
	var out []any
	for i := range l.items {
		b, err := l.holds(e, i)
		if err != nil {
			return nil, err
		}
		if b {
			out = append(out, l.items[i])
		}
	}
	return newArray(out), nil
}

func itemFound(l *loop, i int) any  { return l.items[i] }
func indexFound(_ *loop, i int) any { return int64(i) }

// search gives what is found first from one end, or null.
func search(backwards bool, found func(l *loop, i int) any) func(*evaluator, *loop) (any, error) {
	return func(e *evaluator, l *loop) (any, error) {
		for n := range l.items {
			i := n
			if backwards {
				i = len(l.items) - 1 - n
			}
			b, err := l.holds(e, i)
			if err != nil {
				return nil, err
			}
			if b {
				return found(l, i), nil
			}
		}
		return nil, nil
	}
}

// values evaluates the predicate for every item.
func (n *loop) values(e *evaluator) ([]any, error) {
	var out []any
	for i := range n.items {
		v, err := n.value(e, i)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func mapItems(e *evaluator, l *loop) (any, error) {
	out, err := l.values(e)
	return newArray(out), err
}

func sum(e *evaluator, l *loop) (any, error) {
	var total any = int64(0)
	for i := range l.items {
		v, err := l.value(e, i)
		if err != nil {
			return nil, err
		}
		n, err := operandNumber(v)
		if err != nil {
			return nil, err
		}
		t, _, _ := numberOf(total)
		if total, err = add(t, n); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// groupBy makes an object of lists, in the order in which the keys come up.
func groupBy(e *evaluator, l *loop) (any, error) {
	groups := newObject(4)
	for i := range l.items {
		v, err := l.value(e, i)
		if err != nil {
			return nil, err
		}
		key, err := e.memberKey(v)
		if err != nil {
			return nil, err
		}
		if at := groups.find(key); at >= 0 {
			group := groups.values[at].(*array)
			group.items = append(group.items, l.items[i])
			continue
		}
		groups.set(key, newArray([]any{l.items[i]}))
	}
	return groups, nil
}

func sortBy(e *evaluator, l *loop) (any, error) {
	order := "asc"
	if l.extra != nil {
		v, err := l.option(e)
		if err != nil {
			return nil, err
		}
		var ok bool
		if order, ok, err = text(v); err != nil || !ok {
			return nil, failf("the order must be \"asc\" or \"desc\"")
		}
	}
	by, err := l.values(e)
	if err != nil {
		return nil, err
	}
	return e.sorted(l.items, by, order)
}

// reduce folds a list; without a start, its first item is the start.
func reduce(e *evaluator, l *loop) (any, error) {
	first := 0
	switch {
	case l.extra != nil:
		v, err := l.option(e)
		if err != nil {
			return nil, err
		}
		e.scope.acc = v
	case len(l.items) == 0:
		return nil, failf("an empty list without a start").instead("write the start behind the predicate")
	default:
		e.scope.acc, first = l.items[0], 1
	}
	for i := first; i < len(l.items); i++ {
		v, err := l.value(e, i)
		if err != nil {
			return nil, err
		}
		e.scope.acc = v
	}
	return e.scope.acc, nil
}
