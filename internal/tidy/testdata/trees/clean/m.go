// Package m is tidy.
package m

import "strings"

// A and B have the comment of their group.
const (
	A = 1
	B = 2
)

var (
	C = 3 // C is said on its line.
	d = 4
)

// T is a type.
type T struct{}

// Len gives a number.
func (T) Len() int { return len(strings.Repeat("x", A+B+C+d)) }

type hidden struct{}

func (hidden) Exported() {}

type (
	// I has its own comment.
	I interface {
		// M is said.
		M()
	}
	j interface{ N() }
)

var _ j = generic[int]{}

type generic[V any] struct{ v V }

func (generic[V]) N() {}
