package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of starting hold R1, R4 and R7.
var startTrials = []trial{
	{name: "a run is there as it was started", hold: startKeeps},
	{name: "1,000 in one call keep their order and report per item", hold: startMany},
	{name: "an id that exists gives the run that was started", hold: startRepeats},
	{name: "an item that is refused disturbs no other", hold: startRefuses},
	{name: "an item that starts nothing leaves nothing, whatever is beside it", hold: startLeavesNothing},
	{name: "a time that is off is refused", hold: startSkewed},
	{name: "the first task may be handed over", hold: startHandsOver},
	{name: "a run keeps the version it started with", hold: startKeepsVersion},
}

// The trials of keys hold R2, R4, and invariant 10 of the design.
var keyTrials = []trial{
	{name: "an equal start gives the first run, even after it ended", hold: keyGivesFirst},
	{name: "another input is a conflict that names the run", hold: keyConflicts},
	{name: "duplicates within one call start once", hold: keyWithinCall},
	{name: "a key belongs to a tenant's workflow", hold: keyScope},
	{name: "16 starts at once create one run", hold: keyRace},
}

// R1, R7
func startKeeps(f *fixture) {
	r := f.newRun(tenant, "k")
	r.Options = machine.Options{
		Labels: map[string]string{"team": "blue & <green>", "it's": "\"quoted\""}, Priority: -3, Queue: "night", From: "b",
		Due: r.At.Add(time.Hour), Vars: map[string]json.RawMessage{
			"n": json.RawMessage(`1.50`), "big": json.RawMessage(`12345678901234567890`), "text": json.RawMessage(`"é<&> \u2028"`),
		},
	}
	r.Root.Out = map[int]machine.Data{0: {Kind: machine.ByRef, Ref: machine.Ref{Seq: 1}}}
	st := f.start(r, task("a"), machine.SetTimer{Key: "t", Due: r.At.Add(time.Hour)})
	f.document(r, "m[0:]", `{"s":"s1"}`)
	st.Entries[0].Payload = json.RawMessage(`{"n": 1.50, "big": 12345678901234567890, "text": "é<&> \u2028"}`)
	st.Entries[0].Facts = json.RawMessage(`{"by": "me"}`)
	started, err := f.s.Start(f.ctx, []store.Start{st})
	f.must(err)
	f.equal("answer", started, []store.Started{{RunID: r.ID, Created: true}})
	kept := &run{Run: r, version: 1}
	state := f.state(kept)
	f.equal("version", state.Version, int64(1))
	f.equal("header", state.Run.Header, r.Header)
	f.equal("run", state.Run, r)
	f.equal("journal", f.journal(kept), st.Entries)
	f.equal("tasks", f.taskPaths(kept), []string{"a"})
	f.equal("timers", f.timers(kept), []store.Timer{{Tenant: tenant, RunID: r.ID, Key: "t", Due: r.At.Add(time.Hour), Cause: 1}})
}

// R4
func startMany(f *fixture) {
	starts := make([]store.Start, many)
	for i := range starts {
		starts[i] = f.start(f.newRun(tenant, "k"+strconv.Itoa(i/2)), task("a"))
		if i%4 == 1 {
			starts[i].KeyHash[0]++
		}
	}
	out, err := f.s.Start(f.ctx, starts)
	f.must(err)
	f.equal("answers", len(out), many)
	for i, got := range out {
		first := starts[i-i%2].Run.ID
		switch i % 4 {
		case 0, 2:
			f.equal("first of a key", got, store.Started{RunID: first, Created: true})
		case 3:
			f.equal("equal start", got, store.Started{RunID: first})
		case 1:
			if !errors.Is(got.Err, store.ErrConflict) || got.Created || got.RunID != "" {
				f.Fatalf("item %d: %+v, want a conflict", i, got)
			}
		}
	}
	rows, err := f.s.Runs(f.ctx, store.Filter{Tenant: tenant, Limit: 2 * many})
	f.must(err)
	f.equal("runs", len(rows), many/2)
}

func startRepeats(f *fixture) {
	st := f.start(f.newRun(tenant, ""), task("a"))
	for _, created := range []bool{true, false} {
		out, err := f.s.Start(f.ctx, []store.Start{st})
		f.must(err)
		f.equal("answer", out, []store.Started{{RunID: st.Run.ID, Created: created}})
	}
	foreign := st
	foreign.Run = f.newRun(stranger, "")
	foreign.Run.ID, foreign.Run.Seq = st.Run.ID, 1
	out, err := f.s.Start(f.ctx, []store.Start{foreign})
	f.must(err)
	if out[0].Err == nil || out[0].Created || out[0].RunID != "" {
		f.Fatalf("another tenant's id: %+v, want an error", out[0])
	}
	f.equal("journal", len(f.journal(&run{Run: st.Run})), 1)
}

