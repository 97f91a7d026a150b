package millrace

import (
	"encoding/json"
	"strings"

	"github.com/millrace-go/millrace/machine"
)

// hints say what a person can do about an error code of docs/format.md 5.
var hints = map[string]string{
	machine.CodeLost:       "the process that ran it died or was cut off; if it dies of this step, look at the step's memory and time",
	machine.CodePanic:      "a handler panicked: its stack is in the journal entry of the attempt",
	machine.CodeTimeout:    "give the step a longer `timeout`, or find out what it waited for",
	machine.CodeExpression: "correct the expression in the file, raise the version and run it again",
	machine.CodeSchema:     "give an input that the workflow's schema accepts",
	machine.CodeTooLarge:   "write large data to a file or an object store and hand on its name",
	machine.CodeUnstorable: "the output must be valid UTF-8 without NUL characters, and valid JSON where JSON is asked for",
	machine.CodeJoinShort:  "too few branches succeeded; look at the branches that failed",
	machine.CodeTolerate:   "more items failed than `tolerate` allows; look at the items that failed",
	machine.CodeLoopLimit:  "the loop did not come to its end; check its condition or raise `limit`",
	machine.CodeStepLimit:  "the run has too many activations; split it into several runs",
	"bad_output":           "the step has `stdout: json`: print one JSON value and nothing else, and write messages to standard error",
	"signal":               "the program was killed by a signal; on Linux `dmesg` tells whether it ran out of memory",
	"exit_126":             "the file cannot be executed: try `chmod +x FILE` and look at its first line",
	"exit_127":             "the program was not found: relative names start with ./ and lie in the workflow's folder",
}

// hintOf gives a hint for a code, empty when there is nothing to add to the message.
func hintOf(code string) string {
	if h, ok := hints[code]; ok {
		return h
	}
	if strings.HasPrefix(code, "exit_") {
		return "the message ends with the last lines of its log; try the command by hand in the workflow's folder, mend it, and run the workflow again"
	}
	return ""
}

func errorView(e *machine.Error, path string, attempt int) *ErrorView {
	if e == nil {
		return nil
	}
	if e.Step != "" {
		path = e.Step
	}
	return &ErrorView{Code: e.Code, Message: e.Message, Path: path, Attempt: attempt, Hint: hintOf(e.Code)}
}

// ErrorOf reads an error as it stands in the payload of a journal entry, nil when there is none.
func ErrorOf(payload json.RawMessage) *machine.Error {
	if len(payload) == 0 {
		return nil
	}
	return decodeError(payload)
}
