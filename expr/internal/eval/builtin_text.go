package eval

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// textFunctions work on texts. Positions count characters.
var textFunctions = map[string]Builtin{
	"trim":        {[]argument{aText}, 1, 2, IsText, trimText},
	"trimPrefix":  {[]argument{aText}, 1, 2, IsText, withDefault(strings.TrimPrefix)},
	"trimSuffix":  {[]argument{aText}, 1, 2, IsText, withDefault(strings.TrimSuffix)},
	"upper":       {[]argument{aText}, 1, 1, IsText, converted(strings.ToUpper)},
	"lower":       {[]argument{aText}, 1, 1, IsText, converted(strings.ToLower)},
	"split":       {[]argument{aText, aText, aWhole}, 2, 3, IsList, splitting(strings.SplitN)},
	"splitAfter":  {[]argument{aText, aText, aWhole}, 2, 3, IsList, splitting(strings.SplitAfterN)},
	"replace":     {[]argument{aText, aText, aText, aWhole}, 3, 4, IsText, replace},
	"repeat":      {[]argument{aText, aWhole}, 2, 2, IsText, repeat},
	"join":        {[]argument{aList, aText}, 1, 2, IsText, join},
	"indexOf":     {[]argument{aText}, 2, 2, IsNumeric, position(strings.Index)},
	"lastIndexOf": {[]argument{aText}, 2, 2, IsNumeric, position(strings.LastIndex)},
	"hasPrefix":   {[]argument{aText}, 2, 2, IsBool, tested(strings.HasPrefix)},
	"hasSuffix":   {[]argument{aText}, 2, 2, IsBool, tested(strings.HasSuffix)},
	"toBase64":    {[]argument{aText}, 1, 1, IsText, toBase64},
	"fromBase64":  {[]argument{aText}, 1, 1, IsText, fromBase64},
	"toJSON":      {[]argument{anything}, 1, 1, IsText, toJSON},
	"fromJSON":    {[]argument{aText}, 1, 1, Unknown, parseJSON},
}

func trimText(e *Evaluator, args []any) (any, error) {
	s := args[0].(string)
	if len(args) == 1 {
		return strings.TrimSpace(s), nil
	}
	cut := args[1].(string)
	return strings.Trim(s, cut), e.charge((len(s)*len(cut) + textUnit - 1) / textUnit)
}

// withDefault makes a function whose second text is a space when left out.
func withDefault(f func(s, t string) string) func(*Evaluator, []any) (any, error) {
	return func(_ *Evaluator, args []any) (any, error) {
		if len(args) == 1 {
			return f(args[0].(string), " "), nil
		}
		return f(args[0].(string), args[1].(string)), nil
	}
}

func converted(f func(string) string) func(*Evaluator, []any) (any, error) {
	return func(e *Evaluator, args []any) (any, error) {
		s := f(args[0].(string))
		return s, e.chargeText(len(s))
	}
}

func tested(f func(s, t string) bool) func(*Evaluator, []any) (any, error) {
	return func(_ *Evaluator, args []any) (any, error) { return f(args[0].(string), args[1].(string)), nil }
}

// position makes a function that gives a place in characters, or -1.
func position(f func(s, t string) int) func(*Evaluator, []any) (any, error) {
	return func(_ *Evaluator, args []any) (any, error) {
		s := args[0].(string)
		i := f(s, args[1].(string))
		if i < 0 {
			return int64(-1), nil
		}
		return int64(utf8.RuneCountInString(s[:i])), nil
	}
}

func splitting(f func(s, sep string, n int) []string) func(*Evaluator, []any) (any, error) {
	return func(e *Evaluator, args []any) (any, error) {
		s, sep, n := args[0].(string), args[1].(string), int64(-1)
		if len(args) == 3 {
			n = args[2].(int64)
		}
		if err := e.charge(strings.Count(s, sep) + 1); err != nil {
			return nil, err
		}
		parts := f(s, sep, int(min(max(n, -1), int64(len(s)+1))))
		items := make([]any, len(parts))
		for i, p := range parts {
			items[i] = p
		}
		return newArray(items), nil
	}
}

func replace(e *Evaluator, args []any) (any, error) {
	s, old, with := args[0].(string), args[1].(string), args[2].(string)
	n := int64(strings.Count(s, old))
	if len(args) == 4 && args[3].(int64) >= 0 {
		n = min(n, args[3].(int64))
	}
	if err := e.chargeText(len(s) + int(n)*max(len(with)-len(old), 0)); err != nil {
		return nil, err
	}
	return strings.Replace(s, old, with, int(n)), nil
}

func repeat(e *Evaluator, args []any) (any, error) {
	s, n := args[0].(string), args[1].(int64)
	if n < 0 {
		return nil, failf("the count is negative")
	}
	if s == "" {
		return "", nil
	}
	if n > int64(e.Budget.Bytes/len(s)) {
		return nil, e.TooLarge()
	}
	return strings.Repeat(s, int(n)), e.chargeText(len(s) * int(n))
}

func join(e *Evaluator, args []any) (any, error) {
	glue := ""
	if len(args) == 2 {
		glue = args[1].(string)
	}
	var b strings.Builder
	for i, item := range args[0].([]any) {
		s, ok, err := text(item)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, failf("takes a list of texts; item %d is %s", i, KindOf(item)).
				Instead("convert the items with map(list, string(#))")
		}
		if i > 0 {
			b.WriteString(glue)
		}
		b.WriteString(s)
		if b.Len() > e.Budget.Bytes {
			return nil, e.TooLarge()
		}
		if err := e.charge(1 + (len(glue)+len(s))/textUnit); err != nil {
			return nil, err
		}
	}
	return b.String(), nil
}

func toBase64(e *Evaluator, args []any) (any, error) {
	s := base64.StdEncoding.EncodeToString([]byte(args[0].(string)))
	return s, e.chargeText(len(s))
}

func fromBase64(_ *Evaluator, args []any) (any, error) {
	b, err := base64.StdEncoding.DecodeString(args[0].(string))
	if err != nil {
		return nil, failf("the text is not base64")
	}
	if !utf8.Valid(b) {
		return nil, failf("the decoded bytes are not text in UTF-8")
	}
	return string(b), nil
}

// toJSON writes members in order of their keys, two spaces deep, numbers with their exact text.
func toJSON(e *Evaluator, args []any) (any, error) {
	w := encoder{e: e, sorted: true}
	if err := w.value(args[0], 1); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, w.dst, "", "  "); err != nil {
		return nil, notJSON()
	}
	return b.String(), e.chargeText(b.Len())
}

// parseJSON reads a text as JSON; numbers keep their exact text.
func parseJSON(_ *Evaluator, args []any) (any, error) {
	raw := []byte(args[0].(string))
	if !json.Valid(raw) {
		return nil, failf("the text is not JSON")
	}
	return FromJSON(raw)
}
