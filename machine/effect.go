package machine

import "encoding/json"

// Effect is something that the store does in the transaction that settles the event. The order of effects is the order in
// which they are carried out. Which documents changed is not an effect: see Run.Changes.
type Effect interface{ effect() }

type (
	// StartTask makes a task claimable at Due (zero: at once) in the lane (tenant, Queue, Handler, workflow). For a retry
	// the row of the same path exists no longer: the outcome that led here removed it. The task's next attempt has the
	// number Attempt+1.
	StartTask struct {
		Path     string
		Queue    string
		Handler  string
		Priority int
		Due      Time
		Attempt  int   // number of the last attempt before; 0: none
		Lease    int64 // milliseconds; 0: the engine's default
		Held     bool  // the run is paused: it is not claimable until FreeTasks
		Env      Env   // what its programs see, as references
		Refs     []Ref // the payloads that Env refers to and that the claim should bring along
	}

	// StopTask asks for the end of a live task. One that nobody holds is deleted, and TaskStopped must be applied in the
	// same transaction; one that is held is marked, its holder hears it, and its token stays current until its outcome
	// comes or its lease is lost.
	StopTask struct{ Path string }

	// SetTimer tells the run TimerFired with this key, not before Due. Setting a key again moves it.
	SetTimer struct {
		Key string
		Due Time
	}

	// CancelTimer removes a timer. One that is not there is no mistake.
	CancelTimer struct{ Key string }

	// PutValue stores a payload that the machine computed, under the Ref {Key, Index}: items of a map, the object of a
	// `set`. It is written once and kept as long as the run.
	PutValue struct {
		Ref  Ref
		Data json.RawMessage
	}

	// HoldTasks keeps the run's tasks that nobody holds from being claimed, delayed ones too.
	HoldTasks struct{}

	// FreeTasks ends HoldTasks: each task is as claimable, or as delayed, as it was before.
	FreeTasks struct{}

	// OpenLetter opens a dead letter: a failure that waits for a person. At most one of a kind is open at a path.
	OpenLetter struct {
		Kind  LetterKind
		Path  string // the step that failed; "" for the run as a whole
		Error *Error
	}

	// CloseLetter closes the open letter of this kind at this path, or all of the run but those of kind LetterFinally when
	// Kind is empty. One that is not open is no mistake.
	CloseLetter struct {
		Kind LetterKind
		Path string
		How  LetterState
	}

	// EndRun ends the run: what is live of it (tasks, timers, inbox, documents of scopes but those of finished maps) is
	// deleted. Keep leaves the documents: somebody may carry on. A run that has ended may end again, after an order on a
	// letter or a RetryRequested.
	EndRun struct {
		Status Status
		Error  *Error
		Keep   bool
	}
)

// LetterState is what became of a dead letter.
type LetterState string

// The states of a dead letter.
const (
	LetterOpen       LetterState = "open"
	LetterRedriven   LetterState = "redriven"   // its work was tried again
	LetterDropped    LetterState = "dropped"    // its work was given up
	LetterSuperseded LetterState = "superseded" // a cancel, an abort or a retry of the run made it pointless
)

// LetterKind says what a dead letter is about.
type LetterKind string

// The kinds of dead letters of this version.
const (
	LetterFailure      LetterKind = "failure"         // a failure that nothing handles, of a workflow that declares no compensation; Path: the step, or ""
	LetterParked       LetterKind = "parked"          // a step that waits for a person; Path: its task
	LetterCompensation LetterKind = "compensation"    // a compensation that gave up; Path: its task
	LetterUnknown      LetterKind = "outcome_unknown" // compensations passed over because nobody knows whether their steps were done; Path: ""
	LetterFinally      LetterKind = "finally"         // the failure of finally; it can only be dropped; Path: the step
)

func (StartTask) effect()   {}
func (StopTask) effect()    {}
func (SetTimer) effect()    {}
func (CancelTimer) effect() {}
func (PutValue) effect()    {}
func (HoldTasks) effect()   {}
func (FreeTasks) effect()   {}
func (OpenLetter) effect()  {}
func (CloseLetter) effect() {}
func (EndRun) effect()      {}
