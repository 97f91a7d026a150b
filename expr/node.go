package expr

import (
	"unicode/utf8"
)

// constant is a value written in the program.
type constant struct {
	place
	value any
}

func (n *constant) eval(*evaluator) (any, error) { return n.value, nil }

// variable is a name declared with let.
type variable struct {
	place
	slot int
}

func (n *variable) eval(e *evaluator) (any, error) { return e.vars[n.slot], nil }

// let declares a variable.
type let struct {
	place
	slot        int
	value, body node
}

func (n *let) eval(e *evaluator) (any, error) {
	v, err := e.run(n.value)
	if err != nil {
		return nil, err
	}
	for len(e.vars) <= n.slot {
		e.vars = append(e.vars, nil)
	}
	e.vars[n.slot] = v
	return e.run(n.body)
}

// sequence evaluates all of its parts and gives the last.
type sequence struct {
	place
	parts []node
}

func (n *sequence) eval(e *evaluator) (v any, err error) {
	for _, p := range n.parts {
		if v, err = e.run(p); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// element is # in a predicate, #index or #acc.
type element struct {
	place
	name string
}

func (n *element) eval(e *evaluator) (any, error) {
	switch n.name {
	case "index":
		return int64(e.scope.index), nil
	case "acc":
		return e.scope.acc, nil
	}
	return e.scope.item, nil
}

// condition is ?: and if.
type condition struct {
	place
	test, yes, no node
}

func (n *condition) eval(e *evaluator) (any, error) {
	ok, err := e.boolean(n.test)
	if err != nil {
		return nil, err
	}
	if ok {
		return e.run(n.yes)
	}
	return e.run(n.no)
}

// listOf makes a list.
type listOf struct {
	place
	items []node
}

func (n *listOf) eval(e *evaluator) (any, error) {
	items := make([]any, len(n.items))
	for i, item := range n.items {
		v, err := e.run(item)
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return newArray(items), nil
}

// objectOf makes an object, members in the order written.
type objectOf struct {
	place
	keys, values []node
}

func (n *objectOf) eval(e *evaluator) (any, error) {
	o := newObject(len(n.keys))
	for i := range n.keys {
		k, err := e.run(n.keys[i])
		if err != nil {
			return nil, err
		}
		key, ok, err := text(k)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, failAt(n.keys[i].at(), "a key must be a text, not %s", kindOf(k)).instead("convert with string()")
		}
		v, err := e.run(n.values[i])
		if err != nil {
			return nil, err
		}
		o.set(key, v)
	}
	return o, nil
}

// root is a top-level name.
type root struct {
	place
	name string
}

func (n *root) eval(e *evaluator) (any, error) {
	v, ok := e.env[n.name]
	if !ok {
		return nil, failf("%s has no value here", n.name)
	}
	return e.leaf(v)
}

// chain reads members of a value, one after the other. A null on the way ends it: with null where ?. was written or the
// chain stands before ??, else with a fault.
type chain struct {
	place
	base  node
	name  string // how the base is called in messages; "" when it has no name
	steps []step
	safe  bool // stands before ??
}

// step is one member, index or slice of a chain.
type step struct {
	at       int
	key      string // constant member
	index    int64  // constant index
	kind     stepKind
	expr     node // computed member or index
	from, to node // slice; either may be nil
	optional bool // ?.
}

type stepKind int

const (
	byKey stepKind = iota
	byIndex
	byValue
	bySlice
)

func (n *chain) eval(e *evaluator) (any, error) {
	v, err := e.run(n.base)
	if err != nil {
		return nil, err
	}
	for i := range n.steps {
		s := &n.steps[i]
		if v == nil {
			if s.optional || n.safe {
				return nil, nil
			}
			return nil, n.onNull(i)
		}
		if err := e.charge(1); err != nil {
			return nil, err
		}
		if v, err = n.take(e, v, i); err != nil {
			if f, ok := err.(*fault); ok && f.at == unplaced { //nolint:errorlint // faults are never wrapped
				f.at = s.at
			}
			return nil, err
		}
	}
	return e.settle(v, 1)
}

// take applies one step to a value that is not null.
func (n *chain) take(e *evaluator, v any, i int) (any, error) {
	switch s := &n.steps[i]; s.kind {
	case byKey:
		return n.takeKey(e, v, s.key, i)
	case byIndex:
		return n.takeIndex(e, v, s.index)
	case bySlice:
		return s.slice(e, v)
	default:
		k, err := e.run(s.expr)
		if err != nil {
			return nil, err
		}
		if key, ok, err := text(k); ok || err != nil {
			if err != nil {
				return nil, err
			}
			return n.takeKey(e, v, key, i)
		}
		index, err := wholeArgument(k)
		if err != nil {
			return nil, err
		}
		return n.takeIndex(e, v, index)
	}
}

// takeKey reads a member. One that an object lacks is null; one that the environment lacks is a fault.
func (n *chain) takeKey(e *evaluator, v any, key string, i int) (any, error) {
	switch v := v.(type) {
	case *object:
		m, _, err := e.member(v, key)
		return m, err
	case Env:
		m, ok := v[key]
		if !ok {
			return nil, failf("%s has no value here", n.upTo(i+1))
		}
		return e.leaf(m)
	case *array:
		return nil, failf("a list has no members, only [index]").instead("write [0] for the first item, or map() over it")
	}
	return nil, failf("%s has no members", kindOf(v))
}

// takeIndex reads an item; a negative index counts from the end.
func (n *chain) takeIndex(e *evaluator, v any, index int64) (any, error) {
	if s, ok, err := text(v); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return n.character(e, s, index)
	}
	switch v := v.(type) {
	case *array:
		items, err := e.items(v)
		if err != nil {
			return nil, err
		}
		if i := fromEnd(index, len(items)); i >= 0 && i < int64(len(items)) {
			return items[i], nil
		}
		return n.outside(len(items))
	case *object:
		m, _, err := e.member(v, string(appendNumber(nil, index)))
		return m, err
	}
	return nil, failf("%s has no items", kindOf(v))
}

// character gives the character of a text at an index.
func (n *chain) character(e *evaluator, s string, index int64) (any, error) {
	if err := e.charge(len(s) / textUnit); err != nil {
		return nil, err
	}
	size := utf8.RuneCountInString(s)
	i := fromEnd(index, size)
	if i < 0 || i >= int64(size) {
		return n.outside(size)
	}
	return sliceText(s, int(i), int(i)+1), nil
}

func (n *chain) outside(size int) (any, error) {
	if n.safe {
		return nil, nil
	}
	return nil, failf("the index is outside of %d items", size).
		instead("write ?? and a value behind it, or get(list, index), which gives null")
}

func fromEnd(index int64, size int) int64 {
	if index < 0 {
		return index + int64(size)
	}
	return index
}

func (s *step) slice(e *evaluator, v any) (any, error) {
	from, err := s.bound(e, s.from, 0)
	if err != nil {
		return nil, err
	}
	if a, ok := v.(*array); ok {
		items, err := e.items(a)
		if err != nil {
			return nil, err
		}
		to, err := s.bound(e, s.to, len(items))
		if err != nil {
			return nil, err
		}
		i, j := clamp(from, to, len(items))
		return newArray(items[i:j:j]), nil
	}
	t, ok, err := text(v)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, failf("%s cannot be sliced", kindOf(v))
	}
	if err := e.charge(len(t) / textUnit); err != nil {
		return nil, err
	}
	size := utf8.RuneCountInString(t)
	to, err := s.bound(e, s.to, size)
	if err != nil {
		return nil, err
	}
	i, j := clamp(from, to, size)
	return sliceText(t, i, j), nil
}

