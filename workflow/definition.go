// Package workflow is what a workflow is: the definition, its reader and writer, its checks and its schema.
//
// Nouns: a [Definition] has a [Body]; a body is a graph, a sequence or a single step and has [Step]s; a step has one
// [Action] and the common keys around it; an [Edge] leads from one step of a graph to another. Read and Build give the same
// value, which has been checked and indexed: steps carry numbers, edges are resolved, and each step knows which names its
// programs use. Such a value is immutable and safe for concurrent use.
//
// The package is pure: no clock, no I/O, no goroutine, no randomness. It imports expr and nothing else of Millrace.
package workflow

import (
	"encoding/json"
	"time"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow/internal/input"
)

// Definition is one version of a workflow.
type Definition struct {
	Name        string
	Version     int // 0: the next free number is taken at registration
	Title       string
	Description string
	Labels      map[string]string
	Input       json.RawMessage // JSON Schema of the run's input; nil: anything
	Vars        []Var           // by name
	Deadline    time.Duration   // how long a run may take; 0: no bound
	Body        *Body
	Output      *expr.Template // nil: the output of the last steps

	OnFailure             OnFailure
	OnCompensationFailure OnCompensationFailure
	Compensations         []*Compensation // shared ones, in the order written
	Finally               *Body           // runs when all else of the run is over; nil: nothing does

	// Steps are all steps of all bodies in reading order, those that undo or notify included; Step.ID is the index.
	Steps []*Step
	// Bodies are all bodies in reading order; Body.ID is the index.
	Bodies []*Body
	// OutputUses are the names that Output reads.
	OutputUses Uses

	notYet      []Mistake     // see NotYet
	canonical   []byte        // see Canonical
	unversioned []byte        // the same without the version
	schema      *input.Schema // of Input; nil: anything
}

// Var is a value that the installation may set: `vars.NAME` in expressions.
type Var struct {
	Name        string
	Description string
	Default     json.RawMessage // nil: a run cannot start without a value
}

// OnFailure is what becomes of a run whose failure nothing handled.
type OnFailure string

// What becomes of a failed run.
const (
	Compensate OnFailure = "compensate" // the default: what was done is undone
	Park       OnFailure = "park"       // the step waits for a person
	FailAtOnce OnFailure = "fail"       // nothing is undone and nobody is asked
)

// OnCompensationFailure is what becomes of the rest of the plan when a compensation gave up.
type OnCompensationFailure string

// What becomes of the rest of the plan.
const (
	StopUndoing     OnCompensationFailure = "stop" // the default: it waits for a person
	ContinueUndoing OnCompensationFailure = "continue"
)

// Compensation is how a step is undone. An inline one belongs to one step and has no name; a shared one stands at the top of
// the file, and each step that names it points to the same value.
type Compensation struct {
	Name string
	Once bool  // shared: once in a failing scope, for its newest user
	Step *Step // a worker's step in a single body of its own
}

// Origin says where a part of a definition was written.
type Origin struct {
	File    string
	Pointer string // JSON pointer into the document
	Line    int    // from 1; 0: not from a file
	Column  int    // from 1, in characters
}

// BodyKind is how the steps of a body follow each other.
type BodyKind int

// The kinds of body.
const (
	Graph    BodyKind = iota // a map of steps, ordered by edges
	Sequence                 // a list of steps, one current
	Single                   // one step under `do:`, which has its scope's path
)

// Body is a set of steps. Each activation of a body is a scope.
type Body struct {
	ID     int
	Kind   BodyKind
	Steps  []*Step // in the order written
	Parent *Step   // the step that holds it; nil at the root, of `finally` and of a shared compensation
	Slot   string  // how Parent names it: a branch's name, "case-1", "catch-1", "compensate", "notify", "" for the only one; without Parent "finally" or "compensations/NAME"
	Origin Origin

	ByKey map[string]int // index in Steps by key
	First []int          // graph: the steps that nothing leads to
	Last  []int          // graph: the steps that no normal or next edge leaves; their outputs are the body's
}

// Step is a node of a definition: an action and the keys common to all actions.
type Step struct {
	ID    int   // index in Definition.Steps
	Index int   // index in Body.Steps
	Body  *Body // the body that holds it

	Key         string // as written, or made up ("run-1") in a sequence; "do" in a single body
	Title       string
	Description string
	After       []string // as written
	When        *expr.Program
	Join        Join
	CancelRest  bool
	Need        *expr.Program // parallel, map: how many must succeed; nil: all
	Next        string        // sequence: the step to go on with; "end"
	With        *expr.Template
	Retry       []RetryPolicy // nil: nothing written, the default policy covers what is plainly passing
	Timeout     time.Duration // 0: none
	Delay       time.Duration
	Lease       time.Duration // 0: the engine's
	Queue       string        // "": "default"
	Priority    int
	Catch       []Catch
	OnError     OnError
	AtMostOnce  bool
	Compensate  *Compensation // nil: nothing undoes it
	Concurrency *Limit
	Rate        *Limit
	Heartbeat   time.Duration // how long a deferred task may give no sign of life; 0: forever
	Env         map[string]*expr.Template
	Dir         string // inside the workflow's folder; "": the folder itself
	Meta        json.RawMessage
	Action      Action
	Origin      Origin

	// CompensateUnknown says whether a step of which nobody knows if it was done is undone; nil: true.
	CompensateUnknown *bool

	// Computed when the definition is built.

	Out         []Edge // graph: edges that leave, ordered by target index
	In          []Edge // graph: edges that arrive, ordered by source index
	InputEdges  int    // normal and next edges that arrive: two or more make an object of outputs
	NextIndex   int    // sequence: index of the step after it; len(Body.Steps) ends the scope
	Named       bool   // an expression somewhere may name its output
	NamedError  bool   // an expression somewhere may name its error or its failed items
	CaughtHere  bool   // some catch leads to this step: `error` is in scope in it
	Uses        Uses   // names read by the programs that the claiming process evaluates
	WhenUses    Uses   // names read by When
	ActionUses  Uses   // names read by the programs that the machine evaluates for the action
	NeedUses    Uses
	LimitUses   Uses    // names read by the keys of Concurrency and Rate, which the machine evaluates
	Bodies      []*Body // bodies of the action, in order; catch bodies follow
	IsComposite bool    // the action opens scopes
	IsTask      bool    // the action is done by a worker: task, run, shell, http
}

