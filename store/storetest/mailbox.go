package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of the mailbox hold E1, N1 and invariant 10 of the design.
var mailboxTrials = []trial{
	{name: "a message waits as it was told, at the store's time", hold: tellKeeps},
	{name: "an equal repeat is recorded once, delivered or not", hold: tellOnce},
	{name: "what a repeat holds does not matter, of the same call or not", hold: tellRepeats},
	{name: "an ended, unknown or foreign run refuses, per item", hold: tellRefuses},
	{name: "a settlement removes what it delivered, of its own run", hold: tellDelivered},
	{name: "the inbox is listed oldest first, at most so many", hold: inboxOrder},
	{name: "no timer is early", hold: dueNever, need: movesClock},
	{name: "due timers come earliest first, at most so many", hold: dueOrder, need: movesClock},
}

func message(r *run, id string) store.Message {
	return store.Message{
		Tenant: r.Tenant, RunID: r.ID, ID: id,
		Event: machine.Event{Kind: machine.EventReceived, Name: "paid", Key: "k", Payload: json.RawMessage(`{"id":"` + id + `"}`)},
	}
}

func (f *fixture) tells(messages ...store.Message) []error {
	f.Helper()
	out, err := f.s.Tell(f.ctx, messages)
	f.must(err)
	f.equal("answers", len(out), len(messages))
	return out
}

func (f *fixture) tell(r *run, id string) {
	f.Helper()
	f.must(f.tells(message(r, id))[0])
}

func (f *fixture) inbox() []store.Message {
	f.Helper()
	out, err := f.s.Inbox(f.ctx, many)
	f.must(err)
	return out
}

func messageIDs(messages []store.Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, m.ID)
	}
	return out
}

func tellKeeps(f *fixture) {
	r := f.begin()
	m := message(r, "m")
	m.Event.Path, m.Event.Attempt, m.Event.Cause = "a/b", 2, 0
	m.Event.Payload, m.Event.Facts = json.RawMessage(`{"n": 1.50, "t": "<&>"}`), json.RawMessage(`{"by": "<me>"}`)
	before := f.now()
	f.must(f.tells(m)[0])
	got := f.inbox()
	if len(got) != 1 || got[0].Seq == 0 || got[0].Event.At < before || got[0].Event.At > f.now() {
		f.Fatalf("inbox: %+v", got)
	}
	m.Seq, m.Event.At = got[0].Seq, got[0].Event.At
	f.equal("message", got[0], m)
	f.equal("version", f.state(r).Version, r.version)
}

func tellOnce(f *fixture) {
	r, other := f.begin(), f.begin()
	f.equal("answers", f.tells(message(r, "m"), message(r, "m"), message(other, "m")), []error{nil, nil, nil})
	f.tell(r, "m")
	got := f.inbox()
	f.equal("inbox", messageIDs(got), []string{"m", "m"})
	st := f.next(r)
	for _, m := range got {
		if m.RunID == r.ID {
			st.Inbox = append(st.Inbox, m.Seq)
		}
	}
	f.win(r, st)
	f.tell(r, "m")
	f.tell(r, "n")
	left := f.inbox()
	f.equal("inbox", messageIDs(left), []string{"m", "n"})
	f.equal("of the other", left[0].RunID, other.ID)
}

// A repeat is none that is kept: what it holds does not matter. One under a name that no store keeps repeats nothing.
func tellRepeats(f *fixture) {
	r := f.begin()
	bad := func(id string) store.Message {
		m := message(r, id)
		m.Event.Payload = json.RawMessage("{")
		return m
	}
	f.refuses(f.tells(bad("m"), message(r, "m"), bad("m"), message(r, ""), bad("n\x00")), 0, 4)
	f.refuses(f.tells(bad("m"), bad("n"), bad("n\x00")), 1, 2)
	f.equal("inbox", messageIDs(f.inbox()), []string{"m", ""})
}

// refuses holds when those of the answers are refusals that are named, and the others none.
func (f *fixture) refuses(answers []error, named ...int) {
	f.Helper()
	for i, err := range answers {
		if want := slices.Contains(named, i); errors.Is(err, store.ErrRefused) != want || err != nil && !want {
			f.Fatalf("answer %d: %v, refused: %t", i, err, want)
		}
	}
}

