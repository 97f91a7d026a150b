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
	delete(e.asking, ask.Token)
	e.slots.GiveBack(reserved)
	e.lanes.Return(ask.Lanes)
	var begun []*Attempt
	if err == nil {
		begun = e.take(ctx, tasks, 0, asked, asked)
		if brought(tasks) < nearlyBytes {
			e.lanes.Emptied(ask.Lanes, tasks)
		}
		e.heardPoll()
	} else {
		e.doubt(ask.Token)
	}
	e.mu.Unlock()
	e.launch(begun)
	return len(begun), err
}

const maxDoubts = 1_000 // tokens that are asked for; what further ones hold is released once its lease runs out

// doubt notes the token of a call whose answer was lost: something may be held under it. The caller holds e.mu.
func (e *Engine) doubt(token int64) {
	if len(e.doubts) < maxDoubts && !slices.Contains(e.doubts, token) {
		e.doubts = append(e.doubts, token)
	}
}

// coming says whether a task that this process holds without knowing of it is still to be taken up: the answer of the call that
// holds it is awaited, or was lost and will be asked for. With no slot free, or nothing begun any more, it will not be. The
// caller holds e.mu.
func (e *Engine) coming(l *store.Live) bool {
	f := e.flights[runKey{l.Tenant, l.RunID}]
	if e.asking[l.Token] || f != nil && (f.asking == l.Token || f.hand == l.Token) {
		return true
	}
	return slices.Contains(e.doubts, l.Token) && e.phase == working && e.slots.Free() > 0
}

// recover takes up what claims and starts brought whose answer was lost, and gives the number of attempts.
func (e *Engine) recover(ctx context.Context) (n int, err error) {
	for {
		e.mu.Lock()
		if len(e.doubts) == 0 || e.slots.Free() == 0 {
			e.mu.Unlock()
			return n, nil
		}
		token := e.doubts[0]
		e.asking[token] = true
		e.mu.Unlock()
		asked := e.clock.Now()
		c, cancel := e.call(ctx)
		tasks, err := e.st.HeldBy(c, e.cfg.Owner, token)
		cancel()
		err = e.fault("ask for what is held", err)
		e.mu.Lock()
		delete(e.asking, token)
		if err != nil {
			e.mu.Unlock()
			return n, err
		}
		e.doubts = slices.DeleteFunc(e.doubts, func(t int64) bool { return t == token })
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
		e.asking[ask.Token] = true
		e.slots.Reserve(reserved)
	}
	return ask, reserved
}

// brought gives the size of the payloads that a claim brought.
func brought(tasks []store.Claimed) (size int) {
	for i := range tasks {
		for _, raw := range tasks[i].Payloads {
			size += len(raw)
		}
	}
	return size
}

const (
	claimBytes  = 16 << 20       // payloads that one claim brings
	nearlyBytes = claimBytes / 2 // one that brought so much may have been cut short
)

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
	served := false
	e.mu.Lock()
	for _, lane := range h.Lanes {
		if e.cfg.Handlers[lane.Handler] != nil {
			e.lanes.Expect(lane)
			served = true
		}
	}
	e.mu.Unlock()
	if served {
		e.signals.ready()
	}
}

// heardPoll notes that a poll succeeded: only a process that has polled without a gap for a while declares losses. The caller
// holds e.mu.
func (e *Engine) heardPoll() {
	now := e.clock.Now()
	if now.Sub(e.polled) > pollGap || now.Before(e.polled) {
		e.steady = now
	}
	e.polled = now
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

const pollGap = 5 * time.Second // longest time between two polls that counts as without a gap
