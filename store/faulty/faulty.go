// Package faulty wraps a store so that calls of it fail, wait, or lose their answer: what networks and disks do to real ones.
//
// Nouns: a [Plan] decides, call by call, on a [Fault]; an operation is named as its method of store.Store is: "Settle".
// The plan is asked in the order of the calls, so that one caller, as in the simulation, sees the same faults every time.
//
// It imports store and machine.
package faulty

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Fault is what befalls one call. The zero value lets it pass.
type Fault struct {
	// Wait, if set, is called before anything else and may block: a delay. An error of it is the call's.
	Wait func(ctx context.Context) error
	// Fail, if set, is the call's error; the store underneath is not called.
	Fail error
	// Lose, if set, is the call's error after the store underneath did its work: the answer is lost.
	Lose error
}

// Plan decides on the n-th call of an operation, counted from 1 for each. It is called by one goroutine at a time.
type Plan func(op string, n int) Fault

// Outage gives the error of a store that cannot be reached, for Fault.Fail and Fault.Lose.
func Outage(op string) error {
	return &store.StoreError{Op: op, Kind: store.ErrUnavailable, Hint: "wait", Err: errors.New("planned fault")}
}

// Store is a [store.Store] with faults. It is as safe for concurrent use as the one that it wraps.
type Store struct {
	inner store.Store

	mu    sync.Mutex
	plan  Plan
	calls map[string]int
}

var _ store.Store = (*Store)(nil)

// New wraps inner, which the caller no longer closes: Close of the wrapper does. A nil plan lets everything pass.
func New(inner store.Store, plan Plan) *Store {
	return &Store{inner: inner, plan: plan, calls: map[string]int{}}
}

// Replan puts another plan in place of the first; nil lets everything pass. Calls under way keep their fault, and the count
// of calls goes on.
func (s *Store) Replan(plan Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = plan
}

