// Package upper is said in one of its files.
package upper
