package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of pauses hold C3 as far as a supply is concerned.
var pauseTrials = []trial{
	{name: "each kind covers its lanes, also those made later, and no others", hold: pauseCovers},
	{name: "a lane is paused while any pause covers it", hold: pauseAny},
	{name: "neither a start nor a settlement hands over what is paused", hold: pauseHands},
	{name: "what is held goes on", hold: pauseHeld},
	{name: "the first pause stands, with who and why, in the store's time", hold: pauseFirst},
	{name: "what is no pause is refused", hold: pauseRefused},
	{name: "pauses survive reopening", hold: pauseReopens, need: reopens},
	{name: "another handle heeds them", hold: pauseSecond, need: func(h Harness) bool { return h.Second != nil }},
	{name: "the end of a pause wakes who watches", hold: pauseWakes},
	{name: "no claim that comes after a pause finds anything", hold: pauseRace},
}

// supply starts one task in each of four lanes, named by queue and workflow, under paths that end with suffix.
func (f *fixture) supply(suffix string) {
	f.Helper()
	for _, name := range []string{workflow, "other"} {
		r := f.newRun(tenant, "")
		r.Workflow = name
		out, err := f.s.Start(f.ctx, []store.Start{f.start(r, task("main-"+name+suffix), task("side-"+name+suffix, from("side")))})
		f.must(err)
		f.must(out[0].Err)
	}
}

// takeAll claims everything there is, of all lanes.
func (f *fixture) takeAll() []string {
	f.Helper()
	lanes, err := f.s.Lanes(f.ctx, 0, many)
	f.must(err)
	c := store.Claim{Owner: owner, Token: f.token(), Lease: lease, Limit: many}
	found := map[string]bool{}
	for _, l := range lanes {
		c.Lanes = append(c.Lanes, store.LaneLimit{Lane: l.ID, Limit: many})
	}
	for _, got := range f.claim(c) {
		found[got.Path] = true
	}
	return marked(found)
}

// C3
func pauseCovers(f *fixture) {
	f.register(tenant, "other")
	tests := []struct {
		pause store.Pause
		free  []string
	}{
		{store.Pause{Tenant: tenant, Kind: store.PauseWorkflow, Name: "other"}, []string{"main-flow", "side-flow"}},
		{store.Pause{Tenant: tenant, Kind: store.PauseQueue, Name: "side"}, []string{"main-flow", "main-other"}},
		{store.Pause{Tenant: tenant, Kind: store.PauseTenant}, nil},
		{store.Pause{Tenant: tenant, Kind: store.PauseQueue, Name: "other"}, []string{"main-flow", "main-other", "side-flow", "side-other"}},
		{store.Pause{Tenant: stranger, Kind: store.PauseTenant}, []string{"main-flow", "main-other", "side-flow", "side-other"}},
	}
	all := tests[3].free
	for round := range 2 { // in the first, the lanes are made by the first case, under its pause
		for i, test := range tests {
			name := fmt.Sprintf("%s %q in round %d", test.pause.Kind, test.pause.Name, round)
			suffix := fmt.Sprintf("-%d-%d", round, i)
			f.pause(test.pause)
			f.supply(suffix)
			free := f.takeAll()
			f.equal(name, free, with(suffix, test.free))
			changed, err := f.s.Unpause(f.ctx, test.pause.Tenant, test.pause.Kind, test.pause.Name)
			f.must(err)
			f.equal(name+": ended", changed, true)
			f.equal(name+": the rest", len(free)+len(f.takeAll()), len(all))
		}
	}
	lanes, err := f.s.Lanes(f.ctx, 0, many)
	f.must(err)
	for _, l := range lanes {
		f.equal("flag", l.Paused, false)
	}
}

func with(suffix string, names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, name+suffix)
	}
	return out
}

