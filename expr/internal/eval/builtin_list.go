package eval

import (
	"slices"
	"unicode/utf8"
)

// listFunctions work on lists as a whole.
var listFunctions = map[string]Builtin{
	"first":   {[]argument{aList}, 1, 1, Unknown, edge(func(items []any) any { return items[0] })},
	"last":    {[]argument{aList}, 1, 1, Unknown, edge(func(items []any) any { return items[len(items)-1] })},
	"take":    {[]argument{aList, aWhole}, 2, 2, IsList, take},
	"reverse": {[]argument{aList}, 1, 1, IsList, reverse},
	"uniq":    {[]argument{aList}, 1, 1, IsList, uniq},
	"concat":  {[]argument{aList}, 1, 1 << 20, IsList, concat},
	"flatten": {[]argument{aList}, 1, 1, IsList, flatten},
	"sort":    {[]argument{aList, aText}, 1, 2, IsList, sortList},
}

// objectFunctions work on objects. What follows the members of an object follows the order of their keys.
var objectFunctions = map[string]Builtin{
	"keys":   {[]argument{anObject}, 1, 1, IsList, eachKey(func(key string, _ any) any { return key })},
	"values": {[]argument{anObject}, 1, 1, IsList, eachKey(func(_ string, v any) any { return v })},
	"toPairs": {[]argument{anObject}, 1, 1, IsList, eachKey(func(key string, v any) any {
		return newArray([]any{key, v})
	})},
	"fromPairs": {[]argument{aList}, 1, 1, IsObject, fromPairs},
}

// valueFunctions work on any value.
var valueFunctions = map[string]Builtin{
	"len":    {[]argument{aContainer}, 1, 1, IsNumeric, length},
	"type":   {[]argument{anything}, 1, 1, IsText, typeName},
	"string": {[]argument{anything}, 1, 1, IsText, func(e *Evaluator, args []any) (any, error) { return e.Plain(args[0]) }},
	"get":    {[]argument{anything}, 2, 2, Unknown, get},
}

func edge(f func(items []any) any) func(*Evaluator, []any) (any, error) {
	return func(_ *Evaluator, args []any) (any, error) {
		items := args[0].([]any)
		if len(items) == 0 {
			return nil, nil
		}
		return f(items), nil
	}
}

func take(_ *Evaluator, args []any) (any, error) {
	items, n := args[0].([]any), args[1].(int64)
	if n < 0 {
		return nil, failf("the count is negative")
	}
	n = min(n, int64(len(items)))
	return newArray(items[:n:n]), nil
}

func reverse(e *Evaluator, args []any) (any, error) {
	items := slices.Clone(args[0].([]any))
	slices.Reverse(items)
	return newArray(items), e.charge(len(items))
}

// uniq keeps the first of equal items.
func uniq(e *Evaluator, args []any) (any, error) {
	seen := make(map[string]bool)
	var out []any
	for _, item := range args[0].([]any) {
		key, err := e.canonicalText(item)
		if err != nil {
			return nil, err
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, item)
		}
	}
	return newArray(out), nil
}

func concat(e *Evaluator, args []any) (any, error) {
	var out []any
	for _, arg := range args {
		items := arg.([]any)
		if err := e.charge(len(items)); err != nil {
			return nil, err
		}
		out = append(out, items...)
	}
	return newArray(out), nil
}

func flatten(e *Evaluator, args []any) (any, error) {
	out, err := e.flat(nil, args[0].([]any), 1)
	return newArray(out), err
}

