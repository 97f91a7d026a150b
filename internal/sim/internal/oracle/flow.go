package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/internal/sim/internal/plan"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// flow says how a run had to end: it follows the plan by the words of the rules, taking from the journal only what became
// of each task. It is silent where the order of events decides.
type flow struct {
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

func newFlow(entries []store.Entry) *flow {
	o := &flow{results: map[string]result{}, fired: map[string]bool{}}
	paused := false
	for i := range entries {
		e := &entries[i]
		switch e.Kind {
		case machine.PauseRequested:
			paused = true
		case machine.ResumeRequested:
			paused = false
		case machine.TimerFired: // while the run is paused it is set aside, and fires again after that
			o.fired[e.Path] = o.fired[e.Path] || !paused
		default:
		}
		switch {
		case isRetry(e): // a fresh budget for all
			clear(o.results)
			continue
		case e.Kind == machine.RedriveRequested:
			delete(o.results, e.Path)
			continue
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

func base(b *plan.Body, s *plan.Step, scope string, visit int) string {
	if b.Kind == plan.Single {
		return scope
	}
	path := s.Key
	if scope != "" {
		path = scope + "/" + path
	}
	if visit > 1 {
		path += fmt.Sprintf("#%d", visit)
	}
	return path
}

// body says how a body at a scope had to end.
func (o *flow) body(b *plan.Body, scope string) verdict {
	if b.Kind == plan.Graph {
		return o.graph(b, scope)
	}
	return o.sequence(b, scope)
}

func (o *flow) sequence(b *plan.Body, scope string) verdict {
	seen := map[int]int{}
	from := -1
	for i, n := 0, 0; i < len(b.Steps); n++ {
		if n > 200 {
			return verdict{kind: unclear}
		}
		s := b.Steps[i]
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
func (o *flow) onward(b *plan.Body, i int, v verdict) int {
	s := b.Steps[i]
	switch {
	case v.state == guarded:
		return i + 1
	case v.state == caughtThen:
		return s.Catches[v.way].Next
	case v.state == reached && v.way >= 0:
		return s.Cases[v.way].Next
	case s.Next >= 0 && b.Kind == plan.Sequence:
		return s.Next
	}
	return i + 1
}

// step says how an activation had to end. came is the visit of the step that it was come from, for the switch that leads back.
func (o *flow) step(b *plan.Body, s *plan.Step, scope string, visit, came, from int) verdict {
	at := base(b, s, scope, visit)
	switch s.Guard {
	case plan.No:
		o.never = append(o.never, at)
		return verdict{kind: passed, state: guarded, way: -1}
	case plan.Broken:
		return o.handled(s, at, failed(machine.CodeExpression))
	default:
	}
	v := verdict{kind: good, way: -1}
	switch s.Action {
	case "task":
		v = o.task(s, at)
	case "set", "wait", "savepoint":
	case "fail":
		v = failed(s.Code)
	case "end":
		v.kind = ending
		if s.EndRun {
			v.kind = endRun
		}
	default:
		v = o.tries(s, at, came, from)
	}
	return o.handled(s, at, v)
}

func (o *flow) task(s *plan.Step, at string) verdict {
	r, ok := o.results[at]
	if most := max(s.Attempts, 1); r.fails > most && (s.Attempts > 0 || r.fails > 4) {
		o.wrong = append(o.wrong, fmt.Sprintf("%s failed %d times", at, r.fails))
	}
	switch {
	case ok && r.ok:
		return verdict{kind: good, way: -1}
	case !ok || r.stopped || !r.spent(s):
		return verdict{kind: hole, hole: at, way: -1}
	case s.AtMostOnce && r.last.Code == machine.CodeLost:
		return failed(machine.CodeOutcomeUnknown)
	default:
		return failed(r.last.Code)
	}
}

// budget gives how often a task may fail with an error like its last before it is not tried again.
func (r *result) budget(s *plan.Step) int {
	switch {
	case r.last.Permanent || r.last.Final || s.Attempts == 0 && !r.last.Passing, s.AtMostOnce && r.last.Code == machine.CodeLost:
		return 1
	case s.Attempts == 0:
		return 4 // by the default policy
	}
	return s.Attempts
}

// spent says whether a task that failed must not be tried again.
func (r *result) spent(s *plan.Step) bool { return r.fails >= r.budget(s) }

// handled applies catch and on_error to a failure.
func (o *flow) handled(s *plan.Step, at string, v verdict) verdict {
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
	case entry >= 0 && s.Catches[entry].Next >= 0:
		return verdict{kind: good, state: caughtThen, way: entry}
	case entry >= 0:
		in := o.body(s.Catches[entry].Body, fmt.Sprintf("%s/catch-%d", at, entry+1))
		if in.kind == good || in.kind == ending {
			return verdict{kind: good, state: caughtHere, way: entry}
		}
		return in
	}
	if s.OnError != "" {
		return verdict{kind: good, state: failedOn, way: -1}
	}
	return v
}

// catching gives the entry that takes a code, -1 for none.
func catching(s *plan.Step, code string) int {
	for i, c := range s.Catches {
		if c.Only == "" || c.Only == code {
			return i
		}
	}
	return -1
}

// tries says how a composite had to end, its retries included.
func (o *flow) tries(s *plan.Step, at string, came, from int) verdict {
	for try := 1; ; try++ {
		path := at
		if try > 1 {
			path = fmt.Sprintf("%s~%d", at, try)
		}
		v := o.composite(s, path, came, from)
		if o.fired[path+"!timeout"] {
			v = failed(machine.CodeTimeout)
		} else if slices.ContainsFunc(s.Extra, func(x string) bool { return strings.HasPrefix(x, "timeout") }) && v.kind == hole {
			v = verdict{kind: unclear}
		}
		if v.kind != bad || try >= s.Attempts {
			return v
		}
	}
}

func (o *flow) composite(s *plan.Step, path string, came, from int) verdict {
	switch s.Action {
	case "steps":
		if s.Alone {
			path += "/do"
		}
		return plain(o.body(s.Inner[0], path))
	case "switch":
		return o.choice(s, path, came, from)
	case "loop":
		return o.loop(s, path)
	case "map":
		var all []verdict
		for i := range s.Items {
			all = append(all, o.body(s.Inner[0], fmt.Sprintf("%s[%d]", path, i)))
		}
		return o.side(s, all)
	}
	var all []verdict
	for i, b := range s.Inner {
		all = append(all, o.body(b, path+"/"+plan.Branch(i)))
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

func (o *flow) choice(s *plan.Step, path string, came, from int) verdict {
	for i, c := range s.Cases {
		switch {
		case c.When == plan.No:
			continue
		case c.When == plan.Soon && from != c.Next:
			return verdict{kind: unclear}
		case c.When == plan.Soon && came >= plan.Visits:
			continue
		case c.Body == nil:
			return verdict{kind: good, way: i}
		}
		return plain(o.body(c.Body, fmt.Sprintf("%s/case-%d", path, i+1)))
	}
	return verdict{kind: good, way: -1}
}

func (o *flow) loop(s *plan.Step, path string) verdict {
	passes := s.Passes
	switch s.Loop {
	case "over":
		passes = s.Items
	case "until":
		passes = max(passes, 1)
	case "limit":
		passes = s.Limit + 1
	}
	for n := 1; n <= passes; n++ {
		if s.Limit > 0 && n > s.Limit {
			return failed(machine.CodeLoopLimit)
		}
		if v := plain(o.body(s.Inner[0], fmt.Sprintf("%s[%d]", path, n))); v.kind != good {
			return v
		}
	}
	return verdict{kind: good, way: -1}
}

// side says how a composite whose scopes run side by side had to end.
func (o *flow) side(s *plan.Step, all []verdict) verdict {
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
	case s.Need > n:
		return failed(machine.CodeJoinShort)
	case count[unclear] > 0, count[endRun] > 0 && (count[bad] > 0 || s.CancelRest): // whichever comes first stops the other
		return verdict{kind: unclear}
	case count[endRun] > 0:
		return verdict{kind: endRun, way: -1}
	case s.Need > 0 && s.CancelRest && count[good] >= s.Need, n == 0:
		return verdict{kind: good, way: -1}
	case s.Need > 0 && n-count[bad] < s.Need:
		return failed(machine.CodeJoinShort)
	case s.Need == 0 && s.Tolerate > 0 && count[bad] > s.Tolerate:
		return failed(machine.CodeTolerate)
	case s.Need == 0 && s.Tolerate <= 0 && count[bad] > 0:
		return failed(slices.Sorted(maps.Keys(codes))...)
	case count[hole] > 0:
		return verdict{kind: hole, hole: missing, way: -1}
	}
	return verdict{kind: good, way: -1}
}
