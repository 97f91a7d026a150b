package machine

import (
	"encoding/json"
	"errors"
	"slices"
)

// Scope is the document of one activation of a body: what may still matter of it, and nothing else. Steps are named by their
// index in the body. A finished step that no expression names is one letter in States.
type Scope struct {
	Path   string         `json:"-"`
	States States         `json:"s"`
	Left   int            `json:"w,omitempty"` // graph: steps that are not settled
	In     Data           `json:"i,omitzero"`  // what the scope got
	Out    map[int]Data   `json:"o,omitempty"` // outputs that a later expression, join or the scope's own output reads
	Errs   map[int]Data   `json:"e,omitempty"` // errors that a later expression or catch target reads
	Got    map[int]Data   `json:"g,omitempty"` // inputs of caught steps that their catch target gets
	Blame  map[int][]int  `json:"b,omitempty"` // steps skipped for want of others: the failed steps at the root of it
	Joins  map[int]*Tally `json:"j,omitempty"` // joins that are not decided
	Choice map[int]int    `json:"h,omitempty"` // case that a switch, or catch that a caught step took, from 0
	Visits map[int]int    `json:"n,omitempty"` // sequence: visits of a step beyond the first
	Live   map[int]*Live  `json:"l,omitempty"` // activations under way
	Item   *ItemEnv       `json:"x,omitempty"` // the item of this scope
	Pass   *PassEnv       `json:"p,omitempty"` // the pass of this scope
	Caught Data           `json:"a,omitzero"`  // catch body: the error
	Stop   *Closing       `json:"z,omitempty"` // set while the scope is being stopped
	Run    *RunDoc        `json:"r,omitempty"` // the root's document only
	Mark   int            `json:"m,omitempty"` // length of the undo log when the scope was opened
	Undo   *Undoing       `json:"u,omitempty"` // set while what the scope did is being undone
	Page   []Done         `json:"t,omitempty"` // a page of the undo log: the document has nothing else
}

// RunDoc is what the root's document holds of the run as a whole.
type RunDoc struct {
	Activations int             `json:"a,omitempty"`
	Output      Data            `json:"o,omitzero"`
	Error       *Error          `json:"e,omitempty"`
	Events      map[string]Fact `json:"v,omitempty"` // events received, by name and key
	Undo        *UndoDoc        `json:"u,omitempty"`
	Control     *ControlDoc     `json:"c,omitempty"`
}

// Fact is an event that was received: the entry that recorded it and a hash of its data.
type Fact struct {
	Seq  int64  `json:"s"`
	Hash string `json:"h"`
}

// Tally counts the edges of a join that are settled.
type Tally struct {
	Taken     int `json:"t,omitempty"`
	NotChosen int `json:"n,omitempty"`
	Missing   int `json:"m,omitempty"`
}

// Live is what must be remembered of an activation under way.
type Live struct {
	In      Data        `json:"i,omitzero"`  // what it got
	Err     Data        `json:"e,omitzero"`  // the error that led here, for the target of a catch
	Attempt int         `json:"a,omitempty"` // number of the last attempt that was settled
	Try     int         `json:"y,omitempty"` // composite: tries begun before the current one
	Counts  map[int]int `json:"c,omitempty"` // failures counted by retry policy
	Since   Time        `json:"t,omitempty"` // when it first became ready, for a policy with `for`
	Timer   string      `json:"w,omitempty"` // the kind of timer that a waiting step waits for
	Box     *Box        `json:"b,omitempty"` // an open composite, or a catch body

	Unknown  bool      `json:"u,omitempty"` // the last settled attempt gave no answer
	Parked   *Error    `json:"k,omitempty"` // a parked step: its failure
	Redriven *Redriven `json:"r,omitempty"` // a person gave it a new input
}

// Box is an open composite.
type Box struct {
	Catch int      `json:"k,omitempty"` // n: the open body is that of catch n-1; the action is over
	Case  int      `json:"s,omitempty"` // n: the open body is that of case n-1 of a switch
	N     int      `json:"n,omitempty"` // branches, items, or passes over a list, in all
	Next  int      `json:"x,omitempty"` // map: the next item to open; loop: the number of the current pass
	Open  int      `json:"o,omitempty"` // scopes that have not ended
	Good  int      `json:"g,omitempty"` // scopes that succeeded
	Bad   int      `json:"f,omitempty"` // scopes that failed or are failing
	Need  int      `json:"d,omitempty"` // how many must succeed; 0: no `need`
	Limit int      `json:"m,omitempty"` // loop: most passes
	Outs  []Data   `json:"u,omitempty"` // parallel: outputs by branch
	Prev  Data     `json:"p,omitzero"`  // loop: what the last pass gave
	Stop  *Closing `json:"z,omitempty"` // set while its scopes are being stopped
	Mark  int      `json:"q,omitempty"` // length of the undo log when the try began
	Undo  *Undoing `json:"v,omitempty"` // set while what its scopes did is being undone

	Undone bool `json:"w,omitempty"` // the try is undone
	Began  bool `json:"a,omitempty"` // the composite has a compensation, and an attempt of something inside began
	Parked int  `json:"j,omitempty"` // map: open items without a document that wait for a person
	Kept   bool `json:"h,omitempty"` // map: a retry kept items, so that those behind Next may have ended or be open
}

