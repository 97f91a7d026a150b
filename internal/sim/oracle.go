package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// oracle says how a run had to end: it follows the plan by the words of the rules, taking from the journal only what became
// of each task. It is silent where the order of events decides.
type oracle struct {
	results map[string]result // of tasks, by path
	fired   map[string]bool   // timers that fired, by key
	never   []string          // steps that must not have been reached
	wrong   []string          // what the journal itself shows to be wrong
}

// result is what became of a task in the end: it succeeded, or its last attempt failed.
type result struct {
	ok      bool
	last    machine.Error
	fails   int // attempts that failed or were lost
	stopped bool
}

// kind is how something had to end.
type kind int

const (
	good    kind = iota
	bad          // failed with one of codes
	passed       // passed over by its guard
	hole         // a task in it should have been executed and was not
	ending       // an `end` of its scope
	endRun       // an `end` of the run
	unclear      // the order of events decides
)

// verdict is how a step or a body had to end.
type verdict struct {
	kind  kind
	codes []string // bad
	hole  string   // the task that is missing
	way   int      // succeeded: the case that was taken with next; caught: the entry; -1: none
	state stepState
}

type stepState int

const (
	reached stepState = iota // succeeded
	guarded
	caughtThen // by an entry with next
	caughtHere // by an entry with a body
	failedOn   // on_error took it
	branched   // skipped, not chosen
	missed     // skipped for want of a step that failed
	open       // not decided
)

func failed(codes ...string) verdict { return verdict{kind: bad, codes: codes, way: -1} }

func newOracle(entries []store.Entry) *oracle {
	o := &oracle{results: map[string]result{}, fired: map[string]bool{}}
	for i := range entries {
		e := &entries[i]
		if e.Kind == machine.TimerFired {
			o.fired[e.Path] = true
		}
		if !isOutcome(e.Kind) {
			continue
		}
		r := o.results[e.Path]
		if r.last.Permanent && e.Facts != nil {
			o.wrong = append(o.wrong, fmt.Sprintf("entry %d is about another attempt of %s after a permanent failure", e.Seq, e.Path))
		}
		r.ok, r.last = e.Kind == machine.TaskSucceeded, machine.Error{}
		r.stopped = e.Kind == machine.TaskStopped || e.Kind == machine.TaskReleased
		switch e.Kind {
		case machine.TaskFailed:
			r.fails++
			_ = json.Unmarshal(e.Payload, &r.last) // an unreadable one has no code
		case machine.TaskLost:
			r.fails++
			r.last = machine.Error{Code: machine.CodeLost, Passing: true}
		default:
		}
		o.results[e.Path] = r
	}
	return o
}

// consult compares how a run ended with what the oracle says.
func (w *world) consult(r *run, entries []store.Entry, run *machine.Run) {
	o := newOracle(entries)
	v := o.body(r.plan.root, "")
	id := r.header.ID
	for _, wrong := range o.wrong {
		w.fault("%s: %s", id, wrong)
	}
	for _, path := range o.never {
		for i := range entries {
			if p := entries[i].Path; p == path || strings.HasPrefix(p, path) && strings.ContainsAny(p[len(path):len(path)+1], "/~[#!") {
				w.fault("%s: entry %d is about %s, which had to be skipped", id, entries[i].Seq, p)
				return
			}
		}
	}
	switch v.kind {
	case unclear:
		return
	case hole:
		w.fault("%s is %s, and %s was not executed although nothing stood in its way", id, run.Status, v.hole)
	case bad:
		if run.Status != machine.Failed || !slices.Contains(v.codes, run.Root.Run.Error.Code) {
			w.fault("%s is %s with %v; it had to fail with one of %v", id, run.Status, run.Root.Run.Error, v.codes)
		}
	default:
		if run.Status != machine.Succeeded {
			w.fault("%s is %s with %v; it had to succeed", id, run.Status, run.Root.Run.Error)
		}
	}
	w.judged++
}

func base(b *body, s *step, scope string, visit int) string {
	if b.kind == single {
		return scope
	}
	path := s.key
	if scope != "" {
		path = scope + "/" + path
	}
	if visit > 1 {
		path += fmt.Sprintf("#%d", visit)
	}
	return path
}

