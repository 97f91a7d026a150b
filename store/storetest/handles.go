package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of tenants hold N1 and invariant 11 of the design.
var tenantTrials = []trial{
	{name: "nothing of another tenant is read", hold: tenantReads},
	{name: "nothing of another tenant is written", hold: tenantWrites},
}

// The trials of handles hold what every call owes, and what outlives a process.
var handleTrials = []trial{
	{name: "what was written is there after reopening", hold: handleReopens, need: reopens},
	{name: "a second handle sees and changes the same data", hold: handleSecond, need: func(h Harness) bool { return h.Second != nil }},
	{name: "a context that has ended writes nothing", hold: handleContext},
	{name: "the clock never runs back and moves when it is told", hold: handleClock},
	{name: "a commit that makes work wakes who watches", hold: handleWatch},
	{name: "watching ends with its context", hold: handleWatchEnds},
	{name: "a call after Close fails", hold: handleClosed},
}

// N1
func tenantReads(f *fixture) {
	r := f.beginAs(tenant, "k", task("a"), machine.SetTimer{Key: "t", Due: 1}, letter("a", nil))
	f.unknown(stranger, r.ID)
	f.unknown("", r.ID)
	rows, err := f.s.Runs(f.ctx, store.Filter{Tenant: stranger})
	f.must(err)
	f.equal("runs", len(rows), 0)
	rows, err = f.s.Runs(f.ctx, store.Filter{})
	f.must(err)
	f.equal("runs of no tenant", len(rows), 0)
	for _, id := range []string{"", r.ID} {
		letters, err := f.s.Letters(f.ctx, store.LetterFilter{Tenant: stranger, RunID: id, Limit: 9})
		f.must(err)
		f.equal("letters", len(letters), 0)
	}
	f.register(tenant, "mine")
	if _, err := f.s.Workflow(f.ctx, stranger, "mine", 0); !errors.Is(err, store.ErrNotFound) {
		f.Fatalf("another tenant's workflow: %v, want not found", err)
	}
	list, err := f.s.Workflows(f.ctx, stranger)
	f.must(err)
	f.equal("workflows", len(list), 1)
}

// N1
func tenantWrites(f *fixture) {
	r := f.beginAs(tenant, "k", task("a"))
	before := f.state(r)
	st := f.next(r, task("b"))
	st.Run.Tenant = stranger
	f.equal("settlement", f.settle(st).Result, store.Lost)
	m := message(r, "m")
	m.Tenant = stranger
	if err := f.tells(m)[0]; !errors.Is(err, store.ErrNotFound) {
		f.Fatalf("message: %v, want not found", err)
	}
	claim := store.Claim{Owner: owner, Token: 9, Lease: lease, Tenant: stranger, Run: r.ID, Handlers: []string{handler}, Limit: 9}
	f.equal("claim", len(f.claim(claim)), 0)
	f.equal("state", f.state(r), before)
	f.equal("tasks", f.taskPaths(r), []string{"a"})
	own := f.beginAs(stranger, "k", task("a")) // the same key and path
	f.equal("lanes", f.lane(tenant, handler).ID == f.lane(stranger, handler).ID, false)
	for _, c := range f.take() {
		f.equal("claimed", c.RunID, r.ID)
	}
	f.equal("state of the stranger's", f.tasks(own)[0].State, store.Ready)
	f.register(stranger, "flow2")
	_, created, err := f.s.Register(f.ctx, definition("flow2", 1, `{"other":1}`))
	f.must(err)
	f.equal("a name of one's own", created, true)
}

// O3
func handleReopens(f *fixture) {
	now := f.now()
	r := f.beginAs(tenant, "k", task("a"), task("later", due(now.Add(time.Hour))), machine.SetTimer{Key: "t", Due: now.Add(time.Hour)}, put("v", 1, `1.50`))
	f.beginAs(stranger, "", task("x"), letter("x", &machine.Error{Code: "exit_1"}))
	f.tell(r, "m")
	got := f.takeOne()
	st := f.next(r, task("b"), machine.StopTask{Path: "a"})
	f.document(st.Run, "s", `{"s":"p1"}`)
	f.document(st.Run, "m[0:]", `{"s":"s3"}`)
	f.win(r, st)
	look := func() sight { return look(f.ctx, f.T, f.s) }
	before := look()
	f.s = f.Reopen(f.T)
	f.equal("after reopening", look(), before)
	f.equal("still held", f.renew(0, got)[0], store.Renewed{Held: held(got), Stop: true})
	out, err := f.s.Start(f.ctx, []store.Start{f.start(f.newRun(tenant, "k"))})
	f.must(err)
	f.equal("the key", out, []store.Started{{RunID: r.ID}})
	f.tell(r, "m")
	f.equal("the message", messageIDs(f.inbox()), []string{"m"})
	f.equal("claimed", paths(f.take()), []string{"b"})
	f.advance(r)
}