// Closing is why scopes are being stopped, and how the thing that is being stopped will end.
type Closing struct {
	Reason   Reason `json:"r"`
	Err      *Error `json:"e,omitempty"` // failure: the first error
	NoLetter bool   `json:"n,omitempty"` // failure: by a `fail` action, which opens no letter
	Given    bool   `json:"g,omitempty"` // end: the output was written in the action
	Output   Data   `json:"o,omitzero"`  // end: the output
	First    int    `json:"f,omitempty"` // failure: 1 + the record of the step that began it; 0: it has none
}

// Reason is why scopes are being stopped.
type Reason string

// The reasons to stop scopes.
const (
	ByFailure Reason = "failure" // something in them failed: the thing around them fails once they are still
	ByEnd     Reason = "end"     // an `end`: the scope ends with success
	Enough    Reason = "enough"  // `need` is met and the rest is not wanted
	FromOuter Reason = "outer"   // something further out stops
	ByCancel  Reason = "cancel"  // a person cancelled the run: as ByFailure, but for the ending
)

// Chunk holds the results of up to ChunkSize consecutive items of a map, or passes of a collecting loop.
type Chunk struct {
	Path   string
	States States
	Out    []Data // by index; null for what gave nothing
	Err    map[int]Data
	Live   map[int]*Live // items under way that were tried before
}

// chunkJSON is a chunk as it is written: entries of the journal are counted from Base, so that a result costs as much late in
// a long run as early in a short one.
type chunkJSON struct {
	States States        `json:"s"`
	Base   int64         `json:"b,omitempty"`
	Out    []Data        `json:"o,omitempty"`
	Err    map[int]Data  `json:"e,omitempty"`
	Live   map[int]*Live `json:"l,omitempty"`
}

// MarshalJSON writes the document of a chunk.
func (c *Chunk) MarshalJSON() ([]byte, error) {
	j := chunkJSON{States: c.States, Err: c.Err, Live: c.Live}
	for _, d := range c.Out {
		if d.isEntry() && (j.Base == 0 || d.Ref.Seq < j.Base) {
			j.Base = d.Ref.Seq
		}
	}
	j.Out = shifted(c.Out, 1-j.Base)
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Chunk) UnmarshalJSON(b []byte) error {
	var j chunkJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	if len(j.Out) > len(j.States) {
		return errors.New("a chunk has more results than states")
	}
	c.States, c.Err, c.Live, c.Out = j.States, j.Err, j.Live, make([]Data, len(j.States))
	copy(c.Out, shifted(j.Out, j.Base-1))
	return nil
}

// shifted gives a copy with the numbers of entries moved, cut behind the last that is not null.
func shifted(in []Data, by int64) []Data {
	n := len(in)
	for n > 0 && in[n-1].IsZero() {
		n--
	}
	out := slices.Clone(in[:n])
	for i := range out {
		if out[i].isEntry() {
			out[i].Ref.Seq += by
		}
	}
	return out
}

// ChunkSize is how many results lie in one document.
const ChunkSize = 256

// State is where a step stands, in one letter.
type State byte

// The states of a step in its scope's document.
const (
	StepPending   State = 'p' // not reached
	StepWaiting   State = 'w' // a time
	StepReady     State = 'r' // its task is ready, delayed or held
	StepOpen      State = 'o' // a composite with scopes
	StepRetrying  State = 't' // waits for its next try
	StepStopping  State = 'k' // told to stop, its holder has not answered
	StepSucceeded State = 's'
	StepFailed    State = 'f'
	StepCaught    State = 'c'
	StepGuard     State = 'g' // skipped: its `when` was false
	StepBranch    State = 'b' // skipped: no edge to it was taken
	StepMissing   State = 'm' // skipped: for want of a step that failed
	StepEnd       State = 'e' // skipped: its scope ended first
	StepCancelled State = 'x' // stopped while under way

	StepParked       State = 'P' // failed, and waits for a person
	StepCompensating State = 'v' // done, and being undone
	StepCompensated  State = 'u' // done, and undone
)

// Status gives the word of the format for s, and the reason where there is one.
func (s State) Status() (status, reason string) {
	switch s {
	case StepPending:
		return "pending", ""
	case StepWaiting:
		return "waiting", ""
	case StepReady:
		return "ready", ""
	case StepOpen:
		return "running", ""
	case StepRetrying:
		return "retrying", ""
	case StepStopping:
		return "running", "stopping"
	case StepSucceeded:
		return "succeeded", ""
	case StepFailed:
		return "failed", ""
	case StepCaught:
		return "caught", ""
	case StepGuard:
		return "skipped", "guard"
	case StepBranch:
		return "skipped", "branch"
	case StepMissing:
		return "skipped", "failure"
	case StepEnd:
		return "skipped", "end"
	case StepCancelled:
		return "cancelled", ""
	case StepParked:
		return "parked", ""
	case StepCompensating:
		return "compensating", ""
	case StepCompensated:
		return "compensated", ""
	}
	return string(s), ""
}

// Live says whether s is an activation under way.
func (s State) Live() bool {
	switch s {
	case StepWaiting, StepReady, StepOpen, StepRetrying, StepStopping, StepParked:
		return true
	default:
		return false
	}
}

// Change is a child document to save, or to delete when Doc is nil.
type Change struct {
	Path string
	Doc  json.RawMessage
}
