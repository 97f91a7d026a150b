package supply_test

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/supply"
	"github.com/millrace-go/millrace/store"
)

const ms = time.Millisecond

// gossip is a process that knows one lane, in which nothing is, and hears hints of it.
type gossip struct {
	*supply.Lanes
	slots *supply.Slots
	lane  store.Lane
	now   time.Time
}

func newGossip(slots int) *gossip {
	g := &gossip{slots: supply.NewSlots(slots, nil), lane: store.Lane{Tenant: "a", Handler: "work"}, now: time.Unix(0, 0)}
	g.Lanes = known(g.slots, g.lane)
	g.claim(0, 0)
	return g
}

// told hears a hint and gives the time until the lane is asked.
func (g *gossip) told() time.Duration {
	g.Told(g.lane, g.now, g.slots.Free() == 0)
	if g.Waiting("") {
		return 0
	}
	return g.Wait(g.now, 0, false)
}

// claim asks the lane after a while, and finds so many tasks. It says whether the lane was asked.
func (g *gossip) claim(after time.Duration, found int) bool {
	g.now = g.now.Add(after)
	if g.Look(g.now, 0, false) {
		g.Took(nil)
	}
	asked, _ := g.Share(g.slots, false)
	got := make([]store.Claimed, found)
	for i := range got {
		got[i].Lane.ID = 1
	}
	g.Return(asked)
	g.Emptied(store.Claim{Lanes: asked}, got, g.now)
	return len(asked) > 0
}

func TestWhoeverIsTooLateAgainAndAgainFollowsHintsLaterAndLater(t *testing.T) {
	t.Parallel()
	for range 50 {
		g := newGossip(8)
		for i, c := range []struct {
			after       time.Duration // the hint comes, after the claim before
			least, most time.Duration // the lane is asked, after the claim before
			found       int
		}{
			{0, 0, 0, 0},
			{ms, 5 * ms, 10 * ms, 0},
			{ms, 10 * ms, 20 * ms, 0},
			{0, 20 * ms, 40 * ms, 0},
			{30 * ms, 40 * ms, 80 * ms, 0},
			{ms, 40 * ms, 80 * ms, 0},
			{81 * ms, 81 * ms, 81 * ms, 0}, // there was nothing for long
			{ms, 40 * ms, 80 * ms, 1},
			{ms, ms, ms, 1},
			{0, 0, 0, 0},
			{ms, 20 * ms, 40 * ms, 1}, // others are still faster most of the time
			{ms, ms, ms, 1},
			{ms, ms, ms, 1},
			{ms, ms, ms, 0},
			{ms, 5 * ms, 10 * ms, 0},
		} {
			g.now = g.now.Add(c.after)
			wait := g.told()
			if at := c.after + wait; at < c.least || at > c.most {
				t.Errorf("hint %d is followed %s after the last claim, want %s to %s", i+1, at, c.least, c.most)
			}
			if wait > 0 && g.claim(wait-1, 0) {
				t.Errorf("hint %d is followed before", i+1)
			}
			if !g.claim(min(1, wait), c.found) {
				t.Errorf("hint %d is not followed", i+1)
			}
		}
	}
}

func TestHintsBeforeTheLaneIsAskedAreOne(t *testing.T) {
	t.Parallel()
	g := newGossip(8)
	g.told()
	g.claim(0, 0)
	if !g.Told(g.lane, g.now, false) || g.Told(g.lane, g.now, false) {
		t.Error("the second of two hints is news")
	}
	if !g.claim(10*ms, 0) || g.claim(100*ms, 0) {
		t.Error("the two are not followed by one claim")
	}
}

// Q2
func TestWhoHasLessInHandComesFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mine, others int
		want         time.Duration
	}{{0, 8, 0}, {1, 0, ms / 2}, {4, 4, 2 * ms}, {8, 0, 4 * ms}, {15, 0, 4 * ms}, {16, 0, 0}} {
		g := newGossip(16)
		take(g.slots, g.Lanes, "a", c.mine)
		take(g.slots, g.Lanes, "b", c.others)
		if wait := g.told(); wait != c.want {
			t.Errorf("with %d of the tenant and %d others the wait is %s, want %s", c.mine, c.others, wait, c.want)
		}
	}
}

func TestWhatIsKnownWithoutAHintIsAskedAtOnce(t *testing.T) {
	t.Parallel()
	for name, learns := range map[string]func(g *gossip){
		"a task became ready here": func(g *gossip) { g.Expect(g.lane) },
		"a reading lists it":       func(g *gossip) { g.Took([]store.Lane{{ID: 1, Tenant: "a", Handler: "work"}}) },
		"no slot is free": func(g *gossip) {
			take(g.slots, g.Lanes, "b", 8)
			g.told()
			for range 8 {
				g.slots.Leave("")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGossip(8)
			if g.told() > 0 || !g.claim(0, 0) || g.told() == 0 {
				t.Fatal("the second hint is followed at once")
			}
			learns(g)
			if !g.claim(0, 0) {
				t.Error("it is not asked")
			}
		})
	}
}
