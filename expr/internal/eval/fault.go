package eval

import "fmt"

// Fault is an error inside this package: it knows its place in the program, and becomes an [Error] at the door.
type Fault struct {
	At     int // byte offset in the program; unplaced until the node that evaluates sets it
	Reason string
	Remedy string
	Limit  bool // a budget was exceeded
}

// Unplaced is the place of a fault that has none yet.
const Unplaced = -1

// Error gives the reason alone; package expr makes the error that a caller sees.
func (f *Fault) Error() string { return f.Reason }

// failf makes a fault whose place is that of the node being evaluated.
func failf(format string, args ...any) *Fault {
	return &Fault{At: Unplaced, Reason: fmt.Sprintf(format, args...)}
}

// FailAt makes a fault at a place of the program.
func FailAt(at int, format string, args ...any) *Fault {
	return &Fault{At: at, Reason: fmt.Sprintf(format, args...)}
}

// exceeded makes the fault of a budget.
func exceeded(format string, args ...any) *Fault {
	f := failf(format, args...)
	f.Limit = true
	return f
}

// Instead sets what to write.
func (f *Fault) Instead(format string, args ...any) *Fault {
	f.Remedy = fmt.Sprintf(format, args...)
	return f
}
