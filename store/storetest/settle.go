package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of settling hold A7, A17, R7, O1 and invariants 2, 3 of the design.
var settleTrials = []trial{
	{name: "a settlement writes run, documents and journal", hold: settleWrites},
	{name: "a version that moved on loses and changes nothing", hold: settleCompares},
	{name: "every guard must hold", hold: settleGuards},
	{name: "a guard removes its task only when it says so", hold: settleRemoves},
	{name: "a lost, refused or skewed member leaves the others", hold: settleAlone},
	{name: "refused content changes nothing, whatever it is", hold: settleRefuses},
	{name: "what looks like a NUL and is none is kept", hold: settleKeepsText},
	{name: "a time more than a second off is skewed", hold: settleSkewed},
	{name: "an attempt is settled at most once", hold: settleOnce},
	{name: "of settlers at once from one version exactly one wins", hold: settleRace},
	{name: "what the caller changes afterwards changes nothing stored", hold: settleCopies},
}

// spoilers make content that every store refuses.
var spoilers = map[string]func(*store.Settlement){
	"payload with NUL":        func(st *store.Settlement) { st.Entries[0].Payload = json.RawMessage(`{"a":"x\u0000"}`) },
	"payload not UTF-8":       func(st *store.Settlement) { st.Entries[0].Payload = json.RawMessage("\"\xff\"") },
	"payload not JSON":        func(st *store.Settlement) { st.Entries[0].Payload = json.RawMessage(`{"a":`) },
	"facts with NUL":          func(st *store.Settlement) { st.Entries[0].Facts = json.RawMessage(`"\u0000"`) },
	"name with NUL":           func(st *store.Settlement) { st.Entries[0].Name = "a\x00" },
	"path not UTF-8":          func(st *store.Settlement) { st.Entries[0].Path = "a\xff" },
	"gap in the journal":      func(st *store.Settlement) { st.Entries[0].Seq++; st.Run.Seq++ },
	"repeat of the journal":   func(st *store.Settlement) { st.Entries = append(st.Entries, st.Entries[0]) },
	"length of the journal":   func(st *store.Settlement) { st.Run.Seq++ },
	"one path twice":          func(st *store.Settlement) { effects(st, task("twice"), task("twice")) },
	"lane with NUL":           func(st *store.Settlement) { effects(st, task("nul", in("a\x00"))) },
	"value with NUL":          func(st *store.Settlement) { effects(st, put("v", 0, `"\u0000"`)) },
	"value twice":             func(st *store.Settlement) { effects(st, put("v", 0, `1`), put("v", 0, `1`)) },
	"timer not UTF-8":         func(st *store.Settlement) { effects(st, machine.SetTimer{Key: "\xff", Due: 1}) },
	"letter's words with NUL": func(st *store.Settlement) { effects(st, letter("a", &machine.Error{Message: "\x00"})) },
	"error's data not JSON": func(st *store.Settlement) {
		effects(st, letter("a", &machine.Error{Data: json.RawMessage(`{`)}))
	},
}

func effects(st *store.Settlement, more ...machine.Effect) {
	st.Effects = append(st.Effects, more...)
	st.Causes = causes(st.Effects, st.Run.Seq)
}

func put(key string, index int, data string) machine.PutValue {
	return machine.PutValue{Ref: machine.Ref{Key: key, Index: index}, Data: json.RawMessage(data)}
}

func letter(path string, err *machine.Error) machine.OpenLetter {
	return machine.OpenLetter{Kind: machine.LetterFailure, Path: path, Error: err}
}

