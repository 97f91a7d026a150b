// Package lower has a vague file. // want: name
package lower
