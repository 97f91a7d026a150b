package supply_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/engine/internal/supply"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// known gives what a process knows after one reading that lists these lanes.
func known(s *supply.Slots, lanes ...store.Lane) *supply.Lanes {
	l := supply.NewLanes(func(handler string) bool { return handler == "work" }, s.Limited)
	for i := range lanes {
		lanes[i].ID = int64(i + 1)
		if lanes[i].Handler == "" {
			lanes[i].Handler = "work"
		}
	}
	l.Look(time.Unix(0, 0), 0, false)
	l.Took(lanes)
	return l
}

func limits(all []store.LaneLimit) map[int64]int {
	out := map[int64]int{}
	for _, x := range all {
		out[x.Lane] = x.Limit
	}
	return out
}

// Q1 Q2
func TestSlotsAreSharedAmongTenantsThenWorkflowsThenLanes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lanes  []store.Lane
		total  int
		queues map[string]int
		want   map[int64]int
	}{
		"one lane gets all": {[]store.Lane{{Tenant: "a"}}, 8, nil, map[int64]int{1: 8}},
		"tenants first": {
			[]store.Lane{{Tenant: "a", Workflow: "x"}, {Tenant: "a", Workflow: "y"}, {Tenant: "b", Workflow: "x"}},
			8, nil,
			map[int64]int{1: 2, 2: 2, 3: 4},
		},
		"a full queue leaves its share to others": {
			[]store.Lane{{Tenant: "a", Queue: "slow"}, {Tenant: "a", Queue: "fast"}},
			8,
			map[string]int{"slow": 2},
			map[int64]int{1: 2, 2: 6},
		},
		"handlers that nobody serves get none": {
			[]store.Lane{{Tenant: "a", Handler: "other"}, {Tenant: "a"}}, 4, nil, map[int64]int{2: 4},
		},
		"no slot": {[]store.Lane{{Tenant: "a"}}, 0, nil, map[int64]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := supply.NewSlots(c.total, c.queues)
			got, r := known(s, c.lanes...).Share(s, false)
			if diff := cmp.Diff(c.want, limits(got)); diff != "" {
				t.Error(diff)
			}
			n := 0
			for _, x := range got {
				n += x.Limit
			}
			if n != r.Total {
				t.Errorf("%d are asked for, %d are reserved", n, r.Total)
			}
		})
	}
}

func TestReservedSlotsAreNobodyElses(t *testing.T) {
	t.Parallel()
	s := supply.NewSlots(3, map[string]int{"q": 1})
	r := supply.NewReservation()
	r.Add("q")
	s.Reserve(r)
	if s.Fits(supply.NewReservation(), "q") || !s.Fits(supply.NewReservation(), "p") || s.Free() != 2 {
		t.Error("the reservation does not count")
	}
	s.GiveBack(r)
	s.Occupy("q")
	if s.Fits(supply.NewReservation(), "q") || s.Free() != 2 {
		t.Error("the slot that was taken does not count")
	}
	s.Leave("q")
	if !s.Fits(supply.NewReservation(), "q") || s.Free() != 3 {
		t.Error("the slot was not given back")
	}
}

func TestEmptyLaneIsForgottenUntilAReadingListsIt(t *testing.T) {
	t.Parallel()
	for name, recall := range map[string]func(l *supply.Lanes) time.Duration{
		"hint": func(l *supply.Lanes) time.Duration { l.Hint(); return time.Millisecond },
		"poll": func(*supply.Lanes) time.Duration { return supply.Poll },
		"a delayed task came due": func(l *supply.Lanes) time.Duration {
			l.Foresee(50)
			return time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := supply.NewSlots(2, nil)
			lane := store.Lane{ID: 1, Tenant: "a", Handler: "work"}
			l := known(s, lane)
			asked, _ := l.Share(s, false)
			l.Emptied(store.Claim{Lanes: asked}, make([]store.Claimed, 1), time.Time{})
			if again, _ := l.Share(s, false); len(again) != 0 || l.Waiting("") {
				t.Errorf("it is asked again: %v", again)
			}
			if l.Look(time.Unix(0, 0), 0, false) {
				t.Error("it is read again at once")
			}
			if !l.Look(time.Unix(0, 0).Add(recall(l)), machine.Time(100), false) {
				t.Fatal("nothing is read")
			}
			l.Took([]store.Lane{lane})
			if again, _ := l.Share(s, false); len(again) != 1 || !l.Waiting("") {
				t.Error("it is not asked again")
			}
		})
	}
}

