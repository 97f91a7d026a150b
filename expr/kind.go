package expr

import "strings"

// kinds is a set of kinds of value: what the checker knows of a part of a program.
type kinds uint8

const (
	isNull kinds = 1 << iota
	isBool
	isNumeric
	isText
	isList
	isObject

	unknown = isNull | isBool | isNumeric | isText | isList | isObject
)

// String names the kinds for a message.
func (k kinds) String() string {
	var names []string
	for i, name := range []string{"null", "a boolean", "a number", "a text", "a list", "an object"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// kindOf gives the kind of a value.
func kindOf(v any) kinds {
	switch v.(type) {
	case bool:
		return isBool
	case int64, float64, numeral:
		return isNumeric
	case string, quoted:
		return isText
	case *array:
		return isList
	case *object, Env:
		return isObject
	}
	return isNull
}

// wanted gives the kinds that a program may give.
func (k Kind) wanted() kinds {
	switch k {
	case Bool:
		return isBool
	case Number:
		return isNumeric
	case List:
		return isList
	}
	return unknown
}
