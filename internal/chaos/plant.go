package chaos

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// What Plan.Planted may name: what a store must never do.
const (
	ForgetsSettlement = "forgets a settlement that it answered"
	DoublesClaim      = "gives a claimed task a second time"
	ClaimsHeld        = "claims what somebody holds"
	IgnoresToken      = "settles under a token that is not current"
	ForgetsTask       = "forgets a task that a settlement starts"
	ForgetsStart      = "forgets a run that it accepted"
	DoublesStart      = "starts a run twice"
	SwapsOutcome      = "records another outcome than it was given"
)

// plant puts a fault before a store.
func plant(name string, w *fleet.Workplace, st store.Store) store.Store {
	if name == "" {
		return st
	}
	return &planted{Store: st, fault: name, url: w.Options.URL}
}

// planted is a store with a fault, which shows in some calls.
type planted struct {
	store.Store
	fault string
	url   string

	mu    sync.Mutex
	calls int
	given []store.Claimed
}

// every says whether it is the n-th call's turn again.
func (p *planted) every(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	return p.calls%n == 0
}

// Claim is that of the store underneath, or not.
func (p *planted) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	if p.fault == ClaimsHeld || p.fault == IgnoresToken {
		if err := p.forget(ctx); err != nil {
			return nil, err
		}
	}
	out, err := p.Store.Claim(ctx, c)
	if err != nil || p.fault != DoublesClaim || len(out) == 0 {
		return out, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.given) > 0 && len(out) < c.Limit {
		out = append(out, p.given[0])
	}
	p.given = []store.Claimed{out[0]}
	return out, nil
}

// forget makes tasks ready that somebody holds.
func (p *planted) forget(ctx context.Context) error {
	if !p.every(5) {
		return nil
	}
	c, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return err
	}
	defer c.Close(ctx) //nolint:errcheck // it is planted
	_, err = c.Exec(ctx, `update millrace.tasks set state = 0, token = 0, owner = '' where state = 2 and claimed_at < millrace.clock() - 100000`)
	return err
}

// Settle is that of the store underneath, or not.
func (p *planted) Settle(ctx context.Context, all []store.Settlement) ([]store.Settled, error) {
	switch p.fault {
	case ForgetsSettlement:
		if p.every(10) {
			return p.forgetFirst(ctx, all)
		}
	case IgnoresToken:
		if err := p.current(ctx, all); err != nil {
			return nil, err
		}
	case ForgetsTask:
		if p.every(10) {
			all[0].Effects, all[0].Causes = withoutStarts(all[0].Effects, all[0].Causes)
		}
	case SwapsOutcome:
		if e := all[0].Entries; len(e) == 1 && e[0].Kind == machine.TaskSucceeded && p.every(10) {
			e[0].Kind = machine.TaskLost
		}
	}
	return p.Store.Settle(ctx, all)
}

func (p *planted) forgetFirst(ctx context.Context, all []store.Settlement) ([]store.Settled, error) {
	now, err := p.Clock(ctx)
	if err != nil {
		return nil, err
	}
	first := store.Settled{Result: store.Won, Clock: now}
	if len(all) == 1 {
		return []store.Settled{first}, nil
	}
	rest, err := p.Store.Settle(ctx, all[1:])
	return append([]store.Settled{first}, rest...), err
}

// current puts the token that is current in place of the one that a settlement has.
func (p *planted) current(ctx context.Context, all []store.Settlement) error {
	for i := range all {
		s := &all[i]
		live, err := p.Tasks(ctx, s.Run.Tenant, s.Run.ID, nil)
		if err != nil {
			return err
		}
		tokens := map[string]int64{}
		for j := range live {
			tokens[live[j].Path] = live[j].Token
		}
		s.Guards = slices.Clone(s.Guards)
		for j := range s.Guards {
			if token, ok := tokens[s.Guards[j].Path]; ok {
				s.Guards[j].Token = token
			}
		}
	}
	return nil
}

func withoutStarts(effects []machine.Effect, causes []int64) (kept []machine.Effect, keptCauses []int64) {
	for i, e := range effects {
		if _, start := e.(machine.StartTask); !start {
			kept, keptCauses = append(kept, e), append(keptCauses, causes[i])
		}
	}
	return kept, keptCauses
}

// Start is that of the store underneath, or not.
func (p *planted) Start(ctx context.Context, all []store.Start) ([]store.Started, error) {
	switch {
	case p.fault == ForgetsStart && p.every(10):
		out := make([]store.Started, len(all))
		for i := range all {
			out[i] = store.Started{RunID: all[i].Run.ID, Created: true}
		}
		return out, nil
	case p.fault == DoublesStart && p.every(10):
		again := slices.Clone(all)
		for i := range again {
			run := *again[i].Run
			run.ID, run.Key = uuid.Must(uuid.NewV7()).String(), ""
			again[i].Run = &run
		}
		if _, err := p.Store.Start(ctx, again); err != nil {
			return nil, err
		}
	}
	return p.Store.Start(ctx, all)
}