// R7
func startRefuses(f *fixture) {
	for name, spoil := range spoilers {
		starts := []store.Start{f.start(f.newRun(tenant, "")), f.start(f.newRun(tenant, name), task("a")), f.start(f.newRun(tenant, ""))}
		spoil(&starts[1].Settlement)
		out, err := f.s.Start(f.ctx, starts)
		f.must(err)
		if !out[0].Created || !out[2].Created {
			f.Fatalf("%s: the others: %+v", name, out)
		}
		if !errors.Is(out[1].Err, store.ErrRefused) || out[1].Created || out[1].RunID != "" {
			f.Fatalf("%s: %+v, want a refusal", name, out[1])
		}
		if _, err := f.s.State(f.ctx, tenant, starts[1].Run.ID, nil, nil); !errors.Is(err, store.ErrNotFound) {
			f.Fatalf("%s: the refused run: %v, want not found", name, err)
		}
		again := f.start(f.newRun(tenant, name), task("a"))
		out, err = f.s.Start(f.ctx, []store.Start{again})
		f.must(err)
		f.equal(name+": the key is free", out, []store.Started{{RunID: again.Run.ID, Created: true}})
	}
	nul := f.start(f.newRun(tenant, "a\x00b"))
	out, err := f.s.Start(f.ctx, []store.Start{nul})
	f.must(err)
	if !errors.Is(out[0].Err, store.ErrRefused) {
		f.Fatalf("a key with a NUL: %+v, want a refusal", out[0])
	}
}

func startLeavesNothing(f *fixture) {
	taken := f.beginAs(tenant, "taken", task("a"))
	f.takeOne()
	nothing := map[string]func(st *store.Start){
		"skewed":   func(st *store.Start) { st.At = st.At.Add(time.Minute) },
		"conflict": func(st *store.Start) { st.Run.Key, st.KeyHash[3] = "taken", st.KeyHash[3]+1 },
		"repeat":   func(st *store.Start) { st.Run.Key = "taken" },
		"known":    func(st *store.Start) { st.Run.ID = taken.ID },
	}
	for name, spoil := range nothing {
		for beside, others := range map[string][]store.Start{
			"nothing": nil, "one that is refused": {f.start(f.newRun(tenant, "a\x00b"))}, "one that is started": {f.start(f.newRun(tenant, ""))},
		} {
			st := f.start(f.newRun(tenant, ""), task("a"), machine.SetTimer{Key: "t", Due: f.now()}, put("v", 1, "1"))
			spoil(&st)
			out, err := f.s.Start(f.ctx, append([]store.Start{st}, others...))
			f.must(err)
			if out[0].Created {
				f.Fatalf("%s beside %s: %+v", name, beside, out)
			}
			timers, _, err := f.s.Due(f.ctx, many)
			f.must(err)
			depths, err := f.s.Queues(f.ctx, tenant)
			f.must(err)
			if d := depths[0]; d.Ready+d.Delayed+d.Held > 0 || d.Leased != 1 || len(depths)+len(timers) > 1 {
				f.Fatalf("%s beside %s: tasks %+v, timers %v", name, beside, depths, timers)
			}
		}
	}
}

func startSkewed(f *fixture) {
	for _, off := range []time.Duration{-time.Minute, time.Minute} {
		st := f.start(f.newRun(tenant, "k"))
		st.At = st.At.Add(off)
		out, err := f.s.Start(f.ctx, []store.Start{st, f.start(f.newRun(tenant, ""))})
		f.must(err)
		if !errors.Is(out[0].Err, store.ErrSkewed) || out[0].Created || !out[1].Created {
			f.Fatalf("off by %v: %+v, want it skewed, alone", off, out)
		}
	}
}

