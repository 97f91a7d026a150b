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

	// OpenLetter opens a dead letter: a failure that waits for a person.
	OpenLetter struct {
		Kind  LetterKind
		Path  string // the step that failed; "" for the run as a whole
		Error *Error
	}

	// EndRun ends the run: what is live of it (tasks, timers, inbox, documents of scopes but those of finished maps) is
	// deleted. The machine has stopped everything before.
	EndRun struct {
		Status Status
		Error  *Error
	}
)

// LetterKind says what a dead letter is about.
type LetterKind string

// The kinds of dead letters of this version.
const (
	LetterFailure LetterKind = "failure" // a failure that nothing handles, of a workflow that declares no compensation
)

func (StartTask) effect()   {}
func (StopTask) effect()    {}
func (SetTimer) effect()    {}
func (CancelTimer) effect() {}
func (PutValue) effect()    {}
func (OpenLetter) effect()  {}
func (EndRun) effect()      {}
