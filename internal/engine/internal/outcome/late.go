package outcome

import "github.com/millrace-go/millrace/machine"

// Late makes an outcome one that came too late: its token was no longer current.
func Late(ev machine.Event) machine.Event {
	name := machine.LateSuccess
	if ev.Kind != machine.TaskSucceeded {
		name = machine.LateFailure
	}
	ev.Kind, ev.Name = machine.TaskLate, name
	return ev
}

// Is says whether an event is what a handler said.
func Is(kind machine.EventKind) bool {
	return kind == machine.TaskSucceeded || kind == machine.TaskFailed
}
