package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// people give orders: to a run of those that there are, or about a dead letter.
func (w *world) people() {
	if len(w.order) == 0 {
		return
	}
	id := w.order[w.random.IntN(len(w.order))]
	p := w.awake()
	n := w.random.IntN(20)
	if w.seed%3 == 1 { // let runs fail by themselves
		n += 4
	}
	switch {
	case n < 3:
		w.tellOrder(p, id, machine.CancelRequested)
	case n < 4:
		w.tellOrder(p, id, machine.AbortRequested)
	case n < 8:
		w.tellOrder(p, id, machine.PauseRequested)
	case n < 12:
		w.tellOrder(p, id, machine.ResumeRequested)
	case n < 13:
		w.tellRetry(p, id)
	default:
		w.answerLetters(p)
	}
}

// tellOrder tells a run what a person asks of it.
func (w *world) tellOrder(p *process, id string, kind machine.EventKind) {
	was := w.runs[id].status
	o := engine.Order{
		Tenant: tenant, RunID: id, Event: machine.Event{Kind: kind, Payload: []byte(`{"by":"ada"}`)},
	}
	told, err := w.give(p, o)
	if r := w.runs[id]; kind == machine.CancelRequested && err == nil && !told.Changed && !p.dead && !r.cancelled && !r.lastly {
		w.fault("%s was cancelled, and nothing changed", id)
	}
	if kind == machine.CancelRequested && errors.Is(err, store.ErrEnded) && was == machine.Succeeded {
		w.mark("a cancel came after the last success")
	}
}

// tellRetry has an ended run do again what is not in force.
func (w *world) tellRetry(p *process, id string) {
	if !w.runs[id].ended {
		return
	}
	raw, _ := json.Marshal(machine.Order{By: "ada", Again: w.one(3)}) // texts can be written
	_, err := w.give(p, engine.Order{
		Tenant: tenant, RunID: id, Event: machine.Event{Kind: machine.RetryRequested, Payload: raw}, Ended: true, Rebuild: true,
	})
	var unsafe *machine.Refusal
	if errors.As(err, &unsafe) {
		w.mark("a retry was refused")
	}
}

// give tells a run an order through a process.
func (w *world) give(p *process, o engine.Order) (told engine.Told, err error) {
	w.within(p, func() {
		told, err = p.engine.Tell(w.ctx, o)
		w.say("%s tells %s %s %s %s: %v %s", p.name, o.RunID, o.Event.Kind, o.Event.Name, o.Event.Path, told.Changed, short(err))
		if err == nil && !told.Changed {
			w.mark("an order changed nothing")
		}
		if errors.Is(err, machine.ErrDamaged) {
			w.fault("%s of %s: %v", o.Event.Kind, o.RunID, err)
		}
	})
	return told, err
}

// answerLetters has a person look at the open letters, and answer one.
func (w *world) answerLetters(p *process) {
	all, err := w.store.Letters(w.ctx, store.LetterFilter{Tenant: tenant, State: machine.LetterOpen})
	if err != nil {
		w.fault("letters: %v", err)
		return
	}
	if len(all) == 0 {
		return
	}
	l := all[w.random.IntN(len(all))]
	if l.Kind == machine.LetterParked && len(all) > 1 {
		w.parkedTogether(l, all)
	}
	w.answerLetter(p, &l, w.one(3))
}

// parkedTogether marks that one of several parked steps of a run is redriven.
func (w *world) parkedTogether(l store.Letter, all []store.Letter) {
	for _, o := range all {
		if o.RunID == l.RunID && o.Kind == l.Kind && o.ID != l.ID {
			w.mark("one of two parked steps is answered")
		}
	}
}

var errClosed = errors.New("the letter is closed")

// answerLetter redrives or drops a letter. Some redrives bring a new input.
func (w *world) answerLetter(p *process, l *store.Letter, drop bool) {
	if l.Kind == machine.LetterFinally {
		drop = true
	}
	says := machine.Order{By: "ada"}
	kind := machine.RedriveRequested
	switch {
	case drop:
		kind = machine.DropRequested
	case w.one(4) && (l.Kind == machine.LetterParked || l.Kind == machine.LetterCompensation):
		w.inputsMade++
		says.Input = fmt.Appendf(nil, `{"new":%d}`, w.inputsMade)
	}
	raw, _ := json.Marshal(says) // texts and JSON can be written
	_, _ = w.give(p, engine.Order{
		Tenant: tenant, RunID: l.RunID, Ended: true, Rebuild: l.Kind == machine.LetterFailure && !drop,
		Event: machine.Event{Kind: kind, Name: string(l.Kind), Path: l.Path, Payload: raw},
		Check: func(ctx context.Context, _ *machine.Run) error {
			now, err := w.store.Letters(ctx, store.LetterFilter{Tenant: tenant, IDs: []int64{l.ID}})
			if err == nil && (len(now) != 1 || now[0].State != machine.LetterOpen) {
				return errClosed
			}
			return err
		},
	})
}

// patience is how often a person redrives a letter before it is dropped or left alone.
const patience = 3

// help has people answer what waits for them once the faults have ceased: pauses are lifted, letters redriven or dropped. Some
// letters of runs that have ended are left alone.
func (w *world) help() (busy bool) {
	for _, id := range w.order {
		r := w.runs[id]
		if r.status == machine.Paused {
			w.tellOrder(w.awake(), id, machine.ResumeRequested)
			busy = true
		}
	}
	all, err := w.store.Letters(w.ctx, store.LetterFilter{Tenant: tenant, State: machine.LetterOpen, Limit: forever})
	if err != nil {
		w.fault("letters: %v", err)
	}
	for i := range all {
		l := &all[i]
		r := w.runs[l.RunID]
		x := chance(l.RunID + string(l.Kind) + l.Path)
		leave := r.ended && (x%3 == 0 || l.Kind == machine.LetterFailure)
		if leave || r.status != machine.Parked && !r.ended {
			continue
		}
		r.answers[l.Path]++
		w.answerLetter(w.awake(), l, x%5 < 2 || r.answers[l.Path] > patience)
		busy = true
	}
	return busy
}

// chance is a number that depends on a text alone.
func chance(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash never fails
	x := h.Sum64()
	x ^= x >> 31
	x *= 0x9e3779b97f4a7c15
	return x ^ x>>29
}
