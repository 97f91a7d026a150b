package storetest

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of keeping hold K1 as far as a store is concerned.
var keepingTrials = []trial{
	{name: "what ended long enough ago goes with all of it, and nothing else", hold: pruneSelects},
	{name: "an open letter, and what is left to be done, keep a run", hold: pruneNeeded},
	{name: "its key stays taken", hold: pruneKeys},
	{name: "the oldest go first, in pages", hold: prunePages},
	{name: "a dry run removes nothing", hold: pruneDry},
	{name: "a run with much to it goes as a whole", hold: pruneLarge},
	{name: "a run that goes on meanwhile stays", hold: pruneRace},
	{name: "what has not ended is refused", hold: pruneRefused},
}

// past starts a run of tenant that ended so long ago, with a journal, a value, a document of results and a closed letter.
func (f *fixture) past(tenant, key string, status machine.Status, ago time.Duration) *run {
	f.Helper()
	r := f.newRun(tenant, key)
	now := f.now()
	r.CreatedAt = now.Add(-ago - time.Hour)
	started, err := f.s.Start(f.ctx, []store.Start{f.start(r, task("a"), put("v", 0, `1`), open(machine.LetterParked, "a", "x"))})
	f.must(err)
	f.must(started[0].Err)
	out := &run{Run: r.Saved(), version: 1}
	st := f.next(out, closing("", "", machine.LetterDropped), machine.EndRun{Status: status})
	st.Run.Status, st.Run.FinishedAt = status, now.Add(-ago)
	f.document(st.Run, "m[0:]", `{"s":"s1"}`)
	f.win(out, st)
	return out
}

// order gives one that prunes runs of tenant with these statuses that ended more than age ago.
func (f *fixture) order(age time.Duration, statuses ...machine.Status) store.PruneOrder {
	f.Helper()
	o := store.PruneOrder{Tenant: tenant, Before: map[machine.Status]machine.Time{}}
	for _, s := range statuses {
		o.Before[s] = f.now().Add(-age)
	}
	return o
}

// prune carries out o to its end, and gives the ids of what is gone.
func (f *fixture) prune(o store.PruneOrder) (ids []string) {
	f.Helper()
	for {
		out, err := f.s.Prune(f.ctx, o)
		f.must(err)
		for _, r := range out.Runs {
			ids = append(ids, r.RunID)
		}
		if out.Next == "" {
			return ids
		}
		if out.Next <= o.After {
			f.Fatalf("the walk stands still after %s", o.After)
		}
		o.After = out.Next
	}
}

// gone sees that nothing can be found of a run.
func (f *fixture) gone(r *run) {
	f.Helper()
	for _, look := range []func() error{
		func() error { _, err := f.s.State(f.ctx, r.Tenant, r.ID, nil, nil); return err },
		func() error { _, err := f.s.Journal(f.ctx, r.Tenant, r.ID, 0, many); return err },
		func() error { _, err := f.s.Documents(f.ctx, r.Tenant, r.ID); return err },
		func() error { _, err := f.s.Payloads(f.ctx, r.Tenant, r.ID, nil); return err },
		func() error { _, err := f.s.Tasks(f.ctx, r.Tenant, r.ID, nil); return err },
	} {
		if err := look(); !errors.Is(err, store.ErrNotFound) {
			f.Fatalf("run %s: %v, want ErrNotFound", r.ID, err)
		}
	}
	letters, err := f.s.Letters(f.ctx, store.LetterFilter{Tenant: r.Tenant, RunID: r.ID})
	f.must(err)
	f.equal("letters", letters, []store.Letter(nil))
	rows, err := f.s.Runs(f.ctx, store.Filter{Tenant: r.Tenant, IDSuffix: r.ID})
	f.must(err)
	f.equal("rows", rows, []store.RunRow(nil))
}

