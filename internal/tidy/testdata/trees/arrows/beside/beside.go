// Package beside uses the root.
package beside

import _ "example.test/m"
