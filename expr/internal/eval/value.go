package eval

import (
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// A value at evaluation is one of: nil; bool; int64; float64, always finite; string; numeral and quoted, a number and a
// string as JSON wrote them, which keep their bytes until something computes with them; *array and *object, which read
// their JSON text only as far as they are asked; and Env, an inner node of the environment on the way to its leaves.
type (
	numeral []byte
	quoted  []byte
)

// Array is a list. Its items are read from raw when first asked for; raw is nil for a list that the program made.
type Array struct {
	raw   []byte
	items []any
	read  bool
}

// object is an object. Its members are read from raw when asked for; raw is nil for one that the program made.
type object struct {
	raw    []byte
	keys   []string // in the order written, without repeats; the last of equal keys counts, as in encoding/json
	values []any
	index  map[string]int // of keys, when there are many
	read   bool
	probes int // lookups so far that did not read the whole
}

const (
	freeProbes = 2  // lookups by scanning before an object is read as a whole
	fewKeys    = 12 // up to here a scan of the keys beats a map
	scanUnit   = 256
	textUnit   = 64
)

func newArray(items []any) *Array { return &Array{items: items, read: true} }

func newObject(n int) *object {
	return &object{keys: make([]string, 0, n), values: make([]any, 0, n), read: true}
}

// set adds a member or replaces it in its place.
func (o *object) set(key string, v any) {
	if i := o.find(key); i >= 0 {
		o.values[i] = v
		return
	}
	o.keys = append(o.keys, key)
	o.values = append(o.values, v)
	if o.index != nil {
		o.index[key] = len(o.keys) - 1
		return
	}
	if len(o.keys) > fewKeys {
		o.index = make(map[string]int, 2*len(o.keys))
		for i, k := range o.keys {
			o.index[k] = i
		}
	}
}

// find gives the place of a key in an object that has been read, or -1.
func (o *object) find(key string) int {
	if o.index == nil {
		return slices.Index(o.keys, key)
	}
	if i, ok := o.index[key]; ok {
		return i
	}
	return -1
}

// notJSON is the fault of a leaf that is not valid JSON: the caller broke the contract of Env.
func notJSON() *Fault { return failf("a value it reads is not valid JSON") }

// FromJSON gives the value of a JSON text, decoding nothing yet.
func FromJSON(raw []byte) (any, error) {
	raw = Trim(raw)
	if len(raw) == 0 {
		return nil, notJSON()
	}
	switch raw[0] {
	case '{':
		return &object{raw: raw}, nil
	case '[':
		return &Array{raw: raw}, nil
	case '"':
		return quoted(raw), nil
	}
	switch string(raw) {
	case "null":
		return nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	if !isNumber(raw) {
		return nil, notJSON()
	}
	return numeral(raw), nil
}

// Items gives the items of a list, reading them if need be. The caller does not change the slice.
func (e *Evaluator) Items(a *Array) ([]any, error) {
	if a.read {
		return a.items, nil
	}
	if err := e.charge(len(a.raw) / scanUnit); err != nil {
		return nil, err
	}
	var items []any
	var bad error
	ok := EachItem(a.raw, func(start, end int) {
		if bad == nil {
			if bad = e.charge(1); bad == nil {
				var v any
				v, bad = FromJSON(a.raw[start:end:end])
				items = append(items, v)
			}
		}
	})
	if bad != nil {
		return nil, bad
	}
	if !ok {
		return nil, notJSON()
	}
	a.items, a.read = items, true
	return items, nil
}

// members reads an object as a whole.
func (e *Evaluator) members(o *object) error {
	if o.read {
		return nil
	}
	if err := e.charge(len(o.raw) / scanUnit); err != nil {
		return err
	}
	whole := newObject(4)
	var bad error
	ok := EachMember(o.raw, func(k, keyEnd, start, end int) {
		if bad != nil {
			return
		}
		if bad = e.charge(1); bad != nil {
			return
		}
		key, valid := Unquote(o.raw[k:keyEnd])
		if !valid {
			bad = BadText()
			return
		}
		var v any
		v, bad = FromJSON(o.raw[start:end:end])
		whole.set(key, v)
	})
	if bad != nil {
		return bad
	}
	if !ok {
		return notJSON()
	}
	o.keys, o.values, o.index, o.read = whole.keys, whole.values, whole.index, true
	return nil
}

// member gives the value of a key and whether the object has it.
func (e *Evaluator) member(o *object, key string) (v any, found bool, err error) {
	if !o.read && o.probes < freeProbes {
		o.probes++
		return e.probe(o, key)
	}
	if err := e.members(o); err != nil {
		return nil, false, err
	}
	if i := o.find(key); i >= 0 {
		return o.values[i], true, nil
	}
	return nil, false, nil
}

// probe looks for a key in an object's text.
func (e *Evaluator) probe(o *object, key string) (v any, found bool, err error) {
	if err := e.charge(len(o.raw) / scanUnit); err != nil {
		return nil, false, err
	}
	var raw []byte
	if !EachMember(o.raw, func(k, keyEnd, start, end int) {
		if keyIs(o.raw[k:keyEnd], key) {
			raw = o.raw[start:end:end]
		}
	}) {
		return nil, false, notJSON()
	}
	if raw == nil {
		return nil, false, nil
	}
	v, err = FromJSON(raw)
	return v, true, err
}

// doc gives the value of a leaf's text. Containers are remembered by their place in memory, so that a leaf which is read
// in many places is scanned once.
func (e *Evaluator) doc(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	key := docKey{start: &raw[0], size: len(raw)}
	if v, ok := e.docs[key]; ok {
		return v, nil
	}
	v, err := FromJSON(raw)
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case *object, *Array:
		if e.docs == nil {
			e.docs = make(map[docKey]any, 4)
		}
		e.docs[key] = v
	}
	return v, nil
}

// docKey names a leaf's text by its place in memory.
type docKey struct {
	start *byte
	size  int
}

// leaf gives the value of an entry of an Env; an inner env is given as it is.
func (e *Evaluator) leaf(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, Env:
		return v, nil
	case json.RawMessage:
		return e.doc(v)
	case string:
		if !utf8.ValidString(v) {
			return nil, BadText()
		}
		return v, nil
	case int:
		return int64(v), nil
	}
	return nil, failf("the environment holds a value of an unknown kind")
}

// settle turns an inner node of the environment into an object, members in order of their names.
func (e *Evaluator) settle(v any, depth int) (any, error) {
	inner, ok := v.(Env)
	if !ok {
		return v, nil
	}
	if depth > e.Budget.Depth {
		return nil, e.TooDeep()
	}
	o := newObject(len(inner))
	for _, key := range SortedKeys(inner) {
		if err := e.charge(1); err != nil {
			return nil, err
		}
		v, err := e.leaf(inner[key])
		if err != nil {
			return nil, err
		}
		if v, err = e.settle(v, depth+1); err != nil {
			return nil, err
		}
		o.set(key, v)
	}
	return o, nil
}

// SortedKeys gives the keys of a map in order.
func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// BadText is the fault of text that cannot be computed with.
func BadText() *Fault {
	return failf("a text it reads holds half a surrogate pair or bytes that are not UTF-8")
}

// text gives the text of a string value.
func text(v any) (string, bool, error) {
	switch v := v.(type) {
	case string:
		return v, true, nil
	case quoted:
		s, ok := Unquote(v)
		if !ok {
			return "", false, BadText()
		}
		return s, true, nil
	}
	return "", false, nil
}
