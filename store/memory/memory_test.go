package memory_test

import (
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
		Pause: func(t *testing.T, lane int64, paused bool) {
			t.Helper()
			if err := s.Pause(t.Context(), lane, paused); err != nil {
				t.Fatal(err)
			}
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
