package oracle

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/internal/sim/internal/plan"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// record is a step that was done, or perhaps was, and that a compensation undoes.
type record struct {
	place
	lo, hi   int64 // when it ended: an entry from lo to hi
	optional bool  // the rules leave open whether it belongs to the plan
	aside    bool  // nobody knows whether it was done, and it asked to be passed over then
	units    []string
}

// doubtful says whether it is open if a record is passed over since nobody knows whether its step was done.
func (r *record) doubtful() bool { return r.optional && r.step.UndoKnown }

// failure is a task that failed for good, handled by nobody, before anybody asked it to stop.
type failure struct {
	place
	seq   int64
	maybe bool // the body of a catch had it in hand
}

// undo is what became of the compensation of one activation.
type undo struct {
	path       string // of what it undoes
	start, end int64  // first start; the last entry about it, or for ever
	gaveUp     int64  // the entry of its last failure before any order about it; 0: none
	done       int    // successes
}

const (
	never  = math.MaxInt64
	suffix = "~undo"
)

// history is what the witness saw, sorted by task.
type history struct {
	*Run

	orders   orders
	last     map[string]*store.Entry // the last outcome of a task
	answer   map[string]*store.Entry // the last outcome of a task that was held
	started  map[string]int64        // the last start of a task
	late     map[string]bool         // it was said too late that it succeeded
	stopped  map[string]int64        // the first time that a task was asked to stop
	records  []*record
	failures []failure
	undos    []*undo  // as they began
	root     *network // the flow of the root, once it is asked for
}

func (r *Run) history() *history {
	h := &history{
		Run: r, orders: r.orders(), last: map[string]*store.Entry{}, answer: map[string]*store.Entry{},
		late: map[string]bool{}, started: map[string]int64{}, stopped: map[string]int64{},
	}
	for i := range r.Entries {
		if e := &r.Entries[i]; isOutcome(e.Kind) {
			h.last[e.Path] = e
			if e.Kind != machine.TaskStopped || e.Facts != nil {
				h.answer[e.Path] = e
			}
		} else if e.Kind == machine.TaskLate && e.Name == machine.LateSuccess {
			h.late[e.Path] = true
		}
	}
	for _, s := range r.Starts {
		h.started[s.Path] = s.Seq
	}
	for _, s := range r.Stops {
		if _, ok := h.stopped[s.Path]; !ok {
			h.stopped[s.Path] = s.Seq
		}
	}
	h.undone()
	h.tasks()
	h.composites()
	return h
}

// undone gathers the compensations.
func (h *history) undone() {
	byPath := map[string]*undo{}
	for _, s := range h.Starts {
		path, ok := strings.CutSuffix(s.Path, suffix)
		if !ok || byPath[path] != nil {
			continue
		}
		u := &undo{path: path, start: s.Seq, end: never}
		byPath[path], h.undos = u, append(h.undos, u)
	}
	for i := range h.Entries {
		e := &h.Entries[i]
		path, _ := strings.CutSuffix(e.Path, suffix)
		u := byPath[path]
		if u == nil || path == e.Path || !isOutcome(e.Kind) {
			continue
		}
		if e.Kind == machine.TaskSucceeded {
			u.done++
		} else if u.gaveUp == 0 && !h.startedBy(e) {
			u.gaveUp = e.Seq
		}
		u.end = e.Seq
	}
	for _, u := range byPath {
		if h.started[u.path+suffix] >= u.end {
			u.end = never
		}
	}
}

// startedBy says whether an entry led to another attempt of its task.
func (h *history) startedBy(e *store.Entry) bool {
	return slices.Contains(h.Starts, Start{Seq: e.Seq, Path: e.Path})
}

// tasks makes the records and the failures of tasks.
func (h *history) tasks() {
	for path, e := range h.last {
		at, ok := find(h.Plan, path)
		if !ok || strings.HasSuffix(path, suffix) || h.started[path] >= e.Seq {
			continue
		}
		if e.Kind == machine.TaskStopped && e.Attempt == 0 { // no attempt of it began
			continue
		}
		r := &record{place: at, lo: e.Seq, hi: e.Seq}
		stop, stopping := h.stopped[path]
		stopping = stopping && stop < e.Seq
		if code, failed := h.code(e); failed {
			entry := catching(at.step, code)
			handled := entry >= 0 || at.step.OnError != ""
			if handled && !stopping { // it belongs to its handler, whose body may fail in turn
				if entry >= 0 && at.step.Catches[entry].Body != nil {
					h.failures = append(h.failures, failure{place: at, seq: e.Seq, maybe: true})
				}
				continue
			}
			if r.optional = handled; !stopping {
				h.failures = append(h.failures, failure{place: at, seq: e.Seq})
			}
			h.parked(r, path)
		}
		if at.step.Undo != nil {
			h.doubt(r, path)
			r.units = r.candidates()
			h.records = append(h.records, r)
		}
	}
	slices.SortFunc(h.records, func(a, b *record) int { return cmp.Or(cmp.Compare(a.lo, b.lo), strings.Compare(a.path, b.path)) })
	slices.SortFunc(h.failures, func(a, b failure) int { return cmp.Compare(a.seq, b.seq) })
}

