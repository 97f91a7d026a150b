// Package lower is below.
package lower

import (
	_ "strings"

	_ "example.test/m"       // want: arrow
	_ "example.test/m/upper" // want: arrow
	_ "example.test/mill"
)
