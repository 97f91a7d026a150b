package storetest

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of doors hold N2: whatever comes for the wrong tenant, malformed, unknown, with a token that is not current or
// for a run that has ended is refused, and nothing that can be seen changes.
var doorTrials = []trial{
	{name: "an outcome under a wrong token or for the wrong tenant", hold: doorSettle},
	{name: "a message that nobody may send", hold: doorTell},
	{name: "a sign of life under a wrong token", hold: doorRenew},
	{name: "a claim, a question and a start for another tenant", hold: doorOthers},
}

// unchanged sees that what was done changed nothing.
func (f *fixture) unchanged(what string, before sight) {
	f.Helper()
	before.Now = f.now()
	f.equal(what, look(f.ctx, f, f.s), before)
}

// settled gives a run that has ended.
func (f *fixture) settled() *run {
	f.Helper()
	r := f.begin(task("a"))
	st := f.next(r, machine.EndRun{Status: machine.Succeeded})
	st.Run.Status, st.Run.FinishedAt = machine.Succeeded, st.At
	f.win(r, st)
	return r
}

// N2
func doorSettle(f *fixture) {
	r, ended := f.begin(task("a"), task("free")), f.settled()
	f.beginAs(stranger, "", task("a"))
	c := f.ask(1, handler)
	held := f.claim(c)[0]
	outcome := func(r *run, edit func(st *store.Settlement)) store.Settlement {
		st := f.next(r, task("next"), put("v", 0, `1`), letter("l", nil), machine.SetTimer{Key: "t", Due: 1})
		st.Guards = []store.Guard{{Path: held.Path, Token: held.Token, Remove: true}}
		edit(&st)
		return st
	}
	before := look(f.ctx, f, f.s)
	for name, st := range map[string]store.Settlement{
		"another token":            outcome(r, func(st *store.Settlement) { st.Guards[0].Token++ }),
		"no token":                 outcome(r, func(st *store.Settlement) { st.Guards[0].Token = 0 }),
		"a negative token":         outcome(r, func(st *store.Settlement) { st.Guards[0].Token = -held.Token }),
		"a task nobody holds":      outcome(r, func(st *store.Settlement) { st.Guards[0].Path = "free" }),
		"a task nobody knows":      outcome(r, func(st *store.Settlement) { st.Guards[0].Path = "none" }),
		"a path with NUL":          outcome(r, func(st *store.Settlement) { st.Guards[0].Path = "a\x00" }),
		"one guard of two":         outcome(r, func(st *store.Settlement) { st.Guards = append(st.Guards, store.Guard{Path: "free", Token: 5}) }),
		"an old version":           outcome(r, func(st *store.Settlement) { st.From-- }),
		"a version to come":        outcome(r, func(st *store.Settlement) { st.From++ }),
		"another tenant":           outcome(r, func(st *store.Settlement) { st.Run.Tenant = stranger }),
		"no tenant":                outcome(r, func(st *store.Settlement) { st.Run.Tenant = "" }),
		"an unknown run":           outcome(r, func(st *store.Settlement) { st.Run.ID = runID(1 << 20) }),
		"a malformed run":          outcome(r, func(st *store.Settlement) { st.Run.ID = "not an id" }),
		"a run written otherwise":  outcome(r, func(st *store.Settlement) { st.Run.ID = "{" + r.ID + "}" }),
		"a run that has ended":     outcome(ended, func(*store.Settlement) {}),
		"a token of an ended task": outcome(ended, func(st *store.Settlement) { st.Guards[0].Path = "a" }),
	} {
		if out := f.settle(st); out.Result != store.Lost || len(out.Handed) != 0 {
			f.Fatalf("%s: %+v, want Lost", name, out)
		}
		f.unchanged(name, before)
	}
	f.win(r, outcome(r, func(*store.Settlement) {}))
}

