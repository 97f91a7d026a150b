package lease

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/millrace-go/millrace/store"
)

// state is the model's: a run, of which version 0 does not exist, and its live tasks. It is never changed, but copied.
type state struct {
	version int64
	tasks   map[string]slot
}

// slot is a live task: the number of its last attempt, and the token that holds it; 0: nobody does.
type slot struct {
	attempt int
	token   int64
}

func (s state) copy() state { return state{s.version, maps.Clone(s.tasks)} }

func (s state) equal(t state) bool { return s.version == t.version && maps.Equal(s.tasks, t.tasks) }

// stands says whether a settlement would win.
func (s state) stands(o *Operation) bool {
	if s.version == 0 || s.version != o.from {
		return false
	}
	for _, g := range o.guards {
		if t, ok := s.tasks[g.Path]; !ok || t.token != g.Token {
			return false
		}
	}
	return true
}

// carry carries out a start or a settlement; ok is false when the store must have refused it.
func (s state) carry(o *Operation) (after state, ok bool) {
	after = s.copy()
	if after.tasks == nil {
		after.tasks = map[string]slot{}
	}
	after.version++
	for _, g := range o.guards {
		if g.Remove {
			delete(after.tasks, g.Path)
		}
	}
	for _, e := range o.effects {
		switch {
		case e.Start != "":
			if _, live := after.tasks[e.Start]; live {
				return s, false
			}
			after.tasks[e.Start] = slot{attempt: e.Attempt}
		case e.Stop != "":
			if t, live := after.tasks[e.Stop]; live && t.token == 0 {
				delete(after.tasks, e.Stop)
			}
		case e.End:
			clear(after.tasks)
		}
	}
	return after.hold(o)
}

// hold gives tasks to the holder of the operation's token: each must be free, and its attempt the next.
func (s state) hold(o *Operation) (after state, ok bool) {
	after = s.copy()
	for path, attempt := range o.tasks {
		t, live := after.tasks[path]
		if !live || t.token != 0 || attempt != 0 && attempt != t.attempt+1 {
			return s, false
		}
		after.tasks[path] = slot{t.attempt + 1, o.token}
	}
	return after, true
}

// holds says whether all the operation's tasks are held under its token.
func (s state) holds(o *Operation) bool {
	for path, attempt := range o.tasks {
		if t := s.tasks[path]; t.token != o.token || t.attempt != attempt {
			return false
		}
	}
	return true
}

// step gives the states in which the model may be after an operation that was answered as this one was; none: it would not
// have answered so.
func (s state) step(o *Operation) []state {
	if o.Unknown {
		return s.perhaps(o)
	}
	asIs, none := []state{s}, []state(nil)
	when := func(ok bool) []state {
		if ok {
			return asIs
		}
		return none
	}
	did := func(after state, ok bool) []state {
		if ok {
			return []state{after}
		}
		return none
	}
	switch o.Kind {
	case Start:
		if !o.made {
			return when(s.version > 0)
		}
		if s.version > 0 {
			return none
		}
		return did(s.carry(o))
	case Settle:
		stands := s.stands(o)
		switch {
		case o.result == store.Lost:
			return when(!stands)
		case o.result != store.Won || !stands:
			return when(stands)
		}
		return did(s.carry(o))
	case Claim:
		return did(s.hold(o))
	case Hold:
		return when(s.holds(o))
	case Renew:
		t := s.tasks[o.path]
		return when((t.token != o.token) == o.lost)
	}
	return none
}

// perhaps is step for an operation without an answer.
func (s state) perhaps(o *Operation) []state {
	out := []state{s}
	ok, after := false, s
	switch {
	case o.Kind == Start && s.version == 0, o.Kind == Settle && s.stands(o):
		after, ok = s.carry(o)
	case o.Kind == Claim:
		after, ok = s.hold(o)
	}
	if ok && !after.equal(s) {
		out = append(out, after)
	}
	return out
}

func model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(s, input, _ any) []any {
			var out []any
			for _, after := range s.(state).step(input.(*Operation)) { //nolint:forcetypeassert // all are
				out = append(out, after)
			}
			return out
		},
		Equal: func(a, b any) bool { return a.(state).equal(b.(state)) }, //nolint:forcetypeassert // all are
	}
	return m.ToModel()
}

// Verdict is what Check found of all runs.
type Verdict struct {
	Operations int
	Wrong      []string // runs whose answers no order of their operations explains, with the operations
	Undecided  []string // runs for which the time did not suffice
}

// Check judges every run's history, each within limit, two at a time.
func (h *History) Check(limit time.Duration) Verdict {
	var v Verdict
	var mu sync.Mutex
	var work sync.WaitGroup
	runs := make(chan string)
	for range 2 {
		work.Go(func() {
			m := model()
			for run := range runs {
				got := judge(m, h.Runs[run], limit)
				if got == porcupine.Ok {
					continue
				}
				mu.Lock()
				if got == porcupine.Unknown {
					v.Undecided = append(v.Undecided, run)
				} else {
					v.Wrong = append(v.Wrong, explain(m, run, h.Runs[run]))
				}
				mu.Unlock()
			}
		})
	}
	for _, run := range slices.Sorted(maps.Keys(h.Runs)) {
		v.Operations += len(h.Runs[run])
		runs <- run
	}
	close(runs)
	work.Wait()
	return v
}

func judge(m porcupine.Model, all []Operation, limit time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(m, operations(all), limit)
}

func operations(all []Operation) []porcupine.Operation {
	out := make([]porcupine.Operation, len(all))
	for i := range all {
		out[i] = porcupine.Operation{ClientId: i, Input: &all[i], Call: all[i].Call, Return: all[i].Return}
	}
	return out
}

// explain tells a run's operations in the order of their calls, and how far the longest explanation of them reaches.
func explain(m porcupine.Model, run string, all []Operation) string {
	_, info := porcupine.CheckOperationsVerbose(m, operations(all), 10*time.Second)
	longest := 0
	for _, part := range info.PartialLinearizations() {
		for _, p := range part {
			longest = max(longest, len(p))
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "run %s: at most %d of %d operations can be explained:", run, longest, len(all))
	slices.SortStableFunc(all, func(a, b Operation) int { return int(a.Call/1000 - b.Call/1000) })
	for i := range all {
		fmt.Fprintf(&text, "\n  %d-%d %s", all[i].Call/1000, all[i].Return/1000, &all[i])
	}
	return text.String()
}
