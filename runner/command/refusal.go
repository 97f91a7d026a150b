package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/millrace-go/millrace/runner/internal/plain"
)

// The exit statuses by which a shell says that it could not run a program; a step says the same with exit_N.
const (
	statusCannotRun = 126
	statusNotFound  = 127
)

// startError is why a program did not start, and what to do about it.
type startError struct {
	status  int
	passing bool // of the machine, and perhaps over soon; else trying again is no use
	message string
	err     error
}

// Error gives message and cause.
func (e *startError) Error() string {
	if e.err == nil {
		return e.message
	}
	return e.message + ": " + e.err.Error()
}

// Unwrap gives the cause.
func (e *startError) Unwrap() error { return e.err }

func refuse(status int, format string, args ...any) *startError {
	return &startError{status: status, message: fmt.Sprintf(format, args...)}
}

// notStarted makes a failure of a start that did not happen.
func (c Command) notStarted(err error) *Failure {
	var e *startError
	if !errors.As(err, &e) {
		e = &startError{status: statusCannotRun, message: c.subject() + " cannot be started", err: err}
	}
	return &Failure{Code: c.code(e.status), Message: plain.Message(e.Error()), Passing: e.passing, Permanent: !e.passing}
}

// explain says in better words why the system did not start the program.
func (p program) explain(err error) error {
	say := func(status int, passing bool, format string, args ...any) error {
		var errno syscall.Errno
		if errors.As(err, &errno) {
			err = errno // the rest repeats the path
		}
		return &startError{status: status, passing: passing, message: fmt.Sprintf(format, args...), err: err}
	}
	switch {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return say(statusNotFound, false, "%s cannot be started: %s", p.name, p.interpreter())
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return say(statusCannotRun, false, "%s may not be executed: look at its rights and its folder's, at its first line, and whether the disk is mounted noexec", p.name)
	case errors.Is(err, syscall.ENOEXEC):
		return say(statusCannotRun, false, "%s is no program of this machine: a script needs a first line such as #!/bin/sh", p.name)
	case errors.Is(err, syscall.E2BIG):
		return say(statusCannotRun, false, "arguments and environment are too long: give large values on standard input")
	case errors.Is(err, syscall.ETXTBSY):
		return say(statusCannotRun, true, "%s is open for writing: close it", p.name)
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return say(statusCannotRun, true, "the machine cannot start another process now: let fewer run at a time, or raise its limits")
	default:
		return say(statusCannotRun, false, "%s cannot be started", p.name)
	}
}

// interpreter says what is wrong with a file that exists and still is not found.
func (p program) interpreter() string {
	line := p.firstLine()
	if hint := carriageReturn(line, p.file()); hint != "" {
		return hint
	}
	if name, ok := strings.CutPrefix(line, "#!"); ok {
		if fields := strings.Fields(name); len(fields) > 0 {
			return fmt.Sprintf("its first line asks for %s, which is not on this machine: install it, or mend the line", fields[0])
		}
		return "its first line names no interpreter: write #!/bin/sh"
	}
	return "it or the loader that it asks for is missing: was it built for this machine?"
}

// carriageReturn is what to say of a script whose first line ends as on Windows.
func carriageReturn(line, file string) string {
	if !strings.HasPrefix(line, "#!") || !strings.HasSuffix(line, "\r") {
		return ""
	}
	return fmt.Sprintf(`its lines end with CR LF, so that its first line asks for a program whose name ends with CR: sed -i 's/\r$//' %s`, shown(file))
}

// firstLine gives the first line of the program's file without its line feed, "" if it cannot be read.
func (p program) firstLine() string {
	f, err := os.Open(p.file())
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	buf := make([]byte, 256)
	n, _ := io.ReadFull(f, buf)
	line, _, ended := bytes.Cut(buf[:n], []byte{'\n'})
	if !ended && n == len(buf) {
		return ""
	}
	return string(line)
}