// body says how a body at a scope had to end.
func (o *oracle) body(b *body, scope string) verdict {
	if b.kind == graph {
		return o.graph(b, scope)
	}
	return o.sequence(b, scope)
}

func (o *oracle) sequence(b *body, scope string) verdict {
	seen := map[int]int{}
	from := -1
	for i, n := 0, 0; i < len(b.steps); n++ {
		if n > 200 {
			return verdict{kind: unclear}
		}
		s := b.steps[i]
		seen[i]++
		v := o.step(b, s, scope, seen[i], seen[max(from, 0)], from)
		switch v.kind {
		case good, passed:
		case ending:
			return verdict{kind: good, way: -1}
		default:
			return v
		}
		from = i
		i = o.onward(b, i, v)
	}
	return verdict{kind: good, way: -1}
}

// onward gives the step of a sequence that follows step i.
func (o *oracle) onward(b *body, i int, v verdict) int {
	s := b.steps[i]
	switch {
	case v.state == guarded:
		return i + 1
	case v.state == caughtThen:
		return s.catches[v.way].next
	case v.state == reached && v.way >= 0:
		return s.cases[v.way].next
	case s.next >= 0 && b.kind == sequence:
		return s.next
	}
	return i + 1
}

// step says how an activation had to end. came is the visit of the step that it was come from, for the switch that leads back.
func (o *oracle) step(b *body, s *step, scope string, visit, came, from int) verdict {
	at := base(b, s, scope, visit)
	switch s.guard {
	case no:
		o.never = append(o.never, at)
		return verdict{kind: passed, state: guarded, way: -1}
	case broken:
		return o.handled(s, at, failed(machine.CodeExpression))
	default:
	}
	v := verdict{kind: good, way: -1}
	switch s.action {
	case "task":
		v = o.task(s, at)
	case "set", "wait":
	case "fail":
		v = failed(s.code)
	case "end":
		v.kind = ending
		if s.endRun {
			v.kind = endRun
		}
	default:
		v = o.tries(s, at, came, from)
	}
	return o.handled(s, at, v)
}

func (o *oracle) task(s *step, at string) verdict {
	r, ok := o.results[at]
	if most := max(s.attempts, 1); r.fails > most && (s.attempts > 0 || r.fails > 4) {
		o.wrong = append(o.wrong, fmt.Sprintf("%s failed %d times", at, r.fails))
	}
	switch {
	case ok && r.ok:
		return verdict{kind: good, way: -1}
	case !ok || r.stopped || !r.spent(s):
		return verdict{kind: hole, hole: at, way: -1}
	case s.atMostOnce() && r.last.Code == machine.CodeLost:
		return failed(machine.CodeOutcomeUnknown)
	default:
		return failed(r.last.Code)
	}
}

func (s *step) atMostOnce() bool { return slices.Contains(s.extra, "at_most_once: true") }

// budget gives how often a task may fail with an error like its last before it is not tried again.
func (r *result) budget(s *step) int {
	switch {
	case r.last.Permanent || r.last.Final || s.attempts == 0 && !r.last.Passing, s.atMostOnce() && r.last.Code == machine.CodeLost:
		return 1
	case s.attempts == 0:
		return 4 // by the default policy
	}
	return s.attempts
}

// spent says whether a task that failed must not be tried again.
func (r *result) spent(s *step) bool { return r.fails >= r.budget(s) }

// handled applies catch and on_error to a failure.
func (o *oracle) handled(s *step, at string, v verdict) verdict {
	if v.kind != bad {
		return v
	}
	entry, certain := -2, true
	for _, code := range v.codes {
		k := catching(s, code)
		if entry != -2 && k != entry {
			certain = false
		}
		entry = k
	}
	switch {
	case !certain:
		return verdict{kind: unclear}
	case entry >= 0 && s.catches[entry].next >= 0:
		return verdict{kind: good, state: caughtThen, way: entry}
	case entry >= 0:
		in := o.body(s.catches[entry].body, fmt.Sprintf("%s/catch-%d", at, entry+1))
		if in.kind == good || in.kind == ending {
			return verdict{kind: good, state: caughtHere, way: entry}
		}
		return in
	}
	if s.onError != "" {
		return verdict{kind: good, state: failedOn, way: -1}
	}
	return v
}

