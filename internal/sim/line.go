package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
)

// line is the store as one process reaches it: calls fail, lose their answers, and take time in which others go on.
type line struct {
	*faulty.Store

	world   *world
	process *process
	unsure  map[string]bool // runs of which a commit was not answered
	tokens  map[int64]bool  // of calls that take tasks and were not answered; true: the answer is lost
}

// takes carries out a call that takes tasks under tokens.
func (l *line) takes(tokens []int64, call func() error) error {
	for _, token := range tokens {
		l.tokens[token] = false
	}
	err := call()
	for _, token := range tokens {
		if delete(l.tokens, token); errors.Is(err, errAnswerLost) {
			l.tokens[token] = true
		}
	}
	return err
}

// plan decides on one call of a process.
func (w *world) plan(p *process, op string) faulty.Fault {
	f := faulty.Fault{Wait: func(context.Context) error { return w.meanwhile(p) }} //nolint:contextcheck // a world has one context
	if w.calm {
		return f
	}
	if w.clock.Now().Before(p.down) {
		return w.fail(f, op, 8)
	}
	if w.random.IntN(1000) < p.flaky {
		return w.fail(f, op, 2)
	}
	return f
}

// errAnswerLost marks a call that was carried out and not answered.
var errAnswerLost = errors.New("the answer was lost")

// fail makes a call fail, once in n after it was carried out.
func (w *world) fail(f faulty.Fault, op string, n int) faulty.Fault {
	if w.one(n) {
		f.Lose = errors.Join(errAnswerLost, faulty.Outage(op))
	} else {
		f.Fail = faulty.Outage(op)
	}
	return f
}

// meanwhile lets others do something while a call of p is under way, and p crash in it.
func (w *world) meanwhile(p *process) error {
	if w.calm {
		return nil
	}
	if w.depth < 2 && w.one(8) {
		w.depth++
		for range 1 + w.random.IntN(3) {
			w.act()
		}
		w.depth--
	}
	if w.one(1500) {
		w.crash(p)
	}
	if p.dead {
		panic(crash{p})
	}
	return nil
}

// Settle is the store's, with time before its answer arrives.
func (l *line) Settle(ctx context.Context, all []store.Settlement) (got []store.Settled, err error) {
	var tokens []int64
	for i := range all {
		tokens = append(tokens, all[i].Hand.Token)
	}
	err = l.takes(tokens, func() error {
		got, err = l.Store.Settle(ctx, all)
		won := slices.ContainsFunc(got, func(x store.Settled) bool { return x.Result == store.Won })
		if errors.Is(err, errAnswerLost) {
			for _, id := range l.world.truth.latest {
				l.world.mark("the answer of a commit was lost")
				l.unsure[id] = true
				won = true
			}
		}
		l.world.answering(l.process, "Settle", won) //nolint:contextcheck // a world has one context
		return err
	})
	return got, err
}

// Start is the store's.
func (l *line) Start(ctx context.Context, all []store.Start) (got []store.Started, err error) {
	var tokens []int64
	for i := range all {
		tokens = append(tokens, all[i].Hand.Token)
	}
	err = l.takes(tokens, func() error {
		got, err = l.Store.Start(ctx, all)
		return err
	})
	return got, err
}

// State is the store's.
func (l *line) State(ctx context.Context, tenant, id string, scopes, under []string) (store.RunState, error) {
	got, err := l.Store.State(ctx, tenant, id, scopes, under)
	if err == nil && l.unsure[id] {
		delete(l.unsure, id)
		l.world.mark("a lost answer was asked for")
	}
	return got, err
}

// Claim is the store's, with time before its answer arrives.
func (l *line) Claim(ctx context.Context, c store.Claim) (got []store.Claimed, err error) {
	err = l.takes([]int64{c.Token}, func() error {
		got, err = l.Store.Claim(ctx, c)
		taken := len(got)
		if errors.Is(err, errAnswerLost) && len(l.world.truth.taken) > 0 {
			taken = len(l.world.truth.taken)
			l.world.mark("the answer of a claim was lost")
		}
		l.world.answering(l.process, "Claim", taken > 0) //nolint:contextcheck // a world has one context
		return err
	})
	return got, err
}

// HeldBy is the store's, with time before its answer arrives.
func (l *line) HeldBy(ctx context.Context, owner string, token int64) ([]store.Claimed, error) {
	got, err := l.Store.HeldBy(ctx, owner, token)
	if err == nil {
		if len(got) > 0 {
			l.world.mark("the tasks of a lost claim were asked for")
		}
		_ = l.world.meanwhile(l.process) //nolint:contextcheck // a world has one context
		delete(l.tokens, token)
	}
	return got, err
}

// Expired is the store's.
func (l *line) Expired(ctx context.Context, limit int) ([]store.Live, error) {
	got, err := l.Store.Expired(ctx, limit)
	for i := range got {
		lost, mine := l.tokens[got[i].Token]
		switch {
		case !mine || got[i].Owner != l.process.name:
		case lost:
			l.world.mark("a holder saw its own lease run out before it asked for what a lost answer brought")
		default:
			l.world.mark("a holder saw its own lease run out before the answer that brought it")
		}
	}
	return got, err
}

// Renew is the store's, with time before its answer arrives.
func (l *line) Renew(ctx context.Context, held []store.Held, lease time.Duration) ([]store.Renewed, error) {
	got, err := l.Store.Renew(ctx, held, lease)
	l.world.answering(l.process, "Renew", false) //nolint:contextcheck // a world has one context
	return got, err
}

func (w *world) answering(p *process, op string, worked bool) {
	was := p.dead
	defer func() {
		if p.dead && !was && worked {
			w.mark("a crash after " + op + " was carried out")
		}
	}()
	_ = w.meanwhile(p)
}
