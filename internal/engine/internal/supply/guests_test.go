package supply_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/engine/internal/supply"
	"github.com/millrace-go/millrace/store"
)

// crowded gives two tenants whose lanes may have work, and 16 slots.
func crowded() (*supply.Slots, *supply.Lanes) {
	s := supply.NewSlots(16, nil)
	return s, known(s, store.Lane{Tenant: "a"}, store.Lane{Tenant: "b"})
}

// take has attempts of a tenant begin.
func take(s *supply.Slots, l *supply.Lanes, tenant string, n int) {
	for range n {
		s.Occupy("")
		l.Begin(tenant)
	}
}

// Q3
func TestTheLastSlotIsForAGuest(t *testing.T) {
	t.Parallel()
	s, l := crowded()
	take(s, l, "a", 15)
	if l.Seats(s, "a", 0) || !l.Seats(s, "b", 0) {
		t.Error("a, who has 15 slots, gets the last; or b, who has none, does not")
	}
	got, r := l.Share(s, true)
	if diff := cmp.Diff(map[int64]int{2: 1}, limits(got)); diff != "" || r.Total != 1 {
		t.Error(diff)
	}
	s.Reserve(r)
	if again, _ := l.Share(s, false); len(again) != 0 {
		t.Errorf("there is no slot, and %v is asked for", again)
	}
	s.GiveBack(r)
	l.Return(got)
	take(s, l, "b", 1)
	s.Leave("")
	l.End("a")
	if again, _ := l.Share(s, false); len(again) != 0 {
		t.Errorf("nobody is a guest, and the last slot goes to %v", again)
	}
}

// Q3
func TestAFewGuestsAreClaimedForApart(t *testing.T) {
	t.Parallel()
	s, l := crowded()
	take(s, l, "a", 1)
	first, r := l.Share(s, false)
	if diff := cmp.Diff(map[int64]int{2: 1}, limits(first)); diff != "" {
		t.Errorf("first: %s", diff)
	}
	s.Reserve(r)
	second, _ := l.Share(s, false)
	if diff := cmp.Diff(map[int64]int{1: 7, 2: 6}, limits(second)); diff != "" {
		t.Errorf("then: %s", diff)
	}
}

func TestOneTenantAloneHasAllSlots(t *testing.T) {
	t.Parallel()
	s := supply.NewSlots(16, nil)
	l := known(s, store.Lane{Tenant: "a", Workflow: "x"}, store.Lane{Tenant: "a", Workflow: "y"})
	for _, begun := range []int{0, 3} {
		take(s, l, "a", begun)
		got, r := l.Share(s, false)
		if free := s.Free(); r.Total != free {
			t.Errorf("%d slots are free, %v is asked for", free, got)
		}
		l.Return(got)
	}
}

// Q3
func TestATaskOfAGuestHasNobodyBeforeIt(t *testing.T) {
	t.Parallel()
	s, l := crowded()
	got, _ := l.Share(s, false)
	l.Return(got)
	l.Emptied(store.Claim{Lanes: []store.LaneLimit{{Lane: 2, Limit: 1}}}, nil, time.Time{})
	if !l.Waits("", "b") {
		t.Error("a is a guest too and waits")
	}
	take(s, l, "a", 1)
	if l.Waits("", "b") || !l.Waits("", "a") {
		t.Error("b is the only guest")
	}
	take(s, l, "b", 1)
	if !l.Waits("", "b") {
		t.Error("b is no guest any more")
	}
}

// Q3
func TestOnlyWhoHasNothingAboardNeedNotWaitForSettlers(t *testing.T) {
	t.Parallel()
	began := time.Unix(0, 0)
	a := supply.Aboard{Settlers: 1}
	if a.Seats("b", began) {
		t.Error("there is a settler who is free")
	}
	a.Enter("a")
	a.Begin(false)
	if a.Seats("a", began) || !a.Seats("b", began) {
		t.Error("a is aboard, b is not")
	}
	a.Enter("b")
	a.Begin(true)
	if a.Seats("c", began) {
		t.Error("a settlement of guests is in flight")
	}
	over := began.Add(time.Millisecond)
	a.End(true, began, over)
	a.Leave("b")
	if a.Seats("b", over) || !a.Seats("b", over.Add(4*time.Millisecond)) {
		t.Error("the next one is not put off for four times as long as it took")
	}
}

// Q3: settlers wait for more, but not while somebody waits of whom there is no more.
func TestWhoHasOneAttemptBesideThoseOfOthersNeedNotWaitForSettlers(t *testing.T) {
	t.Parallel()
	began := time.Unix(0, 0)
	a := supply.Aboard{Settlers: 2}
	a.Hold("b")
	if a.Seats("b", began) {
		t.Error("there is nobody else")
	}
	for range 3 {
		a.Hold("a")
	}
	if !a.Seats("b", began) || a.Seats("a", began) {
		t.Error("b has one attempt, a has three")
	}
	a.Hold("b")
	if a.Seats("b", began) {
		t.Error("there is more of b")
	}
	a.Release("b")
	a.Enter("b")
	if a.Seats("b", began) {
		t.Error("b is aboard")
	}
}