// K1, N1
func pruneSelects(f *fixture) {
	oldest := f.past(tenant, "", machine.Aborted, 99*time.Hour)
	old := f.past(tenant, "", machine.Succeeded, 10*time.Hour)
	foreign := f.past(stranger, "", machine.Succeeded, 10*time.Hour)
	f.past(tenant, "", machine.Failed, 10*time.Hour)
	f.past(tenant, "", machine.Succeeded, time.Hour)
	f.begin(task("a"))
	o := f.order(5*time.Hour, machine.Succeeded)
	o.Before[machine.Aborted] = f.now().Add(-50 * time.Hour)
	o.Before[machine.Failed] = f.now().Add(-50 * time.Hour)
	want := look(f.ctx, f, f.s)
	out, err := f.s.Prune(f.ctx, o)
	f.must(err)
	f.equal("pruned", out.Runs, []store.PrunedRun{
		{Tenant: tenant, RunID: oldest.ID, Workflow: workflow, Status: machine.Aborted, FinishedAt: oldest.FinishedAt},
		{Tenant: tenant, RunID: old.ID, Workflow: workflow, Status: machine.Succeeded, FinishedAt: old.FinishedAt},
	})
	f.without(&want, old, oldest)
	f.equal("the others", look(f.ctx, f, f.s), want)
	f.gone(old)
	f.gone(oldest)
	o.EveryTenant = true
	f.equal("of every tenant", f.prune(o), []string{foreign.ID})
	f.gone(foreign)
}

// without takes runs out of what was seen before they were pruned.
func (f *fixture) without(s *sight, gone ...*run) {
	f.Helper()
	is := map[string]bool{}
	for _, r := range gone {
		is[r.ID] = true
		delete(s.Runs, r.ID)
	}
	s.Now = f.now()
	var rows []store.RunRow
	for _, row := range s.Rows {
		if !is[row.ID] {
			rows = append(rows, row)
		}
	}
	var letters []store.Letter
	for _, l := range s.Letters {
		if !is[l.RunID] {
			letters = append(letters, l)
		}
	}
	s.Rows, s.Letters = rows, letters
}

// K1
func pruneNeeded(f *fixture) {
	free := f.past(tenant, "", machine.Failed, 9*time.Hour)
	lettered := f.past(tenant, "", machine.Failed, 9*time.Hour)
	again := f.next(lettered, open(machine.LetterFailure, "", "late"))
	f.win(lettered, again)
	timed := f.past(tenant, "", machine.Failed, 9*time.Hour)
	f.win(timed, f.next(timed, machine.SetTimer{Key: "t", Due: f.now().Add(time.Hour)}))
	busy := f.past(tenant, "", machine.Failed, 9*time.Hour)
	f.win(busy, f.next(busy, task("b")))
	o := f.order(0, machine.Failed)
	f.equal("pruned", f.prune(o), []string{free.ID})
	f.win(lettered, f.next(lettered, closing(machine.LetterFailure, "", machine.LetterRedriven)))
	f.win(timed, f.next(timed, machine.CancelTimer{Key: "t"}))
	f.win(busy, f.next(busy, machine.StopTask{Path: "b"}))
	f.equal("pruned once nothing is left", f.prune(o), []string{lettered.ID, timed.ID, busy.ID})
}

// K1, R2
func pruneKeys(f *fixture) {
	first := f.past(tenant, "k", machine.Succeeded, time.Hour)
	f.equal("pruned", f.prune(f.order(0, machine.Succeeded)), []string{first.ID})
	for range 2 {
		other := f.start(f.newRun(tenant, "k"))
		other.KeyHash[0]++
		starts := []store.Start{f.start(f.newRun(tenant, "k"), task("a")), other, f.start(f.newRun(tenant, "k2"))}
		out, err := f.s.Start(f.ctx, starts)
		f.must(err)
		f.equal("equal", out[0], store.Started{RunID: first.ID})
		var conflict *store.ConflictError
		if !errors.As(out[1].Err, &conflict) || conflict.RunID != first.ID {
			f.Fatalf("another input: %+v", out[1])
		}
		f.must(out[2].Err)
	}
	theirs, err := f.s.Start(f.ctx, []store.Start{f.start(f.newRun(stranger, "k"))})
	f.must(err)
	f.equal("another tenant's", theirs[0].Created, true)
	if f.Reopen != nil {
		f.s = f.Reopen(f.T)
		out, err := f.s.Start(f.ctx, []store.Start{f.start(f.newRun(tenant, "k"))})
		f.must(err)
		f.equal("after reopening", out[0], store.Started{RunID: first.ID})
	}
}

