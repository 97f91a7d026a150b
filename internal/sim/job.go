package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
)

// nobody stands for the handler: the launcher never calls it.
type nobody struct{}

// Execute is not called.
func (nobody) Execute(context.Context, *engine.Attempt) engine.Outcome { return engine.Outcome{} }

// launcher puts the attempts of a process among the world's jobs.
type launcher struct {
	world   *world
	process *process
}

// Launch takes an attempt in.
func (l launcher) Launch(a *engine.Attempt, done func(engine.Outcome)) {
	l.world.jobs = append(l.world.jobs, &job{process: l.process, attempt: a, done: done})
}

// job is an attempt that a process was given to execute.
type job struct {
	process  *process
	attempt  *engine.Attempt
	done     func(engine.Outcome)
	busy     bool // in a call that takes time
	prepared bool
	answered bool
	readyAt  time.Time
	deaf     bool // does not heed the end of its context
}

func (j *job) name() attempt {
	a := j.attempt
	return attempt{run: a.ID, path: a.Path, number: a.Number, token: a.Token()}
}

// fate is what the handler of a task does, whoever executes it: it depends on seed, run and path alone.
type fate struct {
	fails     int // answers that are failures before one is a success
	code      string
	permanent bool
	hangs     bool // the first time, until it is told to stop
	panics    bool
	takes     time.Duration
}

const forever = 1000

// fateOf is the fate of a job's task, by its handler.
func (w *world) fateOf(j *job) fate {
	f := w.fate(j.attempt.ID, j.attempt.Path)
	if j.attempt.Handler == "fails" {
		f.fails, f.hangs = forever, false
	}
	return f
}

func (w *world) fate(run, path string) fate {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, w.seed, run, path) // a hash never fails
	x := h.Sum64()
	x ^= x >> 31
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 29
	f := fate{code: "broken", takes: time.Duration(x>>8%3000) * time.Millisecond}
	calm := w.seed%3 == 0 // fewer failures, so that more is reached
	switch n := int(x >> 40 % 100); {
	case calm && n < 90, n < 60:
	case n < 76:
		f.fails = 1 + n%3
	case n < 82:
		f.fails, f.panics = 1, true
	case n < 88:
		f.fails = forever
	case n < 92:
		f.fails, f.permanent, f.code = forever, true, "chosen"
	case n < 96:
		f.hangs = true
	default:
		f.takes *= 30
	}
	return f
}

// work has a job do its next thing.
func (w *world) work(j *job) {
	switch {
	case j.busy, j.answered, j.process.dead:
	case !j.prepared:
		w.begin(j)
	case j.attempt.Context().Err() != nil && !j.deaf:
		w.heed(j)
	case w.calm || !w.clock.Now().Before(j.readyAt):
		w.finish(j)
	}
}

// begin prepares an attempt, and calls its handler.
func (w *world) begin(j *job) {
	w.say("%s prepares %v", j.process.name, j.attempt)
	w.within(j.process, func() {
		j.busy = true
		o := j.attempt.Prepare(j.attempt.Context())
		j.busy, j.prepared = false, true
		if o != nil {
			w.answer(j, *o)
			return
		}
		w.executed(j)
	})
}

// executed notes that a handler was called.
func (w *world) executed(j *job) {
	n := j.name()
	if r := w.runs[n.run]; r != nil {
		r.executed[n.path] = append(r.executed[n.path], n.number)
	}
	w.received(j)
	f := w.fateOf(j)
	j.readyAt = w.clock.Now().Add(f.takes)
	if f.hangs && n.number == 1 && !w.calm {
		j.readyAt = w.clock.Now().Add(24 * time.Hour)
	}
	j.deaf = w.one(6)
}

// healed says whether a task succeeds since it was redriven often enough.
func (w *world) healed(n attempt) bool {
	return w.runs[n.run].redriven[n.path] > int(chance(n.path)%2)
}

// heed answers to the end of the context, in one of the ways in which handlers do.
func (w *world) heed(j *job) {
	switch w.random.IntN(4) {
	case 0:
		w.finish(j)
	case 1:
		j.deaf = true
	default:
		w.answer(j, engine.Outcome{Interrupted: true, Err: &machine.Error{Code: "error", Message: "interrupted", Passing: true}})
	}
}

// finish answers as the task's fate says.
func (w *world) finish(j *job) {
	n := j.name()
	f := w.fateOf(j)
	key := n.run + " " + n.path
	switch {
	case w.failures[key] >= f.fails, w.healed(n):
		w.answer(j, engine.Outcome{Output: output(n.path)})
		return
	case f.panics:
		w.failures[key]++
		w.answer(j, engine.Outcome{
			Err: &machine.Error{Code: machine.CodePanic, Message: "planned", Passing: true}, Stack: "somewhere",
		})
		return
	}
	w.failures[key]++
	w.answer(j, engine.Outcome{Err: &machine.Error{Code: f.code, Message: "planned", Permanent: f.permanent, Passing: !f.permanent}})
}

// output is what a task gives: its path, and which visit of its step it is.
func output(path string) json.RawMessage {
	visit := 1
	if _, number, again := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], "#"); again {
		if end := strings.IndexAny(number, "~["); end >= 0 {
			number = number[:end]
		}
		visit, _ = strconv.Atoi(number)
	}
	raw, _ := json.Marshal(map[string]any{"path": path, "visit": visit}) // texts and numbers can be written
	return raw
}

// answer hands in an outcome.
func (w *world) answer(j *job, o engine.Outcome) {
	n := j.name()
	j.answered = true
	w.say("%s answers %v: %s", j.process.name, j.attempt, describe(o))
	w.reports[n] = append(w.reports[n], o)
	if o.Err == nil && w.truth.current(n) != n.token {
		w.mark("a success came too late")
	}
	w.within(j.process, func() { j.done(o) })
	w.drop(j)
	if w.one(8) {
		w.echoes = append(w.echoes, j)
	}
}

func (w *world) drop(j *job) {
	for i, x := range w.jobs {
		if x == j {
			w.jobs = append(w.jobs[:i:i], w.jobs[i+1:]...)
			return
		}
	}
}

// again answers for an attempt that was answered for, with something else.
func (w *world) again() {
	if len(w.echoes) == 0 {
		return
	}
	j := w.echoes[0]
	w.echoes = w.echoes[1:]
	if j.process.dead {
		return
	}
	w.say("%s answers %v again", j.process.name, j.attempt)
	w.mark("an answer came twice")
	w.within(j.process, func() { j.done(engine.Outcome{Output: json.RawMessage(`"again"`)}) })
}

func describe(o engine.Outcome) string {
	switch {
	case o.Interrupted:
		return "interrupted"
	case o.Err != nil:
		return "failed with " + o.Err.Code
	}
	return "succeeded"
}
