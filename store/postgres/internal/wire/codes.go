package wire

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that are answered in a way of their own.
const (
	StalePlan     = "0A000" // a prepared statement whose table was changed by a migration
	ZeroDivision  = "22012" // a bet was lost
	ReadOnly      = "25006"
	NoAuth        = "28000"
	WrongPassword = "28P01"
	NoDatabase    = "3D000"
	NoSchema      = "3F000"
	Serialization = "40001"
	Deadlock      = "40P01"
	NoRight       = "42501"
	NoFunction    = "42883"
	NoTable       = "42P01"
	DiskFull      = "53100"
	ManyConns     = "53300"
	LockTimeout   = "55P03"
	Cancelled     = "57014"
)

// Code gives the SQLSTATE of an error of the server, else "".
func Code(err error) string {
	var failure *pgconn.PgError
	if errors.As(err, &failure) {
		return failure.Code
	}
	return ""
}

// LostBet says whether a batch was undone because one of its guards did not hold, or somebody else held what it wanted to lock.
func LostBet(err error) bool {
	c := Code(err)
	return c == ZeroDivision || c == LockTimeout
}

// Refused says whether the database refuses the content of a statement and is otherwise well: a constraint, a value that no
// column takes, a row or an index entry that is too large.
func Refused(err error) bool {
	switch c := Code(err); {
	case c == ZeroDivision:
		return false
	case strings.HasPrefix(c, "22"), strings.HasPrefix(c, "23"), strings.HasPrefix(c, "54"):
		return true
	default:
		return false
	}
}

// Repeatable says whether nothing has happened and the same may well succeed now.
func Repeatable(err error) bool {
	switch Code(err) {
	case Deadlock, Serialization, StalePlan:
		return true
	}
	return pgconn.SafeToRetry(err)
}
