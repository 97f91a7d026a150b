package memory_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/memory"
	"github.com/millrace-go/millrace/store/storetest"
)

func open(t *testing.T) storetest.Harness {
	t.Helper()
	var now atomic.Int64
	now.Store(int64(machine.TimeOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))))
	s := memory.New(func() machine.Time { return machine.Time(now.Load()) })
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return storetest.Harness{
		Store:   s,
		Advance: func(d time.Duration) { now.Add(d.Microseconds()) },
		Second:  func(*testing.T) store.Store { return s },
		Damage: func(t *testing.T, runID, path string, doc []byte) {
			t.Helper()
			s.Damage(runID, path, doc)
		},
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}

func TestModelAgreesWithItself(t *testing.T) {
	t.Parallel()
	storetest.Model(t, open, memory.New)
}

func TestTheBuriedHoldNothingForLong(t *testing.T) {
	t.Parallel()
	s, held := withHeldTask(t)
	s.Bury("host-2")
	expired, err := s.Expired(t.Context(), 9)
	if err != nil || len(expired) != 0 {
		t.Fatalf("expired %v, %v, want none", expired, err)
	}
	s.Bury("host-1")
	expired, err = s.Expired(t.Context(), 9)
	if err != nil || len(expired) != 1 || !expired[0].Dead || expired[0].Token != held.Token {
		t.Fatalf("expired %+v, %v, want the task, its owner dead", expired, err)
	}
}

func TestClosingEndsWhoWatches(t *testing.T) {
	t.Parallel()
	s, _ := withHeldTask(t)
	ended := make(chan error, 1)
	go func() { ended <- s.Watch(t.Context(), func(store.Hint) {}) }()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, store.ErrUnusable) {
		t.Errorf("watch: %v, want the store to be unusable", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// withHeldTask gives a store in which host-1 holds the one task.
func withHeldTask(t *testing.T) (*memory.Store, store.Claimed) {
	t.Helper()
	const now = machine.Time(1_800_000_000_000_000)
	s := memory.New(func() machine.Time { return now })
	r := &machine.Run{
		Header: machine.Header{ID: "0190a000-0000-7000-8000-000000000001", Tenant: "acme", Workflow: "flow", Version: 1},
		Status: machine.Running, Root: &machine.Scope{Run: &machine.RunDoc{}},
	}
	out, err := s.Start(t.Context(), []store.Start{{Settlement: store.Settlement{
		Run: r, At: now, Effects: []machine.Effect{machine.StartTask{Path: "a", Handler: "work"}},
		Hand: store.HandOver{Owner: "host-1", Token: 5, Lease: time.Minute, Handlers: []string{"work"}, Limit: 1},
	}}})
	if err != nil || len(out[0].Handed) != 1 {
		t.Fatalf("start: %+v, %v", out, err)
	}
	return s, out[0].Handed[0]
}
