package eval

// PredicateFunction is a function that evaluates a predicate for each item of a list.
type PredicateFunction struct {
	bare  bool // the predicate may be left out
	extra bool // takes one more argument behind the predicate
	Test  bool // the predicate must give a boolean
	Gives Kinds
	run   func(e *Evaluator, l *Loop) (any, error)
}

// PredicateFunctions are the functions with a predicate.
var PredicateFunctions = map[string]PredicateFunction{
	"all":           {Test: true, Gives: IsBool, run: quantified(false, false)},
	"any":           {Test: true, Gives: IsBool, run: quantified(true, true)},
	"none":          {Test: true, Gives: IsBool, run: quantified(true, false)},
	"one":           {Test: true, Gives: IsBool, run: one},
	"count":         {Test: true, bare: true, Gives: IsNumeric, run: count},
	"filter":        {Test: true, Gives: IsList, run: filter},
	"find":          {Test: true, Gives: Unknown, run: search(false, itemFound)},
	"findLast":      {Test: true, Gives: Unknown, run: search(true, itemFound)},
	"findIndex":     {Test: true, Gives: IsNumeric | IsNull, run: search(false, indexFound)},
	"findLastIndex": {Test: true, Gives: IsNumeric | IsNull, run: search(true, indexFound)},
	"map":           {Gives: IsList, run: mapItems},
	"sum":           {bare: true, Gives: IsNumeric, run: sum},
	"groupBy":       {Gives: IsObject, run: groupBy},
	"sortBy":        {extra: true, Gives: IsList, run: sortBy},
	"reduce":        {extra: true, Gives: Unknown, run: reduce},
}

// Loop is a call of such a function.
type Loop struct {
	Place
	Name     string
	Function PredicateFunction
	Over     Node
	Body     Node // nil: the item itself
	Extra    Node // may be nil
	items    []any
}

func (n *Loop) eval(e *Evaluator) (any, error) {
	items, err := e.list(n.Over)
	if err != nil {
		return nil, err
	}
	l := *n
	l.items = items
	e.scope = &scope{outer: e.scope}
	v, err := n.Function.run(e, &l)
	e.scope = e.scope.outer
	if f, ok := err.(*Fault); ok && f.At == Unplaced { //nolint:errorlint // faults are never wrapped
		f.Reason = n.Name + ": " + f.Reason
	}
	return v, err
}

// at evaluates the predicate for the i-th item.
func (n *Loop) value(e *Evaluator, i int) (any, error) {
	e.scope.item, e.scope.index = n.items[i], i
	if n.Body == nil {
		return n.items[i], e.charge(1)
	}
	return e.Run(n.Body)
}

// holds evaluates a predicate that must give a boolean.
func (n *Loop) holds(e *Evaluator, i int) (bool, error) {
	v, err := n.value(e, i)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, failf("the predicate must give a boolean, not %s", KindOf(v)).Instead("compare it with something")
	}
	return b, nil
}

// option evaluates the argument behind the predicate, outside of the loop's scope.
func (n *Loop) option(e *Evaluator) (any, error) {
	inner := e.scope
	e.scope = inner.outer
	v, err := e.Run(n.Extra)
	e.scope = inner
	return v, err
}

// quantified stops at the first item for which the predicate gives stop, with the answer found.
func quantified(stop, found bool) func(*Evaluator, *Loop) (any, error) {
	return func(e *Evaluator, l *Loop) (any, error) {
		for i := range l.items {
			if b, err := l.holds(e, i); err != nil || b == stop {
				return found, err
			}
		}
		return !found, nil
	}
}

func one(e *Evaluator, l *Loop) (any, error) {
	n, err := count(e, l)
	return n == any(int64(1)), err
}

func count(e *Evaluator, l *Loop) (any, error) {
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

func filter(e *Evaluator, l *Loop) (any, error) {
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

func itemFound(l *Loop, i int) any  { return l.items[i] }
func indexFound(_ *Loop, i int) any { return int64(i) }

// search gives what is found first from one end, or null.
func search(backwards bool, found func(l *Loop, i int) any) func(*Evaluator, *Loop) (any, error) {
	return func(e *Evaluator, l *Loop) (any, error) {
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
func (n *Loop) values(e *Evaluator) ([]any, error) {
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

func mapItems(e *Evaluator, l *Loop) (any, error) {
	out, err := l.values(e)
	return newArray(out), err
}

func sum(e *Evaluator, l *Loop) (any, error) {
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
func groupBy(e *Evaluator, l *Loop) (any, error) {
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
			group := groups.values[at].(*Array)
			group.items = append(group.items, l.items[i])
			continue
		}
		groups.set(key, newArray([]any{l.items[i]}))
	}
	return groups, nil
}

func sortBy(e *Evaluator, l *Loop) (any, error) {
	order := "asc"
	if l.Extra != nil {
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
func reduce(e *Evaluator, l *Loop) (any, error) {
	first := 0
	switch {
	case l.Extra != nil:
		v, err := l.option(e)
		if err != nil {
			return nil, err
		}
		e.scope.acc = v
	case len(l.items) == 0:
		return nil, failf("an empty list without a start").Instead("write the start behind the predicate")
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
