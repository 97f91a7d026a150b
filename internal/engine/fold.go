package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/recall"
	"github.com/millrace-go/millrace/internal/engine/internal/starting"
	"github.com/millrace-go/millrace/internal/engine/internal/supply"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// folding applies the facts of one flight, one after the other, and gathers what they led to in one settlement.
type folding struct {
	engine *Engine
	flight *flight
	def    *workflow.Definition
	memory recall.Memory
	facts  []*fact // those that still count
	out    store.Settlement
	starts starting.Tasks
	stops  []string // paths of held tasks that it tells to stop
	done   bool     // nothing is to be settled: no fact counts any more
}

// fold makes the settlement of a flight's facts. It reads the run when it is not at hand.
func (e *Engine) fold(ctx context.Context, f *flight) (*folding, error) {
	s := &folding{engine: e, flight: f}
	state, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	if s.done = len(s.facts) == 0; s.done {
		return s, nil
	}
	if s.def, err = e.definition(ctx, state.Run.Header); err != nil {
		return nil, err
	}
	s.memory = recall.New(source{e}, state.Run, state.Version)
	s.out.From = state.Version
	for _, x := range s.facts {
		if err := s.settle(ctx, x); err != nil {
			return nil, err
		}
	}
	s.out.Run = s.memory.Run
	if s.out.At = s.out.Run.At; len(s.out.Entries) == 0 { // else it is the time of the last
		s.out.At = max(e.now(), s.out.At)
	}
	s.done = len(s.out.Entries)+len(s.out.Guards)+len(s.out.Timers)+len(s.out.Inbox) == 0
	return s, nil
}

// read gives the flight's run as cached, or else from the store, and keeps the facts that still count.
func (s *folding) read(ctx context.Context) (store.RunState, error) {
	e, f := s.engine, s.flight
	state := f.state
	cached := state.Run != nil
	if !cached {
		var err error
		if state, err = e.readRun(ctx, f); err != nil {
			if errors.Is(err, store.ErrNotFound) { // removed with all that was waiting
				return state, nil
			}
			return state, err
		}
		f.state = state
	}
	s.facts = slices.Clone(f.taken)
	if !cached || slices.ContainsFunc(s.facts, (*fact).isLoss) {
		if err := s.keepCurrent(ctx, state); err != nil {
			return state, err
		}
	}
	return state, s.keepDue(ctx)
}

// readRun reads a run with the documents that its facts need.
func (e *Engine) readRun(ctx context.Context, f *flight) (store.RunState, error) {
	var paths []string
	for _, x := range f.taken {
		paths = append(paths, machine.Documents(x.event.Path)...)
	}
	slices.Sort(paths)
	c, cancel := e.call(ctx)
	defer cancel()
	state, err := e.st.State(c, f.key.tenant, f.key.id, slices.Compact(paths), nil)
	var fault *store.StoreError
	if err != nil && !errors.As(err, &fault) && !errors.Is(err, store.ErrNotFound) && ctx.Err() == nil {
		return state, fmt.Errorf("%w: run %s: %w", errDamaged, f.key.id, err) // it was read, and could not be understood
	}
	return state, e.fault("read run", err)
}

// keepCurrent drops the facts about tasks whose token is no longer current: they were settled before, by a commit whose
// answer was lost, or the task was taken away. It was read after the run: a change in between fails the settlement. And it
// drops the loss of an attempt whose holder has prolonged the lease since it was found to have run out.
func (s *folding) keepCurrent(ctx context.Context, state store.RunState) error {
	f := s.flight
	if !slices.ContainsFunc(s.facts, (*fact).isTask) && f.hand == 0 {
		return nil
	}
	var paths []string // all of the run's when some may have been handed over unheard
	if f.hand == 0 {
		for _, x := range s.facts {
			if x.isTask() {
				paths = append(paths, x.event.Path)
			}
		}
	}
	live, err := s.tasks(ctx, paths)
	if err != nil {
		return err
	}
	if f.hand != 0 {
		s.engine.adopt(ctx, live, f, state)
		f.hand = 0
	}
	rows := make(map[string]*store.Live, len(live))
	for i := range live {
		rows[live[i].Path] = &live[i]
	}
	facts := s.facts
	s.facts = s.facts[:0]
	for _, x := range facts {
		row := rows[x.event.Path]
		switch {
		case !x.isTask():
		case row == nil || row.Token != x.token:
			if x, err = s.late(ctx, x, state.Run.Seq); err != nil {
				return err
			}
		case x.isLoss() && row.LeaseUntil > x.lease:
			x = nil
		}
		if x != nil {
			s.facts = append(s.facts, x)
		}
	}
	return nil
}