// Limit bounds the tasks of a key over all runs: how many run at once (Concurrency), or how many start in a time (Rate).
type Limit struct {
	Key   *expr.Template
	Limit int
	Per   time.Duration // Rate only
}

// EdgeKind is the sort of an edge; there is at most one edge from one step to another.
type EdgeKind int

// The kinds of edge.
const (
	Normal EdgeKind = iota // from `after`
	Next                   // from a `next` of a switch: taken if one of Cases was chosen
	Caught                 // from a catch with `next`: taken if one of Cases caught
)

// Edge leads from one step of a graph to another of the same body.
type Edge struct {
	From, To int // indexes in Body.Steps
	Kind     EdgeKind
	Cases    []int // Next: indexes of switch cases; Caught: indexes in Step.Catch
	// Rejoins: on a Normal or Next edge, a catch of From leads to To too, directly or through others, so a missing edge
	// counts as not chosen.
	Rejoins bool
}

// JoinKind says when a step into which several edges lead starts.
type JoinKind int

// The kinds of join.
const (
	JoinAll JoinKind = iota
	JoinSettled
	JoinAny
	JoinCount
)

// Join is when a step starts, given the edges that lead to it.
type Join struct {
	Kind JoinKind
	N    int // JoinCount: the n-th edge taken starts the step
}

// OnError is what becomes of a step that failed and whose failure no catch took.
type OnError int

// What becomes of a failed step.
const (
	OnErrorFail     OnError = iota // the scope fails
	OnErrorContinue                // output null, edges taken
	OnErrorSkip                    // edges not chosen
)

// Grow is how the delay between tries grows.
type Grow string

// The ways a delay grows.
const (
	Exponential Grow = "exponential" // the default
	Linear      Grow = "linear"
	Constant    Grow = "constant"
)

// RetryPolicy says which failures are tried again, how often and when (docs/format.md 5). The reader fills in the defaults.
type RetryPolicy struct {
	Attempts int // total number of attempts, the first included
	Delay    time.Duration
	Factor   float64
	Grow     Grow
	MaxDelay time.Duration
	Delays   []time.Duration // when set: the delay before each further attempt, and their number is the number of retries
	Jitter   float64         // 0..1: share of the delay that depends on the attempt's identity
	Only     []string        // codes; empty: every code
	Except   []string
	For      time.Duration // 0: no bound; counts from when the task first became ready
}

// DefaultRetry is the policy for what is plainly passing on a step without `retry`.
func DefaultRetry() RetryPolicy {
	return RetryPolicy{Attempts: 4, Delay: time.Second, Factor: 2, Grow: Exponential, MaxDelay: 30 * time.Second, Jitter: 0.2}
}

// Catch takes a failure of its step: the first entry that matches.
type Catch struct {
	Only     []string
	Except   []string
	When     *expr.Program
	WhenUses Uses
	Next     string // the step to go on with; "" when Body is set
	NextTo   int    // index of Next in the body; len(Steps) for "end" in a sequence
	Body     *Body  // nil when Next is set
	Origin   Origin
}

// Uses are the names that a set of programs reads, resolved: what must be known to evaluate them.
type Uses struct {
	Input    bool // input
	Prev     bool // prev
	Run      bool // run
	Task     bool // task
	Error    bool // error
	Vars     bool // vars
	Undone   bool // step, in a compensation: the step being undone
	Approval bool // approval, in a notification
	Steps    []StepUse
	Items    []ItemUse
	Passes   []PassUse
	Secrets  []string // the secrets that env and headers name, sorted
}

// StepUse is a use of steps.KEY: the step at Index of the body Up levels out (0: the body of the step that uses it). Around
// the body of `finally` stands the root's.
type StepUse struct {
	Key                           string
	Up, Index                     int
	Output, Status, Error, Failed bool
	Children                      bool // of what the step spawned
	// Bare: the output is read into, and neither the program nor a condition on the way to it asks whether it is null.
	Bare bool
}

// ItemUse is a use of a name given by `as` (or of its _index): the item of the scope Up levels out (0: the step's own body is
// the body of the map or loop; -1, in `while` and `until` only: the item of the pass of the loop that holds the program).
type ItemUse struct {
	Name string // as given by `as`
	Up   int
}

// PassUse is a use of `pass`: that of the scope Up levels out, counted as in ItemUse; the innermost pass of a loop around.
type PassUse struct{ Up int }