// K1
func prunePages(f *fixture) {
	var want []string
	for i := range 7 {
		want = append(want, f.past(tenant, "", machine.Succeeded, time.Duration(20-i)*time.Hour).ID)
		f.past(tenant, "", machine.Failed, 20*time.Hour)
	}
	o := f.order(0, machine.Succeeded)
	o.Limit = 3
	out, err := f.s.Prune(f.ctx, o)
	f.must(err)
	f.equal("a page", len(out.Runs), 3)
	f.equal("where it goes on", out.Next >= out.Runs[2].RunID, true)
	o.Limit = 2
	got := []string{out.Runs[0].RunID, out.Runs[1].RunID, out.Runs[2].RunID}
	f.equal("all", append(got, f.prune(o)...), want)
}

// K1
func pruneDry(f *fixture) {
	a, b := f.past(tenant, "k", machine.Dead, time.Hour), f.past(tenant, "", machine.Dead, time.Hour)
	o := f.order(0, machine.Dead)
	o.DryRun, o.Limit = true, 1
	before := look(f.ctx, f, f.s)
	f.equal("would be pruned", f.prune(o), []string{a.ID, b.ID})
	before.Now = f.now()
	f.equal("what can be seen", look(f.ctx, f, f.s), before)
	o.DryRun = false
	f.equal("pruned", f.prune(o), []string{a.ID, b.ID})
}

// K1
func pruneLarge(f *fixture) {
	large := f.past(tenant, "", machine.Succeeded, 9*time.Hour)
	for round := range 3 {
		st := f.next(large)
		for i := range 1_500 {
			effects(&st, put("w", round*2_000+i, `"0123456789"`))
			e := st.Entries[0]
			e.Seq += int64(i) + 1
			e.Payload = json.RawMessage(`{"large":true}`)
			st.Entries = append(st.Entries, e)
		}
		st.Run.Seq = st.Entries[len(st.Entries)-1].Seq
		f.win(large, st)
	}
	small := f.past(tenant, "", machine.Succeeded, 9*time.Hour)
	f.equal("pruned", f.prune(f.order(0, machine.Succeeded)), []string{large.ID, small.ID})
	f.gone(large)
	f.gone(small)
	r := f.newRun(tenant, "")
	r.ID = large.ID // whoever takes the id again finds nothing in its way
	out, err := f.s.Start(f.ctx, []store.Start{f.start(r, put("w", 2_000, `1`))})
	f.must(err)
	f.must(out[0].Err)
	f.equal("entries of the new run", len(f.journal(&run{Run: r})), 1)
}

// K1: a run is pruned, or it goes on: never both.
func pruneRace(f *fixture) {
	var runs []*run
	for range 40 {
		runs = append(runs, f.past(tenant, "", machine.Failed, time.Hour))
	}
	results := make([]store.Result, len(runs))
	var work sync.WaitGroup
	work.Go(func() {
		for i, r := range runs {
			st := f.next(r, task("again"))
			st.Run.Status, st.Run.FinishedAt = machine.Running, 0
			out, err := f.s.Settle(f.ctx, []store.Settlement{st})
			if err != nil {
				f.Error(err)
				return
			}
			results[i] = out[0].Result
		}
	})
	removed := map[string]bool{}
	o := f.order(0, machine.Failed)
	o.Limit = 5
	for range 20 {
		out, err := f.s.Prune(f.ctx, o)
		f.must(err)
		for _, r := range out.Runs {
			removed[r.RunID] = true
		}
	}
	work.Wait()
	for i, r := range runs {
		if won := results[i] == store.Won; won == removed[r.ID] {
			f.Fatalf("run %s: it went on: %t; it was pruned: %t", r.ID, won, removed[r.ID])
		}
		if removed[r.ID] {
			f.gone(r)
		} else {
			f.equal("tasks", f.taskPaths(r), []string{"again"})
		}
	}
}

func pruneRefused(f *fixture) {
	f.past(tenant, "", machine.Failed, time.Hour)
	for _, status := range []machine.Status{machine.Running, machine.Paused, machine.Parked, machine.Pending, "", "none"} {
		if out, err := f.s.Prune(f.ctx, f.order(0, machine.Failed, status)); !errors.Is(err, store.ErrRefused) {
			f.Fatalf("%q: %+v, %v", status, out, err)
		}
	}
	f.equal("without a status", f.prune(f.order(0)), []string(nil))
}
