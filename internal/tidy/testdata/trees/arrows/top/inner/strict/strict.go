// Package strict has an entry of its own.
package strict

import _ "example.test/m/lower" // want: arrow
