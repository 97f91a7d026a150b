package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of claiming hold A1, Q2 and invariants 3 and 9 of the design.
var claimTrials = []trial{
	{name: "by rank within a lane: ready time less 2 s a point of priority", hold: claimByRank},
	{name: "lanes in the order given, at most so many of each, at most so many in all", hold: claimLimits},
	{name: "what is held is not claimed again", hold: claimSkipsHeld},
	{name: "a delayed task is not claimed before it is due", hold: claimDelayed, need: movesClock},
	{name: "a task comes with all that its programs and its settlement need", hold: claimBrings},
	{name: "attempt numbers rise by one", hold: claimCounts},
	{name: "the held row names attempt, token, owner and lease", hold: claimMarks},
	{name: "a task's own lease goes before the claim's", hold: claimOwnLease},
	{name: "bounded in bytes after the first", hold: claimBytes},
	{name: "of one run, whatever the lane, by handler", hold: claimRun},
	{name: "a paused lane gives nothing until it is resumed", hold: claimPaused},
	{name: "an unknown lane gives nothing", hold: claimNowhere},
	{name: "what is held under a token can be asked for, as its claim gave it", hold: claimHeldBy},
	{name: "lanes are listed by id, in pages", hold: lanesPaged},
	{name: "no lane in which a claim would find a task is left out", hold: lanesStocked, need: movesClock},
	{name: "claimers at once never share an attempt", hold: claimRace},
}

// A1, Q2
func claimByRank(f *fixture) {
	ago := func(d time.Duration) machine.Time { return f.now().Add(-d) }
	f.begin(
		task("c", due(ago(time.Second))),
		task("d"),
		task("b", due(ago(3*time.Second))),
		task("a", priority(2)),              // as if ready 4 s ago
		task("e", priority(-1)),             // as if ready in 2 s: still claimable now
		task("z", due(ago(time.Second/2))),  // between c and d
		task("y", due(ago(2500*1000*1000))), // between b and c
		task("w", priority(1)),              // as if ready 2 s ago: between y and c
	)
	f.equal("order", paths(f.take()), []string{"a", "b", "y", "w", "c", "z", "d", "e"})
}

// A1
func claimLimits(f *fixture) {
	f.begin(task("a1", in("a")), task("a2", in("a"), priority(-1)), task("b1", in("b"), priority(9)), task("b2", in("b")), task("c1", in("c")))
	limits := func(total, a, b int) store.Claim {
		c := f.ask(total, "a", "b")
		c.Lanes[0].Limit, c.Lanes[1].Limit = a, b
		return c
	}
	f.equal("one of a", paths(f.claim(limits(9, 1, 0))), []string{"a1"})
	f.equal("one in all", paths(f.claim(limits(1, 5, 5))), []string{"a2"})
	f.equal("one of b", paths(f.claim(limits(9, 5, 1))), []string{"b1"})
	f.equal("the rest", paths(f.claim(limits(9, 5, 5))), []string{"b2"})
	f.equal("lane by lane", paths(f.claim(f.ask(9, "a", "b", "c"))), []string{"c1"})
}

// A1
func claimSkipsHeld(f *fixture) {
	r := f.begin(task("a"), task("b"))
	first := f.claim(f.ask(1, handler))
	f.equal("first", len(first), 1)
	second := f.take()
	f.equal("second", len(second), 1)
	f.equal("third", len(f.take()), 0)
	got := []string{first[0].Path, second[0].Path}
	slices.Sort(got)
	f.equal("all", got, []string{"a", "b"})
	f.equal("rows", f.taskPaths(r), []string{"a", "b"})
}

func claimDelayed(f *fixture) {
	at := f.now().Add(time.Minute)
	r := f.begin(task("later", due(at)), task("now"))
	f.equal("before", paths(f.take()), []string{"now"})
	f.equal("state", f.tasks(r)[0].State, store.Delayed)
	f.equal("due", f.tasks(r)[0].Due, at)
	f.Advance(time.Minute - time.Microsecond)
	f.equal("a moment before", paths(f.take()), []string{})
	f.Advance(time.Microsecond)
	f.advance(r, task("newer"))
	got := f.take()
	f.equal("when due", paths(got), []string{"later", "newer"})
	f.equal("ready at", got[0].ReadyAt, at)
}

