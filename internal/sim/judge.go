package sim

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/internal/sim/internal/oracle"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// judge looks at every run once it is over: journal, replay, handlers, and what the oracle says.
func (w *world) judge() {
	for _, id := range w.order {
		if !w.sound() {
			return
		}
		r := w.runs[id]
		entries, err := w.store.Journal(w.ctx, tenant, id, 0, maxJournal)
		if err != nil || int64(len(entries)) != r.seq {
			w.fault("%s: the journal has %d entries of %d: %v", id, len(entries), r.seq, err)
			continue
		}
		line, _ := json.Marshal(entries) // it came from JSON
		w.trace.add(string(line))
		if r.ended {
			w.attempts(r, entries)
		}
		w.keep(r, entries)
		if run := w.replay(r, entries); run != nil && r.ended {
			w.consult(r, entries, run)
		}
	}
}

// consult compares how a run ended, and what was undone, with what the oracle says.
func (w *world) consult(r *run, entries []store.Entry, run *machine.Run) {
	told := oracle.Run{Plan: r.plan, Entries: entries, Starts: r.starts, Stops: r.stops, Status: run.Status, Error: run.Root.Run.Error}
	faults, judged := told.Flow()
	for _, f := range faults {
		w.fault("%s: %s", r.header.ID, f)
	}
	if judged {
		w.judged++
	}
	for _, name := range told.Marks() {
		w.mark(name)
	}
	for _, f := range told.Last() {
		w.fault("%s: %s", r.header.ID, f)
	}
	faults, sure := told.Undoing()
	for _, f := range faults {
		w.fault("%s: %s", r.header.ID, f)
	}
	if sure {
		w.undoings++
	}
}

// keep hands out a run as it is stored.
func (w *world) keep(r *run, entries []store.Entry) {
	if w.option.Keep == nil {
		return
	}
	state, err := w.store.State(w.ctx, tenant, r.header.ID, nil, []string{""})
	if err != nil {
		w.fault("%s: %v", r.header.ID, err)
		return
	}
	w.option.Keep(w.defs[r.header.Workflow], r.header, entries, state.Run)
}

// attempts compares the journal with what was claimed and with what handlers reported (invariant 3).
func (w *world) attempts(r *run, entries []store.Entry) {
	ended := map[attempt]int{}
	lost := map[string]bool{}
	for i := range entries {
		e := &entries[i]
		if !isOutcome(e.Kind) || e.Facts == nil {
			continue
		}
		n := attempt{run: r.header.ID, path: e.Path, number: e.Attempt}
		ended[n]++
		if e.Kind == machine.TaskLost {
			lost[e.Path] = true
		}
	}
	for _, n := range r.claimed {
		token := n.token
		n.token = 0
		if r.revoked[n] && ended[n] == 0 {
			continue
		}
		if ended[n] != 1 {
			w.fault("%s: attempt %d of %s was settled %d times", n.run, n.number, n.path, ended[n])
		}
		delete(ended, n)
		n.token = token
	}
	if len(ended) > 0 {
		w.fault("%s: attempts were settled that nobody held: %v", r.header.ID, ended)
	}
	w.honest(r, entries)
	for path := range lost {
		step, err := machine.Locate(w.defs[r.header.Workflow], path)
		if err == nil && step.AtMostOnce && len(r.executed[path]) > 0 && r.redriven[path] == 0 {
			w.once(r, entries, path)
		}
	}
}

// once checks that a task that runs at most once is not executed again after a loss.
func (w *world) once(r *run, entries []store.Entry, path string) {
	last := 0
	for i := range entries {
		if entries[i].Path == path && entries[i].Kind == machine.TaskLost {
			last = entries[i].Attempt
			w.mark("an outcome stays unknown")
		}
	}
	if again := slices.Max(r.executed[path]); again > last {
		w.fault("%s: attempt %d of %s was executed although attempt %d was lost and it is at_most_once", r.header.ID, again, path, last)
	}
}

