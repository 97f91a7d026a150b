package millrace

import (
	"encoding/json"
	"time"

	"github.com/millrace-go/millrace/machine"
)

// View is a run as it stands at one instant: what `show` prints. As JSON every field is present; what does not exist is null
// or an empty list.
type View struct {
	ID       string
	Workflow string
	Version  int
	Key      string
	Status   machine.Status
	// Reason is why the run stands where it stands, where there is more to say than the status.
	Reason string
	Input  json.RawMessage
	// Output is nil until the run has succeeded, and when it is larger than what can be shown in one piece.
	Output    json.RawMessage
	Error     *ErrorView
	Steps     []StepView
	StepsLeft int // how many steps were left out of Steps
	// NotUndone are the paths of steps that succeeded and declare no compensation, of a run that ended otherwise.
	NotUndone  []string
	Waiting    []WaitView
	Letters    []LetterView
	Parent     string
	Labels     map[string]string
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time

	// Seq is the length of the journal at this instant.
	Seq int64
	// Home is where the run's commands run, empty when nowhere in particular.
	Home string
	// Title is the workflow's.
	Title string
}

// ErrorView is why a run failed.
type ErrorView struct {
	Code    string
	Message string
	Path    string // the step that failed first, empty for the run itself
	Attempt int    // the number of the attempt that failed, 0 when it was none
	Hint    string // what a person can do
}

// StepView is where one activation of a step stands.
type StepView struct {
	Path     string
	Status   string
	Attempts int    // the number of the last attempt that began
	Reason   string // why it was skipped, or how it is being stopped
	Error    *ErrorView
	// StartedAt is when the first attempt began, FinishedAt when the last one ended.
	StartedAt  *time.Time
	FinishedAt *time.Time
	Items      *ItemsView // of a map, once it has opened
	Undo       *UndoView  // of a step whose compensation has begun
	// Due is when a delayed attempt or a wait comes due; it is not part of the JSON (see View.Waiting).
	Due *time.Time
	// AttemptAt is when the attempt under way began, Hold who executes it; they are not part of the JSON.
	AttemptAt *time.Time
	Hold      *HoldView
	// Before is the status that its compensation covers: "succeeded", "failed", "cancelled"; it is not part of the JSON.
	Before string
	// Depth is how many steps this one lies inside of; it is not part of the JSON.
	Depth int
}

// UndoView is how the compensation of a step stands.
type UndoView struct {
	Path       string     // of its task
	Status     string     // "ready", "waiting", "running", "retrying", "succeeded", "failed"
	Attempts   int        // the number of the last attempt that began
	Error      *ErrorView // of the last attempt
	StartedAt  *time.Time
	FinishedAt *time.Time
	// Due is when the next attempt comes due; it is not part of the JSON.
	Due *time.Time
	// AttemptAt is when the attempt under way began, Hold who executes it; they are not part of the JSON.
	AttemptAt *time.Time
	Hold      *HoldView
}

// HoldView is which process executes an attempt. Until is when its lease ends unless it renews it: others take the attempt for
// lost some time after that.
type HoldView struct {
	By    string
	Until time.Time
}

// ItemsView counts the items of a map. Done are those that have ended, Failed those of them that failed.
type ItemsView struct {
	Total  int `json:"total"`
	Done   int `json:"done"`
	Failed int `json:"failed"`
}

// WaitView is something that a run waits for.
type WaitView struct {
	Path  string
	For   string // "time", "retry", "worker", "pause", "person"
	Since *time.Time
	Until *time.Time // nil: nobody knows
	Needs string     // what would make it go on
	// Handler is what executes the task that waits for a worker; it is not part of the JSON.
	Handler string
}

// LetterView is an open dead letter of a run.
type LetterView struct {
	ID        int64              `json:"id"`
	Kind      machine.LetterKind `json:"kind"`
	Path      string             `json:"path"`
	Error     *machine.Error     `json:"error"`
	CreatedAt *time.Time         `json:"created_at"`
	Help      string             `json:"help"` // the command that helps
}

type viewJSON struct {
	ID         string            `json:"id"`
	Workflow   string            `json:"workflow"`
	Version    int               `json:"version"`
	Key        *string           `json:"key"`
	Status     machine.Status    `json:"status"`
	Reason     *string           `json:"reason"`
	Input      json.RawMessage   `json:"input"`
	Output     json.RawMessage   `json:"output"`
	Error      *ErrorView        `json:"error"`
	Steps      []StepView        `json:"steps"`
	StepsLeft  int               `json:"steps_omitted"`
	NotUndone  []string          `json:"not_undone"`
	Waiting    []WaitView        `json:"waiting"`
	Letters    []LetterView      `json:"dead_letters"`
	Parent     *string           `json:"parent"`
	Labels     map[string]string `json:"labels"`
	CreatedAt  time.Time         `json:"created_at"`
	StartedAt  *time.Time        `json:"started_at"`
	FinishedAt *time.Time        `json:"finished_at"`
}

// MarshalJSON gives the document of the command line's contract.
func (v *View) MarshalJSON() ([]byte, error) {
	j := viewJSON{
		ID: v.ID, Workflow: v.Workflow, Version: v.Version, Key: orNull(v.Key), Status: v.Status, Reason: orNull(v.Reason),
		Input: v.Input, Output: v.Output, Error: v.Error, Steps: orEmpty(v.Steps), StepsLeft: v.StepsLeft,
		NotUndone: orEmpty(v.NotUndone), Waiting: orEmpty(v.Waiting), Letters: orEmpty(v.Letters),
		Parent: orNull(v.Parent), Labels: v.Labels, CreatedAt: v.CreatedAt, StartedAt: v.StartedAt, FinishedAt: v.FinishedAt,
	}
	if j.Labels == nil {
		j.Labels = map[string]string{}
	}
	return json.Marshal(j)
}

// MarshalJSON gives the error's part of the document.
func (e *ErrorView) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Code    string  `json:"code"`
		Message string  `json:"message"`
		Path    *string `json:"path"`
		Attempt *int    `json:"attempt"`
		Hint    *string `json:"hint"`
	}{e.Code, e.Message, orNull(e.Path), orNull(e.Attempt), orNull(e.Hint)})
}

// MarshalJSON gives the step's part of the document.
func (s StepView) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Path       string     `json:"path"`
		Status     string     `json:"status"`
		Attempts   int        `json:"attempts"`
		Reason     *string    `json:"reason"`
		Error      *ErrorView `json:"error"`
		StartedAt  *time.Time `json:"started_at"`
		FinishedAt *time.Time `json:"finished_at"`
		Items      *ItemsView `json:"items"`
		Undo       *UndoView  `json:"undo"`
	}{s.Path, s.Status, s.Attempts, orNull(s.Reason), s.Error, s.StartedAt, s.FinishedAt, s.Items, s.Undo})
}

// MarshalJSON gives the compensation's part of the document.
func (u *UndoView) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Path       string     `json:"path"`
		Status     string     `json:"status"`
		Attempts   int        `json:"attempts"`
		Error      *ErrorView `json:"error"`
		StartedAt  *time.Time `json:"started_at"`
		FinishedAt *time.Time `json:"finished_at"`
	}{u.Path, u.Status, u.Attempts, u.Error, u.StartedAt, u.FinishedAt})
}

// MarshalJSON gives the wait's part of the document.
func (w WaitView) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Path  string     `json:"path"`
		For   string     `json:"for"`
		Since *time.Time `json:"since"`
		Until *time.Time `json:"until"`
		Needs *string    `json:"needs"`
	}{w.Path, w.For, w.Since, w.Until, orNull(w.Needs)})
}

func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
