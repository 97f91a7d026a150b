package sim

import (
	"slices"
	"strings"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// checkChanged asks the invariants of every run that changed since it was last asked.
func (w *world) checkChanged() {
	for _, id := range w.order {
		if r := w.runs[id]; r.changed {
			r.changed = false
			w.check(r)
		}
	}
}

// check asks invariants 1, 3, 6 and 9 of what is stored of a run.
func (w *world) check(r *run) {
	id := r.header.ID
	state, err := w.store.State(w.ctx, tenant, id, nil, []string{""})
	if err != nil {
		w.fault("state of %s: %v", id, err)
		return
	}
	def := w.defs[r.header.Workflow]
	for _, bad := range machine.Check(def, state.Run) {
		w.fault("%s: %s", id, bad)
	}
	if state.Run.Seq != r.seq {
		w.fault("%s: the journal has %d entries, the run counts %d", id, r.seq, state.Run.Seq)
	}
	live, err := w.store.Tasks(w.ctx, tenant, id, nil)
	if err != nil {
		w.fault("tasks of %s: %v", id, err)
	}
	w.checkTasks(r, live, machine.LiveTasks(def, state.Run))
	timers, err := w.store.Timers(w.ctx, tenant, id)
	if err != nil {
		w.fault("timers of %s: %v", id, err)
	}
	w.checkTimers(r, timers, state.Run)
	w.checkLetters(r, state.Run)
	if state.Run.Status == machine.Paused {
		w.checkPaused(r, live)
	}
	if state.Run.Status.Ended() {
		w.checkEnded(r, state.Run, len(live)+len(timers))
	}
	if r.seq > maxJournal {
		w.fault("%s: the journal grows without end", id)
	}
}

func (w *world) checkTasks(r *run, live []store.Live, want []string) {
	var paths []string
	for i := range live {
		l := &live[i]
		paths = append(paths, l.Path)
		h, held := r.held[l.Path]
		switch {
		case held != (l.State == store.Leased), held && (l.Token != h.token || l.Attempt != h.number || l.Owner != h.owner):
			w.fault("%s: %s is stored as held by %q under attempt %d; it is held by %q under attempt %d",
				r.header.ID, l.Path, l.Owner, l.Attempt, h.owner, h.number)
		case l.Lane.ID == 0 || !served[l.Lane.Handler] || l.Lane.Paused:
			w.fault("%s: nobody would claim %s", r.header.ID, l.Path)
		case l.State == store.Delayed && l.Due == 0:
			w.fault("%s: %s is delayed for ever", r.header.ID, l.Path)
		}
	}
	if !slices.Equal(paths, want) {
		w.fault("%s: the live tasks are %v; the documents say %v", r.header.ID, paths, want)
	}
}

// checkTimers compares the timers by kind with the steps that wait for one.
func (w *world) checkTimers(r *run, timers []store.Timer, run *machine.Run) {
	have, aside, want := map[string]int{}, map[string]int{}, map[string]int{}
	for _, t := range timers {
		if kind := t.Key[strings.LastIndexByte(t.Key, '!'):]; kind != "!timeout" {
			have[kind]++
		}
	}
	if c := run.Root.Run.Control; c != nil {
		for _, key := range c.SetAside { // a pause holds them, also when they are for nothing any more
			aside[key[strings.LastIndexByte(key, '!'):]]++
		}
	}
	scopes := []*machine.Scope{run.Root}
	for _, sc := range run.Scopes {
		scopes = append(scopes, sc)
	}
	for _, sc := range scopes {
		if sc == nil {
			continue
		}
		for _, l := range sc.Live {
			if l.Timer != "" {
				want[l.Timer]++
			}
		}
	}
	for _, kind := range []string{"!go", "!delay", "!wait", "!retry", "!every"} {
		if n := want[kind] - have[kind]; n < 0 || n > aside[kind] {
			w.fault("%s: %d timers %s are set, and %d steps wait for one", r.header.ID, have[kind], kind, want[kind])
		}
	}
}

// checkPaused checks that nothing of a paused run can be claimed.
func (w *world) checkPaused(r *run, live []store.Live) {
	w.mark("a run was paused")
	for i := range live {
		if s := live[i].State; s != store.OnHold && s != store.Leased {
			w.fault("%s is paused, and %s can be claimed", r.header.ID, live[i].Path)
		}
	}
}

// checkLetters asks invariant 7: what an open letter is about waits for a person, and a dead run has a letter.
func (w *world) checkLetters(r *run, run *machine.Run) {
	if !r.lettered && run.Status != machine.Dead && run.Status != machine.Parked {
		return
	}
	id := r.header.ID
	all, err := w.store.Letters(w.ctx, store.LetterFilter{Tenant: tenant, RunID: id, Limit: forever})
	if err != nil {
		w.fault("letters of %s: %v", id, err)
	}
	open := map[machine.LetterKind]int{}
	answers := 0
	for i := range all {
		switch all[i].State {
		case machine.LetterOpen:
			open[all[i].Kind]++
			answers++
		case machine.LetterDropped:
			answers++
		default:
		}
	}
	ended, dead := run.Status.Ended(), run.Status == machine.Dead
	parked := 0
	if c := run.Root.Run.Control; c != nil {
		parked = c.Parked
	}
	switch {
	case dead && answers == 0:
		w.fault("%s is dead, and no letter says why", id)
	case open[machine.LetterParked] != parked, ended && parked > 0, run.Status == machine.Parked && parked == 0:
		w.fault("%s is %s with %d parked steps, and has %d letters about them", id, run.Status, parked, open[machine.LetterParked])
	case ended && !dead && open[machine.LetterCompensation]+open[machine.LetterUnknown] > 0:
		w.fault("%s is %s, and letters about its undoing are open", id, run.Status)
	case run.Status != machine.Failed && open[machine.LetterFailure] > 0:
		w.fault("%s is %s, and the letter of its failure is open", id, run.Status)
	case !ended && open[machine.LetterFinally] > 1+r.retries:
		w.fault("%s has %d letters about finally", id, open[machine.LetterFinally])
	}
}

func (w *world) checkEnded(r *run, run *machine.Run, left int) {
	id := r.header.ID
	if left > 0 || len(r.held) > 0 {
		w.fault("%s has ended with %d tasks and timers, %d of them held", id, left, len(r.held))
	}
	messages, _ := w.store.Inbox(w.ctx, forever)
	if slices.ContainsFunc(messages, func(m store.Message) bool { return m.RunID == id }) {
		w.fault("%s has ended with messages in its inbox", id)
	}
	if run.Status == machine.Succeeded && run.Root.Run.Error != nil || run.Status == machine.Failed && run.Root.Run.Error == nil {
		w.fault("%s is %s with the error %v", id, run.Status, run.Root.Run.Error)
	}
}

// served are the handlers that every process has.
var served = map[string]bool{"work": true, "fails": true, "undo": true}
