package sqlite

import (
	"cmp"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/memory"
	"github.com/millrace-go/millrace/store/sqlite/internal/filelock"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
	"github.com/millrace-go/millrace/store/storetest"
)

// handClock is a clock that tests move.
type handClock struct{ now atomic.Int64 }

func newHandClock() *handClock {
	c := &handClock{}
	c.now.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro())
	return c
}

func (c *handClock) time() machine.Time { return machine.Time(c.now.Load()) }

func (c *handClock) advance(d time.Duration) { c.now.Add(d.Microseconds()) }

// unhurried has no call give up because this machine is slow: where o says nothing else.
func unhurried(o Options) Options {
	const long = 10 * time.Minute
	o.BusyTimeout, o.CallTimeout = cmp.Or(o.BusyTimeout, long), cmp.Or(o.CallTimeout, long)
	return o
}

// open opens the file at path and closes it at the end of the test.
func open(t *testing.T, path string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, unhurried(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func harness(t *testing.T) storetest.Harness {
	t.Helper()
	file := filepath.Join(t.TempDir(), "millrace.db")
	clock := newHandClock()
	another := func(t *testing.T) *Store { t.Helper(); return open(t, file, Options{Clock: clock.time}) }
	s := another(t)
	keepAlive(t, file, "host-1")
	return storetest.Harness{
		Store:   s,
		Advance: clock.advance,
		Second:  func(t *testing.T) store.Store { t.Helper(); return another(t) },
		Reopen: func(t *testing.T) store.Store {
			t.Helper()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = another(t)
			return s
		},
		Damage: func(t *testing.T, runID, path string, doc []byte) {
			t.Helper()
			run, _ := link.ParseID(runID)
			query := fmt.Sprintf("update scopes set doc = x'%x' where run = x'%x' and path = '%s'", doc, run[:], path)
			if path == "" {
				query = fmt.Sprintf("update runs set doc = x'%x' where id = x'%x'", doc, run[:])
			}
			script(t, file, query)
		},
	}
}

// keepAlive holds the lock of an owner as its process would, whatever handles are closed.
func keepAlive(t *testing.T, path, owner string) {
	t.Helper()
	o := filelock.NewOwners(path + "-procs")
	if err := o.Hold(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness)
}

func TestModel(t *testing.T) {
	t.Parallel()
	storetest.Model(t, harness, memory.New)
}
