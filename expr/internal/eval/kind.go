package eval

import "strings"

// Kinds is a set of kinds of value: what the checker knows of a part of a program.
type Kinds uint8

// The kinds of value, and all of them: what is not known before evaluation.
const (
	IsNull Kinds = 1 << iota
	IsBool
	IsNumeric
	IsText
	IsList
	IsObject

	Unknown = IsNull | IsBool | IsNumeric | IsText | IsList | IsObject
)

// String names the kinds for a message.
func (k Kinds) String() string {
	var names []string
	for i, name := range []string{"null", "a boolean", "a number", "a text", "a list", "an object"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// KindOf gives the kind of a value.
func KindOf(v any) Kinds {
	switch v.(type) {
	case bool:
		return IsBool
	case int64, float64, numeral:
		return IsNumeric
	case string, quoted:
		return IsText
	case *Array:
		return IsList
	case *object, Env:
		return IsObject
	}
	return IsNull
}
