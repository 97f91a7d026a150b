package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/millrace-go/millrace/workflow"
)

// attempt is one execution: the command, where it was found, and what it says.
type attempt struct {
	Command
	program program
	environ []string
	folder  string // for files of this attempt alone
	file    string // $MILLRACE_OUTPUT

	log    *record
	stdout *capture // nil with `stdout: log`
	errors *lastLines
	lines  []*splitter // what turns streams into lines of the log; flushed at the end

	overrun     chan struct{} // closed when standard output is too much to go on
	overrunOnce sync.Once
}

// ending is how the program ended.
type ending struct {
	status  int // -1: by a signal
	signal  os.Signal
	stopped bool // the context ended first
	overran bool // standard output was too much
	killed  bool // it had to be killed after its grace
}

// prepare makes the files of an attempt and finds its program. Its errors are *startError.
func prepare(c Command) (*attempt, error) {
	a := &attempt{Command: c, overrun: make(chan struct{}), errors: &lastLines{}}
	if err := a.makeFolder(); err != nil {
		return nil, &startError{status: statusCannotRun, passing: true, message: "its scratch folder cannot be used: free some space or mend its rights", err: err}
	}
	var err error
	if a.program, a.environ, err = a.find(); err != nil {
		a.remove()
		return nil, err
	}
	a.log = newRecord(c.Limits.LogBytes, c.Log)
	if c.Stdout != workflow.StdoutLog {
		a.stdout = &capture{limit: c.Limits.OutputBytes, bound: overrunFactor * int64(c.Limits.OutputBytes), over: a.tooMuch}
	}
	return a, nil
}

// makeFolder makes the scratch folder and, inside it, the folder of this attempt with the empty file $MILLRACE_OUTPUT.
func (a *attempt) makeFolder() error {
	if !filepath.IsAbs(a.Scratch) {
		return fmt.Errorf("scratch folder %q: not an absolute path", a.Scratch)
	}
	own := filepath.Join(a.Scratch, attemptFolderName)
	if err := os.MkdirAll(own, 0o700); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(own, "attempt-")
	if err != nil {
		return err
	}
	a.folder = folder
	a.file = filepath.Join(folder, "output")
	if err := os.WriteFile(a.file, nil, 0o600); err != nil {
		return errors.Join(err, os.RemoveAll(folder))
	}
	return nil
}

// remove takes the attempt's own files away. What cannot be removed now goes with the scratch folder.
func (a *attempt) remove() { _ = os.RemoveAll(a.folder) }

// execute starts the program, follows it to its end, and ends what it left behind.
func (a *attempt) execute(ctx context.Context) (ending, error) {
	pipes, err := openPipes(a.Stdin == workflow.StdinJSON)
	if err != nil {
		return ending{}, &startError{status: statusCannotRun, passing: true, message: "the machine has no pipe to spare", err: err}
	}
	defer pipes.close()
	p, err := start(a.program, a.environ, pipes.child())
	if err != nil {
		return ending{}, a.program.explain(err)
	}
	pipes.closeChild()

	var reading, writing sync.WaitGroup
	stderr := a.splitter(Stderr)
	reading.Go(func() { drain(pipes.stderr, stderr.write) })
	if a.stdout != nil {
		reading.Go(func() { drain(pipes.stdout, a.stdout.write) })
	} else {
		stdout := a.splitter(Stdout)
		reading.Go(func() { drain(pipes.stdout, stdout.write) })
	}
	if pipes.stdin != nil {
		writing.Go(func() { feed(pipes.stdin, a.Input) })
	}
	read := make(chan struct{})
	go func() {
		reading.Wait()
		close(read)
	}()
	end := a.follow(ctx, p, read)
	pipes.cut()
	<-read
	writing.Wait()
	for _, l := range a.lines {
		l.flush()
	}
	return end, nil
}

// follow waits for the program's end, or stops it, and then ends what is left of its group. read is closed when its streams
// have ended.
func (a *attempt) follow(ctx context.Context, p *process, read <-chan struct{}) ending {
	var end ending
	select {
	case <-p.exited:
		settle(read, a.settle)
		patience := newTimer(min(leftoverGrace, a.Grace))
		defer patience.Stop()
		end.status, end.signal = p.finish(patience)
		return end
	case <-ctx.Done():
		end.stopped = true
	case <-a.overrun:
		end.overran = true
	}
	grace := newTimer(a.Grace) // the program's, and what is left of it the group's
	defer grace.Stop()
	end.killed = p.stop(grace)
	end.status, end.signal = p.finish(grace)
	return end
}

// settle gives what the program left behind a moment to finish writing: a `tee` behind a process substitution ends just
// after the shell that started it. Without any such, the streams have ended already.
func settle(read <-chan struct{}, within time.Duration) {
	timer := newTimer(within)
	defer timer.Stop()
	select {
	case <-read:
	case <-timer.C:
	}
}

const (
	settleTime    = 100 * time.Millisecond
	leftoverGrace = time.Second
)

// splitter makes the splitter of a stream that is log.
func (a *attempt) splitter(stream Stream) *splitter {
	s := &splitter{limit: a.Limits.LineBytes, emit: func(text string) {
		if stream == Stderr {
			a.errors.add(text)
		}
		a.log.add(Line{Stream: stream, Text: text})
	}}
	a.lines = append(a.lines, s)
	return s
}

// tooMuch is called when standard output has passed its bound. With $MILLRACE_OUTPUT written it is only log.
func (a *attempt) tooMuch() {
	if info, err := os.Lstat(a.file); err == nil && info.Size() > 0 {
		return
	}
	a.overrunOnce.Do(func() { close(a.overrun) })
}
