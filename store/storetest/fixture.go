package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

const (
	tenant   = "acme"
	stranger = "evil" // another tenant
	workflow = "flow"
	handler  = "work"
	queue    = "main"
	owner    = "host-1"
	lease    = 30 * time.Second
	many     = 1000
)

// fixture is a store under test with one registered workflow, and shorthands that fail the test.
type fixture struct {
	*testing.T
	Harness
	s      store.Store
	ctx    context.Context //nolint:containedctx // that of one test
	ids    int
	tokens int64
}

// run is a run under test as it was last stored.
type run struct {
	*machine.Run
	version int64
}

func newFixture(t *testing.T, h Harness) *fixture {
	t.Helper()
	f := &fixture{T: t, Harness: h, s: h.Store, ctx: t.Context()}
	for _, name := range []string{tenant, stranger} {
		f.register(name, workflow)
	}
	return f
}

func (f *fixture) register(tenant, name string) {
	f.Helper()
	doc := []byte(`{"workflow":"` + name + `"}`)
	_, _, err := f.s.Register(f.ctx, store.Workflow{Tenant: tenant, Name: name, Hash: sha256.Sum256(doc), Doc: doc})
	f.must(err)
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

var compare = cmp.Options{
	cmpopts.EquateEmpty(),
	cmpopts.IgnoreUnexported(machine.Run{}),
}

func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	if diff := cmp.Diff(want, got, compare); diff != "" {
		f.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func (f *fixture) now() machine.Time {
	f.Helper()
	now, err := f.s.Clock(f.ctx)
	f.must(err)
	return now
}

// id gives a UUIDv7 whose time grows with each one.
func (f *fixture) id() string {
	f.ids++
	return runID(f.ids)
}

func runID(n int) string { return fmt.Sprintf("0190a000-%04x-7000-8000-%012x", n>>12&0xffff, n) }

func (f *fixture) token() int64 {
	f.tokens++
	return 1000 + f.tokens
}

// newRun gives a run of tenant that was not stored yet.
func (f *fixture) newRun(tenant, key string) *machine.Run {
	f.Helper()
	now := f.now()
	return &machine.Run{
		Header: machine.Header{
			ID: f.id(), Tenant: tenant, Workflow: workflow, Version: 1, Key: key, Home: "host:/srv",
			MachineVersion: machine.Version, CreatedAt: now,
		},
		Status: machine.Running, StartedAt: now, At: now,
		Root: &machine.Scope{States: machine.States{machine.StepReady}, Run: &machine.RunDoc{}},
	}
}

// start gives what starts r with these effects and one entry.
func (f *fixture) start(r *machine.Run, effects ...machine.Effect) store.Start {
	f.Helper()
	r.Seq = 1
	return store.Start{
		KeyHash: sha256.Sum256([]byte(r.Key)),
		Settlement: store.Settlement{
			Run: r, At: r.At, Effects: effects, Causes: causes(effects, 1),
			Entries: []store.Entry{{Seq: 1, At: r.At, Kind: machine.RunStarted, Payload: json.RawMessage(`{"n":1}`)}},
		},
	}
}

func causes(effects []machine.Effect, seq int64) []int64 {
	out := make([]int64, len(effects))
	for i := range out {
		out[i] = seq
	}
	return out
}

// begin starts a run with these effects.
func (f *fixture) begin(effects ...machine.Effect) *run {
	f.Helper()
	return f.beginAs(tenant, "", effects...)
}

func (f *fixture) beginAs(tenant, key string, effects ...machine.Effect) *run {
	f.Helper()
	r := f.newRun(tenant, key)
	started, err := f.s.Start(f.ctx, []store.Start{f.start(r, effects...)})
	f.must(err)
	f.must(started[0].Err)
	if !started[0].Created || started[0].RunID != r.ID {
		f.Fatalf("start of %s gave %+v", r.ID, started[0])
	}
	return &run{Run: r.Saved(), version: 1}
}

// next gives a settlement of one event of r with these effects.
func (f *fixture) next(r *run, effects ...machine.Effect) store.Settlement {
	f.Helper()
	after := *r.Saved()
	after.Seq++
	after.At = max(f.now(), after.At)
	doc := *r.Root
	part := *r.Root.Run
	part.Activations++
	doc.Run = &part
	after.Root = &doc
	return store.Settlement{
		Run: &after, From: r.version, At: after.At, Effects: effects, Causes: causes(effects, after.Seq),
		Entries: []store.Entry{{
			Seq: after.Seq, At: after.At, Kind: machine.TaskSucceeded, Path: "a", Attempt: 1, Cause: 1,
			Payload: json.RawMessage(fmt.Sprintf(`{"entry":%d}`, after.Seq)),
		}},
	}
}

// settle settles one settlement.
func (f *fixture) settle(st store.Settlement) store.Settled {
	f.Helper()
	out, err := f.s.Settle(f.ctx, []store.Settlement{st})
	f.must(err)
	if len(out) != 1 {
		f.Fatalf("one settlement gave %d answers", len(out))
	}
	return out[0]
}

// win settles st, which must win, and moves r on.
func (f *fixture) win(r *run, st store.Settlement) store.Settled {
	f.Helper()
	out := f.settle(st)
	if out.Result != store.Won {
		f.Fatalf("settlement of %s from %d: result %d, %v", r.ID, st.From, out.Result, out.Err)
	}
	r.Run, r.version = st.Run.Saved(), st.From+1
	return out
}

// advance settles these effects of r.
func (f *fixture) advance(r *run, effects ...machine.Effect) store.Settled {
	f.Helper()
	return f.win(r, f.next(r, effects...))
}

// task gives the effect that starts a task at path, changed by edits.
func task(path string, edits ...func(*machine.StartTask)) machine.StartTask {
	t := machine.StartTask{Path: path, Queue: queue, Handler: handler}
	for _, edit := range edits {
		edit(&t)
	}
	return t
}

func in(handler string) func(*machine.StartTask) {
	return func(t *machine.StartTask) { t.Handler = handler }
}

func from(queue string) func(*machine.StartTask) {
	return func(t *machine.StartTask) { t.Queue = queue }
}

func due(at machine.Time) func(*machine.StartTask) { return func(t *machine.StartTask) { t.Due = at } }

func onHold(t *machine.StartTask) { t.Held = true }

func priority(n int) func(*machine.StartTask) { return func(t *machine.StartTask) { t.Priority = n } }

func refs(refs ...machine.Ref) func(*machine.StartTask) {
	return func(t *machine.StartTask) { t.Refs = refs }
}

// lane gives the lane of handler for tenant's workflow, which must exist.
func (f *fixture) lane(tenant, handler string) store.Lane {
	f.Helper()
	lanes, err := f.s.Lanes(f.ctx, 0, many)
	f.must(err)
	for _, l := range lanes {
		if l.Tenant == tenant && l.Handler == handler {
			return l
		}
	}
	f.Fatalf("no lane for %s of %s in %+v", handler, tenant, lanes)
	return store.Lane{}
}

// ask gives a claim of at most limit tasks from the lanes of these handlers of tenant.
func (f *fixture) ask(limit int, handlers ...string) store.Claim {
	f.Helper()
	c := store.Claim{Owner: owner, Token: f.token(), Lease: lease, Limit: limit}
	for _, h := range handlers {
		c.Lanes = append(c.Lanes, store.LaneLimit{Lane: f.lane(tenant, h).ID, Limit: limit})
	}
	return c
}

// pause sets a pause that is not set yet.
func (f *fixture) pause(p store.Pause) {
	f.Helper()
	changed, err := f.s.Pause(f.ctx, p)
	f.must(err)
	f.equal("paused", changed, true)
}

// unpause ends a pause of tenant that is set.
func (f *fixture) unpause(kind store.PauseKind, name string) {
	f.Helper()
	changed, err := f.s.Unpause(f.ctx, tenant, kind, name)
	f.must(err)
	f.equal("unpaused", changed, true)
}

func (f *fixture) claim(c store.Claim) []store.Claimed {
	f.Helper()
	out, err := f.s.Claim(f.ctx, c)
	f.must(err)
	return out
}

// take claims everything of the usual lane.
func (f *fixture) take() []store.Claimed {
	f.Helper()
	return f.claim(f.ask(many, handler))
}

func (f *fixture) takeOne() store.Claimed {
	f.Helper()
	got := f.take()
	if len(got) != 1 {
		f.Fatalf("claimed %v, want one task", paths(got))
	}
	return got[0]
}

func paths(claimed []store.Claimed) []string {
	out := make([]string, len(claimed))
	for i, c := range claimed {
		out[i] = c.Path
	}
	return out
}

func (f *fixture) tasks(r *run) []store.Live {
	f.Helper()
	out, err := f.s.Tasks(f.ctx, r.Tenant, r.ID, nil)
	f.must(err)
	return out
}

func (f *fixture) taskPaths(r *run) []string {
	f.Helper()
	var out []string
	for _, t := range f.tasks(r) {
		out = append(out, t.Path)
	}
	return out
}

func (f *fixture) state(r *run) store.RunState {
	f.Helper()
	out, err := f.s.State(f.ctx, r.Tenant, r.ID, nil, []string{""})
	f.must(err)
	return out
}

// row gives the run as a list shows it.
func (f *fixture) row(r *run) store.RunRow {
	f.Helper()
	rows, err := f.s.Runs(f.ctx, store.Filter{Tenant: r.Tenant, IDSuffix: r.ID})
	f.must(err)
	if len(rows) != 1 {
		f.Fatalf("run %s has %d rows", r.ID, len(rows))
	}
	return rows[0]
}

// letters gives the dead letters that filter selects of tenant's.
func (f *fixture) letters(filter store.LetterFilter) []store.Letter {
	f.Helper()
	filter.Tenant = tenant
	out, err := f.s.Letters(f.ctx, filter)
	f.must(err)
	return out
}

func (f *fixture) journal(r *run) []store.Entry {
	f.Helper()
	out, err := f.s.Journal(f.ctx, r.Tenant, r.ID, 0, many)
	f.must(err)
	return out
}

func (f *fixture) timers(r *run) []store.Timer {
	f.Helper()
	out, err := f.s.Timers(f.ctx, r.Tenant, r.ID)
	f.must(err)
	return out
}

// document puts a child document into a run that is about to be settled; an empty doc deletes it.
func (f *fixture) document(r *machine.Run, path, doc string) {
	f.Helper()
	var raw []byte
	if doc != "" {
		raw = []byte(doc)
	}
	f.must(r.Put(path, raw))
	r.Touch(path)
}