// N2
func doorTell(f *fixture) {
	r, ended := f.begin(task("a")), f.settled()
	before := look(f.ctx, f, f.s)
	for name, c := range map[string]struct {
		edit func(m *store.Message)
		want error
	}{
		"another tenant":       {func(m *store.Message) { m.Tenant = stranger }, store.ErrNotFound},
		"no tenant":            {func(m *store.Message) { m.Tenant = "" }, store.ErrNotFound},
		"an unknown run":       {func(m *store.Message) { m.RunID = runID(1 << 20) }, store.ErrNotFound},
		"no run":               {func(m *store.Message) { m.RunID = "" }, store.ErrNotFound},
		"a run with NUL":       {func(m *store.Message) { m.RunID += "\x00" }, store.ErrNotFound},
		"an ended run":         {func(m *store.Message) { m.RunID = ended.ID }, store.ErrEnded},
		"no JSON":              {func(m *store.Message) { m.Event.Payload = json.RawMessage(`{"a":`) }, store.ErrRefused},
		"a name with NUL":      {func(m *store.Message) { m.Event.Name = "a\x00" }, store.ErrRefused},
		"an id not UTF-8":      {func(m *store.Message) { m.ID = "\xff" }, store.ErrRefused},
		"no kind":              {func(m *store.Message) { m.Event.Kind = "" }, store.ErrRefused},
		"an unknown kind":      {func(m *store.Message) { m.Event.Kind = "nonsense" }, store.ErrRefused},
		"a forged outcome":     {func(m *store.Message) { m.Event.Kind = machine.TaskSucceeded }, store.ErrRefused},
		"a forged failure":     {func(m *store.Message) { m.Event.Kind = machine.TaskFailed }, store.ErrRefused},
		"a forged loss":        {func(m *store.Message) { m.Event.Kind = machine.TaskLost }, store.ErrRefused},
		"a forged timer":       {func(m *store.Message) { m.Event.Kind = machine.TimerFired }, store.ErrRefused},
		"a forged late answer": {func(m *store.Message) { m.Event.Kind = machine.TaskLate }, store.ErrRefused},
		"a second start":       {func(m *store.Message) { m.Event.Kind = machine.RunStarted }, store.ErrRefused},
	} {
		m := message(r, "m")
		m.Event.Path, m.Event.Attempt = "a", 1
		c.edit(&m)
		if err := f.tells(m)[0]; !errors.Is(err, c.want) {
			f.Fatalf("%s: %v, want %v", name, err, c.want)
		}
		f.unchanged(name, before)
	}
	f.tell(r, "m") // a refused id is not taken
	f.equal("inbox", messageIDs(f.inbox()), []string{"m"})
}

// N2
func doorRenew(f *fixture) {
	r := f.begin(task("a"), task("free"))
	held := f.claim(f.ask(1, handler))[0]
	before := look(f.ctx, f, f.s)
	for name, h := range map[string]store.Held{
		"another token":   {RunID: r.ID, Path: held.Path, Token: held.Token + 1},
		"no token":        {RunID: r.ID, Path: held.Path},
		"nobody's task":   {RunID: r.ID, Path: "free"},
		"an unknown task": {RunID: r.ID, Path: "none", Token: held.Token},
		"an unknown run":  {RunID: runID(1 << 20), Path: held.Path, Token: held.Token},
		"a malformed run": {RunID: "x", Path: held.Path, Token: held.Token},
	} {
		out, err := f.s.Renew(f.ctx, []store.Held{h}, time.Hour)
		f.must(err)
		f.equal(name, out, []store.Renewed{{Held: h, Lost: true}})
		f.unchanged(name, before)
	}
}

// N2
func doorOthers(f *fixture) {
	r := f.beginAs(tenant, "k", task("a"))
	before := look(f.ctx, f, f.s)
	for _, c := range []struct{ tenant, run string }{{stranger, r.ID}, {"", r.ID}, {tenant, "x"}, {tenant, runID(1 << 20)}} {
		claim := store.Claim{Owner: owner, Token: 9, Lease: lease, Tenant: c.tenant, Run: c.run, Handlers: []string{handler}, Limit: 9}
		f.equal("claim", len(f.claim(claim)), 0)
		f.unknown(c.tenant, c.run)
	}
	held, err := f.s.HeldBy(f.ctx, owner, 0)
	f.must(err)
	f.equal("held under no token", len(held), 0)
	theirs := f.start(f.newRun(stranger, ""), task("a"))
	theirs.Run.ID = r.ID
	malformed := f.start(f.newRun(tenant, ""), task("a"))
	malformed.Run.ID = "not an id"
	out, err := f.s.Start(f.ctx, []store.Start{theirs, malformed})
	f.must(err)
	for i, got := range out {
		if !errors.Is(got.Err, store.ErrRefused) || got.Created || got.RunID != "" {
			f.Fatalf("start %d: %+v, want a refusal", i, got)
		}
	}
	o := store.PruneOrder{Tenant: stranger, Before: map[machine.Status]machine.Time{machine.Succeeded: f.now().Add(time.Hour)}}
	f.equal("pruned", f.prune(o), []string(nil))
	f.unchanged("all", before)
}