// bound evaluates an end of a slice.
func (s *step) bound(e *evaluator, n node, missing int) (int64, error) {
	if n == nil {
		return int64(missing), nil
	}
	v, err := e.run(n)
	if err != nil {
		return 0, err
	}
	return wholeArgument(v)
}

// clamp gives the ends of a slice inside of size items.
func clamp(from, to int64, size int) (i, j int) {
	limit := int64(size)
	from, to = fromEnd(from, size), fromEnd(to, size)
	to = min(max(to, 0), limit)
	from = min(max(from, 0), to)
	return int(from), int(to)
}

// sliceText cuts a text by characters.
func sliceText(s string, from, to int) string {
	i, start := 0, len(s)
	for at := range s {
		if i == from {
			start = at
		}
		if i == to {
			return s[start:at]
		}
		i++
	}
	return s[start:]
}

// wholeArgument gives a whole number that is used as an index or a count.
func wholeArgument(v any) (int64, error) {
	n, ok, err := numberOf(v)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, failf("must be a whole number, not %s", kindOf(v))
	}
	i, ok := n.asWhole()
	if !ok {
		return 0, failf("must be a whole number, not a fraction").instead("convert with int()")
	}
	return i, nil
}

// onNull is the fault of reading step i of null.
func (n *chain) onNull(i int) error {
	f := failAt(n.steps[i].at, "%s is null and has no members", n.upTo(i))
	return f.instead("write ?. to read null as null, or ?? and a value behind the path")
}

// upTo names the first i steps for a message; computed parts are shown as [..].
func (n *chain) upTo(i int) string {
	name := n.name
	if name == "" {
		name = "the value"
	}
	for _, s := range n.steps[:i] {
		switch s.kind {
		case byKey:
			name += memberText(s.key)
		case byIndex:
			name += "[" + string(appendNumber(nil, s.index)) + "]"
		default:
			name += "[..]"
		}
	}
	return name
}

// memberText writes a member as a program would.
func memberText(key string) string {
	if isIdentifier(key) {
		return "." + key
	}
	return "[" + string(appendQuoted(nil, key)) + "]"
}

// isIdentifier tells whether key can be written behind a dot.
func isIdentifier(key string) bool {
	for i, r := range key {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return key != ""
}
