// Package execute executes the steps of workflow files: it hands attempts of the engine to the runners, and what they say to
// whoever shows it.
//
// Nouns: [Commands] executes the run and shell steps of one workflow folder; a [Log] takes the lines of all attempts of this
// process, keeps them in files that other processes read, and passes them on.
//
// It imports internal/engine, machine, the runners and the package of log files.
package execute

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/runner/command"
)

// Commands executes the run and shell steps of one workflow folder.
type Commands struct {
	Folder  string                    // absolute
	Scratch func(runID string) string // the folder that the steps of a run share, absolute
	Grace   time.Duration             // from SIGTERM to SIGKILL
	Log     *Log
}

// JournalBytes is how much of the end of an attempt's log its journal entry keeps.
const JournalBytes = 4 << 10

// Execute runs one attempt.
func (c *Commands) Execute(ctx context.Context, a *engine.Attempt) engine.Outcome {
	if a.Command == nil {
		return engine.Outcome{Err: &machine.Error{
			Code: "no_command", Permanent: true, Message: fmt.Sprintf("step %s is no command, but was offered as one", a.Path),
		}}
	}
	spec := a.Command.Spec
	log := c.Log.begin(a)
	r := command.Run(ctx, command.Command{
		Args: a.Command.Args, Script: spec.Script, Root: c.Folder, Dir: a.Command.Dir, Env: a.Command.Env,
		Input: a.Input, Stdin: spec.Stdin, Stdout: spec.Stdout, Codes: spec.Codes, Scratch: c.Scratch(a.ID),
		RunID: a.ID, RunKey: a.Header.Key, Step: a.Path, Key: a.Key, Attempt: a.Number, Grace: c.Grace,
		Log: func(l command.Line) { log.line(l.Text) },
	})
	log.end(string(r.Log))
	return outcome(r)
}

func outcome(r command.Result) engine.Outcome {
	o := engine.Outcome{Log: lastBytes(string(r.Log), JournalBytes)}
	if r.Failure == nil {
		o.Output = r.Output
		return o
	}
	o.Interrupted = r.Stopped
	o.Err = &machine.Error{
		Code: r.Failure.Code, Message: r.Failure.Message, Data: r.Failure.Data,
		Passing: r.Failure.Passing, Permanent: r.Failure.Permanent, Final: r.Failure.Final,
	}
	return o
}

// lastBytes gives at most limit bytes of the end of s, in whole characters.
func lastBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[len(s)-limit:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}
