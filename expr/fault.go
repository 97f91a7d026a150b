package expr

import "fmt"

// fault is an error inside this package: it knows its place in the program, and becomes an [Error] at the door.
type fault struct {
	at     int // byte offset in the program; unplaced until the node that evaluates sets it
	reason string
	remedy string
	limit  bool // a budget was exceeded
}

const unplaced = -1

func (f *fault) Error() string { return f.reason }

// failf makes a fault whose place is that of the node being evaluated.
func failf(format string, args ...any) *fault {
	return &fault{at: unplaced, reason: fmt.Sprintf(format, args...)}
}

// failAt makes a fault at a place of the program.
func failAt(at int, format string, args ...any) *fault {
	return &fault{at: at, reason: fmt.Sprintf(format, args...)}
}

// exceeded makes the fault of a budget.
func exceeded(format string, args ...any) *fault {
	f := failf(format, args...)
	f.limit = true
	return f
}

// instead sets what to write.
func (f *fault) instead(format string, args ...any) *fault {
	f.remedy = fmt.Sprintf(format, args...)
	return f
}

// in makes the error that a caller sees.
func (f *fault) in(source string) *Error {
	return &Error{Source: source, Offset: min(f.at, len(source)), Reason: f.reason, Remedy: f.remedy}
}
