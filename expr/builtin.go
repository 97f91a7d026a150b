package expr

// builtin is a function of the language: what it takes and gives, and how it is computed.
type builtin struct {
	takes []argument // the last repeats when more arguments are given
	least int        // how many arguments must be given
	most  int        // how many may be given
	gives kinds
	call  func(e *evaluator, args []any) (any, error)
}

// argument is what a function takes in one place; it arrives as the Go type named behind it.
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

// kinds gives the kinds of value that an argument may have.
func (a argument) kinds() kinds {
	switch a {
	case aText:
		return isText
	case aList:
		return isList
	case anObject:
		return isObject
	case aWhole, aNumber:
		return isNumeric
	case aContainer:
		return isList | isObject | isText
	}
	return unknown
}

// builtins are the functions without a predicate.
var builtins = merge(textFunctions, numberFunctions, listFunctions, objectFunctions, valueFunctions)

func merge(tables ...map[string]builtin) map[string]builtin {
	all := make(map[string]builtin)
	for _, t := range tables {
		for name, b := range t {
			all[name] = b
		}
	}
	return all
}

// clockFunctions are functions of the library that Millrace leaves out.
var clockFunctions = map[string]bool{"now": true, "date": true, "duration": true, "timezone": true}

// call is a call of a builtin.
type call struct {
	place
	name    string
	builtin builtin
	args    []node
}

func (n *call) eval(e *evaluator) (any, error) {
	args := make([]any, len(n.args))
	for i, arg := range n.args {
		v, err := e.run(arg)
		if err != nil {
			return nil, err
		}
		if args[i], err = e.argument(v, n.builtin.argument(i)); err != nil {
			if f, ok := err.(*fault); ok && f.at == unplaced { //nolint:errorlint // faults are never wrapped
				f.at = arg.at()
				f.reason = n.name + ": " + f.reason
			}
			return nil, err
		}
	}
	v, err := n.builtin.call(e, args)
	if f, ok := err.(*fault); ok && f.at == unplaced { //nolint:errorlint // faults are never wrapped
		f.reason = n.name + ": " + f.reason
	}
	return v, err
}

// argument gives what the i-th argument must be.
func (b builtin) argument(i int) argument { return b.takes[min(i, len(b.takes)-1)] }

// argument converts a value to what a function takes.
func (e *evaluator) argument(v any, want argument) (any, error) {
	if k := kindOf(v); k&want.kinds() == 0 {
		f := failf("takes %s, not %s", want.kinds(), k)
		if v == nil {
			f.instead("write ?? and a value behind the one that may be null")
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
		return e.items(v.(*array))
	case anObject:
		o := v.(*object)
		return o, e.members(o)
	case aWhole:
		return wholeArgument(v)
	case aNumber:
		n, _, err := numberOf(v)
		return n, err
	}
	return v, nil
}