func claimBrings(f *fixture) {
	input, item := machine.Ref{Seq: 1}, machine.Ref{Key: "m", Index: 2}
	r := f.begin(machine.PutValue{Ref: item, Data: json.RawMessage(`{"n":2.50}`)})
	st := f.next(r, task("m[3]/x", refs(input, item, machine.Ref{Seq: 99}, machine.Ref{Key: "m", Index: 9}), func(t *machine.StartTask) {
		t.Env = machine.Env{
			Input: machine.Data{Kind: machine.ByRef, Ref: input},
			Items: map[string]machine.ItemEnv{"line": {Value: machine.Data{Kind: machine.ByRef, Ref: item}, Index: 2}},
		}
		t.Priority, t.Lease = 3, 5000
	}))
	f.document(st.Run, "m[3]", `{"s":"r1"}`)
	f.document(st.Run, "m[0:]", `{"s":"r4"}`)
	f.document(st.Run, "m[4]", `{"s":"r1"}`)
	f.win(r, st)
	got := f.takeOne()
	started, ok := st.Effects[0].(machine.StartTask)
	if !ok {
		f.Fatalf("effect %T", st.Effects[0])
	}
	f.equal("task", got.Task, store.Task{
		RunID: r.ID, Path: "m[3]/x", Lane: f.lane(tenant, handler), Priority: 3, Attempt: 1, Env: started.Env, Refs: started.Refs,
		Cause: 2, Lease: 5000, ReadyAt: st.At,
	})
	f.equal("payloads", got.Payloads, map[machine.Ref]json.RawMessage{input: json.RawMessage(`{"n":1}`), item: json.RawMessage(`{"n":2.50}`)})
	f.equal("version", got.Run.Version, int64(2))
	f.equal("header", got.Run.Run.Header, r.Header)
	f.equal("root", got.Run.Run.Root, r.Root)
	f.equal("length", got.Run.Run.Seq, int64(2))
	for _, path := range machine.Documents("m[3]/x") {
		if !got.Run.Run.Known(path) {
			f.Fatalf("document %s was not brought", path)
		}
	}
	f.equal("scope", got.Run.Run.Scopes["m[3]"], r.Scopes["m[3]"])
	f.equal("results", got.Run.Run.Chunks["m[0:]"], r.Chunks["m[0:]"])
	f.equal("what is not there", got.Run.Run.Scopes["m[3]/x"], (*machine.Scope)(nil))
	f.equal("nothing to save", got.Run.Run.Changes(), []machine.Change(nil))
}

// A11
func claimHeldBy(f *fixture) {
	item := machine.Ref{Key: "m", Index: 2}
	r := f.begin(machine.PutValue{Ref: item, Data: json.RawMessage(`2.50`)})
	st := f.next(r, task("m[3]/x", refs(machine.Ref{Seq: 1}, item)), task("b"))
	f.document(st.Run, "m[3]", `{"s":"r1"}`)
	f.document(st.Run, "m[0:]", `{"s":"r4"}`)
	f.win(r, st)
	other := f.beginAs("other", "", task("a"))
	f.begin(task("ready"))
	ask := func(token int64) store.Claim {
		return store.Claim{Owner: "me", Token: token, Lease: time.Minute, Limit: many, Tenant: tenant, Run: r.ID, Handlers: []string{handler}}
	}
	taken, err := f.s.Claim(f.ctx, ask(41))
	f.must(err)
	foreign := ask(42)
	foreign.Tenant, foreign.Run = "other", other.ID
	_, err = f.s.Claim(f.ctx, foreign)
	f.must(err)
	got, err := f.s.HeldBy(f.ctx, "me", 41)
	f.must(err)
	slices.SortFunc(taken, func(a, b store.Claimed) int { return strings.Compare(a.Path, b.Path) })
	f.equal("number", len(got), 2)
	f.equal("held", sights(got), sights(taken))
	for _, none := range []struct {
		owner string
		token int64
	}{{"me", 43}, {"you", 41}, {"", 0}} {
		got, err := f.s.HeldBy(f.ctx, none.owner, none.token)
		f.must(err)
		f.equal("of another", got, []store.Claimed(nil))
	}
	f.win(r, func() store.Settlement {
		st := f.next(r)
		st.Guards = []store.Guard{{Path: "b", Token: 41, Remove: true}}
		return st
	}())
	got, err = f.s.HeldBy(f.ctx, "me", 41)
	f.must(err)
	f.equal("after a settlement", len(got), 1)
	f.equal("at its version", got[0].Run.Version, r.version)
}

