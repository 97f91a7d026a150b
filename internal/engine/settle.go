package engine

import (
	"context"
	"errors"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/content"
	"github.com/millrace-go/millrace/internal/engine/internal/recall"
	"github.com/millrace-go/millrace/internal/engine/internal/supply"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// SettleOnce takes what waits of up to Batch runs, has the machine apply it, and settles it in one transaction. It gives the
// number of runs that it took. What lost to another process, or whose answer was lost, waits to be settled again; an error
// means that some of it must wait, and that the caller had better pause.
func (e *Engine) SettleOnce(ctx context.Context) (int, error) {
	return e.settleNext(ctx, e.board, false)
}

// settleGuests is SettleOnce for what came of tenants of whom nothing was being settled while all settlers were busy: it does
// not wait for what others have in hand, nor share a transaction with it.
func (e *Engine) settleGuests(ctx context.Context) (int, error) {
	return e.settleNext(ctx, e.boardGuests, true)
}

// settleNext settles the flights that board takes.
func (e *Engine) settleNext(ctx context.Context, board func() []*flight, guests bool) (int, error) {
	e.mu.Lock()
	began := e.clock.Now()
	flights := board()
	if len(flights) > 0 {
		e.aboard.Begin(guests)
	}
	e.mu.Unlock()
	if len(flights) == 0 {
		return 0, nil
	}
	defer func() {
		e.mu.Lock()
		now := e.clock.Now()
		e.aboard.End(guests, began, now)
		e.gathers.Took(now.Sub(began))
		e.mu.Unlock()
	}()
	var all []*folding
	var fault error
	for _, f := range flights {
		s, err := e.fold(ctx, f)
		switch {
		case err != nil:
			fault = errors.Join(fault, e.unsettled(f, err))
		case s.done:
			e.nothing(f)
		default:
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return len(flights), fault
	}
	return len(flights), e.commit(ctx, all) // one run that could not be read is no reason to pause
}

// commit settles what was folded and takes in the answers.
func (e *Engine) commit(ctx context.Context, all []*folding) error {
	batch := make([]store.Settlement, len(all))
	reserved := make([]*supply.Reservation, len(all))
	e.mu.Lock()
	asked := e.clock.Now()
	for i, s := range all {
		reserved[i] = e.handOver(s, asked)
		e.tokens.Ask(s.out.Hand.Token)
		batch[i] = s.out
	}
	e.mu.Unlock()
	c, cancel := e.call(ctx)
	answers, err := e.st.Settle(c, batch)
	cancel()
	if err == nil && len(answers) != len(batch) {
		err = errors.New("the store answered for another number of settlements")
	}
	err = e.fault("settle", err)
	var begun []*Attempt
	var heard machine.Time
	e.mu.Lock()
	for i, s := range all {
		e.slots.GiveBack(reserved[i])
		e.tokens.Answered(s.out.Hand.Token)
		if err != nil {
			e.unknown(s, err, len(all) > 1)
			continue
		}
		if answers[i].Clock != heard { // those of one transaction have one
			heard = answers[i].Clock
			e.heard(heard, asked)
		}
		begun = append(begun, e.settled(ctx, s, &answers[i], asked)...)
	}
	e.mu.Unlock()
	for i, s := range all {
		if err == nil && answers[i].Result == store.Won {
			e.cfg.Observer.Settled(s.out.Run)
		}
	}
	e.launch(begun)
	e.signals.claim.Raise()
	e.signals.change.Raise()
	return err
}

// settled takes in the answer to one settlement and gives the attempts that it handed over. The caller holds e.mu.
func (e *Engine) settled(ctx context.Context, s *folding, answer *store.Settled, asked time.Time) []*Attempt {
	f := s.flight
	switch answer.Result {
	case store.Won:
		return e.won(ctx, s, answer.Handed, asked)
	case store.Lost:
		f.state = store.RunState{}
		f.alone = true
		if f.tries++; f.tries > 2 {
			e.delay(f, time.Duration(min(f.tries, 20))*5*time.Millisecond)
		}
		e.land(f, f.taken)
	case store.Skewed: // the offset was refreshed by the answer
		for _, x := range f.taken { // of an attempt that was claimed while our clock was ahead
			x.event.At = min(x.event.At, answer.Clock)
		}
		if f.tries++; f.tries > 1 {
			e.delay(f, time.Duration(min(f.tries, 20))*50*time.Millisecond)
		}
		e.land(f, f.taken)
	case store.Refused:
		e.refused(s, answer.Err)
	}
	return nil
}

// won lets go of what was settled. The caller holds e.mu.
func (e *Engine) won(ctx context.Context, s *folding, handed []store.Claimed, asked time.Time) []*Attempt {
	f := s.flight
	f.tries, f.damage, f.alone = 0, false, false
	f.state = store.RunState{Run: recall.Saved(s.out.Run), Version: s.out.From + 1}
	for _, x := range f.taken {
		if x.attempt != nil {
			e.release(x.attempt)
		}
	}
	e.stopHeld(s)
	e.foresee(s.out.Effects)
	e.expect(s, handed)
	for i := range handed {
		handed[i].Run = f.state
	}
	hops, chain := s.chain(asked)
	begun := e.take(ctx, handed, hops+1, chain, asked)
	e.land(f, nil)
	return begun
}

// stopHeld tells the attempts that a settlement marked, as far as they are held here. The caller holds e.mu.
func (e *Engine) stopHeld(s *folding) {
	for _, path := range s.stops {
		if a := e.held[taskKey{run: s.flight.key.id, path: path}]; a != nil {
			e.interrupt(a, stopped)
		}
	}
}

// foresee notes when the timers that were set and the tasks that were delayed come due, so that nobody has to poll for them.
// The caller holds e.mu.
func (e *Engine) foresee(effects []machine.Effect) {
	for _, effect := range effects {
		switch x := effect.(type) {
		case machine.SetTimer:
			if e.nextDue == 0 || x.Due < e.nextDue {
				e.nextDue = x.Due
				e.signals.timer.Raise()
			}
		case machine.StartTask:
			if x.Due != 0 && x.Due > e.now() && !x.Held && e.cfg.Handlers[x.Handler] != nil {
				e.lanes.Foresee(x.Due)
				e.signals.claim.Raise()
			}
		}
	}
}

// expect notes the lanes in which a settlement left tasks that this process serves. The caller holds e.mu.
func (e *Engine) expect(s *folding, handed []store.Claimed) {
	if len(handed) == s.starts.Len() {
		return
	}
	taken := make(map[string]bool, len(handed))
	for i := range handed {
		taken[handed[i].Path] = true
	}
	for path, t := range s.starts.All {
		if !taken[path] && !t.Held && t.Due <= s.out.At && e.cfg.Handlers[t.Handler] != nil {
			e.lanes.Expect(store.Lane{Tenant: s.out.Run.Tenant, Queue: t.Queue, Handler: t.Handler, Workflow: s.out.Run.Workflow})
		}
	}
}

// refused finds out which fact the store refuses, and makes it a failure of its attempt. The caller holds e.mu.
func (e *Engine) refused(s *folding, why error) {
	f := s.flight
	f.state = store.RunState{}
	x := f.taken[0]
	switch {
	case len(f.taken) > 1:
		f.single = true
	case x.attempt != nil && x.refusals < 2:
		if x.refusals++; x.refusals == 2 { // not even that can be stored: perhaps it is what people are told
			x.event.Facts = nil
		}
		x.event.Kind = machine.TaskFailed
		x.event.Payload = content.Encode(content.Unstorable("outcome", why))
	default:
		e.damaged(f, why)
	}
	e.land(f, f.taken)
}

// unknown is when a settlement's answer did not come: it may have been carried out. The run is read again before anything
// else is settled. The caller holds e.mu.
func (e *Engine) unknown(s *folding, err error, several bool) {
	f := s.flight
	f.state = store.RunState{}
	f.hand = s.out.Hand.Token
	if several && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		f.alone = true // one of the batch may be the reason: the others must not suffer
	}
	e.retry(f)
	e.land(f, f.taken)
}

// retry delays a flight the longer the more often it was tried. The caller holds e.mu.
func (e *Engine) retry(f *flight) {
	f.tries++
	e.delay(f, min(50*time.Millisecond<<min(f.tries, 6), 2*time.Second))
}

// unsettled is when a flight's facts could not even be applied. It gives the error back if it is the store's.
func (e *Engine) unsettled(f *flight, err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	f.state = store.RunState{}
	switch {
	case errors.Is(err, recall.ErrStale):
		f.alone = true
		e.land(f, f.taken)
		return nil
	case errors.Is(err, store.ErrDamaged), errors.Is(err, machine.ErrDamaged):
		e.damaged(f, err)
		e.land(f, f.taken)
		return nil
	}
	e.retry(f)
	e.land(f, f.taken)
	return err
}

const damagePause = time.Minute // before a damaged run is tried again: somebody may have repaired it

// damaged leaves a run alone for a while. The caller holds e.mu.
func (e *Engine) damaged(f *flight, err error) {
	if !f.damage {
		e.log.Error("a run is damaged and left alone; the others go on", "run", f.key.id, "error", err)
	}
	f.damage = true
	e.delay(f, damagePause)
}

// nothing is when no fact of a flight counts any more: what it held was settled before, or taken away.
func (e *Engine) nothing(f *flight) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f.tries = 0
	for _, x := range f.taken {
		if x.attempt != nil {
			e.release(x.attempt)
		}
	}
	e.land(f, nil)
}