func tellRefuses(f *fixture) {
	ended, r := f.begin(), f.begin()
	st := f.next(ended, machine.EndRun{Status: machine.Succeeded})
	st.Run.Status = machine.Succeeded
	f.win(ended, st)
	foreign, unknown, unstorable, malformed := message(r, "x"), message(r, "x"), message(r, "x"), message(r, "x")
	foreign.Tenant = stranger
	unknown.RunID = f.id()
	unstorable.Event.Payload = json.RawMessage(`"\u0000"`)
	malformed.RunID = "not an id"
	got := f.tells(message(ended, "x"), foreign, unknown, unstorable, malformed, message(r, "y"))
	for i, want := range []error{store.ErrEnded, store.ErrNotFound, store.ErrNotFound, store.ErrRefused, store.ErrNotFound, nil} {
		if !errors.Is(got[i], want) {
			f.Fatalf("message %d: %v, want %v", i, got[i], want)
		}
	}
	f.equal("inbox", messageIDs(f.inbox()), []string{"y"})
}

func tellDelivered(f *fixture) {
	r, other := f.begin(), f.begin()
	f.tell(r, "a")
	f.tell(r, "b")
	f.tell(other, "c")
	st := f.next(r)
	for _, m := range f.inbox() {
		if m.ID != "b" {
			st.Inbox = append(st.Inbox, m.Seq)
		}
	}
	stale := st
	stale.From = 9
	f.equal("stale", f.settle(stale).Result, store.Lost)
	f.equal("inbox", messageIDs(f.inbox()), []string{"a", "b", "c"})
	f.win(r, st)
	f.equal("inbox", messageIDs(f.inbox()), []string{"b", "c"})
}

func inboxOrder(f *fixture) {
	runs := []*run{f.begin(), f.begin()}
	var want []string
	for i := range 6 {
		id := fmt.Sprint("m", i)
		f.tell(runs[i%2], id)
		want = append(want, id)
	}
	got := f.inbox()
	f.equal("order", messageIDs(got), want)
	for i := 1; i < len(got); i++ {
		if got[i].Seq <= got[i-1].Seq {
			f.Fatalf("numbers do not rise: %d, %d", got[i-1].Seq, got[i].Seq)
		}
	}
	some, err := f.s.Inbox(f.ctx, 2)
	f.must(err)
	f.equal("some", some, got[:2])
}

func (f *fixture) due(limit int) ([]string, machine.Time) {
	f.Helper()
	timers, next, err := f.s.Due(f.ctx, limit)
	f.must(err)
	var keys []string
	for _, t := range timers {
		keys = append(keys, t.Key)
	}
	return keys, next
}

// E1
func dueNever(f *fixture) {
	keys, next := f.due(9)
	f.equal("none", keys, []string(nil))
	f.equal("none next", next, machine.Time(0))
	at := f.now().Add(time.Minute)
	r := f.begin(machine.SetTimer{Key: "a", Due: at})
	f.Advance(time.Minute - time.Microsecond)
	keys, next = f.due(9)
	f.equal("early", keys, []string(nil))
	f.equal("next", next, at)
	f.Advance(time.Microsecond)
	timers, next, err := f.s.Due(f.ctx, 9)
	f.must(err)
	f.equal("due", timers, []store.Timer{{Tenant: tenant, RunID: r.ID, Key: "a", Due: at, Cause: 1}})
	f.equal("none next", next, machine.Time(0))
	keys, _ = f.due(9)
	f.equal("it stays", keys, []string{"a"})
	st := f.next(r)
	st.Timers = []string{"a"}
	f.win(r, st)
	keys, _ = f.due(9)
	f.equal("gone", keys, []string(nil))
}

// E1
func dueOrder(f *fixture) {
	now := f.now()
	in := func(n int) machine.Time { return now.Add(time.Duration(n) * time.Second) }
	f.begin(machine.SetTimer{Key: "c", Due: in(3)}, machine.SetTimer{Key: "a", Due: in(1)}, machine.SetTimer{Key: "e", Due: in(50)})
	f.beginAs(stranger, "", machine.SetTimer{Key: "b", Due: in(2)}, machine.SetTimer{Key: "d", Due: in(40)})
	f.Advance(10 * time.Second)
	keys, next := f.due(9)
	f.equal("due", keys, []string{"a", "b", "c"})
	f.equal("next", next, in(40))
	keys, next = f.due(2)
	f.equal("some", keys, []string{"a", "b"})
	f.equal("next", next, in(40))
}
