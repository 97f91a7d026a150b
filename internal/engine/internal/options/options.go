// Package options checks what a start says of its run: labels, variables, priority, queue, beginning.
//
// It is pure, and imports machine, store and workflow.
package options

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// Request is what a start asks for.
type Request struct {
	Delay    time.Duration
	At       time.Time
	Priority int
	Queue    string
	Labels   map[string]string
	Vars     map[string]json.RawMessage
	From     string
}

const (
	maxName     = 255       // bytes of a label, its value, a queue
	maxLabels   = 64        // of one run
	maxPriority = 1_000_000 // of a run, either way
)

// checking gathers what is wrong with a start.
type checking struct {
	def      *workflow.Definition
	request  *Request
	problems []string
}

func (c *checking) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// Of gives what a start says of its run, at now; limit bounds labels and variables in bytes. problems lists everything that is
// wrong; then there are no options.
func Of(def *workflow.Definition, r *Request, now machine.Time, limit int) (o machine.Options, problems []string) {
	c := checking{def: def, request: r}
	for _, m := range def.NotYet() {
		c.problems = append(c.problems, m.String())
	}
	o = machine.Options{Priority: r.Priority, Queue: r.Queue, From: r.From, Vars: c.vars(), Labels: c.labels(), Due: c.due(now)}
	if r.Priority > maxPriority || r.Priority < -maxPriority {
		c.say("the priority %d is out of range: at most %d either way", r.Priority, maxPriority)
	}
	if r.Queue != "" && !isName(r.Queue) {
		c.say("the queue %q is no name: 1 to %d characters without control characters", r.Queue, maxName)
	}
	if r.From != "" {
		c.problems = append(c.problems, machine.CheckFrom(def, r.From)...)
	}
	if size := len(o.Encode()); size > limit {
		c.say("labels and vars have %d bytes in all; the limit is %d", size, limit)
	}
	if len(c.problems) > 0 {
		return machine.Options{}, c.problems
	}
	return o, nil
}

// vars gives every variable of the workflow its value: the start's, else the default.
func (c *checking) vars() map[string]json.RawMessage {
	given := maps.Clone(c.request.Vars)
	var out map[string]json.RawMessage
	for _, v := range c.def.Vars {
		value, ok := given[v.Name]
		delete(given, v.Name)
		switch {
		case !ok && v.Default == nil:
			c.say("the variable %s has no value: give one with --var %s=VALUE or MILLRACE_VAR_%s", v.Name, v.Name, Shouted(v.Name))
			continue
		case !ok:
			value = v.Default
		case len(value) == 0:
			value = []byte("null")
		}
		if err := store.Storable(value); err != nil {
			c.say("the value of the variable %s: %v", v.Name, err)
			continue
		}
		if out == nil {
			out = map[string]json.RawMessage{}
		}
		out[v.Name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		c.say("the workflow has no variable %s: name it under `vars`, or leave it out", name)
	}
	return out
}

// labels gives those of the workflow and of the start, which win.
func (c *checking) labels() map[string]string {
	if len(c.def.Labels)+len(c.request.Labels) == 0 {
		return nil
	}
	out := map[string]string{}
	maps.Copy(out, c.def.Labels)
	maps.Copy(out, c.request.Labels)
	for _, name := range slices.Sorted(maps.Keys(c.request.Labels)) {
		if value := c.request.Labels[name]; !isName(name) || value != "" && !isName(value) {
			c.say("the label %q: name and value have at most %d bytes, and no control characters", name, maxName)
		}
	}
	if len(out) > maxLabels {
		c.say("the run would have %d labels; the limit is %d", len(out), maxLabels)
	}
	return out
}

// due gives when the run begins; 0 for at once.
func (c *checking) due(now machine.Time) machine.Time {
	r := c.request
	switch {
	case r.Delay < 0:
		c.say("the delay %s is below zero", r.Delay)
	case r.Delay > 0 && !r.At.IsZero():
		c.say("both a delay and a time are given: leave one out")
	case r.Delay > 0:
		return now.Add(r.Delay)
	case !r.At.IsZero() && machine.TimeOf(r.At) > now:
		return machine.TimeOf(r.At)
	}
	return 0
}

func isName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}

// Shouted writes a name as the environment has it.
func Shouted(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