// A1
func claimCounts(f *fixture) {
	r := f.begin(task("a"))
	for attempt := 1; attempt <= 3; attempt++ {
		got := f.takeOne()
		f.equal("attempt", got.Attempt, attempt)
		st := f.next(r, task("a", func(t *machine.StartTask) { t.Attempt = attempt }))
		st.Guards = []store.Guard{{Path: "a", Token: got.Token, Remove: true}}
		f.win(r, st)
		f.equal("between", f.tasks(r)[0].Attempt, attempt)
	}
}

func claimMarks(f *fixture) {
	r := f.begin(task("a"))
	row := f.tasks(r)[0]
	f.equal("before", row.State, store.Ready)
	f.equal("before", row.Tenant, tenant)
	f.equal("before", row.Attempt, 0)
	before := f.now()
	got := f.takeOne()
	row = f.tasks(r)[0]
	f.equal("row", row.Task, got.Task)
	f.equal("state", row.State, store.Leased)
	f.equal("token", row.Token, got.Token)
	f.equal("owner", row.Owner, owner)
	f.equal("stop", row.Stop, false)
	if row.ClaimedAt < before || row.ClaimedAt > f.now() {
		f.Fatalf("claimed at %d, want the store's time", row.ClaimedAt)
	}
	f.equal("lease", row.LeaseUntil, row.ClaimedAt.Add(lease))
	f.equal("the run was not written", f.state(r).Version, r.version)
}

func claimOwnLease(f *fixture) {
	r := f.begin(task("a", func(t *machine.StartTask) { t.Lease = 90_000 }))
	f.takeOne()
	row := f.tasks(r)[0]
	f.equal("lease", row.LeaseUntil, row.ClaimedAt.Add(90*time.Second))
}

func claimBytes(f *fixture) {
	r := f.begin()
	st := f.next(r)
	st.Entries[0].Payload = json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)
	big := machine.Ref{Seq: 2}
	for i := range 5 {
		st.Effects = append(st.Effects, task(fmt.Sprint("t", i), refs(big), priority(-i)))
	}
	st.Causes = causes(st.Effects, 2)
	f.win(r, st)
	ask := func(bytes int) []string {
		c := f.ask(many, handler)
		c.Bytes = bytes
		return paths(f.claim(c))
	}
	f.equal("less than the first", ask(1), []string{"t0"})
	f.equal("two and a half", ask(2500), []string{"t1", "t2"})
	f.equal("the default", ask(0), []string{"t3", "t4"})
}

// A1
func claimRun(f *fixture) {
	mine := f.begin(task("a", in("a")), task("b", in("b"), priority(1)), task("c", in("c")), task("d", in("a"), priority(-1)))
	other := f.begin(task("a", in("a")))
	ask := func(tenant string, limit int, handlers ...string) []string {
		got := f.claim(store.Claim{Owner: owner, Token: f.token(), Lease: lease, Tenant: tenant, Run: mine.ID, Handlers: handlers, Limit: limit})
		for _, c := range got {
			f.equal("run", c.RunID, mine.ID)
		}
		return paths(got)
	}
	f.equal("of another tenant", ask(stranger, 9, "a", "b"), []string{})
	f.equal("no handler", ask(tenant, 9), []string{})
	f.equal("by rank", ask(tenant, 2, "a", "b"), []string{"b", "a"})
	f.equal("the rest", ask(tenant, 9, "a", "b"), []string{"d"})
	f.equal("the other run", f.taskPaths(other), []string{"a"})
	f.equal("not served", paths(f.claim(f.ask(9, "c"))), []string{"c"})
}

func claimPaused(f *fixture) {
	r := f.begin(task("a"))
	f.pause(store.Pause{Tenant: tenant, Kind: store.PauseWorkflow, Name: workflow})
	f.equal("flag", f.lane(tenant, handler).Paused, true)
	f.equal("paused", len(f.take()), 0)
	byRun := store.Claim{Owner: owner, Token: f.token(), Lease: lease, Tenant: tenant, Run: r.ID, Handlers: []string{handler}, Limit: 9}
	f.equal("paused, by run", len(f.claim(byRun)), 0)
	f.unpause(store.PauseWorkflow, workflow)
	f.equal("resumed", paths(f.take()), []string{"a"})
}