// O1
func settleWrites(f *fixture) {
	r := f.begin()
	st := f.next(r)
	st.Run.Status, st.Run.FinishedAt = machine.Stopping, st.At
	st.Run.Root.States = machine.States{machine.StepFailed, machine.StepOpen}
	st.Run.Seq++
	second := store.Entry{
		Seq: 3, At: st.At, Kind: machine.EventReceived, Name: "paid", Key: "k", Cause: 2,
		Payload: json.RawMessage(`{"amount": 10.00}`), Facts: json.RawMessage(`{"by": "x"}`),
	}
	st.Entries = append(st.Entries, second)
	f.document(st.Run, "s", `{"s":"p2"}`)
	f.document(st.Run, "s/t", `{"s":"p1"}`)
	f.document(st.Run, "m[0:]", `{"s":"s1"}`)
	f.win(r, st)
	state := f.state(r)
	f.equal("run", state.Run, r.Run)
	f.equal("version", state.Version, int64(2))
	f.equal("journal", f.journal(r)[1:], st.Entries)

	st = f.next(r)
	st.Run.Scopes, st.Run.Chunks = nil, nil
	f.document(st.Run, "s", "")
	f.document(st.Run, "s/t", `{"s":"s1"}`)
	f.win(r, st)
	state = f.state(r)
	f.equal("scopes", state.Run.Scopes, map[string]*machine.Scope{"s/t": r.Scopes["s/t"]})
	f.equal("what was not touched", state.Run.Chunks["m[0:]"].States, machine.States{machine.StepSucceeded})
}

// A7
func settleCompares(f *fixture) {
	r := f.begin(task("a"))
	stale := f.next(r, task("stale"), machine.SetTimer{Key: "stale", Due: 1}, letter("stale", nil))
	ahead := f.next(r, task("ahead"))
	ahead.From = 2
	unborn := f.next(r, task("unborn"))
	unborn.From = 0
	f.equal("ahead", f.settle(ahead).Result, store.Lost)
	f.equal("unborn", f.settle(unborn).Result, store.Lost)
	f.advance(r)
	before := f.state(r)
	f.equal("stale", f.settle(stale).Result, store.Lost)
	f.equal("state", f.state(r), before)
	f.equal("tasks", f.taskPaths(r), []string{"a"})
	f.equal("timers", f.timers(r), []store.Timer(nil))
	f.equal("journal", len(f.journal(r)), 2)
	nobody := f.next(&run{Run: f.newRun(tenant, ""), version: 1})
	f.equal("no such run", f.settle(nobody).Result, store.Lost)
	foreign := f.next(r, task("foreign"))
	foreign.Run.Tenant = stranger
	f.equal("another tenant", f.settle(foreign).Result, store.Lost)
}

func settleGuards(f *fixture) {
	r := f.begin(task("held"), task("free", in("other")))
	token := f.takeOne().Token
	tests := []struct {
		name   string
		guards []store.Guard
		want   store.Result
	}{
		{"wrong token", []store.Guard{{Path: "held", Token: token + 1}}, store.Lost},
		{"held, thought free", []store.Guard{{Path: "held"}}, store.Lost},
		{"free, thought held", []store.Guard{{Path: "free", Token: token}}, store.Lost},
		{"no such task", []store.Guard{{Path: "none", Token: token}}, store.Lost},
		{"no such task, thought free", []store.Guard{{Path: "none"}}, store.Lost},
		{"one of two", []store.Guard{{Path: "held", Token: token, Remove: true}, {Path: "free", Token: 9}}, store.Lost},
		{"both", []store.Guard{{Path: "held", Token: token}, {Path: "free"}}, store.Won},
	}
	for _, test := range tests {
		st := f.next(r)
		st.Guards = test.guards
		f.equal(test.name, f.settle(st).Result, test.want)
		f.equal(test.name+": tasks", f.taskPaths(r), []string{"free", "held"})
	}
	f.equal("version", f.state(r).Version, int64(2))
}

func settleRemoves(f *fixture) {
	r := f.begin(task("a"), task("b", in("other")))
	token := f.takeOne().Token
	st := f.next(r, task("a", func(t *machine.StartTask) { t.Attempt = 1 }), task("c"))
	st.Guards = []store.Guard{{Path: "a", Token: token, Remove: true}, {Path: "b"}}
	f.win(r, st)
	rows := f.tasks(r)
	f.equal("tasks", f.taskPaths(r), []string{"a", "b", "c"})
	f.equal("the new row is free", rows[0].Token, int64(0))
	f.equal("the new row is ready", rows[0].State, store.Ready)
	f.equal("the new row counts on", rows[0].Attempt, 1)
	st = f.next(r)
	st.Guards = []store.Guard{{Path: "a", Remove: true}}
	f.win(r, st)
	f.equal("tasks", f.taskPaths(r), []string{"b", "c"})
}

