// Package lower lacks comments.
package lower

func Function() {}

// want above: export

//go:noinline
func Directive() {} // want: export

type Plain struct{}

// want above: export

func (*Plain) Method() {} // want: export

// Said is said.
func (Plain) Said() {}

type Generic[K comparable, V any] map[K]V

// want above: export

func (*Generic[K, V]) Method() {} // want: export

// The comment of a group of types is not the comment of each.
type (
	First struct{}
	// want above: export

	// Second is said.
	Second interface {
		Do() // Do is said on its line.
		Undone()
		// want above: export
	}

	// Single is said, and so is its method.
	Single interface{ Do() }
)

var (
	Variable, other = 1, 2
	// want above: export
)
