// Package piece is another division.
package piece
