package faulty_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
	"github.com/millrace-go/millrace/store/memory"
	"github.com/millrace-go/millrace/store/storetest"
)

const now = machine.Time(1_800_000_000_000_000)

func open(plan faulty.Plan) *faulty.Store {
	return faulty.New(memory.New(func() machine.Time { return now }), plan)
}

func register(ctx context.Context, s store.Store, name string) error {
	_, _, err := s.Register(ctx, store.Workflow{Tenant: "acme", Name: name, Doc: []byte(`{}`)})
	return err
}

func TestWithoutFaultsItIsTheStoreUnderneath(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		t.Helper()
		var clock atomic.Int64
		clock.Store(int64(now))
		inner := memory.New(func() machine.Time { return machine.Time(clock.Load()) })
		s := faulty.New(inner, nil)
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return storetest.Harness{
			Store:   s,
			Advance: func(d time.Duration) { clock.Add(d.Microseconds()) },
			Damage: func(t *testing.T, runID, path string, doc []byte) {
				t.Helper()
				inner.Damage(runID, path, doc)
			},
		}
	})
}

func TestAFailedCallDidNothing(t *testing.T) {
	t.Parallel()
	down := faulty.Outage("Register")
	s := open(func(op string, n int) faulty.Fault {
		if op == "Register" && n == 2 {
			return faulty.Fault{Fail: down}
		}
		return faulty.Fault{}
	})
	var got []error
	for _, name := range []string{"a", "b", "c"} {
		got = append(got, register(t.Context(), s, name))
	}
	if got[0] != nil || !errors.Is(got[1], store.ErrUnavailable) || got[2] != nil {
		t.Fatalf("got %v, want the second to fail", got)
	}
	if _, err := s.Workflow(t.Context(), "acme", "b", 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after the failure: %v, want not found", err)
	}
}

func TestALostAnswerWasCommitted(t *testing.T) {
	t.Parallel()
	s := open(func(op string, _ int) faulty.Fault {
		if op == "Register" {
			return faulty.Fault{Lose: faulty.Outage(op)}
		}
		return faulty.Fault{}
	})
	if err := register(t.Context(), s, "a"); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got %v, want an outage", err)
	}
	if _, err := s.Workflow(t.Context(), "acme", "a", 0); err != nil {
		t.Errorf("after the lost answer: %v", err)
	}
}

// C1
func TestAnOrderWhoseAnswerWasLostMayBeRepeated(t *testing.T) {
	t.Parallel()
	s := open(func(op string, n int) faulty.Fault {
		if (op == "Pause" || op == "Unpause") && n == 1 {
			return faulty.Fault{Lose: faulty.Outage(op)}
		}
		return faulty.Fault{}
	})
	ctx := t.Context()
	p := store.Pause{Tenant: "acme", Kind: store.PauseQueue, Name: "mail", By: "ann"}
	if _, err := s.Pause(ctx, p); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got %v, want an outage", err)
	}
	if changed, err := s.Pause(ctx, p); changed || err != nil {
		t.Errorf("the repeat: %t, %v, want no change", changed, err)
	}
	if _, err := s.Unpause(ctx, p.Tenant, p.Kind, p.Name); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got %v, want an outage", err)
	}
	if changed, err := s.Unpause(ctx, p.Tenant, p.Kind, p.Name); changed || err != nil {
		t.Errorf("the repeat: %t, %v, want no change", changed, err)
	}
	if all, err := s.Pauses(ctx, p.Tenant); len(all) != 0 || err != nil {
		t.Errorf("in the end: %v, %v, want no pause", all, err)
	}
}

func TestADelayComesBeforeTheCallAndMayEndIt(t *testing.T) {
	t.Parallel()
	cause := errors.New("gave up waiting")
	var s *faulty.Store
	s = open(func(op string, n int) faulty.Fault {
		if op != "Register" {
			return faulty.Fault{}
		}
		return faulty.Fault{Wait: func(ctx context.Context) error {
			if _, err := s.Workflow(ctx, "acme", "a", 0); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("while waiting: %v, want not found", err)
			}
			if n == 1 {
				return cause
			}
			return nil
		}}
	})
	if err := register(t.Context(), s, "a"); !errors.Is(err, cause) {
		t.Fatalf("got %v, want the error of waiting", err)
	}
	if err := register(t.Context(), s, "a"); err != nil {
		t.Fatal(err)
	}
}

func TestEveryMethodIsUnderThePlan(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	var asked []string
	s := open(func(op string, _ int) faulty.Fault {
		asked = append(asked, op)
		return faulty.Fault{Fail: down}
	})
	v := reflect.ValueOf(s)
	var want []string
	for method := range reflect.TypeFor[store.Store]().Methods() {
		if method.Name == "Close" {
			continue
		}
		want = append(want, method.Name)
		call := v.MethodByName(method.Name)
		args := make([]reflect.Value, call.Type().NumIn())
		for i := range args {
			args[i] = reflect.Zero(call.Type().In(i))
		}
		args[0] = reflect.ValueOf(t.Context())
		out := call.Call(args)
		if err, ok := out[len(out)-1].Interface().(error); !ok || !errors.Is(err, down) {
			t.Errorf("%s: %v, want the planned error", method.Name, err)
		}
		for _, answer := range out[:len(out)-1] {
			if !answer.IsZero() {
				t.Errorf("%s gave an answer beside its error", method.Name)
			}
		}
	}
	slices.Sort(asked)
	slices.Sort(want)
	if !slices.Equal(asked, want) {
		t.Errorf("the plan was asked for %v, want %v", asked, want)
	}
}

func TestCallsAreCountedEachByName(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var numbers []int
	s := open(func(op string, n int) faulty.Fault {
		if op == "Clock" {
			mu.Lock()
			defer mu.Unlock()
			numbers = append(numbers, n)
		}
		return faulty.Fault{}
	})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			_, clock := s.Clock(t.Context())
			_, inbox := s.Inbox(t.Context(), 1)
			if err := errors.Join(clock, inbox); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if want := []int{1, 2, 3, 4, 5, 6, 7, 8}; !slices.Equal(numbers, want) {
		t.Errorf("numbers %v, want %v", numbers, want)
	}
	if s.Calls("Clock") != 8 || s.Calls("Inbox") != 8 || s.Calls("Settle") != 0 {
		t.Errorf("calls: %d, %d, %d", s.Calls("Clock"), s.Calls("Inbox"), s.Calls("Settle"))
	}
}

func TestAPlanCanBeReplaced(t *testing.T) {
	t.Parallel()
	s := open(func(string, int) faulty.Fault { return faulty.Fault{Fail: faulty.Outage("Renew")} })
	if _, err := s.Renew(t.Context(), nil, time.Second); err == nil {
		t.Fatal("the first plan did not hold")
	}
	s.Replan(nil)
	if _, err := s.Renew(t.Context(), nil, time.Second); err != nil {
		t.Fatal(err)
	}
}
