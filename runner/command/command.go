// Package command executes `run` and `shell` steps: one call of [Run] is one attempt, from the program's start to the last
// trace of it.
//
// Nouns: a [Command] is all that one attempt needs, already evaluated; a [Result] is what became of it; a [Failure] says why
// it failed in terms that retry policies understand; a [Line] is one line of its log; scratch is the folder that the steps
// of one run share on this machine.
//
// The package needs Linux or another Unix. It imports workflow, and neither machine nor store nor the root. The rules are
// section 6 of the page on the file format.
package command

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/millrace-go/millrace/workflow"
)

// Command is everything that one attempt needs, already evaluated. Run does not change it.
type Command struct {
	Args   []string // `run`: program and arguments, never seen by a shell; nil: Script is run
	Script string   // `shell`: a script for sh -eu

	// Root is the workflow's folder, absolute. Dir is a folder inside it and where the program starts; "" is Root itself. A
	// program named with a slash (./pack.sh, bin/pack) counts from there, as in a shell, and must lie inside Root; links
	// that lead out are refused. A bare name is looked for in PATH, an absolute path is taken as it is. This guards against
	// mistakes, not against somebody who changes the folder between the check and the start.
	Root string
	Dir  string

	Env     map[string]string // added to what the environment's allow-list lets through; see Environ
	Environ []string          // the environment that is filtered; nil: that of this process

	Input  json.RawMessage // given on standard input, followed by a line end; nil: null
	Stdin  workflow.Stdin  // "": StdinJSON
	Stdout workflow.Stdout // "": StdoutAuto
	Codes  map[int]string  // exit status -> code, instead of exit_N

	// Scratch is the folder of this run on this machine, absolute, made (0700) if it is missing. Attempts may share it at the
	// same time. The caller owes a RemoveScratch when the run has ended.
	Scratch string

	RunID   string // MILLRACE_RUN_ID
	RunKey  string // MILLRACE_RUN_KEY
	Step    string // MILLRACE_STEP: the path of the activation
	Key     string // MILLRACE_KEY: the idempotency key of the task
	Attempt int    // MILLRACE_ATTEMPT, from 1
	// Reason is MILLRACE_REASON, why the program runs: "run" or "retry" (by Attempt, when it is ""), or what else the caller
	// knows, such as "compensate".
	Reason string

	Grace  time.Duration // from SIGTERM to SIGKILL; 0: 10 s
	Limits Limits

	// Log, when set, is told each line of the log as it comes. Calls come one at a time, from other goroutines than Run's but
	// never after Run has returned. A call that blocks holds up the program's output.
	Log func(Line)

	settle time.Duration // for what the program leaves behind to finish writing; 0: settleTime
}

// Limits bounds what is kept of what a program says. Zero fields mean the defaults.
type Limits struct {
	OutputBytes int // size of the output as JSON; default 1 MiB
	LogBytes    int // size of Result.Log, first and last part together; default 1 MiB
	LineBytes   int // length of one line of the log; default 16 KiB, at most a quarter of LogBytes
}

// Stream says where a line of the log was written.
type Stream string

// The streams of a program.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Line is one line of the log, without its line end: valid UTF-8 without NUL (what is not is replaced by U+FFFD), cut to
// Limits.LineBytes with a note that says how much is missing.
type Line struct {
	Stream Stream
	Text   string
}

// Result is what became of an attempt.
type Result struct {
	Output  json.RawMessage // when Failure is nil: valid JSON, storable, within Limits.OutputBytes
	Failure *Failure        // nil: it succeeded
	// Log is what the program wrote on standard error, and on standard output where that is not the output (`stdout: log`,
	// $MILLRACE_OUTPUT written, or the attempt failed; in the latter two it follows at the end). Longer than
	// Limits.LogBytes, it keeps its first and its last lines and says between them what was left out.
	Log []byte
	// Status is the exit status; -1 when the program was ended by a signal or did not start.
	Status int
	// Stopped says that the context ended before the program did. Why is context.Cause. A program that was told to stop and
	// ends with status 0 has succeeded.
	Stopped bool
}

// Run executes one attempt and blocks until its process group is gone, its pipes are closed and every goroutine of its own
// has ended. It always gives a Result with an Output or a Failure. It may be called concurrently.
//
// When ctx ends, the whole process group gets SIGTERM and, c.Grace later, SIGKILL. When the program itself has ended, what
// it left in its group gets SIGTERM and, a second later, SIGKILL; a process that left the group is let go, and what it had
// written until then is taken. Where the system offers it (Linux), the program is killed when this process dies; what the
// program itself had started is then out of reach.
//
// Output that is larger than its limit fails with too_large. The program is not stopped for it at once, because it may yet
// write $MILLRACE_OUTPUT, which would make standard output its log; it is stopped at sixteen times the limit unless that
// file has been written by then.
func Run(ctx context.Context, c Command) Result {
	c = c.withDefaults()
	if ctx.Err() != nil {
		return Result{Status: -1, Stopped: true, Failure: &Failure{Code: codeSignal, Message: "told to stop before it started", Passing: true}}
	}
	a, err := prepare(c)
	if err != nil {
		return Result{Status: -1, Failure: c.notStarted(err)}
	}
	defer a.remove()
	end, err := a.execute(ctx)
	if err != nil {
		return Result{Status: -1, Failure: c.notStarted(err)}
	}
	return a.judge(end)
}

const (
	defaultGrace      = 10 * time.Second
	defaultOutput     = 1 << 20
	defaultLog        = 1 << 20
	defaultLine       = 16 << 10
	overrunFactor     = 16 // output this many times over its limit stops the program
	longestScript     = 96 << 10
	attemptFolderName = ".millrace" // in the scratch folder: where attempts keep their files
)

func (c Command) withDefaults() Command {
	if c.Stdin == "" {
		c.Stdin = workflow.StdinJSON
	}
	if c.Stdout == "" {
		c.Stdout = workflow.StdoutAuto
	}
	if c.Grace <= 0 {
		c.Grace = defaultGrace
	}
	if c.settle <= 0 {
		c.settle = settleTime
	}
	if c.Reason == "" {
		c.Reason = "run"
		if c.Attempt > 1 {
			c.Reason = "retry"
		}
	}
	if len(c.Input) == 0 {
		c.Input = json.RawMessage("null")
	}
	c.Limits = c.Limits.withDefaults()
	return c
}

func (l Limits) withDefaults() Limits {
	if l.OutputBytes <= 0 {
		l.OutputBytes = defaultOutput
	}
	if l.LogBytes <= 0 {
		l.LogBytes = defaultLog
	}
	if l.LineBytes <= 0 {
		l.LineBytes = defaultLine
	}
	l.LineBytes = min(l.LineBytes, max(l.LogBytes/4, 1))
	return l
}

// subject names the program in messages.
func (c Command) subject() string {
	if len(c.Args) == 0 {
		return "the script"
	}
	return filepath.Base(c.Args[0])
}