// catching gives the entry that takes a code, -1 for none.
func catching(s *step, code string) int {
	for i, c := range s.catches {
		if c.only == "" || c.only == code {
			return i
		}
	}
	return -1
}

// tries says how a composite had to end, its retries included.
func (o *oracle) tries(s *step, at string, came, from int) verdict {
	for try := 1; ; try++ {
		path := at
		if try > 1 {
			path = fmt.Sprintf("%s~%d", at, try)
		}
		v := o.composite(s, path, came, from)
		if o.fired[path+"!timeout"] {
			v = failed(machine.CodeTimeout)
		} else if slices.ContainsFunc(s.extra, func(x string) bool { return strings.HasPrefix(x, "timeout") }) && v.kind == hole {
			v = verdict{kind: unclear}
		}
		if v.kind != bad || try >= s.attempts {
			return v
		}
	}
}

func (o *oracle) composite(s *step, path string, came, from int) verdict {
	switch s.action {
	case "steps":
		if s.alone {
			path += "/do"
		}
		return plain(o.body(s.inner[0], path))
	case "switch":
		return o.choice(s, path, came, from)
	case "loop":
		return o.loop(s, path)
	case "map":
		var all []verdict
		for i := range s.items {
			all = append(all, o.body(s.inner[0], fmt.Sprintf("%s[%d]", path, i)))
		}
		return o.side(s, all)
	}
	var all []verdict
	for i, b := range s.inner {
		all = append(all, o.body(b, path+"/"+branchName(i)))
	}
	return o.side(s, all)
}

// plain forgets what concerned the steps inside.
func plain(v verdict) verdict {
	v.way, v.state = -1, reached
	if v.kind == ending {
		v.kind = good
	}
	return v
}

func (o *oracle) choice(s *step, path string, came, from int) verdict {
	for i, c := range s.cases {
		switch {
		case c.when == no:
			continue
		case c.when == soon && from != c.next:
			return verdict{kind: unclear}
		case c.when == soon && came >= visits:
			continue
		case c.body == nil:
			return verdict{kind: good, way: i}
		}
		return plain(o.body(c.body, fmt.Sprintf("%s/case-%d", path, i+1)))
	}
	return verdict{kind: good, way: -1}
}

func (o *oracle) loop(s *step, path string) verdict {
	passes := s.passes
	switch s.loop {
	case "over":
		passes = s.items
	case "until":
		passes = max(passes, 1)
	case "limit":
		passes = s.limit + 1
	}
	for n := 1; n <= passes; n++ {
		if s.limit > 0 && n > s.limit {
			return failed(machine.CodeLoopLimit)
		}
		if v := plain(o.body(s.inner[0], fmt.Sprintf("%s[%d]", path, n))); v.kind != good {
			return v
		}
	}
	return verdict{kind: good, way: -1}
}

// side says how a composite whose scopes run side by side had to end.
func (o *oracle) side(s *step, all []verdict) verdict {
	n := len(all)
	count := map[kind]int{}
	missing := ""
	codes := map[string]bool{}
	for _, v := range all {
		v = plain(v)
		count[v.kind]++
		if v.kind == hole && missing == "" {
			missing = v.hole
		}
		for _, c := range v.codes {
			codes[c] = true
		}
	}
	switch {
	case s.need > n:
		return failed(machine.CodeJoinShort)
	case count[unclear] > 0, count[endRun] > 0 && count[bad] > 0:
		return verdict{kind: unclear}
	case count[endRun] > 0:
		return verdict{kind: endRun, way: -1}
	case s.need > 0 && s.cancelRest && count[good] >= s.need, n == 0:
		return verdict{kind: good, way: -1}
	case s.need > 0 && n-count[bad] < s.need:
		return failed(machine.CodeJoinShort)
	case s.need == 0 && s.tolerate > 0 && count[bad] > s.tolerate:
		return failed(machine.CodeTolerate)
	case s.need == 0 && s.tolerate <= 0 && count[bad] > 0:
		return failed(slices.Sorted(maps.Keys(codes))...)
	case count[hole] > 0:
		return verdict{kind: hole, hole: missing, way: -1}
	}
	return verdict{kind: good, way: -1}
}