// keepDue drops the timers that were fired, cancelled or moved since they were found due.
func (s *folding) keepDue(ctx context.Context) error {
	if !slices.ContainsFunc(s.facts, (*fact).isTimer) {
		return nil
	}
	c, cancel := s.engine.call(ctx)
	defer cancel()
	timers, err := s.engine.st.Timers(c, s.flight.key.tenant, s.flight.key.id)
	if err := s.engine.fault("read timers", err); err != nil {
		return err
	}
	due := make(map[string]machine.Time, len(timers))
	for _, t := range timers {
		due[t.Key] = t.Due
	}
	s.facts = slices.DeleteFunc(s.facts, func(x *fact) bool {
		at, ok := due[x.event.Path]
		return x.isTimer() && (!ok || at != x.due)
	})
	return nil
}

func (s *folding) tasks(ctx context.Context, paths []string) ([]store.Live, error) {
	c, cancel := s.engine.call(ctx)
	defer cancel()
	live, err := s.engine.st.Tasks(c, s.flight.key.tenant, s.flight.key.id, paths)
	return live, s.engine.fault("read tasks", err)
}

// settle applies one fact, with all that it leads to, and notes what the store must check and remove for it.
func (s *folding) settle(ctx context.Context, x *fact) error {
	switch {
	case x.isTask():
		if err := s.guard(store.Guard{Path: x.event.Path, Token: x.token, Remove: true}); err != nil {
			return err
		}
	case x.isTimer():
		s.out.Timers = append(s.out.Timers, x.event.Path)
	case x.message != 0:
		s.out.Inbox = append(s.out.Inbox, x.message)
	}
	ev := x.event
	ev.At = max(ev.At, x.due)
	return s.apply(ctx, ev)
}

// guard adds a condition. Of one task it keeps the one that removes. Two tokens of one task mean that one of them is no
// longer current: the run must be read again.
func (s *folding) guard(g store.Guard) error {
	for i := range s.out.Guards {
		if have := &s.out.Guards[i]; have.Path == g.Path {
			if have.Token != g.Token {
				return recall.ErrStale
			}
			have.Remove = have.Remove || g.Remove
			return nil
		}
	}
	s.out.Guards = append(s.out.Guards, g)
	return nil
}

// apply tells the run an event, and then of each task that it stops and that nobody holds.
func (s *folding) apply(ctx context.Context, ev machine.Event) error {
	events := []machine.Event{ev}
	for len(events) > 0 {
		ev, events = events[0], events[1:]
		stops, err := s.tell(ctx, ev)
		if err != nil {
			return err
		}
		stopped, err := s.stop(ctx, stops)
		if err != nil {
			return err
		}
		events = append(events, stopped...)
	}
	return nil
}

// tell applies one event and gives the paths of the tasks that it stops.
func (s *folding) tell(ctx context.Context, ev machine.Event) (stops []string, err error) {
	ev.At = max(ev.At, s.engine.now(), s.memory.Run.At)
	var after *machine.Run
	var effects []machine.Effect
	err = s.memory.Satisfy(ctx, func() (err error) {
		ev.Loaded = s.memory.Known()
		after, effects, err = machine.Apply(s.def, s.memory.Run, ev)
		return err
	})
	if err != nil {
		return nil, err
	}
	if after.Seq == s.memory.Run.Seq {
		return nil, nil
	}
	s.memory.Run = after
	s.out.Entries = append(s.out.Entries, store.Entry{
		Seq: after.Seq, At: after.At, Kind: ev.Kind, Path: ev.Path, Name: ev.Name, Key: ev.Key, Attempt: ev.Attempt,
		Cause: ev.Cause, Payload: ev.Payload, Facts: ev.Facts,
	})
	if ev.Payload != nil {
		s.memory.Keep(machine.Ref{Seq: after.Seq}, ev.Payload)
	}
	return s.gather(effects), nil
}

// gather adds effects to the settlement and gives the paths that they stop.
func (s *folding) gather(effects []machine.Effect) (stops []string) {
	for _, effect := range effects {
		switch x := effect.(type) {
		case machine.StartTask:
			s.starts.Add(&x)
		case machine.StopTask:
			stops = append(stops, x.Path)
		case machine.PutValue:
			s.memory.Keep(x.Ref, x.Data)
		case machine.EndRun:
			s.starts.Clear()
		case machine.HoldTasks:
			s.starts.Hold(true)
		case machine.FreeTasks:
			s.starts.Hold(false)
		case machine.SetTimer, machine.CancelTimer, machine.OpenLetter, machine.CloseLetter:
		}
		s.out.Effects = append(s.out.Effects, effect)
		s.out.Causes = append(s.out.Causes, s.memory.Run.Seq)
	}
	return stops
}

