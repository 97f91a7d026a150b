package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of endings hold invariant 1 of the design, and X6, X10 and C4 as far as a store is concerned.
var endingTrials = []trial{
	{name: "with Keep the documents stay, and nothing that is live", hold: endingKeeps},
	{name: "a run that has ended goes on, and ends again", hold: endingAgain},
	{name: "what came after an end changes nothing of how it ended", hold: endingLate},
	{name: "a run that goes on is told things again", hold: endingTell},
	{name: "a run is found by the status that it has now", hold: endingStatus},
}

// ended settles the end of a run.
func (f *fixture) ended(r *run, status machine.Status, keep bool) {
	f.Helper()
	st := f.next(r, machine.EndRun{Status: status, Keep: keep, Error: &machine.Error{Code: string(status), Step: "a"}})
	st.Run.Status, st.Run.FinishedAt = status, st.At
	f.win(r, st)
}

// revived settles what brings a run back that has ended.
func (f *fixture) revived(r *run, status machine.Status, effects ...machine.Effect) {
	f.Helper()
	st := f.next(r, effects...)
	st.Run.Status, st.Run.FinishedAt = status, 0
	f.win(r, st)
}

// X6
func endingKeeps(f *fixture) {
	now := f.now()
	r := f.begin(task("held"), task("a", onHold), task("later", due(now.Add(time.Hour))), machine.SetTimer{Key: "t", Due: now})
	f.takeOne()
	f.tell(r, "m")
	st := f.next(r)
	for _, path := range []string{"s", "s/t", "m[0:]"} {
		f.document(st.Run, path, `{"s":"p1"}`)
	}
	f.win(r, st)
	want := f.state(r).Run
	f.ended(r, machine.Dead, true)
	f.equal("tasks", len(f.tasks(r)), 0)
	f.equal("timers", len(f.timers(r)), 0)
	f.equal("inbox", len(f.inbox()), 0)
	got := f.state(r).Run
	f.equal("scopes", got.Scopes, want.Scopes)
	f.equal("results", got.Chunks, want.Chunks)
	f.ended(r, machine.Failed, false)
	f.equal("without Keep", documents(f.state(r).Run), []string{"m[0:]"})
}

// X10
func endingAgain(f *fixture) {
	r := f.beginAs(tenant, "k", task("a"))
	f.ended(r, machine.Failed, false)
	first := f.row(r)
	f.equal("failed", first.Error.Code, "failed")
	f.revived(r, machine.Running, task("b"), task("later", due(f.now().Add(time.Hour))), machine.SetTimer{Key: "t", Due: f.now()})
	row := f.row(r)
	f.equal("row", row, store.RunRow{
		Header: r.Header, Status: machine.Running, StateVersion: 3, Seq: 3, StartedAt: r.StartedAt,
	})
	f.equal("state", f.state(r), store.RunState{Run: r.Run, Version: 3})
	f.equal("timers", len(f.timers(r)), 1)
	timers, _, err := f.s.Due(f.ctx, many)
	f.must(err)
	f.equal("due", len(timers), 1)
	got := f.takeOne()
	f.equal("claimed", got.Path, "b")
	f.equal("run of the claim", got.Run, store.RunState{Run: r.Run, Version: 3})
	out, err := f.s.Start(f.ctx, []store.Start{f.start(f.newRun(tenant, "k"))})
	f.must(err)
	f.equal("the key", out, []store.Started{{RunID: r.ID}})
	f.ended(r, machine.Cancelled, false)
	row = f.row(r)
	f.equal("ended again", []any{row.Status, row.Error.Code, row.FinishedAt}, []any{machine.Cancelled, "cancelled", r.FinishedAt})
	f.equal("tasks", len(f.tasks(r)), 0)
	f.equal("journal", len(f.journal(r)), 4)
	f.equal("of the lost holder", f.renew(lease, got)[0].Lost, true)
}

// C4
func endingLate(f *fixture) {
	r := f.begin(task("a"))
	f.ended(r, machine.Failed, false)
	want := f.row(r)
	f.advance(r)
	want.Seq, want.StateVersion = want.Seq+1, want.StateVersion+1
	f.equal("row", f.row(r), want)
	f.equal("journal", len(f.journal(r)), 3)
	stale := f.next(r)
	stale.From--
	f.equal("an old version", f.settle(stale).Result, store.Lost)
}

func endingTell(f *fixture) {
	r := f.begin()
	f.tell(r, "m1")
	for range 2 {
		f.ended(r, machine.Dead, true)
		if err := f.tells(message(r, "m2"))[0]; !errors.Is(err, store.ErrEnded) {
			f.Fatalf("message to an ended run: %v", err)
		}
		f.revived(r, machine.Compensating)
		f.tell(r, "m2")
		f.tell(r, "m2")
		f.equal("inbox", messageIDs(f.inbox()), []string{"m2"})
	}
	st := f.next(r)
	st.Inbox = []int64{f.inbox()[0].Seq}
	f.win(r, st)
	f.tell(r, "m2")
	f.equal("delivered", len(f.inbox()), 0)
}

// O6
func endingStatus(f *fixture) {
	r := f.begin()
	plain := f.begin()
	all := machine.Statuses()
	for _, status := range slices.Concat(all, all) {
		st := f.next(r)
		st.Run.Status = status
		f.win(r, st)
		for _, ask := range all {
			rows, err := f.s.Runs(f.ctx, store.Filter{Tenant: tenant, Status: []machine.Status{ask}})
			f.must(err)
			var want []string
			if ask == machine.Running {
				want = append(want, plain.ID)
			}
			if ask == status {
				want = append(want, r.ID)
			}
			f.equal(string(status)+" among "+string(ask), rowIDs(rows), want)
		}
	}
}