func startHandsOver(f *fixture) {
	st := f.start(f.newRun(tenant, ""), task("a", refs(machine.Ref{Seq: 1})), task("b"))
	st.Hand = store.HandOver{Owner: owner, Token: 7, Lease: lease, Handlers: []string{handler}, Limit: 1}
	out, err := f.s.Start(f.ctx, []store.Start{st})
	f.must(err)
	f.equal("handed", paths(out[0].Handed), []string{"a"})
	got := out[0].Handed[0]
	f.equal("version", got.Run.Version, int64(1))
	f.equal("run", got.Run.Run.ID, st.Run.ID)
	f.equal("payloads", got.Payloads, map[machine.Ref]json.RawMessage{{Seq: 1}: st.Entries[0].Payload})
	f.equal("left", paths(f.take()), []string{"b"})
}

// D3
func startKeepsVersion(f *fixture) {
	r := f.begin(task("a"))
	f.registers(definition(workflow, 0, `{"newer":1}`), 2, true)
	f.equal("claimed", f.takeOne().Run.Run.Version, 1)
	f.advance(r)
	f.equal("stored", f.state(r).Run.Version, 1)
}

// R2
func keyGivesFirst(f *fixture) {
	first := f.beginAs(tenant, "k", task("a"))
	repeat := func() {
		out, err := f.s.Start(f.ctx, []store.Start{f.start(f.newRun(tenant, "k"), task("a"))})
		f.must(err)
		f.equal("answer", out, []store.Started{{RunID: first.ID}})
	}
	repeat()
	st := f.next(first, machine.EndRun{Status: machine.Succeeded})
	st.Run.Status = machine.Succeeded
	f.win(first, st)
	repeat()
	rows, err := f.s.Runs(f.ctx, store.Filter{Tenant: tenant})
	f.must(err)
	f.equal("runs", len(rows), 1)
}

// R2
func keyConflicts(f *fixture) {
	first := f.beginAs(tenant, "k")
	st := f.start(f.newRun(tenant, "k"))
	st.KeyHash[3]++
	out, err := f.s.Start(f.ctx, []store.Start{st})
	f.must(err)
	var conflict *store.ConflictError
	if !errors.As(out[0].Err, &conflict) {
		f.Fatalf("got %+v, want a conflict", out[0])
	}
	f.equal("conflict", *conflict, store.ConflictError{What: "key", Name: "k", RunID: first.ID})
	if _, err := f.s.State(f.ctx, tenant, st.Run.ID, nil, nil); !errors.Is(err, store.ErrNotFound) {
		f.Fatalf("the second run: %v, want not found", err)
	}
}

// R4
func keyWithinCall(f *fixture) {
	first := f.start(f.newRun(tenant, "k"), task("a"))
	second := f.start(f.newRun(tenant, "k"), task("a"))
	out, err := f.s.Start(f.ctx, []store.Start{first, second})
	f.must(err)
	f.equal("answers", out, []store.Started{{RunID: first.Run.ID, Created: true}, {RunID: first.Run.ID}})
	f.equal("tasks", len(f.take()), 1)
}

func keyScope(f *fixture) {
	f.register(tenant, "other")
	other := f.newRun(tenant, "k")
	other.Workflow = "other"
	starts := []store.Start{
		f.start(f.newRun(tenant, "k")), f.start(f.newRun(stranger, "k")), f.start(other),
		f.start(f.newRun(tenant, "")), f.start(f.newRun(tenant, "")),
	}
	for i := range starts {
		starts[i].KeyHash = [32]byte{byte(i)}
	}
	out, err := f.s.Start(f.ctx, starts)
	f.must(err)
	for i, got := range out {
		f.equal(fmt.Sprint("item ", i), got, store.Started{RunID: starts[i].Run.ID, Created: true})
	}
}

// R4
func keyRace(f *fixture) {
	handles := []store.Store{f.s}
	if f.Second != nil {
		handles = append(handles, f.Second(f.T))
	}
	const callers = 16
	starts := make([]store.Start, callers)
	for i := range starts {
		starts[i] = f.start(f.newRun(tenant, "k"), task("a"))
	}
	answers := make([]store.Started, callers)
	errs := make([]error, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			var out []store.Started
			if out, errs[i] = handles[i%len(handles)].Start(f.ctx, starts[i:i+1]); errs[i] == nil {
				answers[i] = out[0]
			}
		})
	}
	group.Wait()
	f.must(errors.Join(errs...))
	created := slices.DeleteFunc(slices.Clone(answers), func(s store.Started) bool { return !s.Created })
	f.equal("created", len(created), 1)
	for _, got := range answers {
		f.must(got.Err)
		f.equal("run", got.RunID, created[0].RunID)
	}
	f.equal("tasks", len(f.take()), 1)
}
