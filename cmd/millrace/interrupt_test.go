package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
)

// neverSaid is the exit status of interrupt when the program ended before it had said what was waited for.
const neverSaid = 99

// interrupt TEXT PROGRAM..: a command of scripts, which runs a program, interrupts it as soon as a line that it writes on standard
// error matches TEXT, and exits as it does. So a script has a run come as far as it needs it, however slow the machine is.
func interrupt(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: interrupt TEXT PROGRAM..")
		return neverSaid
	}
	waited, err := regexp.Compile(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return neverSaid
	}
	program := exec.Command(args[1], args[2:]...)
	program.Stdin, program.Stdout = os.Stdin, os.Stdout
	lines, err := program.StderrPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return neverSaid
	}
	said, err := interruptAt(waited, program, lines)
	err = errors.Join(err, program.Wait())
	var exit *exec.ExitError
	switch {
	case !said:
		fmt.Fprintf(os.Stderr, "it never said %s: %v\n", waited, err)
		return neverSaid
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return neverSaid
	}
	return 0
}

// interruptAt passes lines on to the end, and interrupts the program at the first that matches.
func interruptAt(waited *regexp.Regexp, program *exec.Cmd, lines io.Reader) (said bool, err error) {
	s := bufio.NewScanner(lines)
	for s.Scan() {
		fmt.Fprintln(os.Stderr, s.Text())
		if !said && waited.Match(s.Bytes()) {
			said, err = true, program.Process.Signal(os.Interrupt)
		}
	}
	return said, errors.Join(err, s.Err())
}
