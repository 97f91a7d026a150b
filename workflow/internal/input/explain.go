package input

import (
	"cmp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/millrace-go/millrace/workflow/internal/document"
)

// problems lists the innermost causes of a validation error.
func problems(e *jsonschema.ValidationError) []Problem {
	var all []Problem
	for _, cause := range e.Causes {
		all = append(all, problems(cause)...)
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		all = closest(e.Causes) // the causes are of alternatives: none of them alone is the mistake
	case *kind.Not, *kind.Contains:
		all = nil
	}
	if len(all) > 0 {
		return all
	}
	return []Problem{{Path: pointerOf(e.InstanceLocation), Message: explain(e.ErrorKind)}}
}

// sorted puts problems in the order of their paths: the library finds them in any.
func sorted(all []Problem) []Problem {
	slices.SortFunc(all, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	return all
}

// closest gives the problems of the one alternative whose type was right, if there is exactly one.
func closest(alternatives []*jsonschema.ValidationError) []Problem {
	var found *jsonschema.ValidationError
	for _, a := range alternatives {
		innermost := leaf(a)
		if _, wrongType := innermost.ErrorKind.(*kind.Type); wrongType && len(innermost.InstanceLocation) == len(a.InstanceLocation) {
			continue
		}
		if found != nil {
			return nil
		}
		found = a
	}
	if found == nil {
		return nil
	}
	return problems(found)
}

// leaf follows a cause as long as it is the only one.
func leaf(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(e.Causes) == 1 {
		e = e.Causes[0]
	}
	return e
}

func pointerOf(parts []string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return b.String()
}

// explain says what is wrong without the value that is wrong.
func explain(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "want " + strings.Join(k.Want, " or ") + ", got " + k.Got
	case *kind.Required:
		return "missing " + strings.Join(k.Missing, ", ")
	case *kind.AdditionalProperties:
		return "unknown property " + strings.Join(slices.Sorted(slices.Values(k.Properties)), ", ")
	case *kind.Pattern:
		return "does not match the pattern " + k.Want
	case *kind.Format:
		return "is not a valid " + k.Want
	case *kind.Minimum:
		return "is below the minimum of " + document.Clip(k.Want.RatString())
	case *kind.Maximum:
		return "is above the maximum of " + document.Clip(k.Want.RatString())
	case *kind.ExclusiveMinimum:
		return "must be above " + document.Clip(k.Want.RatString())
	case *kind.ExclusiveMaximum:
		return "must be below " + document.Clip(k.Want.RatString())
	case *kind.MultipleOf:
		return "is no multiple of " + document.Clip(k.Want.RatString())
	case *kind.FalseSchema:
		return "must not be there"
	case *kind.AnyOf, *kind.OneOf:
		return "fits none of the alternatives"
	}
	return k.LocalizedString(message.NewPrinter(language.English))
}