func handleSecond(f *fixture) {
	second := f.Second(f.T)
	r := f.begin(task("a"))
	f.equal("seen", look(f.ctx, f.T, second), look(f.ctx, f.T, f.s))
	got, err := second.Claim(f.ctx, f.ask(9, handler))
	f.must(err)
	f.equal("claimed", paths(got), []string{"a"})
	f.equal("not twice", len(f.take()), 0)
	st := f.next(r, task("b", in("fresh")))
	st.Guards = []store.Guard{{Path: "a", Token: got[0].Token, Remove: true}}
	out, err := second.Settle(f.ctx, []store.Settlement{st})
	f.must(err)
	f.equal("settled", out[0].Result, store.Won)
	f.equal("lost here", f.settle(f.next(r)).Result, store.Lost)
	f.equal("seen", look(f.ctx, f.T, f.s), look(f.ctx, f.T, second))
	f.equal("a lane of the other's", paths(f.claim(f.ask(9, "fresh"))), []string{"b"})
}

func handleContext(f *fixture) {
	r := f.begin(task("a"))
	ask := f.ask(9, handler)
	before := look(f.ctx, f.T, f.s)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	_, start := f.s.Start(ctx, []store.Start{f.start(f.newRun(tenant, "k"))})
	_, settle := f.s.Settle(ctx, []store.Settlement{f.next(r, task("b"))})
	_, claim := f.s.Claim(ctx, ask)
	_, tell := f.s.Tell(ctx, []store.Message{message(r, "m")})
	_, _, register := f.s.Register(ctx, definition("w", 1, `1`))
	_, pause := f.s.Pause(ctx, store.Pause{Tenant: tenant, Kind: store.PauseTenant})
	_, state := f.s.State(ctx, tenant, r.ID, nil, nil)
	for i, err := range []error{start, settle, claim, tell, register, pause, state} {
		if err == nil {
			f.Fatalf("call %d under an ended context succeeded", i)
		}
	}
	f.equal("seen", look(f.ctx, f.T, f.s), before)
}

func handleClock(f *fixture) {
	first := f.now()
	second := f.now()
	if first <= 0 || second < first {
		f.Fatalf("clock gave %d, then %d", first, second)
	}
	if f.Advance != nil {
		f.Advance(1234567 * time.Microsecond)
		f.equal("moved", f.now(), second.Add(1234567*time.Microsecond))
	}
}

// watch watches s until the test ends; each wake is one value, more than one may be one.
func (f *fixture) watch(s store.Store) <-chan struct{} {
	wakes := make(chan struct{}, 1)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(f.ctx)
	go func() {
		ended <- s.Watch(ctx, func(store.Hint) {
			select {
			case wakes <- struct{}{}:
			default:
			}
		})
	}()
	f.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			f.Errorf("watch: %v", err)
		}
	})
	return wakes
}

// handleWatch commits until the watcher is woken: it may not watch yet when the first commit is made.
func handleWatch(f *fixture) {
	watched := []store.Store{f.s}
	if f.Second != nil {
		watched = append(watched, f.Second(f.T))
	}
	r := f.begin()
	works := map[string]func(int){
		"start":  func(int) { f.begin(task("a")) },
		"settle": func(n int) { f.advance(r, task(fmt.Sprint("t", n))) },
		"tell":   func(n int) { f.tell(r, fmt.Sprint("m", n)) },
	}
	for _, s := range watched {
		wakes := f.watch(s)
		for what, work := range works {
			f.wakes(what, wakes, work)
		}
	}
}

// wakes repeats work until a wake comes, which it does soon but on a machine that is slow and busy.
func (f *fixture) wakes(what string, wakes <-chan struct{}, work func(n int)) {
	f.Helper()
	f.tokens += 10 * many
	ctx, cancel := context.WithTimeout(f.ctx, 2*time.Minute)
	defer cancel()
	for n := 0; ctx.Err() == nil; n++ {
		work(int(f.tokens) + n)
		patience, leave := context.WithTimeout(ctx, 50*time.Millisecond)
		select {
		case <-wakes:
			leave()
			return
		case <-patience.Done():
			leave()
		}
	}
	f.Fatalf("%s: nobody was woken", what)
}

func handleWatchEnds(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	f.must(f.s.Watch(ctx, func(store.Hint) {}))
}

func handleClosed(f *fixture) {
	f.must(f.s.Close())
	_, clock := f.s.Clock(f.ctx)
	_, start := f.s.Start(f.ctx, []store.Start{{Settlement: store.Settlement{Run: &machine.Run{Root: &machine.Scope{Run: &machine.RunDoc{}}}}}})
	_, claim := f.s.Claim(f.ctx, store.Claim{Owner: owner, Token: 1, Limit: 1})
	_, lanes := f.s.Lanes(f.ctx, 0, 1)
	for i, err := range []error{clock, start, claim, lanes} {
		if err == nil {
			f.Fatalf("call %d after Close succeeded", i)
		}
	}
}
