package command

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/millrace-go/millrace/runner/internal/plain"
	"github.com/millrace-go/millrace/workflow"
)

// Failure is why an attempt failed.
type Failure struct {
	// Code is exit_N or what Command.Codes says instead, signal, bad_output, too_large, unstorable, or what the program said in
	// $MILLRACE_OUTPUT. A program that did not start gives exit_127 when something is missing, else exit_126, as a shell would.
	Code string
	// Message is for people: at most 4 KiB of valid UTF-8 without NUL. That of a program that failed ends with the last lines
	// of its standard error, or, when that is empty, of its standard output.
	Message string
	Data    json.RawMessage // what the program said in $MILLRACE_OUTPUT; nil otherwise
	// Passing: plainly passing, retried by the default policy: a signal, exit status 75, a machine that is short of something.
	Passing bool
	// Permanent: trying again is no use, the program could not be started.
	Permanent bool
	// Final: never retried and never caught: what it gave is too large or cannot be stored.
	Final bool
}

// The codes of failures, beside exit_N.
const (
	codeSignal     = "signal"
	codeBadOutput  = "bad_output"
	codeTooLarge   = "too_large"
	codeUnstorable = "unstorable"
)

const statusTempFail = 75 // EX_TEMPFAIL of sysexits.h

// code gives the code of an exit status.
func (c Command) code(status int) string {
	if code := c.Codes[status]; code != "" {
		return code
	}
	return "exit_" + strconv.Itoa(status)
}

// judge says what became of an attempt whose program has ended.
func (a *attempt) judge(end ending) Result {
	r := Result{Status: end.status, Stopped: end.stopped}
	written, unread := readOutput(a.file, a.Limits.OutputBytes)
	r.Output, r.Failure = a.outcome(end, written, unread)
	if a.stdout != nil && (r.Failure != nil || len(written) > 0 || unread != nil) {
		a.logStdout()
	}
	r.Log = a.log.bytes()
	return r
}

// outcome decides: what the program said in $MILLRACE_OUTPUT comes before how it ended, and how it ended before what it
// printed. written is the content of that file, unread why it could not be taken.
func (a *attempt) outcome(end ending, written []byte, unread *Failure) (json.RawMessage, *Failure) {
	said, malformed := spokenError(written)
	switch {
	case end.overran:
		return nil, a.tooLarge("standard output")
	case said != nil:
		said.Passing = end.status == statusTempFail || end.signal != nil
		return nil, said
	case end.signal != nil:
		return nil, a.signalled(end)
	case end.status != 0:
		return nil, a.exited(end)
	case unread != nil:
		return nil, unread
	case malformed != nil:
		return nil, malformed
	case len(written) > 0:
		return a.read(outputSource, written)
	case a.stdout == nil:
		return json.RawMessage("null"), nil
	case a.stdout.tooLarge():
		return nil, a.tooLarge("standard output")
	default:
		return a.read("standard output", a.stdout.kept)
	}
}

// read makes the output of what was written, as the step's stdout says.
func (a *attempt) read(source string, text []byte) (json.RawMessage, *Failure) {
	mode := a.Stdout
	if mode == workflow.StdoutLog {
		mode = workflow.StdoutAuto
	}
	output, failure := parse(source, mode, text)
	if failure == nil && len(output) > a.Limits.OutputBytes {
		return nil, a.tooLarge(source)
	}
	return output, failure
}

func (a *attempt) tooLarge(source string) *Failure { return tooLarge(source, a.Limits.OutputBytes) }

func tooLarge(source string, limit int) *Failure {
	remedy := "write large data to a file and give its name"
	if source != outputSource {
		remedy += ", or, if it is no output, set stdout: log"
	}
	return &Failure{Code: codeTooLarge, Message: fmt.Sprintf("%s gives more than %d bytes: %s", source, limit, remedy), Final: true}
}

// exited is the failure of a program that ended with a status.
func (a *attempt) exited(end ending) *Failure {
	text := fmt.Sprintf("%s ended with status %d", a.subject(), end.status)
	if end.stopped {
		text += " after it was told to stop"
	}
	if end.status == statusNotFound || end.status == statusCannotRun {
		if hint := carriageReturn(a.program.firstLine(), a.program.file()); hint != "" {
			text += ": " + hint
		}
	}
	return &Failure{Code: a.code(end.status), Message: a.withLastWords(text), Passing: end.status == statusTempFail}
}

// signalled is the failure of a program that a signal ended.
func (a *attempt) signalled(end ending) *Failure {
	text := fmt.Sprintf("%s was ended by %s", a.subject(), signalName(end.signal))
	switch {
	case end.killed:
		text = fmt.Sprintf("%s was told to stop, did not end within %v, and was killed", a.subject(), a.Grace)
	case end.stopped:
		text += " after it was told to stop"
	case end.signal == syscall.SIGKILL:
		text += ", perhaps by the system for want of memory"
	}
	return &Failure{Code: codeSignal, Message: a.withLastWords(text), Passing: true}
}

func signalName(s os.Signal) string {
	if number, ok := s.(syscall.Signal); ok {
		if name := unix.SignalName(number); name != "" {
			return name
		}
	}
	return s.String()
}

// withLastWords adds to text what the program said last.
func (a *attempt) withLastWords(text string) string {
	words := a.errors.text()
	if words == "" && a.stdout != nil {
		words = a.stdout.lastWords()
	}
	if words == "" {
		return plain.Message(text)
	}
	return plain.Message(text + ":\n" + words)
}

// lastWords gives the last lines of the stream.
func (c *capture) lastWords() string {
	end := c.last
	if len(end) < captureTail && c.missing() == 0 {
		end = append(c.kept[max(len(c.kept)-captureTail, 0):len(c.kept):len(c.kept)], end...)
	}
	var lines lastLines
	for line := range strings.Lines(plain.Clean(string(end))) {
		lines.add(strings.TrimRight(line, "\r\n"))
	}
	return lines.text()
}

// logStdout puts standard output, which turned out not to be the output, into the log. Who follows the log hears its last
// lines alone: it comes all at once, and may be a million lines.
func (a *attempt) logStdout() {
	var end lastLines
	s := &splitter{limit: a.Limits.LineBytes, emit: func(text string) {
		a.log.keep(text)
		end.add(text)
	}}
	defer func() {
		for _, text := range end.lines {
			a.log.tell(Line{Stream: Stdout, Text: text})
		}
	}()
	s.write(a.stdout.kept)
	if missing := a.stdout.missing(); missing > 0 {
		s.flush()
		s.emit("[" + plain.Count(missing, "byte") + " left out]")
	}
	s.write(a.stdout.last)
	s.flush()
}
