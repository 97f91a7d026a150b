// Package text lies in a vague folder.
package text // want: name
