// Package starting keeps the tasks that one settlement starts.
//
// Nouns: [Tasks] are those, in the order in which they start; a [Task] is what decides who gets one. It is pure, and imports machine.
package starting

import (
	"slices"

	"github.com/millrace-go/millrace/machine"
)

// Task is what decides who gets a task that a settlement starts.
type Task struct {
	Handler, Queue string
	Due            machine.Time
	Attempt        int
	Held           bool
}

// Tasks are those that a settlement starts. The zero value has none. It is not safe for concurrent use.
type Tasks struct {
	by    map[string]*Task
	order []string
}

// Add has a task start, in place of one at its path that was to.
func (t *Tasks) Add(e *machine.StartTask) {
	t.Remove(e.Path)
	if t.by == nil {
		t.by = map[string]*Task{}
	}
	t.by[e.Path] = &Task{Handler: e.Handler, Queue: e.Queue, Due: e.Due, Attempt: e.Attempt, Held: e.Held}
	t.order = append(t.order, e.Path)
}

// Remove takes out the task at a path, and gives it; nil: there was none.
func (t *Tasks) Remove(path string) *Task {
	x := t.by[path]
	if x != nil {
		delete(t.by, path)
		t.order = slices.DeleteFunc(t.order, func(p string) bool { return p == path })
	}
	return x
}

// Clear takes out all.
func (t *Tasks) Clear() {
	clear(t.by)
	t.order = nil
}

// Hold marks all tasks that are there as held back, or not.
func (t *Tasks) Hold(held bool) {
	for _, x := range t.by {
		x.Held = held
	}
}

// Len gives how many there are.
func (t *Tasks) Len() int { return len(t.order) }

// All gives the tasks by their paths, in the order in which they start.
func (t *Tasks) All(yield func(path string, x *Task) bool) {
	for _, path := range t.order {
		if !yield(path, t.by[path]) {
			return
		}
	}
}
