package storetest

import (
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of leases hold A7, A8 and the store's part of A6.
var leaseTrials = []trial{
	{name: "renewing prolongs from the store's now", hold: leaseRenews, need: movesClock},
	{name: "a task's own lease is what it is renewed by", hold: leaseOwn},
	{name: "renewing tells what is lost and what is to stop, in order", hold: leaseTells},
	{name: "with lease 0 it only asks", hold: leaseAsks},
	{name: "what ran out is listed, oldest first, and stays held", hold: leaseExpires, need: movesClock},
	{name: "a lease that ran out can be renewed until it is declared lost", hold: leaseRevives, need: movesClock},
	{name: "a lost attempt's token changes nothing any more", hold: leaseFences, need: movesClock},
	{name: "processes come and go", hold: leaseProcesses},
}

func held(c store.Claimed) store.Held {
	return store.Held{RunID: c.RunID, Path: c.Path, Token: c.Token}
}

func (f *fixture) renew(lease time.Duration, claimed ...store.Claimed) []store.Renewed {
	f.Helper()
	var list []store.Held
	for _, c := range claimed {
		list = append(list, held(c))
	}
	out, err := f.s.Renew(f.ctx, list, lease)
	f.must(err)
	f.equal("answers", len(out), len(list))
	return out
}

func (f *fixture) expired(limit int) []store.Live {
	f.Helper()
	out, err := f.s.Expired(f.ctx, limit)
	f.must(err)
	return out
}

// A7
func leaseRenews(f *fixture) {
	r := f.begin(task("a"))
	got := f.takeOne()
	f.Advance(20 * time.Second)
	f.equal("answer", f.renew(lease, got), []store.Renewed{{Held: held(got)}})
	f.equal("lease", f.tasks(r)[0].LeaseUntil, f.now().Add(lease))
	f.equal("claimed at", f.tasks(r)[0].ClaimedAt, f.now().Add(-20*time.Second))
	f.Advance(20 * time.Second)
	f.equal("expired", len(f.expired(9)), 0)
	f.equal("version", f.state(r).Version, r.version)
}

func leaseOwn(f *fixture) {
	r := f.begin(task("a", func(t *machine.StartTask) { t.Lease = 300_000 }))
	got := f.takeOne()
	f.renew(lease, got)
	if until := f.tasks(r)[0].LeaseUntil; until < got.ReadyAt.Add(5*time.Minute) {
		f.Fatalf("lease until %d, want five minutes", until)
	}
}

// A7, A8
func leaseTells(f *fixture) {
	r := f.begin(task("a"), task("b", priority(-1)), task("c", priority(-2)), task("free", in("other")))
	got := f.take()
	f.equal("claimed", paths(got), []string{"a", "b", "c"})
	st := f.next(r, machine.StopTask{Path: "b"})
	st.Guards = []store.Guard{{Path: "a", Token: got[0].Token, Remove: true}, {Path: "b", Token: got[1].Token}}
	f.win(r, st)
	wrong := got[2]
	wrong.Token++
	free := store.Claimed{Task: store.Task{RunID: r.ID, Path: "free"}}
	gone := store.Claimed{Task: store.Task{RunID: f.id(), Path: "a"}, Token: 5}
	asked := []store.Claimed{got[2], got[0], got[1], wrong, free, gone}
	want := []store.Renewed{
		{Held: held(got[2])},
		{Held: held(got[0]), Lost: true},
		{Held: held(got[1]), Stop: true},
		{Held: held(wrong), Lost: true},
		{Held: held(free), Lost: true},
		{Held: held(gone), Lost: true},
	}
	f.equal("with a lease", f.renew(lease, asked...), want)
	f.equal("asking only", f.renew(0, asked...), want)
	f.equal("nothing asked", len(f.renew(lease)), 0)
}

func leaseAsks(f *fixture) {
	r := f.begin(task("a"))
	got := f.takeOne()
	before := f.tasks(r)
	if f.Advance != nil {
		f.Advance(time.Second)
	}
	f.equal("answer", f.renew(0, got), []store.Renewed{{Held: held(got)}})
	f.equal("row", f.tasks(r), before)
}

// A6
func leaseExpires(f *fixture) {
	other := f.begin(task("b", in("second")), task("c", in("delayed"), due(f.now().Add(time.Second))))
	r := f.begin(task("a"))
	first := f.takeOne()
	f.Advance(time.Second)
	f.equal("second", len(f.claim(f.ask(1, "second"))), 1)
	f.equal("fresh", len(f.expired(9)), 0)
	f.Advance(lease - time.Second)
	f.equal("at the very end", len(f.expired(9)), 0)
	f.Advance(time.Microsecond)
	got := f.expired(9)
	if len(got) != 1 || got[0].RunID != r.ID || got[0].Path != "a" || got[0].Token != first.Token || got[0].Dead {
		f.Fatalf("expired: %+v", got)
	}
	f.equal("row", got, f.tasks(r))
	f.Advance(time.Minute)
	all := f.expired(9)
	if len(all) != 2 || all[0].RunID != r.ID || all[1].RunID != other.ID {
		f.Fatalf("expired: %+v, want both, oldest first", all)
	}
	f.equal("limit", f.expired(1), all[:1])
	f.equal("still held", len(f.take()), 0)
}

func leaseRevives(f *fixture) {
	f.begin(task("a"))
	got := f.takeOne()
	f.Advance(time.Hour)
	f.equal("expired", len(f.expired(9)), 1)
	f.equal("renewed", f.renew(lease, got), []store.Renewed{{Held: held(got)}})
	f.equal("expired", len(f.expired(9)), 0)
}

// A6, A7
func leaseFences(f *fixture) {
	r := f.begin(task("a"))
	got := f.takeOne()
	f.Advance(time.Hour)
	st := f.next(r, task("a", func(t *machine.StartTask) { t.Attempt = 1 }))
	st.Guards = []store.Guard{{Path: "a", Token: got.Token, Remove: true}}
	f.win(r, st)
	second := f.takeOne()
	f.equal("attempt", second.Attempt, 2)
	f.equal("lost", f.renew(lease, got)[0].Lost, true)
	late := f.next(r)
	late.Guards = []store.Guard{{Path: "a", Token: got.Token, Remove: true}}
	f.equal("late", f.settle(late).Result, store.Lost)
	f.equal("token", f.tasks(r)[0].Token, second.Token)
}

func leaseProcesses(f *fixture) {
	p := store.Process{Owner: owner, Host: "host", PID: 17, Serves: []string{handler}}
	f.must(f.s.Beat(f.ctx, p))
	p.Draining = true
	f.must(f.s.Beat(f.ctx, p))
	f.must(f.s.Beat(f.ctx, store.Process{Owner: "host-2"}))
	f.must(f.s.Retire(f.ctx, owner))
	f.must(f.s.Retire(f.ctx, owner))
	f.must(f.s.Beat(f.ctx, p))
	f.must(f.s.Retire(f.ctx, "nobody"))
	f.equal("expired", len(f.expired(9)), 0)
}