// honest checks that every success is one that a handler reported, of that attempt, and that what was given back either was
// never begun or was handed in as interrupted.
func (w *world) honest(r *run, entries []store.Entry) {
	for i := range entries {
		e := &entries[i]
		if e.Kind != machine.TaskSucceeded && (e.Kind != machine.TaskReleased || !slices.Contains(r.executed[e.Path], e.Attempt)) {
			continue
		}
		k := slices.IndexFunc(r.claimed, func(n attempt) bool { return n.path == e.Path && n.number == e.Attempt })
		if k < 0 {
			w.fault("%s: entry %d is about an attempt that nobody held", r.header.ID, e.Seq)
			continue
		}
		said := w.reports[r.claimed[k]]
		if e.Kind == machine.TaskReleased {
			if len(said) == 0 || !said[0].Interrupted {
				w.fault("%s: entry %d gives %s back, and its handler was called", r.header.ID, e.Seq, e.Path)
			}
			continue
		}
		if len(said) == 0 || said[0].Err != nil || !bytes.Equal(said[0].Output, e.Payload) {
			w.fault("%s: entry %d is a success of %s that no handler reported", r.header.ID, e.Seq, e.Path)
		}
	}
}

// replay applies the journal anew, and compares what that gives with what is stored (invariants 2 and 9).
func (w *world) replay(r *run, entries []store.Entry) *machine.Run {
	p := player{world: w, run: r, made: map[machine.Ref]json.RawMessage{}, timers: map[string]machine.Time{}, state: machine.NewRun(r.header)}
	for i := range entries {
		if entries[i].Kind == machine.RetryRequested || entries[i].Kind == machine.RedriveRequested {
			p.rebuild(entries[:i])
		}
		if err := p.play(&entries[i]); err != nil {
			w.fault("%s: replay of entry %d: %v", r.header.ID, entries[i].Seq, err)
			return nil
		}
	}
	w.compare(r, &p)
	return p.state
}

// player replays one journal.
type player struct {
	world  *world
	run    *run
	state  *machine.Run
	made   map[machine.Ref]json.RawMessage
	timers map[string]machine.Time
}

// rebuild gives the run all that it did before it ended: a retry needs it.
func (p *player) rebuild(before []store.Entry) {
	if !p.state.Status.Ended() {
		return
	}
	events := make([]machine.Event, len(before))
	for i := range before {
		events[i] = eventOf(&before[i])
	}
	run, err := machine.Rebuild(p.world.defs[p.run.header.Workflow], p.run.header, machine.Recorded(events), nil)
	if err != nil {
		p.world.fault("%s cannot be rebuilt: %v", p.run.header.ID, err)
		return
	}
	if !bytes.Equal(run.EncodeRoot(), p.state.EncodeRoot()) {
		p.world.fault("%s is rebuilt as %s; replay gives %s", p.run.header.ID, run.EncodeRoot(), p.state.EncodeRoot())
	}
	p.state = run
}

func eventOf(e *store.Entry) machine.Event {
	return machine.Event{
		Kind: e.Kind, At: e.At, Path: e.Path, Name: e.Name, Key: e.Key, Attempt: e.Attempt, Cause: e.Cause, Payload: e.Payload, Facts: e.Facts,
	}
}

func (p *player) play(e *store.Entry) error {
	w := p.world
	ev := eventOf(e)
	if e.Payload != nil {
		p.made[machine.Ref{Seq: e.Seq}] = e.Payload
	}
	next, effects, err := machine.ApplyLoading(w.defs[p.run.header.Workflow], p.state, ev, func(r machine.Ref) (json.RawMessage, bool) {
		raw, ok := p.made[r]
		return raw, ok
	}, nil)
	if err != nil {
		return err
	}
	if next.Seq != e.Seq {
		w.fault("%s: entry %d changes nothing", p.run.header.ID, e.Seq)
	}
	if e.Kind == machine.TimerFired {
		if due, set := p.timers[e.Path]; !set || e.At < due {
			w.fault("%s: the timer %s fired at %s; it was set for %s", p.run.header.ID, e.Path, e.At.Std(), due.Std())
		}
		delete(p.timers, e.Path)
	}
	for _, effect := range effects {
		switch x := effect.(type) {
		case machine.PutValue:
			p.made[x.Ref] = x.Data
		case machine.SetTimer:
			p.timers[x.Key] = x.Due
		case machine.CancelTimer:
			delete(p.timers, x.Key)
		case machine.EndRun:
			clear(p.timers)
		}
	}
	w.situations(e, p.state, next)
	p.state = next.Saved()
	return nil
}

