package workflow

import (
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
)

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

	// Fail fails its scope.
	Fail struct {
		Code    string         // default "failed"
		Message *expr.Template // nil: none
		Data    *expr.Template
	}

	// End ends its scope, or the run, with success.
	End struct {
		Run    bool
		Output *expr.Template // nil: what it got
	}
)

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
