// Package suggest finds the word that was meant. It imports the standard library alone.
package suggest

import (
	"fmt"
	"strings"
)

// DidYouMean asks whether the nearest of the known words was meant; otherwise stands for when none is near.
func DidYouMean(word string, known []string, otherwise string) string {
	best, least := "", 3
	for _, k := range known {
		d := distance(word, k)
		if strings.HasPrefix(k, word) && len(word) > 1 {
			d = 1
		}
		if d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return otherwise
	}
	return fmt.Sprintf("did you mean `%s`?", best)
}

// distance is the number of letters to add, remove, change or swap with their neighbour to get from a to b (optimal string
// alignment).
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
