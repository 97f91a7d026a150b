package engine

import (
	"context"
	"slices"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/supply"
	"github.com/millrace-go/millrace/store"
)

// ClaimOnce takes ready tasks for the free slots and has them executed. It gives their number; 0 when there is no free slot,
// no handler, or nothing ready in the lanes that it knows of.
func (e *Engine) ClaimOnce(ctx context.Context) (int, error) {
	if !e.beginClaim(ctx) {
		return 0, nil
	}
	defer e.endClaim()
	if n, err := e.recover(ctx); n > 0 || err != nil {
		return n, err
	}
	return e.claimNext(ctx, false)
}

// claimForGuests is ClaimOnce for tenants of whom nothing is in hand here, while a claim for others is in flight. Without one
// it does nothing: whatever wakes it wakes the other too.
func (e *Engine) claimForGuests(ctx context.Context) (int, error) {
	e.mu.Lock()
	needless := !e.claiming || e.phase != working || e.cfg.Only != nil
	e.mu.Unlock()
	if needless {
		return 0, nil
	}
	return e.claimNext(ctx, true)
}

func (e *Engine) claimNext(ctx context.Context, guestsAlone bool) (int, error) {
	if err := e.readLanes(ctx); err != nil { // also without a free slot: who waits decides whether runs are handed on
		return 0, err
	}
	ask, reserved := e.planClaim(guestsAlone)
	if reserved.Total == 0 {
		return 0, nil
	}
	asked := e.clock.Now()
	c, cancel := e.call(ctx)
	tasks, err := e.st.Claim(c, ask)
	cancel()
	err = e.fault("claim", err)
	e.mu.Lock()
	e.tokens.Answered(ask.Token)
	e.slots.GiveBack(reserved)
	e.lanes.Return(ask.Lanes)
	var begun []*Attempt
	if err == nil {
		begun = e.take(ctx, tasks, 0, asked, asked)
		answered := e.clock.Now()
		e.lanes.Emptied(ask, tasks, answered)
		e.steady.Heard(answered)
	} else {
		e.tokens.Doubt(ask.Token)
	}
	e.mu.Unlock()
	e.launch(begun)
	return len(begun), err
}

// coming says whether a task that this process holds without knowing of it is still to be taken up: the answer of the call that
// holds it is awaited, or was lost and will be asked for. With no slot free, or nothing begun any more, it will not be. The
// caller holds e.mu.
func (e *Engine) coming(l *store.Live) bool {
	f := e.flights[runKey{l.Tenant, l.RunID}]
	if e.tokens.Asked(l.Token) || f != nil && f.hand == l.Token {
		return true
	}
	return e.tokens.InDoubt(l.Token) && e.phase == working && e.slots.Free() > 0
}

// recover takes up what claims and starts brought whose answer was lost, and gives the number of attempts.
func (e *Engine) recover(ctx context.Context) (n int, err error) {
	for {
		e.mu.Lock()
		token, doubted := e.tokens.Doubted()
		if !doubted || e.slots.Free() == 0 {
			e.mu.Unlock()
			return n, nil
		}
		e.tokens.Ask(token)
		e.mu.Unlock()
		asked := e.clock.Now()
		c, cancel := e.call(ctx)
		tasks, err := e.st.HeldBy(c, e.cfg.Owner, token)
		cancel()
		err = e.fault("ask for what is held", err)
		e.mu.Lock()
		e.tokens.Answered(token)
		if err != nil {
			e.mu.Unlock()
			return n, err
		}
		e.tokens.Resolve(token)
		tasks = slices.DeleteFunc(tasks, func(t store.Claimed) bool {
			a := e.held[taskKey{run: t.RunID, path: t.Path}]
			return a != nil && a.token == t.Token
		})
		begun := e.take(ctx, tasks, 0, asked, asked.Add(-e.cfg.Renew)) // their leases run since the call: they are renewed next
		e.mu.Unlock()
		e.launch(begun)
		n += len(begun)
	}
}

func (e *Engine) beginClaim(ctx context.Context) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.serving == nil {
		e.serving = context.WithoutCancel(ctx)
	}
	if e.claiming || e.phase != working || len(e.serve) == 0 {
		return false
	}
	e.claiming = true
	return true
}

func (e *Engine) endClaim() {
	e.mu.Lock()
	e.claiming = false
	e.mu.Unlock()
}

// readLanes reads which lanes hold work, when it is time to.
func (e *Engine) readLanes(ctx context.Context) error {
	e.mu.Lock()
	needed := e.cfg.Only == nil && !e.reading && e.lanes.Look(e.clock.Now(), e.now(), e.slots.Free() == 0)
	after := e.lanes.After()
	e.reading = e.reading || needed
	e.mu.Unlock()
	if !needed {
		return nil
	}
	c, cancel := e.call(ctx)
	defer cancel()
	page, err := e.st.Stocked(c, after, supply.Page)
	err = e.fault("read lanes", err)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reading = false
	if err != nil {
		e.lanes.Hint() // the one that the reading followed still holds
		return err
	}
	e.lanes.Took(page)
	return nil
}

// planClaim decides what to ask for and reserves the slots.
func (e *Engine) planClaim(guestsAlone bool) (store.Claim, *supply.Reservation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ask := store.Claim{Owner: e.cfg.Owner, Lease: e.cfg.Lease, Bytes: claimBytes}
	reserved := supply.NewReservation()
	if e.phase != working {
		return ask, reserved
	}
	if only := e.cfg.Only; only != nil {
		ask.Tenant, ask.Run, ask.Handlers = only.Tenant, only.RunID, e.serve
		reserved.Total = e.slots.Free()
	} else {
		ask.Lanes, reserved = e.lanes.Share(e.slots, guestsAlone)
	}
	ask.Limit = reserved.Total
	if reserved.Total > 0 {
		ask.Token = e.token()
		e.tokens.Ask(ask.Token)
		e.slots.Reserve(reserved)
	}
	return ask, reserved
}

const claimBytes = 16 << 20 // payloads that one claim brings

// Hint says that there may be new work: Run hears it from the store's Watch, a simulation says it itself.
func (e *Engine) Hint() {
	e.mu.Lock()
	e.lanes.Hint()
	e.mu.Unlock()
	e.signals.wake()
}

// hear takes a hint of the store's Watch.
func (e *Engine) hear(h store.Hint) {
	if len(h.Lanes) == 0 {
		e.Hint()
		return
	}
	now, due := e.clock.Now(), false
	e.mu.Lock()
	full := e.slots.Free() == 0
	for _, lane := range h.Lanes {
		if e.cfg.Handlers[lane.Handler] != nil {
			due = e.lanes.Told(lane, now, full) || e.cfg.Only != nil || due
		}
	}
	e.mu.Unlock()
	if due {
		e.signals.ready()
	}
}

// nextClaim gives the time until a claim may find something that no signal tells of, at most idle.
func (e *Engine) nextClaim(idle time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase != working {
		return idle
	}
	wait := e.lanes.Wait(e.clock.Now(), e.now(), e.slots.Free() == 0)
	return min(idle, max(wait, time.Millisecond))
}
