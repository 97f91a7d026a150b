// Package short has a ninetieth percentile above the budget.
package short // want: p90

func one() {}

func seven() int {
	a := 1
	a++
	a++
	a++
	return a
}
