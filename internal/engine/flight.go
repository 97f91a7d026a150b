package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/recall"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// flight is what the engine keeps of a run while it holds attempts of it, or facts wait for it. At most one settlement of a
// run is in flight; what arrives meanwhile gathers for the next.
type flight struct {
	key     runKey
	state   store.RunState // as last settled or claimed; Run is nil when it must be read
	fresh   store.RunState // what a claim brought while a settlement was in flight
	facts   []*fact        // wait
	taken   []*fact        // are being settled
	holders int            // attempts held here

	busy   bool  // a settlement is in flight
	queued bool  // in the engine's queue, or among those that wait
	alone  bool  // lost once: settled in a call of its own
	single bool  // refused once: one fact at a time
	hand   int64 // token under which a settlement whose answer was lost handed over tasks; 0: none
	damage bool  // left alone until somebody repairs it
	tries  int   // in a row without success
	before time.Time
}

// fact is something that a run must be told.
type fact struct {
	event   machine.Event
	attempt *Attempt     // whose outcome it is, when it was held here
	token   int64        // events about a task: the token that must be current
	due     machine.Time // timer: when it was set for
	message int64        // number of the message in the inbox
	lease   machine.Time // loss: when the lease was found to have run out; 0: its holder is proved dead

	refusals int // how often the store refused its content
}

// isTask says whether the fact is about a held task, whose row goes with it.
func (f *fact) isTask() bool { return f.token != 0 }

// isLoss says whether the fact is that a lease ran out, which its holder may since have prolonged.
func (f *fact) isLoss() bool { return f.lease != 0 }

func (f *fact) isTimer() bool { return f.event.Kind == machine.TimerFired }

func (f *fact) same(g *fact) bool {
	return f.event.Kind == g.event.Kind && f.event.Path == g.event.Path && f.token == g.token && f.message == g.message
}

// flight gives the flight of a run. The caller holds e.mu.
func (e *Engine) flight(tenant, id string) *flight {
	k := runKey{tenant, id}
	f := e.flights[k]
	if f == nil {
		f = &flight{key: k}
		e.flights[k] = f
	}
	return f
}

// add has a fact wait for its run. The caller holds e.mu.
func (e *Engine) add(f *flight, x *fact) {
	f.facts = append(f.facts, x)
	e.enqueue(f)
}

// addOnce is add for what may be found again before it is settled; it says whether it was new. The caller holds e.mu.
func (e *Engine) addOnce(f *flight, x *fact) bool {
	if slices.ContainsFunc(f.facts, x.same) || slices.ContainsFunc(f.taken, x.same) {
		return false
	}
	e.add(f, x)
	return true
}

func (e *Engine) enqueue(f *flight) {
	if f.busy || f.queued || len(f.facts) == 0 {
		return
	}
	f.queued = true
	switch now := e.clock.Now(); {
	case f.before.After(now):
		e.later = append(e.later, f)
	case !f.alone && e.aboard.Seats(f.key.tenant, now):
		e.guests = append(e.guests, f)
		e.signals.visit.Raise()
	default:
		e.queue = append(e.queue, f)
	}
}

// maxFacts is how many facts of a run one settlement takes.
const maxFacts = 256

// board takes the flights whose facts are settled next. The caller holds e.mu.
func (e *Engine) board() []*flight {
	now := e.clock.Now()
	e.gathers.Taken()
	e.later = slices.DeleteFunc(e.later, func(f *flight) bool {
		if f.before.After(now) {
			return false
		}
		e.queue = append(e.queue, f)
		return true
	})
	out := e.boardGuests()
	for len(e.queue) > 0 && len(out) < e.cfg.Batch {
		f := e.queue[0]
		if f.alone && len(out) > 0 {
			break
		}
		e.queue = e.queue[1:]
		out = append(out, e.takeOff(f))
		if f.alone {
			break
		}
	}
	return out
}

// gather gives the time for which a settler leaves what is there, since more comes.
func (e *Engine) gather() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase != working || len(e.queue) == 0 || e.queue[0].alone {
		return 0
	}
	return e.gathers.Wait(e.clock.Now(), len(e.queue), e.aboard.Runs(), e.lanes.Stocked())
}

// boardGuests takes the flights of tenants of whom nothing was being settled when they came. The caller holds e.mu.
func (e *Engine) boardGuests() []*flight {
	out := e.guests
	e.guests = nil
	for _, f := range out {
		e.takeOff(f)
	}
	return out
}

// takeOff takes the facts of a flight that are settled next. The caller holds e.mu.
func (e *Engine) takeOff(f *flight) *flight {
	f.queued, f.busy = false, true
	e.aboard.Enter(f.key.tenant)
	n := min(len(f.facts), maxFacts)
	if f.single {
		n = 1
	}
	f.taken, f.facts = f.facts[:n:n], f.facts[n:]
	return f
}

// land ends a settlement of a flight; the facts back wait again, before those that came meanwhile. The caller holds e.mu.
func (e *Engine) land(f *flight, back []*fact) {
	f.busy, f.taken = false, nil
	e.aboard.Leave(f.key.tenant)
	if len(back) > 0 {
		f.facts = append(slices.Clone(back), f.facts...)
	}
	if fresh := f.fresh; fresh.Run != nil {
		f.fresh = store.RunState{}
		f.remember(fresh)
	}
	if len(f.facts) == 0 {
		f.single, f.alone = false, false
	}
	e.enqueue(f)
	e.leaveIfIdle(f)
}

// leaveIfIdle forgets a flight that holds nothing and waits for nothing. The caller holds e.mu.
func (e *Engine) leaveIfIdle(f *flight) {
	if f.holders == 0 && len(f.facts) == 0 && !f.busy && e.flights[f.key] == f {
		delete(e.flights, f.key)
	}
}

// delay keeps a flight from being tried again for a while. The caller holds e.mu.
func (e *Engine) delay(f *flight, d time.Duration) { f.before = e.clock.Now().Add(d) }

// remember takes what a claim brought of the run: the newer state, or what is known of the same one.
func (f *flight) remember(s store.RunState) {
	switch {
	case f.busy:
		if s.Version >= f.fresh.Version {
			f.fresh = s
		}
	case f.state.Run == nil || s.Version > f.state.Version:
		f.state = s
	case s.Version == f.state.Version:
		f.state.Run = recall.Merged(f.state.Run, s.Run)
	}
}

// holding gives the attempts held here in a fixed order. The caller holds e.mu.
func (e *Engine) holding() []*Attempt {
	out := make([]*Attempt, 0, len(e.held))
	for _, a := range e.held {
		out = append(out, a)
	}
	slices.SortFunc(out, byPath)
	return out
}

func byPath(a, b *Attempt) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Path, b.Path)) }
