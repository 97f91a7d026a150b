package supply_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/engine/internal/supply"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

func known(lanes ...store.Lane) *supply.Lanes {
	l := supply.NewLanes(func(handler string) bool { return handler == "work" })
	for i := range lanes {
		lanes[i].ID = int64(i + 1)
		if lanes[i].Handler == "" {
			lanes[i].Handler = "work"
		}
	}
	r, _ := l.Look(time.Unix(0, 0), 0)
	l.Took(r, lanes, time.Unix(0, 0))
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
			got, r := known(c.lanes...).Share(supply.NewSlots(c.total, c.queues))
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

func TestEmptyLaneIsForgottenUntilAHintOrAPoll(t *testing.T) {
	t.Parallel()
	for name, recall := range map[string]func(l *supply.Lanes) time.Duration{
		"hint": func(l *supply.Lanes) time.Duration { l.Hint(); return 0 },
		"poll": func(*supply.Lanes) time.Duration { return supply.Poll },
		"a delayed task came due": func(l *supply.Lanes) time.Duration {
			l.Foresee(50)
			return 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := known(store.Lane{Tenant: "a"})
			s := supply.NewSlots(2, nil)
			asked, _ := l.Share(s)
			l.Emptied(asked, make([]store.Claimed, 1))
			if again, _ := l.Share(s); len(again) != 0 {
				t.Errorf("it is asked again: %v", again)
			}
			now := time.Unix(0, 0).Add(recall(l))
			l.Look(now, machine.Time(100))
			if again, _ := l.Share(s); len(again) != 1 {
				t.Error("it is not asked again")
			}
		})
	}
}

func TestWalkGoesPageByPageAndBeginsAnew(t *testing.T) {
	t.Parallel()
	l := supply.NewLanes(func(string) bool { return true })
	page := make([]store.Lane, supply.Page)
	for i := range page {
		page[i].ID = int64(i + 1)
	}
	now := time.Unix(0, 0)
	r, ok := l.Look(now, 0)
	if !ok || r.After != 0 {
		t.Fatalf("the first reading is %+v, %v", r, ok)
	}
	l.Took(r, page, now)
	if _, ok := l.Look(now, 0); ok {
		t.Error("it reads on at once without a hint")
	}
	l.Hint()
	r, ok = l.Look(now, 0)
	if !ok || r.After != supply.Page {
		t.Errorf("after a hint it reads %+v, %v", r, ok)
	}
	l.Missed(r)
	if r, ok = l.Look(now, 0); !ok {
		t.Error("the hint is forgotten although the reading failed")
	}
	l.Took(r, nil, now)
	now = now.Add(time.Minute)
	if r, _ = l.Look(now, 0); r.After != supply.Page {
		t.Errorf("the walk goes on after %d", r.After)
	}
	l.Took(r, nil, now)
	now = now.Add(time.Minute)
	if r, _ = l.Look(now, 0); r.After != 0 {
		t.Errorf("the walk does not begin anew, but after %d", r.After)
	}
}

// Q2: empty lanes that come round in step with each other must not keep a lane with work from being asked for ever.
func TestEveryLaneIsAskedInTheLongRun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		lanes := make([]store.Lane, 2+r.IntN(10))
		for i := range lanes {
			lanes[i] = store.Lane{
				Tenant: string(rune('a' + r.IntN(3))), Workflow: string(rune('x' + r.IntN(3))), Queue: []string{"default", "other"}[r.IntN(2)],
			}
		}
		l := known(lanes...)
		s := supply.NewSlots(1+r.IntN(3), map[string]int{"other": 1})
		asked := map[int64]int{}
		for second := range int64(200) {
			_, _ = l.Look(time.Unix(second+1, 0), 0)
			got, _ := l.Share(s)
			for _, x := range got {
				asked[x.Lane]++
			}
			l.Emptied(got, nil)
		}
		for i := range lanes {
			if asked[lanes[i].ID] == 0 {
				t.Errorf("seed %d: lane %d of %+v was never asked: %v", seed, i+1, lanes, asked)
				break
			}
		}
	}
}
