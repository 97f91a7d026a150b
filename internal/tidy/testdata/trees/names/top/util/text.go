// Package util is vague.
package util // want: name
