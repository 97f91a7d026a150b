// Package upper is above.
package upper

import (
	_ "example.test/m/beside" // want: arrow
	_ "example.test/m/lower"
	_ "example.test/m/upper/internal/part"
)
