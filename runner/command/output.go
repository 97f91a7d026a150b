package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-go/millrace/runner/internal/plain"
	"github.com/millrace-go/millrace/workflow"
)

const outputSource = "$MILLRACE_OUTPUT"

// readOutput gives what was written to $MILLRACE_OUTPUT; a file that is empty or gone is nothing written. The program may
// have put anything in its place, so nothing is followed and nothing waited for.
func readOutput(file string, limit int) ([]byte, *Failure) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	bad := &Failure{Code: codeBadOutput, Message: outputSource + " is not a plain file that can be read: write to it, or put a plain file in its place"}
	if err != nil {
		return nil, bad
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, bad
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, bad
	}
	if len(text) > limit {
		return nil, tooLarge(outputSource, limit)
	}
	return text, nil
}

// spokenError finds a failure in what was written to $MILLRACE_OUTPUT: an object whose one member is `error`, which holds
// code and perhaps message and data. Such an object without a code is malformed rather than an output: whoever wrote it did
// not mean success.
func spokenError(written []byte) (said, malformed *Failure) {
	var members map[string]json.RawMessage
	if json.Unmarshal(written, &members) != nil || len(members) != 1 {
		return nil, nil
	}
	spoken, ok := members["error"]
	if !ok || string(spoken) == "null" {
		return nil, nil
	}
	if f := unstorable(outputSource, written, true); f != nil {
		return nil, f
	}
	var e struct {
		Code    string          `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(spoken, &e) != nil || !validCode(e.Code) {
		return nil, &Failure{Code: codeBadOutput, Message: outputSource + ` holds an error that is not {"error": {"code": TEXT, "message": TEXT, "data": ANYTHING}} with a code of 1 to 255 characters`}
	}
	if string(e.Data) == "null" {
		e.Data = nil
	}
	return &Failure{Code: e.Code, Message: plain.Message(e.Message), Data: e.Data}, nil
}

// validCode says whether a text can be a code: 1 to 255 characters, no control characters, no space around it.
func validCode(code string) bool {
	return code != "" && utf8.RuneCountInString(code) <= 255 && strings.TrimSpace(code) == code && strings.IndexFunc(code, unicode.IsControl) < 0
}

// parse makes JSON of what a program wrote.
func parse(source string, mode workflow.Stdout, text []byte) (json.RawMessage, *Failure) {
	value := bytes.Trim(text, " \t\r\n")
	isJSON := false
	switch mode {
	case workflow.StdoutJSON:
		if f := notJSON(source, text); f != nil {
			return nil, f
		}
		isJSON = true
	case workflow.StdoutAuto:
		isJSON = len(value) > 0 && (value[0] == '{' || value[0] == '[') && json.Valid(value)
	default:
	}
	if f := unstorable(source, text, isJSON); f != nil {
		return nil, f
	}
	switch {
	case isJSON:
		return bytes.Clone(value), nil
	case mode == workflow.StdoutLines:
		return plain.Encode(splitLines(string(text))), nil
	default:
		return plain.Encode(trimLineEnd(string(text))), nil
	}
}

// notJSON says where text stops being JSON, nil if it does not.
func notJSON(source string, text []byte) *Failure {
	bad := func(format string, args ...any) *Failure {
		return &Failure{Code: codeBadOutput, Message: plain.Message(source + " " + fmt.Sprintf(format, args...))}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return bad("is empty, where stdout: json promises one JSON value")
	}
	var value json.RawMessage
	err := json.Unmarshal(text, &value)
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return bad("is not JSON: %v", err)
	}
	line, column := position(text, syntax.Offset)
	return bad("is not JSON: line %d, column %d: %v: print one JSON value and nothing else (messages belong on standard error), or set stdout: text", line, column, err)
}

// position gives line and column (in characters) of the last of the first n bytes of text, both from 1.
func position(text []byte, n int64) (line, column int) {
	before := text[:max(0, min(n-1, int64(len(text))))]
	line = 1 + bytes.Count(before, []byte{'\n'})
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

// unstorable refuses what no database gives back as it was: bytes that are not UTF-8, and NUL, also spelled as an escape.
func unstorable(source string, text []byte, isJSON bool) *Failure {
	reason, at := plain.Unstorable(text, isJSON)
	if at < 0 {
		return nil
	}
	return &Failure{Code: codeUnstorable, Message: fmt.Sprintf("%s has %s at byte %d, which cannot be stored: print UTF-8, and binary data as base64 or to a file", source, reason, at), Final: true}
}

// trimLineEnd takes the last line end off, once.
func trimLineEnd(text string) string {
	if rest, ok := strings.CutSuffix(text, "\n"); ok {
		return strings.TrimSuffix(rest, "\r")
	}
	return text
}

// splitLines gives the lines without their line ends. Nothing is no line; a line end after the last is none either.
func splitLines(text string) []string {
	lines := []string{}
	for line := range strings.Lines(text) {
		lines = append(lines, trimLineEnd(line))
	}
	return lines
}