// C3
func pauseAny(f *fixture) {
	r := f.begin(task("a"))
	pauses := []store.Pause{
		{Tenant: tenant, Kind: store.PauseTenant},
		{Tenant: tenant, Kind: store.PauseQueue, Name: queue},
		{Tenant: tenant, Kind: store.PauseWorkflow, Name: workflow},
	}
	for _, p := range pauses {
		f.pause(p)
	}
	f.pause(store.Pause{Tenant: tenant, Kind: store.PauseQueue, Name: "another"})
	f.pause(store.Pause{Tenant: stranger, Kind: store.PauseTenant})
	for _, p := range pauses {
		f.equal("flag", f.lane(tenant, handler).Paused, true)
		f.equal("claimed", len(f.take()), 0)
		f.equal("claimed by run", f.ofRun(r, handler), []string{})
		f.unpause(p.Kind, p.Name)
	}
	f.equal("flag", f.lane(tenant, handler).Paused, false)
	f.equal("claimed", paths(f.take()), []string{"a"})
	changed, err := f.s.Unpause(f.ctx, tenant, store.PauseTenant, "")
	f.must(err)
	f.equal("ended twice", changed, false)
}

// C3
func pauseHands(f *fixture) {
	f.pause(store.Pause{Tenant: tenant, Kind: store.PauseQueue, Name: queue})
	st := f.start(f.newRun(tenant, ""), task("a"), task("b", from("side")))
	st.Hand = hand(f.token(), 9, handler)
	out, err := f.s.Start(f.ctx, []store.Start{st})
	f.must(err)
	f.equal("at the start, in new lanes", paths(out[0].Handed), []string{"b"})
	r := &run{Run: st.Run.Saved(), version: 1}
	next := f.next(r, task("c"), task("d", from("side")))
	next.Hand = hand(f.token(), 9, handler)
	f.equal("later", paths(f.win(r, next).Handed), []string{"d"})
	f.unpause(store.PauseQueue, queue)
	next = f.next(r, task("e"))
	next.Hand = hand(f.token(), 9, handler)
	f.equal("after the pause", paths(f.win(r, next).Handed), []string{"e"})
	f.equal("left", f.takeAll(), []string{"a", "c"})
}

// C3
func pauseHeld(f *fixture) {
	now := f.now()
	r := f.begin(task("a"), machine.SetTimer{Key: "t", Due: now})
	got := f.takeOne()
	f.pause(store.Pause{Tenant: tenant, Kind: store.PauseTenant})
	f.equal("renewed", f.renew(lease, got)[0], store.Renewed{Held: held(got)})
	f.tell(r, "m")
	f.equal("told", messageIDs(f.inbox()), []string{"m"})
	timers, _, err := f.s.Due(f.ctx, 9)
	f.must(err)
	f.equal("timers", len(timers), 1)
	st := f.next(r, task("b"))
	st.Guards = []store.Guard{{Path: "a", Token: got.Token, Remove: true}}
	f.win(r, st)
	f.equal("what it led to", f.standing(r), map[string]store.TaskState{"b": store.Ready})
	f.equal("is not claimed", len(f.take()), 0)
}

// C1
func pauseFirst(f *fixture) {
	p := store.Pause{Tenant: tenant, Kind: store.PauseQueue, Name: "q \"é\"", By: "ann", Reason: "repair", At: 17}
	before := f.now()
	f.pause(p)
	second := p
	second.By, second.Reason = "bob", "another"
	changed, err := f.s.Pause(f.ctx, second)
	f.must(err)
	f.equal("changed", changed, false)
	f.pause(store.Pause{Tenant: tenant, Kind: store.PauseWorkflow, Name: "w"})
	f.pause(store.Pause{Tenant: tenant, Kind: store.PauseTenant})
	f.pause(store.Pause{Tenant: tenant, Kind: store.PauseQueue, Name: "a"})
	f.pause(store.Pause{Tenant: stranger, Kind: store.PauseTenant})
	got, err := f.s.Pauses(f.ctx, tenant)
	f.must(err)
	for i := range got {
		if at := got[i].At; at < before || at > f.now().Add(time.Second) {
			f.Fatalf("pause %d was set at %d, between %d and %d", i, at, before, f.now())
		}
		got[i].At = 17
	}
	f.equal("pauses", got, []store.Pause{
		{Tenant: tenant, Kind: store.PauseQueue, Name: "a", At: 17},
		p,
		{Tenant: tenant, Kind: store.PauseTenant, At: 17},
		{Tenant: tenant, Kind: store.PauseWorkflow, Name: "w", At: 17},
	})
}

