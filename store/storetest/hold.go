package storetest

import (
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of holding hold C3 as far as a run's tasks are concerned.
var holdTrials = []trial{
	{name: "what nobody holds is kept from being claimed, and comes back as it was", hold: holdAndFree},
	{name: "what is due meanwhile is claimed once it is freed, not before", hold: holdDue, need: movesClock},
	{name: "a task may start on hold", hold: holdStarts},
	{name: "what is on hold in the end is not handed over", hold: holdHands},
	{name: "what is on hold is stopped, guarded and ended like what is ready", hold: holdStops},
	{name: "depths count it apart", hold: holdDepths},
	{name: "another run's tasks are left alone", hold: holdOthers},
	{name: "freeing wakes who watches", hold: holdWakes},
}

// standing gives where the tasks of a run stand, by path.
func (f *fixture) standing(r *run) map[string]store.TaskState {
	f.Helper()
	out := map[string]store.TaskState{}
	for _, t := range f.tasks(r) {
		out[t.Path] = t.State
	}
	return out
}

// ofRun claims what it can of a run, whatever the lane.
func (f *fixture) ofRun(r *run, handlers ...string) []string {
	f.Helper()
	return paths(f.claim(store.Claim{
		Owner: owner, Token: f.token(), Lease: lease, Tenant: r.Tenant, Run: r.ID, Handlers: handlers, Limit: many,
	}))
}

// C3
func holdAndFree(f *fixture) {
	now := f.now()
	r := f.begin(
		task("held"), task("b", in("other"), due(now.Add(-time.Second))), task("a", in("other"), due(now.Add(-2*time.Second))),
		task("later", in("other"), due(now.Add(time.Hour))),
	)
	held := f.takeOne()
	before := f.tasks(r)
	f.advance(r, machine.HoldTasks{})
	f.equal("on hold", f.standing(r), map[string]store.TaskState{
		"held": store.Leased, "a": store.OnHold, "b": store.OnHold, "later": store.OnHold,
	})
	f.equal("claimed", len(f.claim(f.ask(9, "other"))), 0)
	f.equal("claimed by run", f.ofRun(r, handler, "other"), []string{})
	f.equal("still held", f.renew(lease, held)[0].Lost, false)
	f.advance(r, machine.HoldTasks{}) // a repeat changes nothing
	f.advance(r, machine.FreeTasks{})
	after := f.tasks(r)
	for i := range after {
		after[i].LeaseUntil = before[i].LeaseUntil
	}
	f.equal("freed", after, before)
	f.equal("by rank", paths(f.claim(f.ask(9, "other"))), []string{"a", "b"})
	f.advance(r, machine.FreeTasks{})
	f.equal("freed again", f.standing(r)["a"], store.Leased)
}

// C3
func holdDue(f *fixture) {
	at := f.now().Add(time.Minute)
	r := f.begin(task("soon", due(at)), task("later", due(at.Add(time.Hour))), machine.HoldTasks{})
	f.Advance(2 * time.Minute)
	f.equal("while on hold", len(f.take()), 0)
	f.equal("by run", f.ofRun(r, handler), []string{})
	f.advance(r, machine.FreeTasks{})
	f.equal("state of what is due", f.standing(r), map[string]store.TaskState{"soon": store.Ready, "later": store.Delayed})
	row := f.tasks(r)[0]
	f.equal("due as before", []machine.Time{row.Due, row.ReadyAt}, []machine.Time{at.Add(time.Hour), at.Add(time.Hour)})
	f.equal("freed", paths(f.take()), []string{"soon"})
	f.Advance(time.Hour)
	f.equal("the other when it is due", paths(f.take()), []string{"later"})
}

func holdStarts(f *fixture) {
	at := f.now().Add(time.Hour)
	r := f.begin(task("a", onHold), task("later", onHold, due(at)), task("b"))
	f.equal("states", f.standing(r), map[string]store.TaskState{"a": store.OnHold, "later": store.OnHold, "b": store.Ready})
	f.equal("claimed", paths(f.take()), []string{"b"})
	f.advance(r, machine.FreeTasks{})
	f.equal("freed", f.standing(r), map[string]store.TaskState{"a": store.Ready, "later": store.Delayed, "b": store.Leased})
	f.equal("not before", f.tasks(r)[2].Due, at)
	f.equal("claimed", paths(f.take()), []string{"a"})
}

func holdHands(f *fixture) {
	r := f.begin()
	hands := func(effects ...machine.Effect) []string {
		st := f.next(r, effects...)
		st.Hand = hand(f.token(), 9, handler)
		return paths(f.win(r, st).Handed)
	}
	f.equal("on hold", hands(task("a", onHold), task("b")), []string{"b"})
	f.equal("held after it started", hands(task("c"), machine.HoldTasks{}), []string{})
	f.equal("freed after it started", hands(task("d", onHold), machine.FreeTasks{}), []string{"d"})
	f.equal("held, then freed", hands(task("e"), machine.HoldTasks{}, machine.FreeTasks{}), []string{"e"})
	f.equal("freed, then held", hands(task("f"), machine.FreeTasks{}, machine.HoldTasks{}), []string{})
	f.equal("started after a hold", hands(machine.HoldTasks{}, task("g")), []string{"g"})
	f.equal("states", f.standing(r), map[string]store.TaskState{
		"a": store.OnHold, "b": store.Leased, "c": store.OnHold, "d": store.Leased, "e": store.Leased, "f": store.OnHold,
		"g": store.Leased,
	})
	out, err := f.s.Start(f.ctx, []store.Start{func() store.Start {
		st := f.start(f.newRun(tenant, ""), task("a", onHold))
		st.Hand = hand(f.token(), 9, handler)
		return st
	}()})
	f.must(err)
	f.equal("at a start", len(out[0].Handed), 0)
}

func holdStops(f *fixture) {
	r := f.begin(task("a", onHold), task("b", onHold), task("c", onHold))
	st := f.next(r, machine.StopTask{Path: "a"})
	st.Guards = []store.Guard{{Path: "a"}, {Path: "b"}}
	f.win(r, st)
	f.equal("stopped", f.taskPaths(r), []string{"b", "c"})
	st = f.next(r, task("b", onHold, priority(3)))
	st.Guards = []store.Guard{{Path: "b", Remove: true}}
	f.win(r, st)
	f.equal("anew", f.tasks(r)[0].Priority, 3)
	st = f.next(r, machine.EndRun{Status: machine.Aborted})
	st.Run.Status = machine.Aborted
	f.win(r, st)
	f.equal("ended", len(f.tasks(r)), 0)
}

// O6
func holdDepths(f *fixture) {
	f.begin(task("a", onHold), task("b"))
	got, err := f.s.Queues(f.ctx, tenant)
	f.must(err)
	f.equal("depths", got, []store.Depth{{Lane: f.lane(tenant, handler), Ready: 1, Held: 1, Oldest: f.now()}})
}

func holdOthers(f *fixture) {
	r, other := f.begin(task("a")), f.begin(task("b"))
	f.begin(task("c", onHold))
	f.advance(r, machine.HoldTasks{})
	f.equal("the others", paths(f.take()), []string{"b"})
	f.advance(r, machine.FreeTasks{})
	f.equal("freed", paths(f.take()), []string{"a"})
	f.equal("the other run", f.standing(other), map[string]store.TaskState{"b": store.Leased})
}

func holdWakes(f *fixture) {
	r := f.begin(task("a", onHold))
	wakes := f.watch(f.s)
	f.wakes("free", wakes, func(int) { f.advance(r, machine.FreeTasks{}) })
}