// Calls says how often an operation was called.
func (s *Store) Calls(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

func (s *Store) next(op string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[op]++
	if s.plan == nil {
		return Fault{}
	}
	return s.plan(op, s.calls[op])
}

// call makes one call under its fault: f fills in the answer, which the caller drops when there is an error.
func (s *Store) call(ctx context.Context, op string, f func() error) error {
	fault := s.next(op)
	if fault.Wait != nil {
		if err := fault.Wait(ctx); err != nil {
			return err
		}
	}
	if fault.Fail != nil {
		return fault.Fail
	}
	err := f()
	if fault.Lose != nil {
		return fault.Lose
	}
	return err
}

// answer is call for an operation with one answer.
func answer[T any](ctx context.Context, s *Store, op string, f func() (T, error)) (T, error) {
	var out, none T
	err := s.call(ctx, op, func() (err error) {
		out, err = f()
		return err
	})
	if err != nil {
		return none, err
	}
	return out, nil
}

// Register is that of the store underneath, under the plan.
func (s *Store) Register(ctx context.Context, w store.Workflow) (version int, created bool, err error) {
	err = s.call(ctx, "Register", func() (err error) {
		version, created, err = s.inner.Register(ctx, w)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return version, created, nil
}

// Workflow is that of the store underneath, under the plan.
func (s *Store) Workflow(ctx context.Context, tenant, name string, version int) (store.Workflow, error) {
	return answer(ctx, s, "Workflow", func() (store.Workflow, error) { return s.inner.Workflow(ctx, tenant, name, version) })
}

// Workflows is that of the store underneath, under the plan.
func (s *Store) Workflows(ctx context.Context, tenant string) ([]store.Workflow, error) {
	return answer(ctx, s, "Workflows", func() ([]store.Workflow, error) { return s.inner.Workflows(ctx, tenant) })
}

// Start is that of the store underneath, under the plan.
func (s *Store) Start(ctx context.Context, starts []store.Start) ([]store.Started, error) {
	return answer(ctx, s, "Start", func() ([]store.Started, error) { return s.inner.Start(ctx, starts) })
}

// Lanes is that of the store underneath, under the plan.
func (s *Store) Lanes(ctx context.Context, after int64, limit int) ([]store.Lane, error) {
	return answer(ctx, s, "Lanes", func() ([]store.Lane, error) { return s.inner.Lanes(ctx, after, limit) })
}

// Stocked is that of the store underneath, under the plan.
func (s *Store) Stocked(ctx context.Context, after int64, limit int) ([]store.Lane, error) {
	return answer(ctx, s, "Stocked", func() ([]store.Lane, error) { return s.inner.Stocked(ctx, after, limit) })
}

// Claim is that of the store underneath, under the plan.
func (s *Store) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	return answer(ctx, s, "Claim", func() ([]store.Claimed, error) { return s.inner.Claim(ctx, c) })
}

// Settle is that of the store underneath, under the plan.
func (s *Store) Settle(ctx context.Context, settlements []store.Settlement) ([]store.Settled, error) {
	return answer(ctx, s, "Settle", func() ([]store.Settled, error) { return s.inner.Settle(ctx, settlements) })
}

// Renew is that of the store underneath, under the plan.
func (s *Store) Renew(ctx context.Context, held []store.Held, lease time.Duration) ([]store.Renewed, error) {
	return answer(ctx, s, "Renew", func() ([]store.Renewed, error) { return s.inner.Renew(ctx, held, lease) })
}

// Beat is that of the store underneath, under the plan.
func (s *Store) Beat(ctx context.Context, p store.Process) error {
	return s.call(ctx, "Beat", func() error { return s.inner.Beat(ctx, p) })
}

// HeldBy is that of the store underneath, under the plan.
func (s *Store) HeldBy(ctx context.Context, owner string, token int64) ([]store.Claimed, error) {
	return answer(ctx, s, "HeldBy", func() ([]store.Claimed, error) { return s.inner.HeldBy(ctx, owner, token) })
}

// Expired is that of the store underneath, under the plan.
func (s *Store) Expired(ctx context.Context, limit int) ([]store.Live, error) {
	return answer(ctx, s, "Expired", func() ([]store.Live, error) { return s.inner.Expired(ctx, limit) })
}

// Retire is that of the store underneath, under the plan.
func (s *Store) Retire(ctx context.Context, owner string) error {
	return s.call(ctx, "Retire", func() error { return s.inner.Retire(ctx, owner) })
}

// Watch is that of the store underneath, under the plan.
func (s *Store) Watch(ctx context.Context, wake func(store.Hint)) error {
	return s.call(ctx, "Watch", func() error { return s.inner.Watch(ctx, wake) })
}

// Pause is that of the store underneath, under the plan.
func (s *Store) Pause(ctx context.Context, p store.Pause) (bool, error) {
	return answer(ctx, s, "Pause", func() (bool, error) { return s.inner.Pause(ctx, p) })
}

// Unpause is that of the store underneath, under the plan.
func (s *Store) Unpause(ctx context.Context, tenant string, kind store.PauseKind, name string) (bool, error) {
	return answer(ctx, s, "Unpause", func() (bool, error) { return s.inner.Unpause(ctx, tenant, kind, name) })
}

// Pauses is that of the store underneath, under the plan.
func (s *Store) Pauses(ctx context.Context, tenant string) ([]store.Pause, error) {
	return answer(ctx, s, "Pauses", func() ([]store.Pause, error) { return s.inner.Pauses(ctx, tenant) })
}

// Tell is that of the store underneath, under the plan.
func (s *Store) Tell(ctx context.Context, m []store.Message) ([]error, error) {
	return answer(ctx, s, "Tell", func() ([]error, error) { return s.inner.Tell(ctx, m) })
}

// Inbox is that of the store underneath, under the plan.
func (s *Store) Inbox(ctx context.Context, limit int) ([]store.Message, error) {
	return answer(ctx, s, "Inbox", func() ([]store.Message, error) { return s.inner.Inbox(ctx, limit) })
}

// Due is that of the store underneath, under the plan.
func (s *Store) Due(ctx context.Context, limit int) (due []store.Timer, next machine.Time, err error) {
	err = s.call(ctx, "Due", func() (err error) {
		due, next, err = s.inner.Due(ctx, limit)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return due, next, nil
}

// State is that of the store underneath, under the plan.
func (s *Store) State(ctx context.Context, tenant, runID string, scopes, under []string) (store.RunState, error) {
	return answer(ctx, s, "State", func() (store.RunState, error) { return s.inner.State(ctx, tenant, runID, scopes, under) })
}

// Documents is that of the store underneath, under the plan.
func (s *Store) Documents(ctx context.Context, tenant, runID string) (map[string][]byte, error) {
	return answer(ctx, s, "Documents", func() (map[string][]byte, error) { return s.inner.Documents(ctx, tenant, runID) })
}

// Payloads is that of the store underneath, under the plan.
func (s *Store) Payloads(ctx context.Context, tenant, runID string, refs []machine.Ref) (map[machine.Ref]json.RawMessage, error) {
	return answer(ctx, s, "Payloads", func() (map[machine.Ref]json.RawMessage, error) {
		return s.inner.Payloads(ctx, tenant, runID, refs)
	})
}

// Tasks is that of the store underneath, under the plan.
func (s *Store) Tasks(ctx context.Context, tenant, runID string, paths []string) ([]store.Live, error) {
	return answer(ctx, s, "Tasks", func() ([]store.Live, error) { return s.inner.Tasks(ctx, tenant, runID, paths) })
}

// Timers is that of the store underneath, under the plan.
func (s *Store) Timers(ctx context.Context, tenant, runID string) ([]store.Timer, error) {
	return answer(ctx, s, "Timers", func() ([]store.Timer, error) { return s.inner.Timers(ctx, tenant, runID) })
}

// Journal is that of the store underneath, under the plan.
func (s *Store) Journal(ctx context.Context, tenant, runID string, after int64, limit int) ([]store.Entry, error) {
	return answer(ctx, s, "Journal", func() ([]store.Entry, error) { return s.inner.Journal(ctx, tenant, runID, after, limit) })
}

// Runs is that of the store underneath, under the plan.
func (s *Store) Runs(ctx context.Context, f store.Filter) ([]store.RunRow, error) {
	return answer(ctx, s, "Runs", func() ([]store.RunRow, error) { return s.inner.Runs(ctx, f) })
}

// Letters is that of the store underneath, under the plan.
func (s *Store) Letters(ctx context.Context, f store.LetterFilter) ([]store.Letter, error) {
	return answer(ctx, s, "Letters", func() ([]store.Letter, error) { return s.inner.Letters(ctx, f) })
}

// Queues is that of the store underneath, under the plan.
func (s *Store) Queues(ctx context.Context, tenant string) ([]store.Depth, error) {
	return answer(ctx, s, "Queues", func() ([]store.Depth, error) { return s.inner.Queues(ctx, tenant) })
}

// Processes is that of the store underneath, under the plan.
func (s *Store) Processes(ctx context.Context) ([]store.ProcessRow, error) {
	return answer(ctx, s, "Processes", func() ([]store.ProcessRow, error) { return s.inner.Processes(ctx) })
}

// Prune is that of the store underneath, under the plan.
func (s *Store) Prune(ctx context.Context, o store.PruneOrder) (store.Pruned, error) {
	return answer(ctx, s, "Prune", func() (store.Pruned, error) { return s.inner.Prune(ctx, o) })
}

// Clock is that of the store underneath, under the plan.
func (s *Store) Clock(ctx context.Context) (machine.Time, error) {
	return answer(ctx, s, "Clock", func() (machine.Time, error) { return s.inner.Clock(ctx) })
}

// Close closes the store underneath; no plan keeps it from that.
func (s *Store) Close() error { return s.inner.Close() }
