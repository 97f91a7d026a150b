package storetest

import (
	"encoding/json"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of effects hold invariants 1, 7 and 9 of the design, and E1 as far as a store is concerned.
var effectTrials = []trial{
	{name: "StartTask makes a row, and a lane when it is new", hold: effectStart},
	{name: "StopTask deletes what nobody holds and marks what is held", hold: effectStop},
	{name: "SetTimer sets and moves, CancelTimer removes", hold: effectTimer},
	{name: "a timer that fired is removed before the effects", hold: effectTimerFired},
	{name: "PutValue keeps values as long as the run", hold: effectPut},
	{name: "OpenLetter opens a letter", hold: effectLetter},
	{name: "EndRun deletes what is live and keeps the rest", hold: effectEnd},
	{name: "effects are carried out in order", hold: effectOrder},
}

// The trials of hand-over hold the rules of settle and go on.
var handOverTrials = []trial{
	{name: "what starts now is handed over, claimed", hold: handsOver},
	{name: "only of handlers that are asked for, and at most so many", hold: handsOverServed},
	{name: "nothing that is not due, stopped again, ended, or older", hold: handsOverFresh},
	{name: "never on a paused lane", hold: handsOverPaused},
	{name: "nothing when the settlement does not win", hold: handsOverWon},
	{name: "a settlement without one hands over nothing", hold: handsOverNone},
}

func effectStart(f *fixture) {
	r := f.begin()
	f.advance(r, task("a", in("fresh"), priority(2)), task("b", due(f.now().Add(time.Hour))))
	rows := f.tasks(r)
	f.equal("tasks", f.taskPaths(r), []string{"a", "b"})
	f.equal("lane", rows[0].Lane, f.lane(tenant, "fresh"))
	f.equal("priority", rows[0].Priority, 2)
	f.equal("cause", rows[0].Cause, int64(2))
	f.equal("ready at", rows[1].ReadyAt, rows[1].Due)
	f.equal("states", []store.TaskState{rows[0].State, rows[1].State}, []store.TaskState{store.Ready, store.Delayed})
	st := f.next(r, task("c"))
	st.At = st.At.Add(-300 * time.Millisecond)
	f.win(r, st)
	f.equal("ready at", f.tasks(r)[2].ReadyAt, st.At)
}

func effectStop(f *fixture) {
	r := f.begin(task("held"), task("free", in("other")), task("later", due(f.now().Add(time.Hour))))
	got := f.takeOne()
	st := f.next(r, machine.StopTask{Path: "held"}, machine.StopTask{Path: "free"}, machine.StopTask{Path: "later"}, machine.StopTask{Path: "none"})
	st.Guards = []store.Guard{{Path: "free"}, {Path: "later"}, {Path: "held", Token: got.Token}}
	f.win(r, st)
	f.equal("tasks", f.taskPaths(r), []string{"held"})
	row := f.tasks(r)[0]
	f.equal("marked", row.Stop, true)
	f.equal("token", row.Token, got.Token)
	st = f.next(r, task("held", func(t *machine.StartTask) { t.Attempt = 1 }))
	st.Guards = []store.Guard{{Path: "held", Token: got.Token, Remove: true}}
	f.win(r, st)
	f.equal("a new row is not marked", f.tasks(r)[0].Stop, false)
}

func effectTimer(f *fixture) {
	now := f.now()
	r := f.begin(machine.SetTimer{Key: "b", Due: now.Add(time.Hour)}, machine.SetTimer{Key: "a", Due: now.Add(2 * time.Hour)})
	row := func(key string, due machine.Time, cause int64) store.Timer {
		return store.Timer{Tenant: tenant, RunID: r.ID, Key: key, Due: due, Cause: cause}
	}
	f.equal("set", f.timers(r), []store.Timer{row("a", now.Add(2*time.Hour), 1), row("b", now.Add(time.Hour), 1)})
	f.advance(r, machine.SetTimer{Key: "b", Due: now.Add(3 * time.Hour)}, machine.CancelTimer{Key: "a"}, machine.CancelTimer{Key: "none"})
	f.equal("moved", f.timers(r), []store.Timer{row("b", now.Add(3*time.Hour), 2)})
}

func effectTimerFired(f *fixture) {
	now := f.now()
	r := f.begin(machine.SetTimer{Key: "a", Due: now}, machine.SetTimer{Key: "b", Due: now})
	st := f.next(r, machine.SetTimer{Key: "a", Due: now.Add(time.Hour)})
	st.Timers = []string{"a", "b", "none"}
	f.win(r, st)
	f.equal("timers", f.timers(r), []store.Timer{{Tenant: tenant, RunID: r.ID, Key: "a", Due: now.Add(time.Hour), Cause: 2}})
}

func effectPut(f *fixture) {
	r := f.begin(put("m", 0, `{"n":1.50}`), put("m", 1, `null`))
	st := f.next(r, put("k:x", 300, `"x"`), machine.EndRun{Status: machine.Succeeded})
	st.Run.Status = machine.Succeeded
	f.win(r, st)
	all := []machine.Ref{{Key: "m"}, {Key: "m", Index: 1}, {Key: "k:x", Index: 300}, {Key: "k", Index: 0}, {Key: "m", Index: 2}}
	got, err := f.s.Payloads(f.ctx, tenant, r.ID, all)
	f.must(err)
	f.equal("values", got, map[machine.Ref]json.RawMessage{
		all[0]: json.RawMessage(`{"n":1.50}`), all[1]: json.RawMessage(`null`), all[2]: json.RawMessage(`"x"`),
	})
}

func effectLetter(f *fixture) {
	delay := int64(250)
	fault := &machine.Error{
		Code: "declined", Message: "é <no>", Step: "a/b", Data: json.RawMessage(`{"n":1.50}`), Final: true, Permanent: true, RetryAfterMS: &delay,
	}
	r := f.begin(letter("a/b", fault))
	f.advance(r, letter("", nil))
	got, err := f.s.Letters(f.ctx, store.LetterFilter{Tenant: tenant, RunID: r.ID})
	f.must(err)
	if len(got) != 2 || got[0].ID == got[1].ID {
		f.Fatalf("letters: %+v", got)
	}
	first := r.StartedAt
	f.equal("newest", got[0], store.Letter{
		ID: got[0].ID, Tenant: tenant, RunID: r.ID, Workflow: workflow, Kind: machine.LetterFailure,
		State: machine.LetterOpen, CreatedAt: r.At,
	})
	f.equal("oldest", got[1], store.Letter{
		ID: got[1].ID, Tenant: tenant, RunID: r.ID, Workflow: workflow, Kind: machine.LetterFailure, Path: "a/b", Error: fault,
		State: machine.LetterOpen, CreatedAt: first,
	})
}

func effectEnd(f *fixture) {
	now := f.now()
	other := f.begin(task("a", in("other")), machine.SetTimer{Key: "t", Due: now})
	r := f.begin(
		task("held"), task("free", in("none")), task("later", due(now.Add(time.Hour))), machine.SetTimer{Key: "t", Due: now},
		put("v", 0, `1`), letter("a", nil),
	)
	got := f.takeOne()
	f.tell(r, "m1")
	f.tell(other, "m2")
	st := f.next(r)
	f.document(st.Run, "s", `{"s":"p1"}`)
	f.document(st.Run, "m[0]", `{"s":"p1"}`)
	f.document(st.Run, "m[0:]", `{"s":"s2"}`)
	f.win(r, st)
	fault := &machine.Error{Code: "exit_1", Message: "broken"}
	st = f.next(r, machine.EndRun{Status: machine.Failed, Error: fault})
	st.Run.Status, st.Run.FinishedAt = machine.Failed, st.At
	st.Run.Root.Run.Error = fault
	f.document(st.Run, "s", `{"s":"s1"}`)
	f.document(st.Run, "m[256:]", `{"s":"s3"}`)
	f.win(r, st)

	f.equal("tasks", len(f.tasks(r)), 0)
	f.equal("timers", len(f.timers(r)), 0)
	f.equal("inbox", messageIDs(f.inbox()), []string{"m2"})
	state := f.state(r).Run
	f.equal("scopes", len(state.Scopes), 0)
	f.equal("results", state.Chunks, map[string]*machine.Chunk{"m[0:]": r.Chunks["m[0:]"], "m[256:]": r.Chunks["m[256:]"]})
	f.equal("status", state.Status, machine.Failed)
	f.equal("error", state.Root.Run.Error, fault)
	f.equal("journal", len(f.journal(r)), 3)
	letters, err := f.s.Letters(f.ctx, store.LetterFilter{Tenant: tenant, RunID: r.ID})
	f.must(err)
	f.equal("letters", len(letters), 1)
	f.equal("expired or held", f.renew(lease, got)[0].Lost, true)
	rows, err := f.s.Runs(f.ctx, store.Filter{Tenant: tenant, Status: []machine.Status{machine.Failed}})
	f.must(err)
	f.equal("row", rows, []store.RunRow{{
		Header: r.Header, Status: machine.Failed, StateVersion: 3, Seq: 3, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, Error: fault,
	}})
	f.equal("the other run", f.taskPaths(other), []string{"a"})
	f.equal("the other's timers", len(f.timers(other)), 1)
}

func effectOrder(f *fixture) {
	at := f.now().Add(time.Hour)
	r := f.begin(task("old"))
	f.advance(r,
		task("a"), machine.StopTask{Path: "a"}, task("a", priority(5)),
		machine.StopTask{Path: "old"}, task("old", priority(7)),
		machine.SetTimer{Key: "t", Due: at}, machine.CancelTimer{Key: "t"},
		machine.CancelTimer{Key: "u"}, machine.SetTimer{Key: "u", Due: at},
	)
	rows := f.tasks(r)
	f.equal("tasks", f.taskPaths(r), []string{"a", "old"})
	f.equal("priorities", []int{rows[0].Priority, rows[1].Priority}, []int{5, 7})
	f.equal("timers", f.timers(r), []store.Timer{{Tenant: tenant, RunID: r.ID, Key: "u", Due: at, Cause: 2}})
}

func hand(token int64, limit int, handlers ...string) store.HandOver {
	return store.HandOver{Owner: "host-2", Token: token, Lease: lease, Handlers: handlers, Limit: limit}
}

func handsOver(f *fixture) {
	r := f.begin(put("m", 0, `"old"`))
	want := []machine.Ref{{Seq: 1}, {Seq: 2}, {Key: "m"}, {Key: "m", Index: 1}, {Seq: 3}}
	st := f.next(r, put("m", 1, `"new"`), task("a", refs(want...), func(t *machine.StartTask) { t.Attempt, t.Lease = 4, 5000 }))
	st.Hand = hand(77, 3, handler)
	f.document(st.Run, "s", `{"s":"p1"}`)
	out := f.win(r, st)
	f.equal("handed", paths(out.Handed), []string{"a"})
	got := out.Handed[0]
	row := f.tasks(r)[0]
	f.equal("row", row.Task, got.Task)
	f.equal("attempt", got.Attempt, 5)
	f.equal("tokens", []int64{got.Token, row.Token}, []int64{77, 77})
	f.equal("owner", row.Owner, "host-2")
	f.equal("state", row.State, store.Leased)
	f.equal("lease", row.LeaseUntil, row.ClaimedAt.Add(5*time.Second))
	f.equal("lane", got.Lane, f.lane(tenant, handler))
	f.equal("payloads", got.Payloads, map[machine.Ref]json.RawMessage{
		want[0]: json.RawMessage(`{"n":1}`), want[1]: json.RawMessage(`{"entry":2}`),
		want[2]: json.RawMessage(`"old"`), want[3]: json.RawMessage(`"new"`),
	})
	f.equal("version", got.Run.Version, int64(2))
	f.equal("run", got.Run.Run, st.Run)
	f.equal("nothing to save", len(got.Run.Run.Changes()), 0)
	f.equal("claimable", len(f.take()), 0)
	st = f.next(r)
	st.Guards = []store.Guard{{Path: "a", Token: 77, Remove: true}}
	f.win(r, st)
}

func handsOverServed(f *fixture) {
	r := f.begin()
	st := f.next(r, task("x", in("foreign")), task("b"), task("a", priority(9)), task("c", in("other")), task("d"))
	st.Hand = hand(77, 3, handler, "other")
	f.equal("handed", paths(f.win(r, st).Handed), []string{"b", "a", "c"})
	f.equal("left", paths(f.take()), []string{"d"})
	f.equal("foreign", paths(f.claim(f.ask(9, "foreign"))), []string{"x"})
}

func handsOverFresh(f *fixture) {
	r := f.begin(task("older"))
	st := f.next(r, task("later", due(f.now().Add(time.Hour))), task("past", due(f.now().Add(-time.Hour))), task("stopped"), machine.StopTask{Path: "stopped"})
	st.Hand = hand(77, 9, handler)
	f.equal("handed", paths(f.win(r, st).Handed), []string{"past"})
	f.equal("tasks", f.taskPaths(r), []string{"later", "older", "past"})
	st = f.next(r, task("x"), machine.EndRun{Status: machine.Succeeded})
	st.Run.Status = machine.Succeeded
	st.Hand = hand(78, 9, handler)
	f.equal("handed at the end", paths(f.win(r, st).Handed), []string{})
}

func handsOverPaused(f *fixture) {
	r := f.begin(task("a"))
	f.take()
	f.pause(store.Pause{Tenant: tenant, Kind: store.PauseQueue, Name: queue})
	st := f.next(r, task("b"), task("c", from("other")))
	st.Hand = hand(77, 9, handler)
	f.equal("handed", paths(f.win(r, st).Handed), []string{"c"})
	f.unpause(store.PauseQueue, queue)
	f.equal("left", paths(f.take()), []string{"b"})
}

func handsOverWon(f *fixture) {
	r := f.begin()
	for _, spoil := range []func(*store.Settlement){
		func(st *store.Settlement) { st.From = 9 },
		func(st *store.Settlement) { st.At = st.At.Add(time.Hour) },
		spoilers["payload with NUL"],
	} {
		st := f.next(r, task("a"))
		st.Hand = hand(77, 9, handler)
		spoil(&st)
		f.equal("handed", len(f.settle(st).Handed), 0)
		f.equal("tasks", len(f.tasks(r)), 0)
	}
}

func handsOverNone(f *fixture) {
	r := f.begin()
	f.equal("zero", len(f.advance(r, task("a")).Handed), 0)
	st := f.next(r, task("b"))
	st.Hand = hand(77, 9)
	f.equal("no handlers", len(f.win(r, st).Handed), 0)
	st = f.next(r, task("c"))
	st.Hand = hand(77, 0, handler)
	f.equal("no room", len(f.win(r, st).Handed), 0)
	f.equal("left", len(f.take()), 3)
}
