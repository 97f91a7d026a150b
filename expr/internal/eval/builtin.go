package eval

import "maps"

// Builtin is a function of the language: what it takes and gives, and how it is computed.
type Builtin struct {
	takes []argument // the last repeats when more arguments are given
	Least int        // how many arguments must be given
	Most  int        // how many may be given
	Gives Kinds
	call  func(e *Evaluator, args []any) (any, error)
}

// Argument is what a function takes in one place; it arrives as the Go type named behind it.
type argument int

const (
	anything   argument = iota // any value
	aText                      // string
	aList                      // []any
	anObject                   // *object, read
	aWhole                     // int64
	aNumber                    // number
	aContainer                 // any value that is a list, an object or a text
)

// Kinds gives the kinds of value that an argument may have.
func (a argument) Kinds() Kinds {
	switch a {
	case aText:
		return IsText
	case aList:
		return IsList
	case anObject:
		return IsObject
	case aWhole, aNumber:
		return IsNumeric
	case aContainer:
		return IsList | IsObject | IsText
	case anything:
	}
	return Unknown
}

// Builtins are the functions without a predicate.
var Builtins = merge(textFunctions, numberFunctions, listFunctions, objectFunctions, valueFunctions)

func merge(tables ...map[string]Builtin) map[string]Builtin {
	all := make(map[string]Builtin)
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}

// ClockFunctions are functions of the library that Millrace leaves out.
var ClockFunctions = map[string]bool{"now": true, "date": true, "duration": true, "timezone": true}

// Call is a call of a builtin.
type Call struct {
	Place
	Name    string
	Builtin Builtin
	Args    []Node
}

func (n *Call) eval(e *Evaluator) (any, error) {
	args := make([]any, len(n.Args))
	for i, arg := range n.Args {
		v, err := e.Run(arg)
		if err != nil {
			return nil, err
		}
		if args[i], err = e.argument(v, n.Builtin.Argument(i)); err != nil {
			if f, ok := err.(*Fault); ok && f.At == Unplaced { //nolint:errorlint // faults are never wrapped
				f.At = arg.At()
				f.Reason = n.Name + ": " + f.Reason
			}
			return nil, err
		}
	}
	v, err := n.Builtin.call(e, args)
	if f, ok := err.(*Fault); ok && f.At == Unplaced { //nolint:errorlint // faults are never wrapped
		f.Reason = n.Name + ": " + f.Reason
	}
	return v, err
}

// Argument gives what the i-th argument must be.
func (b Builtin) Argument(i int) argument { return b.takes[min(i, len(b.takes)-1)] }

// Argument converts a value to what a function takes.
func (e *Evaluator) argument(v any, want argument) (any, error) {
	if k := KindOf(v); k&want.Kinds() == 0 {
		f := failf("takes %s, not %s", want.Kinds(), k)
		if v == nil {
			f = f.Instead("write ?? and a value behind the one that may be null")
		}
		return nil, f
	}
	switch want {
	case aText:
		s, _, err := text(v)
		if err != nil {
			return nil, err
		}
		return s, e.charge(len(s) / textUnit)
	case aList:
		return e.Items(v.(*Array))
	case anObject:
		o := v.(*object)
		return o, e.members(o)
	case aWhole:
		return WholeArgument(v)
	case aNumber:
		n, _, err := numberOf(v)
		return n, err
	case anything, aContainer:
	}
	return v, nil
}
