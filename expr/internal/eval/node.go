package eval

import (
	"unicode/utf8"
)

// Constant is a value written in the program.
type Constant struct {
	Place
	Value any
}

func (n *Constant) eval(*Evaluator) (any, error) { return n.Value, nil }

// Variable is a name declared with let.
type Variable struct {
	Place
	Slot int
}

func (n *Variable) eval(e *Evaluator) (any, error) { return e.vars[n.Slot], nil }

// Let declares a variable.
type Let struct {
	Place
	Slot        int
	Value, Body Node
}

func (n *Let) eval(e *Evaluator) (any, error) {
	v, err := e.Run(n.Value)
	if err != nil {
		return nil, err
	}
	for len(e.vars) <= n.Slot {
		e.vars = append(e.vars, nil)
	}
	e.vars[n.Slot] = v
	return e.Run(n.Body)
}

// Sequence evaluates all of its parts and gives the last.
type Sequence struct {
	Place
	Parts []Node
}

func (n *Sequence) eval(e *Evaluator) (v any, err error) {
	for _, p := range n.Parts {
		if v, err = e.Run(p); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// Element is # in a predicate, #index or #acc.
type Element struct {
	Place
	Name string
}

func (n *Element) eval(e *Evaluator) (any, error) {
	switch n.Name {
	case "index":
		return int64(e.scope.index), nil
	case "acc":
		return e.scope.acc, nil
	}
	return e.scope.item, nil
}

// Condition is ?: and if.
type Condition struct {
	Place
	Test, Yes, No Node
}

func (n *Condition) eval(e *Evaluator) (any, error) {
	ok, err := e.boolean(n.Test)
	if err != nil {
		return nil, err
	}
	if ok {
		return e.Run(n.Yes)
	}
	return e.Run(n.No)
}

// ListOf makes a list.
type ListOf struct {
	Place
	Items []Node
}

func (n *ListOf) eval(e *Evaluator) (any, error) {
	items := make([]any, len(n.Items))
	for i, item := range n.Items {
		v, err := e.Run(item)
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return newArray(items), nil
}

// ObjectOf makes an object, members in the order written.
type ObjectOf struct {
	Place
	Keys, Values []Node
}

func (n *ObjectOf) eval(e *Evaluator) (any, error) {
	o := newObject(len(n.Keys))
	for i := range n.Keys {
		k, err := e.Run(n.Keys[i])
		if err != nil {
			return nil, err
		}
		key, ok, err := text(k)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, FailAt(n.Keys[i].At(), "a key must be a text, not %s", KindOf(k)).Instead("convert with string()")
		}
		v, err := e.Run(n.Values[i])
		if err != nil {
			return nil, err
		}
		o.set(key, v)
	}
	return o, nil
}

// Root is a top-level name.
type Root struct {
	Place
	Name string
}

func (n *Root) eval(e *Evaluator) (any, error) {
	v, ok := e.env[n.Name]
	if !ok {
		return nil, failf("%s has no value here", n.Name)
	}
	return e.leaf(v)
}

// Chain reads members of a value, one after the other. A null on the way ends it: with null where ?. was written or the
// Chain stands before ??, else with a fault.
type Chain struct {
	Place
	Base  Node
	Name  string // how the base is called in messages; "" when it has no name
	Steps []Step
	Safe  bool // stands before ??
}

// Step is one member, index or slice of a chain.
type Step struct {
	At       int
	Key      string // constant member
	Index    int64  // constant index
	Kind     StepKind
	Expr     Node // computed member or index
	From, To Node // slice; either may be nil
	Optional bool // ?.
}

// StepKind says what a step reads.
type StepKind int

// The kinds of step.
const (
	ByKey StepKind = iota
	ByIndex
	ByValue
	BySlice
)

func (n *Chain) eval(e *Evaluator) (any, error) {
	v, err := e.Run(n.Base)
	if err != nil {
		return nil, err
	}
	for i := range n.Steps {
		s := &n.Steps[i]
		if v == nil {
			if s.Optional || n.Safe {
				return nil, nil
			}
			return nil, n.onNull(i)
		}
		if err := e.charge(1); err != nil {
			return nil, err
		}
		if v, err = n.take(e, v, i); err != nil {
			if f, ok := err.(*Fault); ok && f.At == Unplaced { //nolint:errorlint // faults are never wrapped
				f.At = s.At
			}
			return nil, err
		}
	}
	return e.settle(v, 1)
}

// take applies one step to a value that is not null.
func (n *Chain) take(e *Evaluator, v any, i int) (any, error) {
	switch s := &n.Steps[i]; s.Kind {
	case ByKey:
		return n.takeKey(e, v, s.Key, i)
	case ByIndex:
		return n.takeIndex(e, v, s.Index)
	case BySlice:
		return s.slice(e, v)
	default:
		k, err := e.Run(s.Expr)
		if err != nil {
			return nil, err
		}
		if key, ok, err := text(k); ok || err != nil {
			if err != nil {
				return nil, err
			}
			return n.takeKey(e, v, key, i)
		}
		index, err := WholeArgument(k)
		if err != nil {
			return nil, err
		}
		return n.takeIndex(e, v, index)
	}
}

// takeKey reads a member. One that an object lacks is null; one that the environment lacks is a fault.
func (n *Chain) takeKey(e *Evaluator, v any, key string, i int) (any, error) {
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
	case *Array:
		return nil, failf("a list has no members, only [index]").Instead("write [0] for the first item, or map() over it")
	}
	return nil, failf("%s has no members", KindOf(v))
}

// takeIndex reads an item; a negative index counts from the end.
func (n *Chain) takeIndex(e *Evaluator, v any, index int64) (any, error) {
	if s, ok, err := text(v); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return n.character(e, s, index)
	}
	switch v := v.(type) {
	case *Array:
		items, err := e.Items(v)
		if err != nil {
			return nil, err
		}
		if i := fromEnd(index, len(items)); i >= 0 && i < int64(len(items)) {
			return items[i], nil
		}
		return n.outside(len(items))
	case *object:
		m, _, err := e.member(v, string(AppendNumber(nil, index)))
		return m, err
	}
	return nil, failf("%s has no items", KindOf(v))
}