// adopt takes up the tasks that a settlement handed over to this process although its answer was lost.
func (e *Engine) adopt(ctx context.Context, live []store.Live, f *flight, state store.RunState) {
	var tasks []store.Claimed
	e.mu.Lock()
	for i := range live {
		l := &live[i]
		if l.Owner == e.cfg.Owner && l.Token == f.hand && e.held[taskKey{run: f.key.id, path: l.Path}] == nil {
			tasks = append(tasks, store.Claimed{Task: l.Task, Token: l.Token, Run: state})
		}
	}
	now := e.clock.Now()
	begun := e.take(ctx, tasks, 0, now, now)
	e.mu.Unlock()
	e.launch(begun)
}

// pending gives the number of flights whose facts wait or are being settled, damaged runs left out.
func (e *Engine) pending() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, f := range e.flights {
		if (f.busy || len(f.facts) > 0) && !f.damage {
			n++
		}
	}
	return n
}

// bringing says whether a call is in flight that may bring tasks.
func (e *Engine) bringing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tokens.Awaited()
}

// nextSettle gives the time until a flight that waits may be tried again.
func (e *Engine) nextSettle(idle time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock.Now()
	for _, f := range e.later {
		idle = min(idle, max(0, f.before.Sub(now)))
	}
	if len(e.queue)+len(e.guests) > 0 {
		return 0
	}
	return idle
}