func TestAReadingGoesPageByPageAndBeginsAnew(t *testing.T) {
	t.Parallel()
	s := supply.NewSlots(1, nil)
	l := supply.NewLanes(func(string) bool { return true }, s.Limited)
	page := make([]store.Lane, supply.Page)
	for i := range page {
		page[i] = store.Lane{ID: int64(i + 1), Queue: "early"}
	}
	late := store.Lane{ID: supply.Page + 7, Queue: "late"}
	now := time.Unix(0, 0)
	l.Look(now, 0, false)
	if l.Took(page); l.After() != supply.Page {
		t.Fatalf("after the first page it goes on after %d", l.After())
	}
	now = now.Add(20 * time.Millisecond)
	if !l.Look(now, 0, false) {
		t.Fatal("the next page is not read")
	}
	if l.Took([]store.Lane{late}); l.After() != 0 || !l.Waiting("early") || !l.Waiting("late") {
		t.Fatalf("after the last page it goes on after %d", l.After())
	}
	if l.Look(now.Add(20*time.Millisecond), 0, false) {
		t.Error("it reads on without a hint")
	}
	l.Look(now.Add(supply.Poll), 0, false)
	l.Took(nil)
	if l.Waiting("early") || l.Waiting("late") {
		t.Error("what a reading did not list may have work all the same")
	}
	late.Paused = true
	if l.Took([]store.Lane{late}); l.Waiting("late") {
		t.Error("a paused lane may have work")
	}
}

func TestATaskThatBecameReadyHereNeedsNoReading(t *testing.T) {
	t.Parallel()
	s := supply.NewSlots(1, nil)
	l := known(s, store.Lane{Tenant: "a", Queue: "q"})
	l.Took(nil)
	l.Expect(store.Lane{Tenant: "a", Queue: "q", Handler: "work"})
	if !l.Waiting("q") || l.Look(time.Unix(0, int64(time.Millisecond)), 0, false) {
		t.Error("a lane that was seen before must be read again")
	}
	l.Expect(store.Lane{Tenant: "b", Queue: "q", Handler: "work"})
	if !l.Look(time.Unix(0, int64(time.Millisecond)), 0, false) {
		t.Error("a lane that nobody has seen is not read")
	}
}

func TestFloodsOfHintsDoNotBecomeFloodsOfReadings(t *testing.T) {
	t.Parallel()
	s := supply.NewSlots(1, nil)
	l := known(s, make([]store.Lane, 900)...)
	now := time.Unix(0, 0)
	for _, c := range []struct {
		after time.Duration
		full  bool
		want  bool
	}{
		{time.Millisecond, false, false}, // reading 900 lanes has its price
		{18 * time.Millisecond, false, true},
		{19 * time.Millisecond, true, false}, // nobody could take anything
		{20 * time.Millisecond, true, true},
	} {
		l.Hint()
		if got := l.Look(now.Add(c.after), 0, c.full); got != c.want {
			t.Errorf("%s later, full %t: it reads: %t", c.after, c.full, got)
		}
		if c.want {
			now = now.Add(c.after)
		}
	}
}

// Q2: lanes that come round in step with each other must not keep one with work from being asked for ever, nor must those of
// a queue with a limit, whatever else their tenants have.
func TestEveryLaneIsAskedInTheLongRun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		lanes := make([]store.Lane, 2+r.IntN(10))
		for i := range lanes {
			lanes[i] = store.Lane{
				Tenant: string(rune('a' + r.IntN(3))), Workflow: string(rune('x' + r.IntN(3))),
				Queue: []string{"default", "third", "other"}[r.IntN(3)], Handler: "work",
			}
		}
		s := supply.NewSlots(1+r.IntN(3), map[string]int{"other": 1})
		l := known(s, lanes...)
		asked := map[int64]int{}
		for range 200 {
			l.Took(lanes)
			got, _ := l.Share(s, false)
			for _, x := range got {
				asked[x.Lane]++
			}
			if r.IntN(2) == 0 {
				l.Emptied(store.Claim{Lanes: got}, nil, time.Time{})
			}
		}
		for i := range lanes {
			if asked[lanes[i].ID] == 0 {
				t.Errorf("seed %d: lane %d of %+v was never asked: %v", seed, i+1, lanes, asked)
				break
			}
		}
	}
}

// many gives lanes of so many tenants, each with work.
func many(n int) []store.Lane {
	lanes := make([]store.Lane, n)
	for i := range lanes {
		lanes[i] = store.Lane{Tenant: fmt.Sprintf("t%05d", i)}
	}
	return lanes
}

// Q3: also with 10,000 tenants that all have long lines.
func TestWhoComesWithOneTaskIsServedFirst(t *testing.T) {
	t.Parallel()
	s := supply.NewSlots(1, nil)
	lanes := many(10_000)
	l := known(s, lanes...) // longer than a page: the next goes on behind them
	for range 20_000 {
		l.Share(s, false)
	}
	guest := store.Lane{ID: 20_000, Tenant: "guest", Handler: "work"}
	for round := range 3 {
		l.Took([]store.Lane{guest}) // of a page behind theirs
		if got, _ := l.Share(s, false); len(got) != 1 || got[0].Lane != guest.ID {
			t.Errorf("round %d: %v is served instead", round, got)
		}
		l.Emptied(store.Claim{Lanes: []store.LaneLimit{{Lane: guest.ID, Limit: 1}}}, nil, time.Time{})
		for range 10_000 {
			l.Share(s, false)
		}
	}
}

