package machine

import "encoding/json"

// EventKind names a fact that is told to a run.
type EventKind string

// The events that this version of the machine knows (docs/machine.md 1). What attempts tell has its rules in outcome.go and
// task_late.go, what people order in control.go, letter_orders.go and retry_requested.go; each of the others has a file of its own.
const (
	RunStarted    EventKind = "run_started"    // Payload: the run's input
	TaskSucceeded EventKind = "task_succeeded" // Path, Attempt; Payload: the output
	TaskFailed    EventKind = "task_failed"    // Path, Attempt; Payload: the Error as JSON
	TaskLost      EventKind = "task_lost"      // Path, Attempt: the lease ran out or its holder died
	TaskReleased  EventKind = "task_released"  // Path, Attempt: interrupted politely; not counted, ready at once
	TaskStopped   EventKind = "task_stopped"   // Path: a StopTask found the task unheld and deleted it, or its holder let go
	TimerFired    EventKind = "timer_fired"    // Path: the timer's key
	EventReceived EventKind = "event_received" // Name, Key; Payload: the data
	TaskLate      EventKind = "task_late"      // Path, Attempt: an outcome whose token was no longer current; Name: LateSuccess (Payload: the output) or LateFailure (Payload: the Error)

	// Orders of people. Payload: an Order.
	CancelRequested  EventKind = "cancel_requested"  // stop, undo, end as cancelled
	AbortRequested   EventKind = "abort_requested"   // end at once; nothing is awaited, nothing undone
	PauseRequested   EventKind = "pause_requested"   // nothing of the run is claimed until it is resumed
	ResumeRequested  EventKind = "resume_requested"  // the end of a pause
	RedriveRequested EventKind = "redrive_requested" // Name, Path: kind and path of an open letter; its work is tried again
	DropRequested    EventKind = "drop_requested"    // Name, Path: kind and path of an open letter; its work is given up
	RetryRequested   EventKind = "retry_requested"   // an ended run does again what is not in force; see Rebuild
)

// What a late outcome said, in the Name of TaskLate.
const (
	LateSuccess = "succeeded"
	LateFailure = "failed"
)

// Order is the payload of what a person asks for.
type Order struct {
	By     string          `json:"by,omitempty"`     // who
	Reason string          `json:"reason,omitempty"` // why
	Input  json.RawMessage `json:"input,omitempty"`  // redrive: a new input instead of the old one
	From   string          `json:"from,omitempty"`   // retry: a step of the root that is done again too, with all that follows
	Again  bool            `json:"again,omitempty"`  // retry with From: also what succeeded and was not undone
}

// Event is one fact told to a run, and, once applied, one entry of its journal.
type Event struct {
	Kind    EventKind
	At      Time   // the database's time, never before the run's last
	Path    string // the activation or timer that it is about
	Name    string // EventReceived: the event's name
	Key     string // EventReceived: the event's key
	Attempt int    // Task events: the number of the attempt
	Cause   int64  // the number of the entry that led to it; 0: nothing in this run
	Payload json.RawMessage

	// Facts is what the store or the worker adds for people: worker, start of the attempt, waiting time. The machine does
	// not read it; the journal keeps it.
	Facts json.RawMessage

	// Loaded are payloads that Apply asked for with Need, or that the caller had at hand. They are not journaled: a replay
	// loads them again.
	Loaded map[Ref]json.RawMessage
}

// Error is how an attempt, a step or a run failed.
type Error struct {
	Code    string          `json:"code"`
	Message string          `json:"message,omitempty"`
	Step    string          `json:"step,omitempty"` // path of the step that failed first
	Data    json.RawMessage `json:"data,omitempty"`
	Final   bool            `json:"final,omitempty"` // never retried, never caught
	// Permanent: not retried, but caught.
	Permanent bool `json:"permanent,omitempty"`
	// Passing: the worker knows it as plainly passing (an error of a handler that is not permanent): the default policy
	// retries it.
	Passing bool `json:"passing,omitempty"`
	// RetryAfterMS: the worker asks for exactly this delay before the next attempt, which counts.
	RetryAfterMS *int64 `json:"retry_after_ms,omitempty"`
}

// Error gives code and message.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code
	}
	return e.Code + ": " + e.Message
}

// The codes that the machine and the engine themselves give (docs/format.md 5).
const (
	CodeLost           = "lost"
	CodePanic          = "panic"
	CodeTimeout        = "timeout"
	CodeExpression     = "expression"
	CodeSchema         = "schema"
	CodeTooLarge       = "too_large"
	CodeUnstorable     = "unstorable"
	CodeJoinShort      = "join_short"
	CodeTolerate       = "tolerate_exceeded"
	CodeLoopLimit      = "loop_limit"
	CodeStepLimit      = "step_limit"
	CodeJournalLimit   = "journal_limit"
	CodeOutcomeUnknown = "outcome_unknown"
	CodeDeadline       = "deadline"
	CodeCancelled      = "cancelled"
	CodeAborted        = "aborted"
)