// compare compares a replayed run with the stored one.
func (w *world) compare(r *run, p *player) {
	id := r.header.ID
	stored, err := w.store.State(w.ctx, tenant, id, nil, []string{""})
	if err != nil {
		w.fault("state of %s: %v", id, err)
		return
	}
	a, b := stored.Run, p.state
	if a.Status != b.Status || a.Seq != b.Seq || a.At != b.At || !bytes.Equal(a.EncodeRoot(), b.EncodeRoot()) {
		w.fault("%s: replay gives %s\nstored is %s", id, b.EncodeRoot(), a.EncodeRoot())
	}
	for path, sc := range a.Scopes {
		if other := b.Scopes[path]; other == nil || encode(sc) != encode(other) {
			w.fault("%s: replay gives another document %s: %s\nstored is %s", id, path, encode(other), encode(sc))
		}
	}
	for path, c := range a.Chunks {
		if other := b.Chunks[path]; other == nil || encode(c) != encode(other) {
			w.fault("%s: replay gives another document %s: %s\nstored is %s", id, path, encode(other), encode(c))
		}
	}
	if r.ended {
		return
	}
	timers, _ := w.store.Timers(w.ctx, tenant, id) // the run exists
	have := map[string]machine.Time{}
	for _, t := range timers {
		have[t.Key] = t.Due
	}
	if !maps.Equal(have, p.timers) {
		w.fault("%s: the timers are %v; the journal says %v", id, have, p.timers)
	}
}

func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// situations marks what only the documents show.
func (w *world) situations(e *store.Entry, before, after *machine.Run) {
	switch {
	case e.Kind == machine.TimerFired && strings.HasSuffix(e.Path, "!retry"):
		w.mark("a composite was tried again")
	case e.Kind == machine.TimerFired && strings.HasSuffix(e.Path, "!timeout"):
		w.mark("a composite ran out of time")
		path := strings.TrimSuffix(e.Path, "!timeout")
		for at, sc := range before.Scopes {
			if sc != nil && sc.Stop != nil && strings.HasPrefix(at, path) {
				w.mark("a composite ran out of time while a child stopped")
			}
		}
	case e.Kind == machine.TaskFailed && bytes.Contains(e.Payload, []byte(`"timeout"`)):
		w.mark("an attempt ran out of time")
	case e.Kind == machine.TaskFailed && bytes.Contains(e.Payload, []byte(`"panic"`)):
		w.mark("a handler panicked")
	case e.Kind == machine.TaskStopped && e.Facts == nil:
		w.mark("a task was stopped before anybody took it")
	}
	if strings.Contains(e.Path, "#") {
		w.mark("a step was visited again")
	}
	var b strings.Builder
	_, _ = b.Write(after.EncodeRoot()) // a builder never fails
	for _, c := range after.Changes() {
		_, _ = b.Write(c.Doc)
	}
	text := b.String()
	for _, code := range []string{machine.CodeJoinShort, machine.CodeTolerate, machine.CodeLoopLimit, machine.CodeExpression} {
		if strings.Contains(text, `"`+code+`"`) || strings.Contains(text, `\"`+code+`\"`) {
			w.mark("a failure " + code)
		}
	}
	w.superseded(e, after)
}

// superseded marks the failure of a step that fails nothing because the join that it led to has started.
func (w *world) superseded(e *store.Entry, after *machine.Run) {
	if e.Kind != machine.TaskFailed && e.Kind != machine.TaskLost {
		return
	}
	def := w.defs[after.Workflow]
	step, err := machine.Locate(def, e.Path)
	if err != nil || step.OnError != 0 || len(step.Catch) > 0 || after.Status.Ended() {
		return
	}
	sc := after.Root
	if i := strings.LastIndexByte(e.Path, '/'); i >= 0 {
		sc = after.Scopes[e.Path[:i]]
	}
	if sc != nil && sc.Stop == nil && step.Index < len(sc.States) && sc.States[step.Index] == machine.StepFailed {
		w.mark("a superseded step failed")
	}
}
