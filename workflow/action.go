package workflow

import (
	"encoding/json"
	"time"

	"github.com/millrace-go/millrace/expr"
)

// Action is what a step does: one of the types of this file.
type Action interface {
	// Name is the action's key in a file.
	Name() string
}

// The actions that are done by a worker.
type (
	// Task is done by a handler that some worker registered under this name.
	Task struct{ Handler string }

	// Command is a program (`run`: Args) or a script for sh -eu (`shell`: Script).
	Command struct {
		Args   []*expr.Template // run: argv
		Script string           // shell: never interpolated
		Stdin  Stdin
		Stdout Stdout
		Codes  map[int]string // exit status -> error code
	}

	// HTTP is a request. At most one of JSON, Form and Body is set.
	HTTP struct {
		Method string // upper case; default GET
		URL    *expr.Template
		Query  []Pair // in the order written
		Header []Pair // the only place besides Step.Env where secrets may stand
		JSON   *expr.Template
		Form   []Pair
		Body   *expr.Template
		Expect []int          // statuses that succeed; empty: 200 to 299
		Codes  map[int]string // status -> error code
		Full   bool           // the output is { status, headers, body } and not the body
	}
)

// Pair is a name with its value, where the order matters.
type Pair struct {
	Name  string
	Value *expr.Template
}

// Stdin is what a command reads.
type Stdin string

// What a command reads.
const (
	StdinJSON Stdin = "json" // the default: the step's input
	StdinNone Stdin = "none"
)

// Stdout is how a command's standard output becomes its output.
type Stdout string

// How standard output becomes output.
const (
	StdoutAuto  Stdout = "auto" // the default
	StdoutJSON  Stdout = "json"
	StdoutText  Stdout = "text"
	StdoutLines Stdout = "lines"
	StdoutLog   Stdout = "log"
)

// The actions that the machine does itself.
type (
	// Set gives an object.
	Set struct{ Value *expr.Template }

	// Wait waits for a duration or until a time, and hands on what it got.
	Wait struct {
		For   time.Duration
		Until *expr.Program // RFC 3339 text; in the past: at once
	}

	// Await waits for events: facts, which are never consumed.
	Await struct {
		Mode   AwaitMode
		Events []AwaitedEvent // AwaitOne: one
		Within time.Duration  // 0: for ever
	}

	// Emit tells a run an event, and hands on what it got.
	Emit struct {
		Event string
		Key   *expr.Template // nil: none
		Data  *expr.Template // nil: none
		To    *Recipient     // nil: this run
	}

	// Approve waits for a person's decision.
	Approve struct {
		Title  *expr.Template
		Form   json.RawMessage  // JSON Schema of the decision's data; nil: none is asked for
		By     []*expr.Template // names of those who may decide; empty: anyone
		Within time.Duration    // 0: for ever
		Remind time.Duration    // 0: never
		Notify *Step            // a worker's step in a single body of its own; nil: nothing runs
	}

	// Call starts a child run and waits for it. Its input is Step.With.
	Call struct {
		Workflow string // by name; "" when File is set
		File     string // ./file.yaml, relative to the file of this workflow
		Version  int    // 0: the newest
		Key      *expr.Template
		Labels   map[string]*expr.Template
		Detach   bool // it is not waited for
	}

	// Savepoint marks what is not to be undone: what led up to it.
	Savepoint struct{}

	// Fail fails its scope.
	Fail struct {
		Code     string         // default "failed"; "" when CodeExpr is set
		CodeExpr *expr.Template // the code as text with expressions
		Message  *expr.Template // nil: none
		Data     *expr.Template
	}

	// End ends its scope, or the run, with success.
	End struct {
		Run    bool
		Output *expr.Template // nil: what it got
	}
)

// AwaitMode says how many of the events are waited for.
type AwaitMode string

// How many events are waited for.
const (
	AwaitOne AwaitMode = "one" // one event: its data is the output
	AwaitAll AwaitMode = "all" // the output is an object of data by event
	AwaitAny AwaitMode = "any"
)

// AwaitedEvent is an event that is waited for. Without a key, those without a key.
type AwaitedEvent struct {
	Event string
	Key   *expr.Template
}

// Recipient is the run that an event is told to: one by its id, or the one of a workflow with a key.
type Recipient struct {
	Run      *expr.Template
	Workflow string
	Key      *expr.Template
}

// The composites.
type (
	// Switch takes the first case that is true.
	Switch struct{ Cases []Case }

	// Block is a body in place (`steps`).
	Block struct{ Body *Body }

	// Parallel runs its branches side by side.
	Parallel struct{ Branches []Branch }

	// Map runs its body once for each item of a list.
	Map struct {
		Over     *expr.Program
		As       string // default "item"
		Parallel int    // 0: as many as the machine allows
		Tolerate Tolerate
		Body     *Body
	}

	// Loop runs its body again and again.
	Loop struct {
		Over      *expr.Program
		As        string
		While     *expr.Program
		Until     *expr.Program
		Limit     *expr.Program // nil: 1,000 passes
		Every     time.Duration // pause between passes
		Collect   bool          // the output is the list of all passes' outputs
		Body      *Body
		WhileUses Uses // names read by While: prev is what the next pass would get
		UntilUses Uses // names read by Until: prev is what the pass just gave
	}
)

// Case is one way of a switch. The last may have no When.
type Case struct {
	When     *expr.Program
	WhenUses Uses
	Next     string
	NextTo   int // index of Next in the body; len(Steps) for "end" in a sequence
	Body     *Body
	Origin   Origin
}

// Branch is one branch of a parallel.
type Branch struct {
	Name string
	Body *Body
}

// Tolerate is how many items of a map may fail: Count of them, or Percent of all rounded down. The zero value is none.
type Tolerate struct {
	Count   int
	Percent float64
}

// Name gives the action's key in a file.
func (*Task) Name() string { return "task" }

// Name gives the action's key in a file: run or shell.
func (a *Command) Name() string {
	if a.Args == nil {
		return "shell"
	}
	return "run"
}

// Name gives the action's key in a file.
func (*HTTP) Name() string { return "http" }

// Name gives the action's key in a file.
func (*Await) Name() string { return "await" }

// Name gives the action's key in a file.
func (*Emit) Name() string { return "emit" }

// Name gives the action's key in a file.
func (*Approve) Name() string { return "approve" }

// Name gives the action's key in a file.
func (*Call) Name() string { return "workflow" }

// Name gives the action's key in a file.
func (*Savepoint) Name() string { return "savepoint" }

// Name gives the action's key in a file.
func (*Set) Name() string { return "set" }

// Name gives the action's key in a file.
func (*Wait) Name() string { return "wait" }

// Name gives the action's key in a file.
func (*Fail) Name() string { return "fail" }

// Name gives the action's key in a file.
func (*End) Name() string { return "end" }

// Name gives the action's key in a file.
func (*Switch) Name() string { return "switch" }

// Name gives the action's key in a file.
func (*Block) Name() string { return "steps" }

// Name gives the action's key in a file.
func (*Parallel) Name() string { return "parallel" }

// Name gives the action's key in a file.
func (*Map) Name() string { return "map" }

// Name gives the action's key in a file.
func (*Loop) Name() string { return "loop" }