func (e *Evaluator) flat(dst, items []any, depth int) ([]any, error) {
	if depth > e.Budget.Depth {
		return nil, e.TooDeep()
	}
	for _, v := range items {
		if err := e.charge(1); err != nil {
			return nil, err
		}
		a, ok := v.(*Array)
		if !ok {
			dst = append(dst, v)
			continue
		}
		inner, err := e.Items(a)
		if err != nil {
			return nil, err
		}
		if dst, err = e.flat(dst, inner, depth+1); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func sortList(e *Evaluator, args []any) (any, error) {
	order := "asc"
	if len(args) == 2 {
		order = args[1].(string)
	}
	items := args[0].([]any)
	return e.sorted(items, items, order)
}

// sorted gives the items in the order of their keys; equal ones stay as they stood.
func (e *Evaluator) sorted(items, by []any, order string) (any, error) {
	if order != "asc" && order != "desc" {
		return nil, failf("the order must be \"asc\" or \"desc\"")
	}
	if err := e.chargeSort(len(items)); err != nil {
		return nil, err
	}
	at := make([]int, len(items))
	for i := range at {
		at[i] = i
	}
	var bad error
	slices.SortStableFunc(at, func(i, j int) int {
		if bad != nil {
			return 0
		}
		c, err := e.order(by[i], by[j])
		bad = err
		if order == "desc" {
			return -c
		}
		return c
	})
	if bad != nil {
		return nil, bad
	}
	out := make([]any, len(items))
	for i, j := range at {
		out[i] = items[j]
	}
	return newArray(out), nil
}

func eachKey(f func(key string, v any) any) func(*Evaluator, []any) (any, error) {
	return func(e *Evaluator, args []any) (any, error) {
		o := args[0].(*object)
		if err := e.charge(2 * len(o.keys)); err != nil {
			return nil, err
		}
		out := make([]any, 0, len(o.keys))
		for _, key := range slices.Sorted(slices.Values(o.keys)) {
			out = append(out, f(key, o.values[o.find(key)]))
		}
		return newArray(out), nil
	}
}

func fromPairs(e *Evaluator, args []any) (any, error) {
	o := newObject(4)
	for i, item := range args[0].([]any) {
		a, ok := item.(*Array)
		if !ok {
			return nil, failf("item %d is %s, not a pair", i, KindOf(item))
		}
		pair, err := e.Items(a)
		if err != nil {
			return nil, err
		}
		if len(pair) != 2 {
			return nil, failf("item %d has the length %d, not 2", i, len(pair))
		}
		key, err := e.memberKey(pair[0])
		if err != nil {
			return nil, err
		}
		if err := e.charge(2); err != nil {
			return nil, err
		}
		o.set(key, pair[1])
	}
	return o, nil
}

// memberKey gives the key that a computed value makes: a text as it is, a number or a boolean as its text.
func (e *Evaluator) memberKey(v any) (string, error) {
	if n, ok, err := numberOf(v); ok && err == nil {
		return string(AppendNumber(nil, n.value())), nil
	}
	if KindOf(v)&(IsText|IsBool|IsNumeric) != 0 {
		return e.Plain(v)
	}
	return "", failf("%s cannot be a key", KindOf(v)).Instead("convert with string()")
}

// length counts characters, items or members.
func length(e *Evaluator, args []any) (any, error) {
	switch v := args[0].(type) {
	case *Array:
		items, err := e.Items(v)
		return int64(len(items)), err
	case *object:
		err := e.members(v)
		return int64(len(v.keys)), err
	}
	s, _, err := text(args[0])
	if err != nil {
		return nil, err
	}
	return int64(utf8.RuneCountInString(s)), e.charge(len(s) / textUnit)
}

// typeName gives the name that the language has for the kind of a value.
func typeName(_ *Evaluator, args []any) (any, error) {
	switch v := args[0].(type) {
	case int64:
		return "int", nil
	case numeral:
		if n, _, err := numberOf(v); err == nil && n.whole {
			return "int", nil
		}
	}
	names := map[Kinds]string{
		IsNull: "nil", IsBool: "bool", IsNumeric: "float", IsText: "string", IsList: "array", IsObject: "map",
	}
	return names[KindOf(args[0])], nil
}

// get reads a member or an item and gives null where there is none.
func get(e *Evaluator, args []any) (any, error) {
	switch args[0].(type) {
	case nil:
		return nil, nil
	case *object, *Array, string, quoted:
		c := Chain{Steps: []Step{{Kind: ByValue, Expr: &Constant{Value: args[1]}}}, Safe: true}
		return c.take(e, args[0], 0)
	}
	return nil, failf("%s has no members", KindOf(args[0]))
}
