package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/millrace-go/millrace"
)

// Ledger is the file in which a process writes down what its handlers do: appended line by line, so that what was written
// outlives a SIGKILL. Its methods are safe for concurrent use.
type Ledger struct {
	file  *os.File
	stamp Line
}

// Line is one line of a ledger.
type Line struct {
	What     What   `json:"what"`
	At       int64  `json:"at"` // microseconds, by the clock of the machine
	Tenant   string `json:"tenant"`
	RunID    string `json:"run"`
	RunKey   string `json:"run_key,omitempty"`
	Workflow string `json:"workflow"`
	Version  int    `json:"version"` // of the workflow
	Path     string `json:"path"`
	Attempt  int    `json:"attempt"`
	Key      string `json:"key"` // of the task
	Note     string `json:"note,omitempty"`
	Owner    string `json:"owner"`
	PID      int    `json:"pid"`
	Label    string `json:"label,omitempty"`
}

// What is what a line tells.
type What string

// What a handler did.
const (
	Begun       What = "begun"
	Succeeded   What = "succeeded"
	Failed      What = "failed"
	Interrupted What = "interrupted" // its context ended
)

// ID names an attempt.
type ID struct {
	RunID   string
	Path    string
	Attempt int
}

// ID gives that of the attempt that the line is about.
func (l *Line) ID() ID { return ID{l.RunID, l.Path, l.Attempt} }

func newLedger(w *Workplace) (*Ledger, error) {
	file, err := os.OpenFile(filepath.Join(w.Options.Folder, w.Owner+ledgerEnding), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &Ledger{file: file, stamp: Line{Owner: w.Owner, PID: os.Getpid(), Label: w.Options.Label}}, nil
}

const ledgerEnding = ".ledger"

// Write notes something about an attempt of which a handler of millrace.NewHandler has the context.
func (l *Ledger) Write(ctx context.Context, what What, note string) error {
	i, _ := millrace.Info(ctx)
	line := l.stamp
	line.What, line.Note = what, note
	line.Tenant, line.RunID, line.RunKey, line.Workflow, line.Version = i.Tenant, i.RunID, i.RunKey, i.Workflow, i.Version
	line.Path, line.Attempt, line.Key = i.Path, i.Attempt, i.Key
	return l.Append(line)
}

// Append writes a line; its time is set here.
func (l *Ledger) Append(line Line) error {
	line.At = time.Now().UnixMicro()
	raw, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(raw, '\n')) // one call of the system: whole, and after all that is there
	return err
}

func (l *Ledger) close() error { return l.file.Close() }

// ReadLedger reads what all processes with this folder wrote, by time. A process may write meanwhile.
func ReadLedger(folder string) ([]Line, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*"+ledgerEnding))
	if err != nil {
		return nil, err
	}
	var all []Line
	for _, name := range files {
		lines, err := readLedgerFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, lines...)
	}
	slices.SortStableFunc(all, func(a, b Line) int { return int(a.At - b.At) })
	return all, nil
}

func readLedgerFile(name string) (lines []Line, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	in := bufio.NewReader(file)
	for {
		raw, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return lines, nil // what stands after the last end of line is being written, or never will be
		}
		var l Line
		if err = errors.Join(err, json.Unmarshal(raw, &l)); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, len(lines)+1, err)
		}
		lines = append(lines, l)
	}
}
