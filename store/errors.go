package store

import (
	"errors"
	"fmt"
)

// The kinds of errors that a store gives. Callers branch on them with errors.Is.
var (
	// ErrNotFound: no such workflow or run for this tenant.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the key or the version is taken by something else; see ConflictError.
	ErrConflict = errors.New("conflict")
	// ErrEnded: the run has ended.
	ErrEnded = errors.New("the run has ended")
	// ErrRefused: no store keeps this content, or the database refused it; nothing was changed.
	ErrRefused = errors.New("the content cannot be stored")
	// ErrDamaged: something of one run is stored that cannot be read; see DamagedError. Other runs are unharmed.
	ErrDamaged = errors.New("damaged")
	// ErrSkewed: the time given is more than a second away from the store's clock; nothing was changed.
	ErrSkewed = errors.New("the time given differs from the store's")
	// ErrUnusable: the database cannot be used as it is: not a database, from a newer version, no right to it, locked for
	// good; see StoreError.
	ErrUnusable = errors.New("the database cannot be used")
	// ErrUnavailable: the database cannot be used now: disk full, connection lost, too long busy.
	ErrUnavailable = errors.New("the database is unavailable")
)

// ConflictError says what holds what was asked for.
type ConflictError struct {
	What  string // "workflow" or "key"
	Name  string
	RunID string // key: the run that holds it
	Free  int    // workflow: the next free version
}

// Error says what holds what was asked for.
func (e *ConflictError) Error() string {
	if e.What == "workflow" {
		return fmt.Sprintf("workflow %s has other content under this version; the next free version is %d", e.Name, e.Free)
	}
	return fmt.Sprintf("key %q is held by run %s, which has another input", e.Name, e.RunID)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// CodeDamaged is the code of an error that stands where a stored one cannot be read.
const CodeDamaged = "damaged"

// DamagedError names what is stored of a run and cannot be read.
type DamagedError struct {
	RunID string
	What  string // "document m[3]", "root document", "options", "task a"
	Err   error  // why
}

// Error names the run, the thing and the reason.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("run %s: %s is damaged: %v", e.RunID, e.What, e.Err)
}

// Is makes errors.Is(err, ErrDamaged) true.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// Unwrap gives the reason.
func (e *DamagedError) Unwrap() error { return e.Err }

// StoreError is a fault with what to do about it.
type StoreError struct {
	Op   string // what was being done
	Kind error  // ErrUnusable or ErrUnavailable
	Hint string // what to do next, for people
	Err  error  // the cause
}

// Error gives operation and cause.
func (e *StoreError) Error() string { return fmt.Sprintf("%s: %v", e.Op, e.Err) }

// Unwrap gives kind and cause.
func (e *StoreError) Unwrap() []error { return []error{e.Kind, e.Err} }
