package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of damage hold X13 as far as a store is concerned.
var damageTrials = []trial{
	{name: "all documents of a run are read as they lie", hold: damageDocuments},
	{name: "a document of garbage is named, and read as it lies", hold: damageNamed, need: damages},
	{name: "a damaged run stops no other", hold: damageAlone, need: damages},
	{name: "a damaged run is repaired by a settlement, and goes on", hold: damageRepaired, need: func(h Harness) bool { return damages(h) && movesClock(h) }},
}

var garbage = []byte("no document")

func (f *fixture) documents(r *run) map[string]string {
	f.Helper()
	got, err := f.s.Documents(f.ctx, r.Tenant, r.ID)
	f.must(err)
	out := map[string]string{}
	for path, doc := range got {
		out[path] = string(doc)
	}
	return out
}

func damageDocuments(f *fixture) {
	other := f.begin()
	r := f.begin()
	f.equal("root", f.documents(r), map[string]string{"": string(r.EncodeRoot())})
	st := f.next(r)
	f.document(st.Run, "s", `{"s":"p1"}`)
	f.document(st.Run, "m[0:]", `{"s":"s1"}`)
	want := map[string]string{"": string(st.Run.EncodeRoot())}
	for _, change := range st.Run.Changes() {
		want[change.Path] = string(change.Doc)
	}
	f.win(r, st)
	f.equal("documents", f.documents(r), want)
	f.equal("another run's", f.documents(other), map[string]string{"": string(other.EncodeRoot())})
	for _, ask := range [][2]string{{stranger, r.ID}, {tenant, f.id()}, {tenant, "none"}} {
		if _, err := f.s.Documents(f.ctx, ask[0], ask[1]); !errors.Is(err, store.ErrNotFound) {
			f.Fatalf("documents of %v: %v, want not found", ask, err)
		}
	}
}

// X13
func damageNamed(f *fixture) {
	r := f.begin()
	st := f.next(r)
	f.document(st.Run, "s/t", `{"s":"p1"}`)
	f.document(st.Run, "m[0:]", `{"s":"s1"}`)
	f.win(r, st)
	for _, test := range []struct{ path, names string }{{"s/t", "s/t"}, {"m[0:]", "m[0:]"}, {"", "root document"}} {
		f.Damage(f.T, r.ID, test.path, garbage)
		var scopes []string
		if test.path != "" {
			scopes = append(scopes, test.path)
		}
		for _, under := range [][]string{nil, {""}, {"s/", "m["}} {
			got, err := f.s.State(f.ctx, tenant, r.ID, scopes, under)
			if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), r.ID) || !strings.Contains(err.Error(), test.names) {
				f.Fatalf("state with %q damaged: %v", test.path, err)
			}
			f.equal("state", got, store.RunState{})
		}
		f.equal("as it lies", f.documents(r)[test.path], string(garbage))
		f.equal("row", f.row(r).StateVersion, int64(2))
		f.Damage(f.T, r.ID, test.path, []byte(`{"s":"p1"}`))
	}
}

// X13
func damageAlone(f *fixture) {
	now := f.now()
	bad := f.begin(task("a", priority(9)), task("s/x", priority(9)), machine.SetTimer{Key: "t", Due: now}, letter("a", nil))
	worse := f.begin(task("b", priority(8)))
	good := f.begin(task("c"), machine.SetTimer{Key: "t", Due: now})
	st := f.next(bad)
	f.document(st.Run, "s", `{"s":"p1"}`)
	f.win(bad, st)
	f.Damage(f.T, bad.ID, "s", garbage)
	f.Damage(f.T, worse.ID, "", garbage)
	c := f.ask(2, handler)
	f.equal("first claim", paths(f.claim(c)), []string{"a"})
	f.equal("second claim", len(f.claim(f.ask(1, handler))), 0)
	f.equal("third claim", paths(f.claim(f.ask(1, handler))), []string{"c"})
	f.equal("by run", f.ofRun(worse, handler), []string{})
	f.equal("set aside", []map[string]store.TaskState{f.standing(bad), f.standing(worse)}, []map[string]store.TaskState{
		{"a": store.Leased, "s/x": store.Delayed}, {"b": store.Delayed},
	})
	f.equal("attempts", f.tasks(worse)[0].Attempt, 0)
	held, err := f.s.HeldBy(f.ctx, owner, c.Token)
	f.must(err)
	f.equal("held", paths(held), []string{"a"})
	rows, err := f.s.Runs(f.ctx, store.Filter{Tenant: tenant})
	f.must(err)
	f.equal("rows", len(rows), 3)
	f.equal("letters", len(f.letters(store.LetterFilter{})), 1)
	timers, _, err := f.s.Due(f.ctx, 9)
	f.must(err)
	f.equal("timers", len(timers), 2)
	f.tell(bad, "m1")
	f.tell(good, "m2")
	f.equal("told", messageIDs(f.inbox()), []string{"m1", "m2"})
	f.advance(good)
}

// X13
func damageRepaired(f *fixture) {
	r := f.begin(task("s/x"))
	st := f.next(r)
	f.document(st.Run, "s", `{"s":"p1"}`)
	f.win(r, st)
	f.Damage(f.T, r.ID, "s", garbage)
	f.equal("damaged", len(f.take()), 0)
	st = f.next(r)
	f.document(st.Run, "s", `{"s":"p1"}`)
	f.win(r, st)
	f.equal("state", f.state(r), store.RunState{Run: r.Run, Version: r.version})
	f.equal("within a minute", len(f.take()), 0)
	f.Advance(time.Minute)
	f.equal("after a minute", paths(f.take()), []string{"s/x"})
}
