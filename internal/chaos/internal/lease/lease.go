// Package lease writes down what processes ask of a store and what it answers, and judges whether a sequential model of a
// run's leases could have given those answers: the history of claims and settlements is linearizable, or the store is wrong.
//
// Nouns: a [Recorder] stands before the store of one process and appends each call, and then its answer, to a file; an
// [Operation] is one call as far as it concerns one run; a history is all operations of a run, of all processes; the model is
// a run's version and, for each live task, the number of its last attempt and the token that holds it.
//
// An operation whose answer never came may have been carried out at any time after it began, or not at all.
// It imports store and machine.
package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Kind is what an operation asks.
type Kind string

// The operations that concern leases.
const (
	Start  Kind = "start"  // a new run
	Settle Kind = "settle" // a settlement of a run
	Claim  Kind = "claim"  // tasks of a run were claimed
	Hold   Kind = "hold"   // what is held under a token
	Renew  Kind = "renew"  // whether a task is still held under a token
)

// line is one line of a file: a call, or the answer to it.
type line struct {
	ID     int64  `json:"id"`
	At     int64  `json:"at"` // nanoseconds since the machine was started, the same for all processes
	Kind   Kind   `json:"op,omitempty"`
	Answer bool   `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"` // of an answer: the call may have been carried out
	Never  bool   `json:"never,omitempty"` // of an answer: the call did not reach the store
	Token  int64  `json:"token,omitempty"` // of Claim and Hold
	Items  []item `json:"items,omitempty"`
}

// item is a settlement, a start, or a task, as asked or as answered.
type item struct {
	Run    string         `json:"run,omitempty"`
	From   int64          `json:"from,omitempty"`
	Guards []guard        `json:"guards,omitempty"`
	Effect []effect       `json:"effects,omitempty"`
	Hand   int64          `json:"hand,omitempty"`
	Result store.Result   `json:"result,omitempty"`
	Made   bool           `json:"made,omitempty"` // of a start: the run is new
	Error  string         `json:"error,omitempty"`
	Tasks  map[string]int `json:"tasks,omitempty"` // attempts that the caller now holds, by path
	Path   string         `json:"path,omitempty"`
	Token  int64          `json:"token,omitempty"`
	Lost   bool           `json:"lost,omitempty"`
}

type guard struct {
	Path   string `json:"p"`
	Token  int64  `json:"t"`
	Remove bool   `json:"r,omitempty"`
}

// effect starts a task after so many attempts, stops one, or ends the run.
type effect struct {
	Start   string `json:"start,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Stop    string `json:"stop,omitempty"`
	End     bool   `json:"end,omitempty"`
}

// log is the file of one process.
type log struct {
	file *os.File
	last atomic.Int64
}

const ending = ".history"

func newLog(folder, owner string) (*log, error) {
	file, err := os.OpenFile(filepath.Join(folder, owner+ending), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &log{file: file}, nil
}

// call writes that something is about to be asked. Nothing may be asked when that cannot be written.
func (l *log) call(x line) (int64, error) {
	x.ID = l.last.Add(1)
	return x.ID, l.write(x)
}

// answer writes what was answered.
func (l *log) answer(id int64, items []item, err error) error {
	x := line{ID: id, Answer: true, Items: items}
	if err != nil {
		x.Error, x.Items = err.Error(), nil
		x.Never = never(err)
	}
	return errors.Join(err, l.write(x))
}

// never says whether an error means that the call did not reach the store: no connection was made.
func never(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}

func (l *log) write(x line) error {
	x.At = now()
	raw, err := json.Marshal(x)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(raw, '\n')); err != nil { // one call of the system: a SIGKILL leaves it whole
		return fmt.Errorf("write the history: %w", err)
	}
	return nil
}

func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}

func settlementItem(s *store.Settlement) item {
	x := item{Run: s.Run.ID, From: s.From, Hand: s.Hand.Token}
	for _, g := range s.Guards {
		x.Guards = append(x.Guards, guard(g))
	}
	for _, e := range s.Effects {
		switch e := e.(type) {
		case machine.StartTask:
			x.Effect = append(x.Effect, effect{Start: e.Path, Attempt: e.Attempt})
		case machine.StopTask:
			x.Effect = append(x.Effect, effect{Stop: e.Path})
		case machine.EndRun:
			x.Effect = append(x.Effect, effect{End: true})
		}
	}
	return x
}

// claimedItems gives one item for each run.
func claimedItems(all []store.Claimed) []item {
	var items []item
	at := map[string]int{}
	for i := range all {
		c := &all[i]
		n, ok := at[c.RunID]
		if !ok {
			n = len(items)
			at[c.RunID] = n
			items = append(items, item{Run: c.RunID, Token: c.Token, Tasks: map[string]int{}})
		}
		items[n].Tasks[c.Path] = c.Attempt
	}
	return items
}