// Q2: one that comes again and again is not served before those who wait.
func TestNobodyWhoWaitsIsPassedOverTwice(t *testing.T) {
	t.Parallel()
	s := supply.NewSlots(1, nil)
	lanes := many(50)
	l := known(s, lanes...)
	served := map[int64]int{}
	for range 500 {
		l.Took(lanes)
		got, _ := l.Share(s, false)
		served[got[0].Lane]++
		if got[0].Lane%2 == 0 { // it is empty for now, and comes again at once
			l.Emptied(store.Claim{Lanes: got}, nil, time.Time{})
		}
	}
	for _, x := range lanes {
		if served[x.ID] != 10 {
			t.Errorf("lane %d was served %d times of 500 among 50", x.ID, served[x.ID])
		}
	}
}

// Q1 Q2
func TestATenantWithoutASlotIsSeenToStarve(t *testing.T) {
	t.Parallel()
	s := supply.NewSlots(4, map[string]int{"slow": 1})
	l := known(s, store.Lane{Tenant: "a"}, store.Lane{Tenant: "b", Queue: "slow"})
	if !l.Starves("") || !l.Starves("slow") || !l.Starves("other") {
		t.Error("nobody starves, although nobody has a slot")
	}
	l.Begin("a")
	l.Begin("a")
	l.End("a")
	if l.Starves("") || !l.Starves("slow") {
		t.Error("a has a slot, b has none")
	}
	l.End("a")
	if !l.Starves("") {
		t.Error("a has no slot any more")
	}
}

// One claim asks few lanes, and takes as much as there are slots for all the same, but for the one that is kept for guests.
func TestAClaimAsksABoundedNumberOfLanesForAllSlots(t *testing.T) {
	t.Parallel()
	s := supply.NewSlots(200, nil)
	l := known(s, many(1_000)...)
	got, r := l.Share(s, false)
	if len(got) != 64 || r.Total != 199 {
		t.Errorf("%d lanes are asked for %d tasks", len(got), r.Total)
	}
}

// What was told while a claim or a reading was under way came too late for its answer: the answer does not say that it is gone.
func TestNewsDuringACallOutliveItsAnswer(t *testing.T) {
	t.Parallel()
	lane := store.Lane{ID: 1, Tenant: "a", Handler: "work"}
	named := store.Lane{Tenant: "a", Handler: "work"}
	for name, call := range map[string]func(l *supply.Lanes, asked []store.LaneLimit, tell func()){
		"claim": func(l *supply.Lanes, asked []store.LaneLimit, tell func()) {
			tell()
			l.Emptied(store.Claim{Lanes: asked}, nil, time.Time{})
		},
		"reading": func(l *supply.Lanes, asked []store.LaneLimit, tell func()) {
			l.Emptied(store.Claim{Lanes: asked}, nil, time.Time{})
			l.Hint()
			l.Look(time.Unix(9, 0), 0, false)
			tell()
			l.Took(nil)
		},
	} {
		for news, tell := range map[string]func(l *supply.Lanes){
			"a settlement": func(l *supply.Lanes) { l.Expect(named) },
			"a reading":    func(l *supply.Lanes) { l.Took([]store.Lane{lane}) },
			"nothing":      func(*supply.Lanes) {},
		} {
			t.Run(name+", "+news, func(t *testing.T) {
				t.Parallel()
				s := supply.NewSlots(2, nil)
				l := known(s, lane)
				asked, _ := l.Share(s, false)
				call(l, asked, func() { tell(l) })
				if want := news != "nothing"; l.Waiting("") != want {
					t.Errorf("it is known: %t; want %t", !want, want)
				}
			})
		}
	}
}

// Q3: a lane that a hint names and that is not known is looked for behind all others, at once; and then among all.
func TestANewLaneIsFoundWithoutAWalkOverAllOthers(t *testing.T) {
	t.Parallel()
	s := supply.NewSlots(2, nil)
	l := known(s, many(900)...)
	now := time.Unix(0, 0)
	guest := store.Lane{Tenant: "guest", Handler: "work"}
	look := func(after int64, page ...store.Lane) {
		t.Helper()
		now = now.Add(time.Millisecond)
		if !l.Look(now, 0, false) || l.After() != after {
			t.Fatalf("after %d lanes are not read", after)
		}
		l.Took(page)
	}
	first := guest
	first.ID = 901
	l.Expect(guest)
	look(900, first)
	if now = now.Add(time.Millisecond); l.Look(now, 0, false) {
		t.Error("it was found, and the reading goes on")
	}
	other := store.Lane{Tenant: "other", Handler: "work"} // its id is low: it was there before, and empty
	l.Expect(other)
	look(901)
	now = now.Add(time.Second)
	look(0, many(900)...)
}
