package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/clock"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func fired(t *clock.Timer) (time.Time, bool) {
	select {
	case at := <-t.C:
		return at, true
	default:
		return time.Time{}, false
	}
}

func TestVirtualStandsStillUntilMoved(t *testing.T) {
	t.Parallel()
	v := clock.NewVirtual(start)
	timer := v.NewTimer(time.Second)
	if _, ok := fired(timer); ok {
		t.Error("a timer fired while the clock stood still")
	}
	v.Advance(time.Second - 1)
	if _, ok := fired(timer); ok {
		t.Error("a timer fired early")
	}
	v.Advance(1)
	if at, ok := fired(timer); !ok || !at.Equal(start.Add(time.Second)) {
		t.Errorf("a timer due now gave %v, %v", at, ok)
	}
	v.Advance(-time.Hour)
	if got := v.Now(); !got.Equal(start.Add(time.Second)) {
		t.Errorf("the clock went back to %v", got)
	}
}

func TestVirtualFiresEachTimerAtItsOwnTime(t *testing.T) {
	t.Parallel()
	v := clock.NewVirtual(start)
	delays := []time.Duration{3 * time.Second, time.Second, 2 * time.Second, 0, -time.Second, time.Hour}
	timers := make([]*clock.Timer, len(delays))
	for i, d := range delays {
		timers[i] = v.NewTimer(d)
	}
	v.Advance(time.Minute)
	var got []time.Duration
	for _, timer := range timers {
		at, ok := fired(timer)
		if !ok {
			got = append(got, -1)
			continue
		}
		got = append(got, at.Sub(start))
	}
	want := []time.Duration{3 * time.Second, time.Second, 2 * time.Second, 0, 0, -1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("times at which the timers fired (-want +got):\n%s", diff)
	}
	if next, ok := v.Next(); !ok || !next.Equal(start.Add(time.Hour)) {
		t.Errorf("the next timer is due at %v, %v", next, ok)
	}
}

func TestAStoppedTimerNeverFires(t *testing.T) {
	t.Parallel()
	v := clock.NewVirtual(start)
	var timers []*clock.Timer
	for d := range 9 {
		timers = append(timers, v.NewTimer(time.Duration(9-d)*time.Second))
	}
	for i := 0; i < len(timers); i += 2 {
		if !timers[i].Stop() {
			t.Errorf("timer %d was not stopped", i)
		}
		if timers[i].Stop() {
			t.Errorf("timer %d was stopped twice", i)
		}
	}
	v.Advance(time.Minute)
	for i, timer := range timers {
		if _, ok := fired(timer); ok != (i%2 == 1) {
			t.Errorf("timer %d fired: %v", i, ok)
		}
		if timer.Stop() {
			t.Errorf("timer %d was stopped after its time", i)
		}
	}
	if n := v.Waiting(); n != 0 {
		t.Errorf("%d timers are left", n)
	}
	if _, ok := v.Next(); ok {
		t.Error("a clock without timers names a next one")
	}
}

func TestSleepEndsWithTheTimeOrTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := clock.Sleep(t.Context(), clock.Real{}, time.Minute); err != nil {
			t.Errorf("sleep gave %v", err)
		}
		if d := (clock.Real{}).Now().Sub(began); d != time.Minute {
			t.Errorf("slept for %v", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := clock.Sleep(ctx, clock.Real{}, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a sleep beyond the deadline gave %v", err)
		}
		if err := clock.Sleep(ctx, clock.Real{}, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an empty sleep after the deadline gave %v", err)
		}
		if err := clock.Sleep(t.Context(), clock.Real{}, -1); err != nil {
			t.Errorf("an empty sleep gave %v", err)
		}
	})
}

func TestSleepOnAVirtualClockWaitsForItToBeMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := clock.NewVirtual(start)
		done := make(chan error, 1)
		go func() { done <- clock.Sleep(t.Context(), v, time.Second) }()
		synctest.Wait()
		if v.Waiting() != 1 {
			t.Fatalf("%d timers wait, not one", v.Waiting())
		}
		v.Advance(time.Second)
		if err := <-done; err != nil {
			t.Errorf("sleep gave %v", err)
		}
	})
}
