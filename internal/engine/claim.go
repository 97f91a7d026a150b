package engine

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/store"
)

// ClaimOnce takes ready tasks for the free slots and has them executed. It gives their number; 0 when there is no free slot,
// no handler, or nothing ready in the lanes that it knows of.
func (e *Engine) ClaimOnce(ctx context.Context) (int, error) {
	if !e.beginClaim() {
		return 0, nil
	}
	defer e.endClaim()
	if err := e.readLanes(ctx); err != nil {
		return 0, err
	}
	ask, reserved := e.planClaim()
	if reserved.total == 0 {
		return 0, nil
	}
	asked := e.clock.Now()
	c, cancel := e.call(ctx)
	tasks, err := e.st.Claim(c, ask)
	cancel()
	err = e.fault("claim", err)
	e.mu.Lock()
	e.slots.giveBack(reserved)
	var begun []*Attempt
	if err == nil {
		begun = e.take(tasks, 0, asked, asked)
		e.emptied(ask.Lanes, tasks)
		e.heardPoll()
	}
	e.mu.Unlock()
	e.launch(begun)
	return len(begun), err
}

func (e *Engine) beginClaim() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.claiming || e.phase != working || len(e.serve) == 0 || e.slots.free() == 0 {
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

// readLanes reads new lanes after a hint, and a page of all lanes from time to time.
func (e *Engine) readLanes(ctx context.Context) error {
	if e.cfg.Only != nil {
		e.mu.Lock()
		e.lanes.came(e.now())
		e.mu.Unlock()
		return nil
	}
	now := e.clock.Now()
	e.mu.Lock()
	l := &e.lanes
	after, walk := l.highest, l.walked.IsZero() || now.Sub(l.walked) >= laneWalk
	if walk {
		after = l.cursor
	}
	if came := l.came(e.now()); came || l.hinted || now.Sub(l.asked) >= claimPoll {
		l.asked = now
		l.tell()
	} else if !walk {
		e.mu.Unlock()
		return nil
	}
	hinted := l.hinted
	l.hinted = false
	e.mu.Unlock()
	if !hinted && !walk {
		return nil
	}
	c, cancel := e.call(ctx)
	defer cancel()
	read, err := e.st.Lanes(c, after, lanePage)
	if err := e.fault("read lanes", err); err != nil {
		e.mu.Lock()
		l.hinted = l.hinted || hinted
		e.mu.Unlock()
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	l.add(read, func(handler string) bool { return e.cfg.Handlers[handler] != nil })
	if walk {
		l.walked, l.cursor = now, 0
		if len(read) == lanePage {
			l.cursor = read[lanePage-1].ID
		}
	} else if len(read) == lanePage {
		l.hinted = true // there are more
	}
	return nil
}

// planClaim decides what to ask for and reserves the slots.
func (e *Engine) planClaim() (store.Claim, *reservation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ask := store.Claim{Owner: e.cfg.Owner, Lease: e.cfg.Lease, Bytes: claimBytes}
	reserved := newReservation()
	if e.phase != working {
		return ask, reserved
	}
	if only := e.cfg.Only; only != nil {
		ask.Tenant, ask.Run, ask.Handlers = only.Tenant, only.RunID, e.serve
		reserved.total = e.slots.free()
	} else {
		ask.Lanes, reserved = e.lanes.share(&e.slots)
	}
	ask.Limit = reserved.total
	if reserved.total > 0 {
		ask.Token = e.token()
		e.slots.reserve(reserved)
	}
	return ask, reserved
}

// emptied forgets the lanes that gave less than they were asked for, until a hint or a poll. The caller holds e.mu.
func (e *Engine) emptied(asked []store.LaneLimit, got []store.Claimed) {
	size := 0
	by := make(map[int64]int, len(asked))
	for i := range got {
		by[got[i].Lane.ID]++
		for _, raw := range got[i].Payloads {
			size += len(raw)
		}
	}
	if size >= nearlyBytes {
		return
	}
	for _, x := range asked {
		if l := e.lanes.known[x.Lane]; l != nil && by[x.Lane] < x.Limit {
			l.maybe = false
		}
	}
}

// Hint says that there may be new work: Run hears it from the store's Watch, a simulation says it itself.
func (e *Engine) Hint() {
	e.mu.Lock()
	e.lanes.hinted = true
	e.mu.Unlock()
	e.signals.wake()
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

// nextClaim gives the time until a task that was delayed here becomes ready, at most idle.
func (e *Engine) nextClaim(idle time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.lanes.dues) == 0 || e.phase != working || e.slots.free() == 0 { // a slot that is freed is a signal
		return idle
	}
	left := time.Duration(e.lanes.dues[0]-e.now()) * time.Microsecond
	return min(idle, max(left, time.Millisecond))
}

const pollGap = 5 * time.Second // longest time between two polls that counts as without a gap
