// Package machine decides what happens next in a run, and nothing else does.
//
// Nouns: a [Run] is the state of one run, in one small document for each [Scope]; an [Event] is a fact told to it; an
// [Effect] is what must be done now; [Data] speaks of payloads by [Ref] without holding them. [Apply] takes a definition, a
// run and an event and gives the run after it and the effects. When it cannot decide without a payload or a document that
// it was not given, it changes nothing and returns a [Need].
//
// The package is pure: no clock (Event.At is the only time), no I/O, no goroutine, no randomness. Equal arguments give
// equal bytes for one Version. It is total: it never panics, and an event that it has seen before changes nothing.
// It imports workflow and expr. The rules are those of docs/machine.md.
package machine

//tidy:allow pkglen one way in and one out: its files share the documents of a run, and a division would have to export them

import "time"

// Version is the version of the rules. A run keeps the one it started with; a mend that would answer a recorded event
// differently raises it and keeps the old answer for old runs.
const Version = 1

// Time is a moment in microseconds since the Unix epoch: the database's time.
type Time int64

// TimeOf cuts t to microseconds.
func TimeOf(t time.Time) Time { return Time(t.UnixMicro()) }

// Std gives t as a UTC time; the zero Time gives the zero time.Time.
func (t Time) Std() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(t)).UTC()
}

// Add gives t moved by d, cut to microseconds.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Microseconds()) }

// Status is where a run stands.
type Status string

// The statuses of a run that this version reaches (docs/machine.md 7).
const (
	Pending      Status = "pending"
	Running      Status = "running"
	Paused       Status = "paused"       // by a person; it shows over the status that a resume gives back
	Parked       Status = "parked"       // only steps that wait for a person keep it open
	Stopping     Status = "stopping"     // a failure nothing handles, or a cancel: what still runs is stopped and waited for
	Compensating Status = "compensating" // what was done is being undone
	Succeeded    Status = "succeeded"
	Failed       Status = "failed"
	Cancelled    Status = "cancelled"
	Aborted      Status = "aborted"
	Dead         Status = "dead" // something could not be undone: a letter says what
)

// Endings gives the statuses that end a run, the good one first.
func Endings() []Status { return []Status{Succeeded, Failed, Cancelled, Aborted, Dead} }

// Statuses gives all statuses, those that end a run last.
func Statuses() []Status {
	return append([]Status{Pending, Running, Paused, Parked, Stopping, Compensating}, Endings()...)
}

// Ended says whether s is a final status.
func (s Status) Ended() bool {
	switch s {
	case Succeeded, Failed, Cancelled, Aborted, Dead:
		return true
	default:
		return false
	}
}

// Header is what a run is from its start on. Nothing changes it.
type Header struct {
	ID             string // UUIDv7, canonical text
	Tenant         string
	Workflow       string
	Version        int // of the workflow
	Key            string
	Home           string // the home of the workflow's file, "" when it has none: commands run only there
	MachineVersion int
	CreatedAt      Time
	Options        Options
}

// Run is the state of one run: its header, the root's document, and those documents of child scopes that were loaded.
// A Run is a value: Apply returns a new one and leaves its argument as it was.
type Run struct {
	Header
	Status     Status
	Seq        int64 // the length of its journal
	At         Time  // time of its last event
	StartedAt  Time
	FinishedAt Time
	Root       *Scope // status, error, output and counters of the run live in the root's document

	// Scopes are the loaded child documents by path. A path with a nil value is known to have no document.
	Scopes map[string]*Scope
	// Chunks are the loaded documents of results, by path, in the same way.
	Chunks map[string]*Chunk

	past  *past           // what a replay remembers for a retry; nil in a run as it was loaded
	dirty map[string]bool // child documents to save (true) or delete (false) since the run was loaded
}

// Need is returned by Apply instead of a decision when it must know more. The caller loads what it names, adds the payloads
// to Event.Loaded and the documents to Run.Scopes, and applies the same event again. Nothing was changed.
type Need struct {
	Refs   []Ref    // payloads
	Scopes []string // documents of these scopes; one that does not exist is given as nil
}

// Error says what is needed.
func (n *Need) Error() string { return "more must be loaded to decide" }
