package millrace

import (
	"cmp"
	"slices"
)

// flatten gives the activations in reading order, outer before inner, at most limit of them (0: 200, negative: all), and how
// many were left out. Outer ones are kept before inner ones, and among those ones under way or failed before others.
func flatten(roots []*node, limit int) ([]StepView, int) {
	var all []*node
	var walk func(n *node)
	walk = func(n *node) {
		all = append(all, n)
		for _, c := range n.children {
			walk(c)
		}
	}
	for _, n := range roots {
		walk(n)
	}
	if limit == 0 {
		limit = defaultSteps
	}
	kept := all
	if limit > 0 && len(all) > limit {
		kept = choose(all, limit)
	}
	steps := make([]StepView, len(kept))
	for i, n := range kept {
		steps[i] = n.StepView
	}
	return steps, len(all) - len(kept)
}

func choose(all []*node, limit int) []*node {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[a].Depth, all[b].Depth), cmp.Compare(interest(all[a]), interest(all[b])))
	})
	order = order[:limit]
	slices.Sort(order)
	kept := make([]*node, limit)
	for i, at := range order {
		kept[i] = all[at]
	}
	return kept
}

// interest is small for what people look for first.
func interest(n *node) int {
	switch n.Status {
	case "failed":
		return 0
	case "running", "retrying", "compensating", "parked":
		return 1
	case "waiting", "ready":
		return 2
	default:
		return 3
	}
}