// character gives the character of a text at an index.
func (n *Chain) character(e *Evaluator, s string, index int64) (any, error) {
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

func (n *Chain) outside(size int) (any, error) {
	if n.Safe {
		return nil, nil
	}
	return nil, failf("the index is outside: the length is %d", size).
		Instead("write ?? and a value behind it, or get(list, index), which gives null")
}

func fromEnd(index int64, size int) int64 {
	if index < 0 {
		return index + int64(size)
	}
	return index
}

func (s *Step) slice(e *Evaluator, v any) (any, error) {
	from, err := s.bound(e, s.From, 0)
	if err != nil {
		return nil, err
	}
	if a, ok := v.(*Array); ok {
		items, err := e.Items(a)
		if err != nil {
			return nil, err
		}
		to, err := s.bound(e, s.To, len(items))
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
		return nil, failf("%s cannot be sliced", KindOf(v))
	}
	if err := e.charge(len(t) / textUnit); err != nil {
		return nil, err
	}
	size := utf8.RuneCountInString(t)
	to, err := s.bound(e, s.To, size)
	if err != nil {
		return nil, err
	}
	i, j := clamp(from, to, size)
	return sliceText(t, i, j), nil
}

// bound evaluates an end of a slice.
func (s *Step) bound(e *Evaluator, n Node, missing int) (int64, error) {
	if n == nil {
		return int64(missing), nil
	}
	v, err := e.Run(n)
	if err != nil {
		return 0, err
	}
	return WholeArgument(v)
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

// WholeArgument gives a whole number that is used as an index or a count.
func WholeArgument(v any) (int64, error) {
	n, ok, err := numberOf(v)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, failf("must be a whole number, not %s", KindOf(v))
	}
	i, ok := n.asWhole()
	if !ok {
		return 0, failf("must be a whole number, not a fraction").Instead("convert with int()")
	}
	return i, nil
}

// onNull is the fault of reading step i of null.
func (n *Chain) onNull(i int) error {
	f := FailAt(n.Steps[i].At, "%s is null and has no members", n.upTo(i))
	return f.Instead("write ?. to read null as null, or ?? and a value behind the path")
}

// upTo names the first i steps for a message; computed parts are shown as [..].
func (n *Chain) upTo(i int) string {
	name := n.Name
	if name == "" {
		name = "the value"
	}
	for _, s := range n.Steps[:i] {
		switch s.Kind {
		case ByKey:
			name += MemberText(s.Key)
		case ByIndex:
			name += "[" + string(AppendNumber(nil, s.Index)) + "]"
		default:
			name += "[..]"
		}
	}
	return name
}

// MemberText writes a member as a program would.
func MemberText(key string) string {
	if IsIdentifier(key) {
		return "." + key
	}
	return "[" + string(AppendQuoted(nil, key)) + "]"
}

// IsIdentifier tells whether key can be written behind a dot.
func IsIdentifier(key string) bool {
	for i, r := range key {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return key != ""
}