// code gives the code with which a task ended that was not stopped.
func (h *history) code(e *store.Entry) (code string, failed bool) {
	switch e.Kind {
	case machine.TaskFailed:
		var x machine.Error
		_ = json.Unmarshal(e.Payload, &x) // an unreadable one has no code
		return x.Code, true
	case machine.TaskLost:
		if at, ok := find(h.Plan, e.Path); ok && at.step.AtMostOnce {
			return machine.CodeOutcomeUnknown, true
		}
		return machine.CodeLost, true
	default:
		return "", false
	}
}

// parked widens the time at which a step ended that waited for a person.
func (h *history) parked(r *record, path string) {
	if h.Plan.OnFailure != "park" {
		return
	}
	r.hi = never
	if seq := h.orders.dropped[path]; seq > 0 {
		r.lo, r.hi = seq, seq
	}
}

// doubt says whether a record is passed over, since nobody knows whether its step was done.
func (h *history) doubt(r *record, path string) {
	if !r.step.UndoKnown || h.last[path].Kind == machine.TaskSucceeded {
		return
	}
	e := h.answer[path]
	code, failed := "", false
	if e != nil {
		code, failed = h.code(e)
	}
	switch {
	case e == nil || e.Kind == machine.TaskReleased || h.late[path]:
		r.optional = true
	case e.Kind == machine.TaskStopped, failed && (code == machine.CodeLost || code == machine.CodeTimeout || code == machine.CodeOutcomeUnknown):
		r.aside = true
	}
}

// composites makes the records of composites that are undone as a whole.
func (h *history) composites() {
	byAct := map[string]*record{}
	for _, s := range h.Starts {
		at, ok := find(h.Plan, s.Path)
		if !ok || strings.HasSuffix(s.Path, suffix) {
			continue
		}
		for i, l := range at.levels {
			if l.catch || l.step.Undo == nil {
				continue
			}
			r := byAct[l.act]
			if r == nil {
				r = &record{place: place{path: l.act, root: at.root, step: l.step, levels: at.levels[:i]}, optional: true, hi: never}
				byAct[l.act] = r
			}
			h.inside(r, s.Path)
		}
	}
	for _, u := range h.undos { // of which nothing inside was done by a worker
		if at, ok := find(h.Plan, u.path); ok && at.step.Composite() && byAct[u.path] == nil {
			byAct[u.path] = &record{place: at, optional: true, hi: never}
		}
	}
	for _, path := range sortedKeys(byAct) {
		r := byAct[path]
		if !h.timed(r.step) && !r.optional {
			r.hi = h.undoneInside(r)
		}
		r.optional = r.optional || r.step.UndoKnown
		r.units = append([]string{tryUnit(r.path)}, r.candidates()...)
		h.records = append(h.records, r)
	}
}

// inside takes a task inside a composite into account: the composite was begun if an attempt was.
func (h *history) inside(r *record, path string) {
	e := h.last[path]
	if e == nil {
		return
	}
	r.lo = max(r.lo, e.Seq)
	r.optional = r.optional && e.Kind == machine.TaskStopped && e.Attempt == 0
}

// undoneInside gives the last entry at which a composite may have ended of which nothing ends by time: what failed in it is
// undone before it ends.
func (h *history) undoneInside(r *record) int64 {
	last := r.lo
	for _, u := range h.undos {
		if u.path != r.path && within(tryUnit(r.path), u.path) {
			last = max(last, u.end)
		}
	}
	return last
}

// timed says whether something in a composite may end by a timer, or by a person.
func (h *history) timed(s *plan.Step) bool {
	if h.Plan.OnFailure == "park" || len(s.Extra) > 0 || s.Attempts > 0 || strings.Contains(s.Code, "every") {
		return true
	}
	for _, b := range s.Bodies() {
		found := false
		b.Each(func(x *plan.Step) {
			found = found || x.Action == "wait" || x.Composite() && (x.Attempts > 0 || len(x.Extra) > 0 || x.Code != "") ||
				slices.Contains(x.Extra, "delay: 4s")
		})
		if found {
			return true
		}
	}
	return false
}

// candidates gives the units that an activation may be undone with, innermost first. What is around a composite that has a
// compensation of its own is not among them.
func (p *place) candidates() []string {
	all := p.around()
	for _, l := range slices.Backward(p.levels) {
		if !l.catch && l.step.Undo != nil {
			return all[:slices.Index(all, tryUnit(l.act))]
		}
	}
	return all
}

// around gives the units that an activation lies in, innermost first.
func (p *place) around() []string {
	var out []string
	for _, l := range slices.Backward(p.levels) {
		if l.catch {
			out = append(out, catchUnit(l.act))
			continue
		}
		if l.step.Need > 0 || l.step.Action == "map" && l.step.Tolerate >= 0 {
			out = append(out, scopeUnit(l.scope))
		}
		out = append(out, tryUnit(l.act))
	}
	return append(out, "")
}

func tryUnit(act string) string     { return "try " + act }
func scopeUnit(scope string) string { return "scope " + scope }

// catchUnit is the body of a catch: its path may be that of a composite in it too.
func catchUnit(scope string) string { return "catch " + scope }