func pauseRefused(f *fixture) {
	for _, p := range []store.Pause{
		{Tenant: tenant, Kind: "lane", Name: "x"},
		{Tenant: tenant},
		{Tenant: tenant, Kind: store.PauseTenant, Name: "x"},
		{Tenant: tenant, Kind: store.PauseQueue, Name: "a\x00"},
		{Tenant: tenant, Kind: store.PauseQueue, Name: "a", Reason: "\xff"},
	} {
		if changed, err := f.s.Pause(f.ctx, p); changed || !errors.Is(err, store.ErrRefused) {
			f.Fatalf("%+v: %t, %v, want a refusal", p, changed, err)
		}
	}
	got, err := f.s.Pauses(f.ctx, tenant)
	f.must(err)
	f.equal("pauses", len(got), 0)
}

// C3
func pauseReopens(f *fixture) {
	f.begin(task("a"))
	f.pause(store.Pause{Tenant: tenant, Kind: store.PauseQueue, Name: queue, By: "ann"})
	before, err := f.s.Pauses(f.ctx, tenant)
	f.must(err)
	f.s = f.Reopen(f.T)
	after, err := f.s.Pauses(f.ctx, tenant)
	f.must(err)
	f.equal("pauses", after, before)
	f.begin(task("b", in("fresh")))
	f.equal("claimed", f.takeAll(), []string(nil))
	f.unpause(store.PauseQueue, queue)
	f.equal("claimed", f.takeAll(), []string{"a", "b"})
}

func pauseSecond(f *fixture) {
	r := f.begin(task("a"))
	f.equal("claimed", paths(f.take()), []string{"a"}) // this handle knows the lane
	second := f.Second(f.T)
	for n := range 3 {
		changed, err := second.Pause(f.ctx, store.Pause{Tenant: tenant, Kind: store.PauseWorkflow, Name: workflow})
		f.must(err)
		f.equal("changed", changed, true)
		path := fmt.Sprint("b", n)
		st := f.next(r, task(path))
		st.Hand = hand(f.token(), 9, handler)
		f.equal("handed here", len(f.win(r, st).Handed), 0)
		f.equal("claimed here", len(f.take()), 0)
		changed, err = second.Unpause(f.ctx, tenant, store.PauseWorkflow, workflow)
		f.must(err)
		f.equal("changed", changed, true)
		f.equal("claimed here", paths(f.take()), []string{path})
	}
}

func pauseWakes(f *fixture) {
	watched := []store.Store{f.s}
	if f.Second != nil {
		watched = append(watched, f.Second(f.T))
	}
	for _, s := range watched {
		wakes := f.watch(s)
		f.wakes("unpause", wakes, func(int) {
			f.pause(store.Pause{Tenant: tenant, Kind: store.PauseQueue, Name: queue})
			select {
			case <-wakes:
			default:
			}
			f.unpause(store.PauseQueue, queue)
		})
	}
}

// C3
func pauseRace(f *fixture) {
	var effects []machine.Effect
	for n := range 200 {
		effects = append(effects, task(fmt.Sprint("t", n)))
	}
	f.begin(effects...)
	stores := []store.Store{f.s}
	if f.Second != nil {
		stores = append(stores, f.Second(f.T))
	}
	lane := f.lane(tenant, handler).ID
	var paused atomic.Bool
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for late := false; !late; {
				late = paused.Load()
				got, err := stores[i%len(stores)].Claim(f.ctx, store.Claim{
					Owner: owner, Token: int64(i + 1), Lease: lease, Limit: 1, Lanes: []store.LaneLimit{{Lane: lane, Limit: 1}},
				})
				if err != nil || late && len(got) > 0 {
					f.Errorf("claimed %v, %v", paths(got), err)
					return
				}
			}
		})
	}
	f.pause(store.Pause{Tenant: tenant, Kind: store.PauseQueue, Name: queue})
	paused.Store(true)
	group.Wait()
}
