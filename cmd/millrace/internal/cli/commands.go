package cli

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/runner/command"
)

// commands executes the run and shell steps of one workflow folder.
type commands struct {
	folder  string
	scratch string // of the one run that is driven
	grace   time.Duration
	log     *logs
}

const keptLog = 4 << 10 // bytes of the end of an attempt's log that its journal entry keeps

// Execute runs one attempt.
func (c *commands) Execute(ctx context.Context, a *engine.Attempt) engine.Outcome {
	if a.Command == nil {
		return engine.Outcome{Err: &machine.Error{
			Code: "no_command", Permanent: true, Message: fmt.Sprintf("step %s is no command, but was offered as one", a.Path),
		}}
	}
	spec := a.Command.Spec
	r := command.Run(ctx, command.Command{
		Args: a.Command.Args, Script: spec.Script, Root: c.folder, Dir: a.Command.Dir, Env: a.Command.Env,
		Input: a.Input, Stdin: spec.Stdin, Stdout: spec.Stdout, Codes: spec.Codes, Scratch: c.scratch,
		RunID: a.ID, RunKey: a.Header.Key, Step: a.Path, Key: a.Key, Attempt: a.Number, Grace: c.grace,
		Log: func(l command.Line) { c.log.add(a.Path, l.Text) },
	})
	c.log.end(a.Path)
	return outcome(r)
}

func outcome(r command.Result) engine.Outcome {
	o := engine.Outcome{Log: lastBytes(string(r.Log), keptLog)}
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

// logs holds what attempts said last, and passes lines on to whoever prints them. It is safe for concurrent use.
type logs struct {
	mu   sync.Mutex
	last map[string]string // by path
	tell func(path, line string)
}

func (l *logs) add(path, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = map[string]string{}
	}
	l.last[path] = line
	if l.tell != nil {
		l.tell(path, line)
	}
}

func (l *logs) end(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.last, path)
}

// lines gives the last lines of attempts under way.
func (l *logs) lines() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.last)
}