// A17
func settleAlone(f *fixture) {
	first, lost, refused, skewed, last := f.begin(), f.begin(), f.begin(), f.begin(), f.begin()
	batch := []store.Settlement{f.next(first, task("a")), f.next(lost), f.next(refused, task("a")), f.next(skewed), f.next(last, task("b"))}
	batch[1].From = 9
	batch[2].Entries[0].Payload = json.RawMessage(`"\u0000"`)
	batch[3].At = batch[3].At.Add(time.Hour)
	out, err := f.s.Settle(f.ctx, batch)
	f.must(err)
	var results []store.Result
	for _, settled := range out {
		results = append(results, settled.Result)
		if settled.Clock == 0 || settled.Clock > f.now() {
			f.Fatalf("clock %d, want the store's", settled.Clock)
		}
	}
	f.equal("results", results, []store.Result{store.Won, store.Lost, store.Refused, store.Skewed, store.Won})
	if !errors.Is(out[2].Err, store.ErrRefused) || out[0].Err != nil || out[1].Err != nil || out[3].Err != nil {
		f.Fatalf("errors: %+v", out)
	}
	for _, r := range []*run{lost, refused, skewed} {
		f.equal("version", f.state(r).Version, int64(1))
		f.equal("tasks", len(f.tasks(r)), 0)
		f.equal("journal", len(f.journal(r)), 1)
	}
	f.equal("version", f.state(first).Version, int64(2))
	f.equal("tasks", f.taskPaths(last), []string{"b"})
}

// R7
func settleRefuses(f *fixture) {
	r := f.begin(task("live"), put("old", 0, `1`))
	spoil := maps.Clone(spoilers)
	spoil["a live task's path"] = func(st *store.Settlement) { effects(st, task("live")) }
	spoil["a value that is"] = func(st *store.Settlement) { effects(st, put("old", 0, `1`)) }
	before := f.state(r)
	for name, spoil := range spoil {
		st := f.next(r, task("new"), machine.SetTimer{Key: "t", Due: 1}, letter("l", nil), put("new", 0, `1`))
		f.document(st.Run, "s", `{"s":"p1"}`)
		spoil(&st)
		out := f.settle(st)
		if out.Result != store.Refused || !errors.Is(out.Err, store.ErrRefused) {
			f.Fatalf("%s: %+v, want a refusal", name, out)
		}
		f.equal(name+": state", f.state(r), before)
		f.equal(name+": tasks", f.taskPaths(r), []string{"live"})
		f.equal(name+": timers", len(f.timers(r)), 0)
		f.equal(name+": journal", len(f.journal(r)), 1)
	}
	letters, err := f.s.Letters(f.ctx, store.LetterFilter{Tenant: tenant})
	f.must(err)
	f.equal("letters", len(letters), 0)
	values, err := f.s.Payloads(f.ctx, tenant, r.ID, []machine.Ref{{Key: "new"}, {Key: "v"}})
	f.must(err)
	f.equal("values", len(values), 0)
}

// R7
func settleKeepsText(f *fixture) {
	r := f.begin()
	for _, payload := range []string{
		`{"a":"\\u0000"}`, `"\\\\u0000"`, `"\ud800"`, `"\u2028<&>é\u0001"`, `1e400`, `-0.0`, `123456789012345678901234567890.10`, ` [1 , 2] `,
	} {
		st := f.next(r)
		st.Entries[0].Payload = json.RawMessage(payload)
		st.Entries[0].Facts = json.RawMessage(payload)
		effects(&st, put("v", int(st.Run.Seq), payload))
		f.win(r, st)
		journal := f.journal(r)
		f.equal("payload", string(journal[len(journal)-1].Payload), payload)
		f.equal("facts", string(journal[len(journal)-1].Facts), payload)
		ref := machine.Ref{Key: "v", Index: int(r.Seq)}
		values, err := f.s.Payloads(f.ctx, tenant, r.ID, []machine.Ref{ref})
		f.must(err)
		f.equal("value", string(values[ref]), payload)
	}
}

