package drive

import (
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/machine"
)

// Shape is what the runs of a workload are made of, and what a run of it leaves.
type Shape struct {
	Source  string // of the workflow "bench"
	Steps   int    // tasks of a run
	Entries int64  // of its journal
	Ending  machine.Status
}

// Steps is a sequence of n steps.
func Steps(n int) Shape {
	var b strings.Builder
	b.WriteString("workflow: bench\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - { id: s%d, task: noop }\n", i)
	}
	return Shape{b.String(), n, int64(n + 1), machine.Succeeded}
}

// Fork is n steps side by side and a join.
func Fork(n int) Shape {
	var b strings.Builder
	var names []string
	b.WriteString("workflow: bench\nsteps:\n")
	for i := range n {
		names = append(names, fmt.Sprintf("s%d", i))
		fmt.Fprintf(&b, "  s%d: { task: noop }\n", i)
	}
	fmt.Fprintf(&b, "  join: { after: [%s], task: noop }\n", strings.Join(names, ", "))
	return Shape{b.String(), n + 1, int64(n + 2), machine.Succeeded}
}

// Saga is a sequence of n steps, each with a compensation, and one that fails for good: 2n+1 tasks.
func Saga(n int) Shape {
	var b strings.Builder
	b.WriteString("workflow: bench\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - { id: s%d, task: noop, compensate: { task: noop } }\n", i)
	}
	b.WriteString("  - { task: refuse }\n")
	return Shape{b.String(), 2*n + 1, int64(2*n + 2), machine.Failed}
}

// Holding is one step that holds its task until the Bench releases it.
func Holding() Shape {
	return Shape{"workflow: bench\nsteps:\n  - { id: s0, task: hold }\n", 1, 2, machine.Succeeded}
}
