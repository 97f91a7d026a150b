package eval

import (
	"slices"
	"strconv"
)

// encoder writes values as JSON, bounded by the budget of its evaluation.
type encoder struct {
	e   *Evaluator
	dst []byte
	// sorted writes members in order of their keys and reads everything, so that equal values give equal text but for the
	// spelling of numbers and texts.
	sorted bool
	// canonical, with sorted, spells numbers and texts in one way too: equal values give equal text.
	canonical bool
}

// Encode gives a value as JSON, as it was written where it comes from JSON.
func (e *Evaluator) Encode(v any) ([]byte, error) {
	if raw := written(v); raw != nil {
		if len(raw) > e.Budget.Bytes {
			return nil, e.TooLarge()
		}
		return raw, nil
	}
	w := encoder{e: e}
	err := w.value(v, 1)
	return w.dst, err
}

// written gives the JSON text that a value has not been changed since, or nil.
func written(v any) []byte {
	switch v := v.(type) {
	case numeral:
		return v
	case quoted:
		return v
	case *Array:
		return v.raw
	case *object:
		return v.raw
	}
	return nil
}

// canonicalText gives a text that is the same for equal values and no others.
func (e *Evaluator) canonicalText(v any) (string, error) {
	w := encoder{e: e, sorted: true, canonical: true}
	err := w.value(v, 1)
	return string(w.dst), err
}

// grow pays for n more bytes.
func (w *encoder) grow(n int) error {
	if len(w.dst)+n > w.e.Budget.Bytes {
		return w.e.TooLarge()
	}
	return w.e.charge(1 + n/textUnit)
}

func (w *encoder) value(v any, depth int) error {
	if depth > w.e.Budget.Depth {
		return w.e.TooDeep()
	}
	switch v := v.(type) {
	case *Array:
		return w.array(v, depth)
	case *object:
		return w.object(v, depth)
	case quoted, string:
		return w.text(v)
	case int64, float64, numeral:
		return w.number(v)
	case bool:
		return w.put(strconv.FormatBool(v))
	}
	return w.put("null")
}

func (w *encoder) put(s string) error {
	if err := w.grow(len(s)); err != nil {
		return err
	}
	w.dst = append(w.dst, s...)
	return nil
}

// raw writes text that is JSON already.
func (w *encoder) raw(b []byte) error {
	if err := w.grow(len(b)); err != nil {
		return err
	}
	w.dst = append(w.dst, b...)
	return nil
}

func (w *encoder) number(v any) error {
	raw, ok := v.(numeral)
	if ok && !w.canonical {
		return w.raw(raw)
	}
	n, _, err := numberOf(v)
	if err != nil {
		if !ok {
			return err
		}
		return w.raw(raw) // beyond the doubles: equal to itself only
	}
	if i, ok := n.asInt64(); ok && w.canonical {
		return w.put(strconv.FormatInt(i, 10))
	}
	return w.raw(AppendNumber(nil, n.value()))
}

func (w *encoder) text(v any) error {
	if raw, ok := v.(quoted); ok && !w.sorted {
		return w.raw(raw)
	}
	s, _, err := text(v)
	if err != nil {
		return err
	}
	if err := w.grow(len(s) + 2); err != nil {
		return err
	}
	w.dst = AppendQuoted(w.dst, s)
	return nil
}

func (w *encoder) array(a *Array, depth int) error {
	if a.raw != nil && !w.sorted {
		return w.raw(a.raw)
	}
	items, err := w.e.Items(a)
	if err != nil {
		return err
	}
	w.dst = append(w.dst, '[')
	for i, item := range items {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		if err := w.value(item, depth+1); err != nil {
			return err
		}
	}
	return w.put("]")
}

func (w *encoder) object(o *object, depth int) error {
	if o.raw != nil && !w.sorted {
		return w.raw(o.raw)
	}
	if err := w.e.members(o); err != nil {
		return err
	}
	keys := o.keys
	if w.sorted {
		keys = slices.Sorted(slices.Values(keys))
	}
	w.dst = append(w.dst, '{')
	for i, key := range keys {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		if err := w.text(key); err != nil {
			return err
		}
		w.dst = append(w.dst, ':')
		if err := w.value(o.values[o.find(key)], depth+1); err != nil {
			return err
		}
	}
	return w.put("}")
}

// equal compares by value: numbers as numbers, objects without the order of their members.
func (e *Evaluator) equal(a, b any) (bool, error) {
	if KindOf(a) != KindOf(b) {
		return false, nil
	}
	switch a.(type) {
	case int64, float64, numeral:
		return equalNumbers(a, b)
	case string, quoted:
		return e.equalTexts(a, b)
	case nil, bool:
		return a == b, nil
	}
	s, err := e.canonicalText(a)
	if err != nil {
		return false, err
	}
	t, err := e.canonicalText(b)
	return s == t, err
}

func equalNumbers(a, b any) (bool, error) {
	ra, ok := a.(numeral)
	if rb, both := b.(numeral); ok && both && string(ra) == string(rb) {
		return true, nil
	}
	n, _, err := numberOf(a)
	if err != nil {
		return false, err
	}
	m, _, err := numberOf(b)
	if err != nil {
		return false, err
	}
	return n.compare(m) == 0, nil
}

func (e *Evaluator) equalTexts(a, b any) (bool, error) {
	s, _, err := text(a)
	if err != nil {
		return false, err
	}
	t, _, err := text(b)
	if err != nil {
		return false, err
	}
	return s == t, e.charge((len(s) + len(t)) / textUnit)
}

// Plain gives a value as text: a text itself, a number with its exact text, null as nothing, the rest as JSON.
func (e *Evaluator) Plain(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	s, ok, err := text(v)
	if err != nil {
		return "", err
	}
	if ok {
		return s, e.chargeText(len(s))
	}
	raw, err := e.Encode(v)
	return string(raw), err
}