// stop finds out which of the tasks that are to stop are held. Of those that nobody holds it gives TaskStopped, to be applied
// in the same settlement; those held are marked, and their holders hear it.
func (s *folding) stop(ctx context.Context, paths []string) (stopped []machine.Event, err error) {
	var stored []string
	cause := s.memory.Run.Seq
	for _, path := range paths {
		if t := s.starts.Remove(path); t != nil { // started by this very settlement: nobody can hold it
			stopped = append(stopped, machine.Event{Kind: machine.TaskStopped, Path: path, Attempt: t.Attempt, Cause: cause})
			continue
		}
		stored = append(stored, path)
	}
	if len(stored) == 0 {
		return stopped, nil
	}
	live, err := s.tasks(ctx, stored)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]*store.Live, len(live))
	for i := range live {
		rows[live[i].Path] = &live[i]
	}
	for _, path := range stored {
		row := rows[path]
		if row != nil && row.Token != 0 {
			if err := s.guard(store.Guard{Path: path, Token: row.Token}); err != nil {
				return nil, err
			}
			s.stops = append(s.stops, path)
			continue
		}
		ev := machine.Event{Kind: machine.TaskStopped, Path: path, Cause: cause}
		if row != nil {
			ev.Attempt = row.Attempt
			if err := s.guard(store.Guard{Path: path, Remove: true}); err != nil {
				return nil, err
			}
		}
		stopped = append(stopped, ev)
	}
	return stopped, nil
}

// handOver asks for the tasks that the settlement starts and that this process can execute at once, and reserves their
// slots. Slots of the attempts that are being settled are freed first, so that the next task of a run finds one. The caller
// holds e.mu.
func (e *Engine) handOver(s *folding, now time.Time) *supply.Reservation {
	freed := 0
	for _, x := range s.facts {
		if x.attempt != nil && x.attempt.returned {
			e.free(x.attempt)
			freed++
		}
	}
	r := supply.NewReservation()
	if e.phase != working || s.starts.Len() == 0 || e.mustYield(s, freed, now) {
		return r
	}
	var handlers []string
	passed := false // a task that could have been reserved was not
	for _, t := range s.starts.All {
		if t.Held || t.Due > s.out.At || e.cfg.Handlers[t.Handler] == nil {
			continue
		}
		if !e.slots.Fits(r, t.Queue) || !e.lanes.Seats(e.slots, s.out.Run.Tenant, r.Total) {
			passed = true
			continue
		}
		r.Add(t.Queue)
		if i, known := slices.BinarySearch(handlers, t.Handler); !known {
			handlers = slices.Insert(handlers, i, t.Handler)
		}
	}
	if r.Total == 0 || passed && !s.canHand(handlers, r) {
		return supply.NewReservation()
	}
	e.slots.Reserve(r)
	s.out.Hand = store.HandOver{
		Owner: e.cfg.Owner, Token: e.token(), Lease: e.cfg.Lease, Limit: r.Total, Handlers: handlers,
	}
	return r
}

// canHand says whether the first tasks of these handlers lie in the queues that were reserved: the store knows handlers only.
func (s *folding) canHand(handlers []string, r *supply.Reservation) bool {
	left := r.Copy()
	for _, t := range s.starts.All {
		if left.Total == 0 || t.Held || t.Due > s.out.At || !slices.Contains(handlers, t.Handler) {
			continue
		}
		if !left.Take(t.Queue) {
			return false
		}
	}
	return true
}

const (
	maxHops  = 16          // hand-overs in a row while other work of the queue waits
	maxChain = time.Second // how long they may go on
)

// chain gives the number of hand-overs that led to the settlement's attempts since a claim, and when that was.
func (s *folding) chain(now time.Time) (hops int, since time.Time) {
	since = now
	for _, x := range s.facts {
		if a := x.attempt; a != nil {
			hops = max(hops, a.hops)
			if a.chain.Before(since) {
				since = a.chain
			}
		}
	}
	return hops, since
}

// mustYield says whether a run has gone on for long enough while other work waits, or the slots that it would keep are the
// only ones and a tenant has none. freed is how many of the free slots were those of its attempts. The caller holds e.mu.
func (e *Engine) mustYield(s *folding, freed int, now time.Time) bool {
	hops, chain := s.chain(now)
	long := hops >= maxHops || now.Sub(chain) >= maxChain
	scarce := freed > 0 && e.slots.Free() <= freed
	for _, t := range s.starts.All {
		if long && e.lanes.Waiting(t.Queue) || scarce && e.lanes.Starves(t.Queue) {
			return true
		}
	}
	return false
}
