// Package m is the root.
package m

import _ "example.test/m/lower" // want: arrow
