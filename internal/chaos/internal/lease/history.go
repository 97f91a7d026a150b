package lease

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/millrace-go/millrace/store"
)

// Operation is one call as far as it concerns one run.
type Operation struct {
	Kind    Kind
	Process string
	Call    int64 // nanoseconds, by one clock for all processes
	Return  int64
	Unknown bool // no answer came: it may have been carried out at any time from Call on, or never

	from    int64
	guards  []guard
	effects []effect
	token   int64          // under which tasks are held: the claim's, or that of a hand-over
	tasks   map[string]int // attempts that the caller holds then, by path; of an Unknown one: those seen held under token later
	result  store.Result
	made    bool
	path    string
	lost    bool
}

// String says what the operation was, for people.
func (o *Operation) String() string {
	s := fmt.Sprintf("%s %s", o.Process, o.Kind)
	switch o.Kind {
	case Start:
		s += fmt.Sprintf(" made %t, handed %v under %d", o.made, o.tasks, o.token)
	case Settle:
		s += fmt.Sprintf(" from %d guards %v effects %+v handed %v under %d: result %d", o.from, o.guards, o.effects, o.tasks, o.token, o.result)
	case Claim, Hold:
		s += fmt.Sprintf(" %v under %d", o.tasks, o.token)
	case Renew:
		s += fmt.Sprintf(" %s under %d: lost %t", o.path, o.token, o.lost)
	}
	if o.Unknown {
		s += " (no answer)"
	}
	return s
}

// History is what all processes asked of all runs.
type History struct {
	Runs  map[string][]Operation
	Calls int // of the store
	Lost  int // calls without an answer
}

// Read reads what all processes wrote into folder. They must have ended, or ask for nothing any more.
func Read(folder string) (*History, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*"+ending))
	if err != nil {
		return nil, err
	}
	h := &History{Runs: map[string][]Operation{}}
	claims := map[int64]Operation{} // by token, those without an answer
	for _, name := range files {
		if err := h.read(name, claims); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for run, all := range h.Runs {
		h.Runs[run] = complete(all, claims)
	}
	return h, nil
}

func (h *History) read(name string, claims map[int64]Operation) (err error) {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	process := filepath.Base(name[:len(name)-len(ending)])
	open := map[int64]line{}
	in := bufio.NewReaderSize(file, 1<<20)
	for {
		raw, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // what stands after the last end of line was never finished
		}
		if err != nil {
			return err
		}
		var l line
		if err := json.Unmarshal(bytes.TrimSpace(raw), &l); err != nil {
			return err
		}
		if !l.Answer {
			open[l.ID] = l
			h.Calls++
			continue
		}
		call := open[l.ID]
		delete(open, l.ID)
		if l.Never {
			continue
		}
		h.add(process, &call, &l, claims)
	}
	for _, call := range open {
		h.add(process, &call, &line{At: math.MaxInt64, Error: "the process ended"}, claims)
	}
	return nil
}

// add makes operations of a call and its answer.
func (h *History) add(process string, call, answer *line, claims map[int64]Operation) {
	o := Operation{Kind: call.Kind, Process: process, Call: call.At, Return: answer.At, token: call.Token}
	if answer.Error != "" {
		h.Lost++
		o.Unknown, o.Return = true, math.MaxInt64
	}
	if call.Kind == Renew {
		o.Call = call.Token
	}
	switch {
	case o.Unknown && call.Kind == Claim:
		claims[call.Token] = o
	case call.Kind == Start || call.Kind == Settle:
		for i := range call.Items {
			one := o
			asked := &call.Items[i]
			run := asked.Run
			one.from, one.guards, one.effects, one.token = asked.From, asked.Guards, asked.Effect, asked.Hand
			if !o.Unknown {
				got := &answer.Items[i]
				if got.Error != "" {
					continue // refused, whatever the run
				}
				one.result, one.made, one.tasks = got.Result, got.Made, got.Tasks
				if call.Kind == Start {
					run = got.Run
				}
			}
			h.Runs[run] = append(h.Runs[run], one)
		}
	default:
		for i := range answer.Items {
			one := o
			got := &answer.Items[i]
			one.token, one.tasks, one.path, one.lost = got.Token, got.Tasks, got.Path, got.Lost
			h.Runs[got.Run] = append(h.Runs[got.Run], one)
		}
	}
}

// held names a task held under a token.
type held struct {
	path  string
	token int64
}

// complete adds what claims without an answer may have done to the run, and to hand-overs without an answer what was later
// seen held under their token. It leaves out what cannot have been carried out: the version was taken by another.
func complete(all []Operation, claims map[int64]Operation) []Operation {
	seen := map[held]bool{}
	won := map[int64]bool{}
	for i := range all {
		o := &all[i]
		for _, g := range o.guards {
			if g.Token != 0 {
				seen[held{g.Path, g.Token}] = true
			}
		}
		if o.Kind == Hold {
			for path := range o.tasks {
				seen[held{path, o.token}] = true
			}
		}
		if o.Kind == Renew && !o.lost {
			seen[held{o.path, o.token}] = true
		}
		if o.Kind == Settle && !o.Unknown && o.result == store.Won {
			won[o.from] = true
		}
	}
	all = slices.DeleteFunc(all, func(o Operation) bool { return o.Unknown && o.Kind == Settle && won[o.from] })
	for i := range all {
		if o := &all[i]; o.Unknown {
			for _, e := range o.effects {
				if e.Start != "" && seen[held{e.Start, o.token}] {
					o.tasks = with(o.tasks, e.Start, e.Attempt+1)
				}
			}
		}
	}
	lost := map[int64]Operation{}
	for s := range seen {
		if o, ok := claims[s.token]; ok {
			if have, ok := lost[s.token]; ok {
				o = have
			}
			o.tasks = with(o.tasks, s.path, 0)
			lost[s.token] = o
		}
	}
	for _, o := range lost {
		all = append(all, o)
	}
	return all
}

func with(tasks map[string]int, path string, attempt int) map[string]int {
	if tasks == nil {
		tasks = map[string]int{}
	}
	tasks[path] = attempt
	return tasks
}
