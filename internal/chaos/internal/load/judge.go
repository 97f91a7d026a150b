package load

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/machine"
)

// Seen is all that is known of a run: what the database says of it, and what its handlers wrote down.
type Seen struct {
	Status  machine.Status
	Output  json.RawMessage
	Journal []millrace.JournalEntry
	Ledger  []fleet.Line
}

// attempt names one, within a run.
type attempt struct {
	path   string
	number int
}

// Judge says everything that is wrong with a run.
func Judge(c *Case, s *Seen) []string {
	j := &judgement{want: &c.Want, seen: s}
	j.ending()
	j.journal()
	j.ledger()
	return j.wrong
}

type judgement struct {
	want  *Want
	seen  *Seen
	ended map[attempt]machine.EventKind // by the journal
	wrong []string
}

func (j *judgement) say(format string, args ...any) {
	j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
}

func (j *judgement) ending() {
	if j.seen.Status != j.want.Status {
		j.say("it is %s, want %s", j.seen.Status, j.want.Status)
	}
	if got := string(j.seen.Output); j.want.Output != "" && got != j.want.Output {
		j.say("its output is %s, want %s", got, j.want.Output)
	}
}

// journal checks that each attempt has one outcome, that each task which should succeeds once, and no other, and that
// compensations succeed in their order.
func (j *judgement) journal() {
	j.ended = map[attempt]machine.EventKind{}
	succeeded := map[string]int{}
	var undone []string
	for i := range j.seen.Journal {
		e := &j.seen.Journal[i]
		if e.Seq != int64(i)+1 {
			j.say("entry %d of the journal has the number %d", i+1, e.Seq)
		}
		switch e.Kind {
		case machine.TaskSucceeded, machine.TaskFailed, machine.TaskLost, machine.TaskReleased:
		default:
			continue
		}
		a := attempt{e.Path, e.Attempt}
		if before, twice := j.ended[a]; twice {
			j.say("attempt %d at %s has two outcomes: %s and %s", a.number, a.path, before, e.Kind)
		}
		j.ended[a] = e.Kind
		if e.Kind != machine.TaskSucceeded {
			continue
		}
		if slices.Contains(j.want.Undone, e.Path) {
			undone = append(undone, e.Path)
		} else {
			succeeded[e.Path]++
		}
	}
	if !slices.Equal(undone, j.want.Undone) {
		j.say("it undid %v, want %v", undone, j.want.Undone)
	}
	want := map[string]int{}
	for _, path := range j.want.Paths {
		want[path] = 1
	}
	if !maps.Equal(succeeded, want) {
		j.say("tasks succeeded so often: %v, want %v", succeeded, want)
	}
}

// ledger checks that a handler was called at most once for an attempt, that nothing was called which should not be, and that
// the outcomes of the journal are those that handlers gave.
func (j *judgement) ledger() {
	known := map[string]bool{j.want.Failed: true}
	for _, path := range slices.Concat(j.want.Paths, j.want.Undone) {
		known[path] = true
	}
	begun := map[attempt]int{}
	said := map[attempt]fleet.What{}
	for i := range j.seen.Ledger {
		l := &j.seen.Ledger[i]
		a := attempt{l.Path, l.Attempt}
		if !known[l.Path] {
			j.say("a handler was called for %s, which should not run", l.Path)
		}
		if l.What == fleet.Begun {
			begun[a]++
		} else {
			said[a] = l.What
		}
	}
	for _, a := range slices.SortedFunc(maps.Keys(begun), attempt.compare) {
		if begun[a] > 1 {
			j.say("a handler was called %d times for attempt %d at %s", begun[a], a.number, a.path)
		}
	}
	for _, a := range slices.SortedFunc(maps.Keys(j.ended), attempt.compare) {
		switch kind := j.ended[a]; {
		case kind == machine.TaskSucceeded && said[a] != fleet.Succeeded, kind == machine.TaskFailed && said[a] != fleet.Failed:
			j.say("the journal says %s of attempt %d at %s, its handler said %q", kind, a.number, a.path, said[a])
		}
	}
}

func (a attempt) compare(b attempt) int {
	if a.path != b.path {
		if a.path < b.path {
			return -1
		}
		return 1
	}
	return a.number - b.number
}