// Q2: who serves lanes by turns must know all that wait.
func lanesStocked(f *fixture) {
	stocked := func() (names []string) {
		for after := int64(0); ; {
			page, err := f.s.Stocked(f.ctx, after, 2)
			f.must(err)
			for _, l := range page {
				if l.ID <= after {
					f.Fatalf("lane %d comes after lane %d", l.ID, after)
				}
				after = l.ID
				names = append(names, l.Handler)
			}
			if len(page) < 2 {
				return names
			}
		}
	}
	holds := func(when string, want ...string) {
		f.Helper()
		got := stocked()
		for _, name := range want {
			if !slices.Contains(got, name) {
				f.Fatalf("%s: %s is missing in %v", when, name, got)
			}
		}
	}
	holds("at first")
	soon := f.now().Add(time.Minute)
	r := f.begin(task("1", in("h1")), task("2", in("h2")), task("3", in("h3"), due(soon)), task("4", in("h4")), task("5", in("h5"), onHold))
	holds("some are ready", "h1", "h2", "h4")
	f.equal("lanes", f.lane(tenant, "h4"), func() store.Lane {
		page, err := f.s.Stocked(f.ctx, f.lane(tenant, "h4").ID-1, 1)
		f.must(err)
		return page[0]
	}())
	f.equal("claimed", len(f.claim(f.ask(9, "h1", "h2", "h4"))), 3)
	f.beginAs(stranger, "", task("1", in("h1")), task("6", in("h6")))
	holds("another tenant's", "h1", "h6")
	f.Advance(2 * time.Minute)
	holds("one is due", "h1", "h6", "h3")
	f.advance(r, machine.FreeTasks{})
	holds("one was on hold", "h1", "h6", "h3", "h5")
	none, err := f.s.Stocked(f.ctx, 0, 0)
	f.must(err)
	f.equal("with a limit of none", len(none), 0)
}

func claimNowhere(f *fixture) {
	f.begin(task("a"))
	f.equal("claimed", len(f.claim(store.Claim{Owner: owner, Token: 1, Lease: lease, Limit: 9, Lanes: []store.LaneLimit{{Lane: 1 << 30, Limit: 9}}})), 0)
	f.equal("claimed", len(f.claim(store.Claim{Owner: owner, Token: 1, Lease: lease, Limit: 9})), 0)
	f.equal("left", paths(f.take()), []string{"a"})
}

func lanesPaged(f *fixture) {
	f.begin(task("a", in("a")), task("b", in("b")), task("a2", in("a")))
	f.beginAs(stranger, "", task("a", in("a")), task("q", in("a"), func(t *machine.StartTask) { t.Queue = "other" }))
	all, err := f.s.Lanes(f.ctx, 0, many)
	f.must(err)
	var pages []store.Lane
	after := int64(0)
	for range all {
		page, err := f.s.Lanes(f.ctx, after, 1)
		f.must(err)
		f.equal("page", len(page), 1)
		pages = append(pages, page...)
		after = page[0].ID
	}
	f.equal("pages", pages, all)
	page, err := f.s.Lanes(f.ctx, after, 9)
	f.must(err)
	f.equal("after the last", len(page), 0)
	for i := range all {
		all[i].ID = 0
	}
	f.equal("lanes", all, []store.Lane{
		{Tenant: tenant, Queue: queue, Handler: "a", Workflow: workflow},
		{Tenant: tenant, Queue: queue, Handler: "b", Workflow: workflow},
		{Tenant: stranger, Queue: queue, Handler: "a", Workflow: workflow},
		{Tenant: stranger, Queue: "other", Handler: "a", Workflow: workflow},
	})
}

// A1
func claimRace(f *fixture) {
	const tasks, claimers = 60, 4
	handles := []store.Store{f.s}
	if f.Second != nil {
		handles = append(handles, f.Second(f.T))
	}
	for range tasks / 3 {
		f.begin(task("a"), task("b"), task("c"))
	}
	ask := f.ask(4, handler)
	got := make([][]store.Claimed, claimers)
	errs := make([]error, claimers)
	var group sync.WaitGroup
	for i := range claimers {
		group.Go(func() {
			for {
				mine := ask
				mine.Token = int64(i + 1)
				out, err := handles[i%len(handles)].Claim(f.ctx, mine)
				if err != nil || len(out) == 0 {
					errs[i] = err
					return
				}
				got[i] = append(got[i], out...)
			}
		})
	}
	group.Wait()
	f.must(errors.Join(errs...))
	seen := map[store.Held]bool{}
	for i, claimed := range got {
		for _, c := range claimed {
			key := store.Held{RunID: c.RunID, Path: c.Path}
			if seen[key] || c.Token != int64(i+1) || c.Attempt != 1 {
				f.Fatalf("task %s of %s: claimed twice, or token %d, attempt %d", c.Path, c.RunID, c.Token, c.Attempt)
			}
			seen[key] = true
		}
	}
	f.equal("claimed", len(seen), tasks)
}