func settleSkewed(f *fixture) {
	r := f.begin()
	for _, off := range []time.Duration{-time.Minute, time.Minute} {
		st := f.next(r)
		st.At = st.At.Add(off)
		out := f.settle(st)
		f.equal("result", out.Result, store.Skewed)
		if d := out.Clock - f.now(); d > 0 || d < -machine.Time(time.Minute.Microseconds()) {
			f.Fatalf("clock is off by %d", d)
		}
	}
	f.equal("version", f.state(r).Version, int64(1))
	if f.Advance != nil {
		for _, off := range []time.Duration{-time.Second, time.Second} {
			st := f.next(r)
			st.At = st.At.Add(off)
			f.win(r, st)
		}
	}
}

// A7
func settleOnce(f *fixture) {
	r := f.begin(task("a"))
	got := f.takeOne()
	settle := func() store.Result {
		st := f.next(r)
		st.From = f.state(r).Version
		st.Run.Seq = f.state(r).Run.Seq + 1
		st.Entries[0].Seq = st.Run.Seq
		st.Guards = []store.Guard{{Path: "a", Token: got.Token, Remove: true}}
		return f.settle(st).Result
	}
	f.equal("first", settle(), store.Won)
	f.equal("second", settle(), store.Lost)
	f.equal("journal", len(f.journal(r)), 2)
}

func settleRace(f *fixture) {
	const settlers = 6
	handles := []store.Store{f.s}
	if f.Second != nil {
		handles = append(handles, f.Second(f.T))
	}
	r := f.begin()
	batch := make([]store.Settlement, settlers)
	for i := range batch {
		batch[i] = f.next(r, task(fmt.Sprint("t", i)))
	}
	results := make([]store.Result, settlers)
	errs := make([]error, settlers)
	var group sync.WaitGroup
	for i := range settlers {
		group.Go(func() {
			var out []store.Settled
			if out, errs[i] = handles[i%len(handles)].Settle(f.ctx, batch[i:i+1]); errs[i] == nil {
				results[i] = out[0].Result
			}
		})
	}
	group.Wait()
	f.must(errors.Join(errs...))
	won := 0
	for i, result := range results {
		if result == store.Won {
			won++
			f.equal("task", f.taskPaths(r), []string{fmt.Sprint("t", i)})
		}
	}
	f.equal("won", won, 1)
	f.equal("version", f.state(r).Version, int64(2))
}

func settleCopies(f *fixture) {
	r := f.begin()
	payload := json.RawMessage(`{"a":1}`)
	list := []machine.Ref{{Seq: 1}}
	env := machine.Env{Steps: map[string]machine.StepEnv{"a": {Status: "succeeded"}}}
	st := f.next(r, put("v", 0, `[1]`), task("a", refs(list...), func(t *machine.StartTask) { t.Refs, t.Env = list, env }))
	st.Entries[0].Payload = payload
	f.win(r, st)
	payload[1] = 'x'
	list[0].Seq = 9
	env.Steps["b"] = machine.StepEnv{}
	st.Run.Root.Run.Activations = 77
	f.equal("payload", string(f.journal(r)[1].Payload), `{"a":1}`)
	f.journal(r)[1].Payload[1] = 'y'
	f.tell(r, "m")
	f.inbox()[0].Event.Payload[1] = 'y'
	f.equal("message read", string(f.inbox()[0].Event.Payload), `{"id":"m"}`)
	f.equal("payload read", string(f.journal(r)[1].Payload), `{"a":1}`)
	f.state(r).Run.Root.Run.Activations = 78
	f.equal("root", f.state(r).Run.Root.Run.Activations, 1)
	f.tasks(r)[0].Refs[0].Seq = 8
	f.equal("refs", f.tasks(r)[0].Refs, []machine.Ref{{Seq: 1}})
	f.equal("env", f.tasks(r)[0].Env, machine.Env{Steps: map[string]machine.StepEnv{"a": {Status: "succeeded"}}})
}
