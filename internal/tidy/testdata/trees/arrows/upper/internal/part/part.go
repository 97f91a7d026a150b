// Package part is a division of upper: it may import what upper may, and its other divisions.
package part

import (
	_ "example.test/m/beside" // want: arrow
	_ "example.test/m/lower"
	_ "example.test/m/upper/internal/piece"
)
