package engine

import (
	"context"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/outcome"
	"github.com/millrace-go/millrace/internal/engine/internal/rounds"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// renewAfter gives the time from a claim or a renewal to the next: earlier for a task with a short lease of its own.
func (e *Engine) renewAfter(lease int64) time.Duration {
	if lease > 0 {
		return min(e.cfg.Renew, time.Duration(lease)*time.Millisecond/3)
	}
	return e.cfg.Renew
}

// RenewOnce prolongs the leases that are due to be renewed, with all that will be soon, and gives their number. Those whose
// outcome waits to be settled are renewed too, so that an outage costs no finished work.
func (e *Engine) RenewOnce(ctx context.Context) (int, error) {
	now := e.clock.Now()
	e.mu.Lock()
	var held []*Attempt
	due := false
	for _, a := range e.holding() {
		if left := a.renewAt.Sub(now); left <= e.cfg.Renew/2 {
			held = append(held, a)
			due = due || left <= 0
		}
	}
	e.mu.Unlock()
	if !due {
		return 0, nil
	}
	if err := e.ask(ctx, "renew leases", held, e.cfg.Lease); err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range held {
		a.renewAt = now.Add(e.renewAfter(a.task.Lease))
	}
	return len(held), nil
}

// ControlOnce asks for all attempts that are held whether they are to stop or were lost, and gives their number.
func (e *Engine) ControlOnce(ctx context.Context) (int, error) {
	e.mu.Lock()
	held := slices.DeleteFunc(e.holding(), func(a *Attempt) bool { return a.answered })
	e.mu.Unlock()
	if len(held) == 0 {
		return 0, nil
	}
	return len(held), e.ask(ctx, "ask for stops", held, 0)
}

func (e *Engine) ask(ctx context.Context, op string, held []*Attempt, lease time.Duration) error {
	names := make([]store.Held, len(held))
	for i, a := range held {
		names[i] = store.Held{RunID: a.ID, Path: a.Path, Token: a.token}
	}
	c, cancel := e.call(ctx)
	defer cancel()
	answers, err := e.st.Renew(c, names, lease)
	if err := e.fault(op, err); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.steady.Heard(e.clock.Now())
	for i := range min(len(held), len(answers)) {
		a := held[i]
		switch {
		case a.answered: // its settlement finds out
		case answers[i].Lost:
			e.lose(a)
		case answers[i].Stop:
			e.interrupt(a, stopped)
		}
	}
	return nil
}

const atOnce = 1_000 // expired leases, timers or messages that are read at once, unless those of damaged runs lie before others

// lists is how far the lists are read in which what waits lies oldest first.
type lists struct{ expired, timers, messages rounds.Window }

// SweepOnce declares lost the attempts whose holder is proved dead, and, once this process has polled without a gap for a
// renewal and 5 s more, those whose lease ran out: a holder that could not reach the store either had its chance by then.
// What this process holds itself without knowing of it, by a claim whose answer was lost, it releases instead; so that it
// comes first, the others leave an expired lease alone for a while. It gives the number of attempts.
func (e *Engine) SweepOnce(ctx context.Context) (int, error) {
	return e.lists.expired.Read(e.pending, func(limit int) (int, int, error) { return e.sweep(ctx, limit) })
}

func (e *Engine) sweep(ctx context.Context, limit int) (read, n int, err error) {
	c, cancel := e.call(ctx)
	defer cancel()
	expired, err := e.st.Expired(c, limit)
	if err := e.fault("find expired leases", err); err != nil {
		return 0, 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.steady.Heard(e.clock.Now())
	for i := range expired {
		l := &expired[i]
		kind := e.verdict(l)
		if kind == "" {
			continue
		}
		x := &fact{token: l.Token, event: machine.Event{
			Kind: kind, Path: l.Path, Attempt: l.Attempt, Cause: l.Cause, Facts: outcome.Facts{Worker: l.Owner, StartedAt: l.ClaimedAt}.Encode(),
		}}
		if kind == machine.TaskLost && !l.Dead {
			x.lease = l.LeaseUntil
		}
		if e.addOnce(e.flight(l.Tenant, l.RunID), x) {
			n++
		}
	}
	if n > 0 {
		e.signals.settle.Raise()
	}
	return len(expired), n, nil
}

const ownFirst = 5 * time.Second // how long an expired lease is left to its owner

// verdict gives the event that an expired task is told by, "" for none. The caller holds e.mu.
func (e *Engine) verdict(l *store.Live) machine.EventKind {
	switch {
	case !e.minds(l.Tenant, l.RunID):
		return ""
	case l.Owner == e.cfg.Owner:
		if a := e.held[taskKey{run: l.RunID, path: l.Path}]; a != nil && a.token == l.Token {
			return "" // we live
		}
		if e.coming(l) {
			return ""
		}
		e.tokens.Resolve(l.Token)
		return machine.TaskReleased // its handler was never called
	case l.Dead:
		return machine.TaskLost
	case e.now() < l.LeaseUntil.Add(ownFirst), e.steady.For(e.clock.Now()) < e.cfg.Renew+rounds.Gap:
		return ""
	}
	return machine.TaskLost
}

// minds says whether this process has to do with a run.
func (e *Engine) minds(tenant, run string) bool {
	only := e.cfg.Only
	return only == nil || only.Tenant == tenant && only.RunID == run
}

// FireOnce takes the timers that are due and gives the number of those that it had not taken before.
func (e *Engine) FireOnce(ctx context.Context) (int, error) {
	return e.lists.timers.Read(e.pending, func(limit int) (int, int, error) { return e.fire(ctx, limit) })
}

func (e *Engine) fire(ctx context.Context, limit int) (read, n int, err error) {
	due, next, err := e.dueTimers(ctx, limit)
	if err := e.fault("find due timers", err); err != nil {
		return 0, 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.steady.Heard(e.clock.Now())
	e.nextDue = next
	for _, t := range due {
		x := &fact{due: t.Due, event: machine.Event{Kind: machine.TimerFired, Path: t.Key, Cause: t.Cause}}
		if e.addOnce(e.flight(t.Tenant, t.RunID), x) {
			n++
		}
	}
	if n > 0 {
		e.signals.settle.Raise()
	}
	return len(due), n, nil
}

// dueTimers reads the timers that are due, of the engine's own run when it has one, and the time of the next.
func (e *Engine) dueTimers(ctx context.Context, limit int) (due []store.Timer, next machine.Time, err error) {
	c, cancel := e.call(ctx)
	defer cancel()
	only := e.cfg.Only
	if only == nil {
		return e.st.Due(c, limit)
	}
	at, err := e.st.Clock(c)
	if err != nil {
		return nil, 0, err
	}
	all, err := e.st.Timers(c, only.Tenant, only.RunID)
	for _, t := range all {
		switch {
		case t.Due <= at:
			due = append(due, t)
		case next == 0 || t.Due < next:
			next = t.Due
		}
	}
	return due, next, err
}

// nextTimer gives the time until the next timer is due, at most idle.
func (e *Engine) nextTimer(idle time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.nextDue == 0 {
		return idle
	}
	left := time.Duration(e.nextDue-e.now()) * time.Microsecond
	return min(idle, max(left, time.Millisecond))
}

// DeliverOnce takes the messages that wait in inboxes and gives the number of those that it had not taken before.
func (e *Engine) DeliverOnce(ctx context.Context) (int, error) {
	return e.lists.messages.Read(e.pending, func(limit int) (int, int, error) { return e.deliver(ctx, limit) })
}

func (e *Engine) deliver(ctx context.Context, limit int) (read, n int, err error) {
	c, cancel := e.call(ctx)
	defer cancel()
	messages, err := e.st.Inbox(c, limit)
	if err := e.fault("read inboxes", err); err != nil {
		return 0, 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.steady.Heard(e.clock.Now())
	for i := range messages {
		m := &messages[i]
		if !e.minds(m.Tenant, m.RunID) {
			continue
		}
		if e.addOnce(e.flight(m.Tenant, m.RunID), &fact{message: m.Seq, event: m.Event}) {
			n++
		}
	}
	if n > 0 {
		e.signals.settle.Raise()
	}
	return len(messages), n, nil
}

// BeatOnce tells the store that this process lives and what it serves, and reads the store's clock.
func (e *Engine) BeatOnce(ctx context.Context) error {
	c, cancel := e.call(ctx)
	defer cancel()
	asked := e.clock.Now()
	at, err := e.st.Clock(c)
	if err := e.fault("read the clock", err); err != nil {
		return err
	}
	e.mu.Lock()
	e.heard(at, asked)
	p := store.Process{
		Owner: e.cfg.Owner, Host: e.host, PID: os.Getpid(),
		Serves: slices.Sorted(maps.Keys(e.cfg.Handlers)), Draining: e.phase != working,
	}
	if e.cfg.Only != nil { // it takes nothing of what its handlers could do for other runs
		p.Serves = []string{"run " + e.cfg.Only.RunID}
	}
	e.mu.Unlock()
	return e.fault("beat", e.st.Beat(c, p))
}
