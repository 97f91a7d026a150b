package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// amount says how much a database holds when plans are judged.
type amount struct {
	ready int // tasks in one lane
	lanes int // beside it, with three ready tasks each
	ended int // runs, with an entry of the journal each
	dead  int // rows of tasks, under an old snapshot
}

// amounts gives about a tenth of what plans are judged by, and all of it with MILLRACE_TEST_PLANS=full.
func amounts() amount {
	if os.Getenv("MILLRACE_TEST_PLANS") == "full" {
		return amount{ready: 200_000, lanes: 10_000, ended: 1_000_000, dead: 150_000}
	}
	return amount{ready: 20_000, lanes: 1_000, ended: 100_000, dead: 50_000}
}

// carried is a statement that was carried out, as auto_explain tells of it.
type carried struct {
	Query string  `json:"Query Text"`
	Plan  planned `json:"Plan"`
}

func (c *carried) name() string {
	text := strings.Join(strings.Fields(c.Query), " ")
	return text[:min(len(text), 90)]
}

// watched is a store of which the server tells every plan that it carries out, as it made or kept it.
type watched struct {
	*Store
	mu    sync.Mutex
	plans []carried
	bad   error
}

const telling = `-c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0 -c auto_explain.log_analyze=on
	-c auto_explain.log_buffers=on -c auto_explain.log_timing=off -c auto_explain.log_format=json -c auto_explain.log_level=notice`

func openWatched(t *testing.T, where string, o Options) *watched {
	t.Helper()
	o.MaxConns, o.NoHints = 1, true
	w := &watched{Store: open(t, where+"&options="+strings.ReplaceAll(url.QueryEscape(strings.Join(strings.Fields(telling), " ")), "+", "%20"), o)}
	config := w.pool.Config()
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { w.hear(n.Message) }
	w.pool.Close()
	var err error
	if w.pool, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watched) hear(message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, text, found := strings.Cut(message, "plan:")
	if !found {
		return
	}
	var c carried
	w.bad = errors.Join(w.bad, json.Unmarshal([]byte(text), &c))
	w.plans = append(w.plans, c)
}

// during gives the plans of what call sends.
func (w *watched) during(t *testing.T, what string, call func(ctx context.Context) error) []carried {
	t.Helper()
	w.mu.Lock()
	w.plans = nil
	w.mu.Unlock()
	if err := call(t.Context()); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad != nil || len(w.plans) == 0 {
		t.Fatalf("%s: %d plans, %v", what, len(w.plans), w.bad)
	}
	return w.plans
}

// hot is a call that is made again and again, or waited for, and what each of its statements may cost.
type hot struct {
	name  string
	pages int // that a statement may touch
	sorts int // rows that it may sort
	call  func(ctx context.Context) error
}

const few = 1000 // pages: of twenty rows, each with what its indexes and its documents take

// calls gives all of them in an order in which they can be made. What they claim is what they start.
func (w *watched) calls(small []int64) []hot {
	var held []store.Claimed
	lanes := []store.LaneLimit{{Lane: 1, Limit: 20}}
	for _, lane := range small {
		lanes = append(lanes, store.LaneLimit{Lane: lane, Limit: 3})
	}
	claim := func(limit int, lanes ...store.LaneLimit) func(ctx context.Context) error {
		return func(ctx context.Context) (err error) {
			held, err = w.Claim(ctx, store.Claim{Owner: "plan", Token: 77, Lease: time.Minute, Limit: limit, Lanes: lanes})
			return wants(err, len(held), limit)
		}
	}
	started := ""
	return slices.Concat([]hot{
		{"start of many", few, 60, func(ctx context.Context) error { return startSome(ctx, w.Store, 30, &started) }},
		{"start", few, 0, func(ctx context.Context) error { return startSome(ctx, w.Store, 1, &started) }},
		{"claim of a run", few, 1, func(ctx context.Context) error {
			out, err := w.Claim(ctx, store.Claim{
				Owner: "plan", Token: 78, Lease: time.Minute, Limit: 20, Run: started, Tenant: "default", Handlers: []string{"noop"},
			})
			return wants(err, len(out), 1)
		}},
		{"claim of one", few, 0, claim(1, lanes[0])},
		{"settlement, handed over", few, 1, func(ctx context.Context) error { return settleSome(ctx, w.Store, held, true) }},
		{"claim of one", few, 0, claim(1, lanes[0])},
		{"settlement, ended", few, 1, func(ctx context.Context) error { return settleSome(ctx, w.Store, held, false) }},
		{"claim", few, 0, claim(20, lanes...)},
		{"renewal", few, 0, func(ctx context.Context) error {
			out, err := w.Renew(ctx, heldOf(held), time.Minute)
			return wants(err, len(out), len(held))
		}},
		{"settlements", few, 200, func(ctx context.Context) error { return settleSome(ctx, w.Store, held, true) }},
		{"message", few, 20, func(ctx context.Context) error { return tellOne(ctx, w.Store, started) }},
	}, w.looks(&started))
}

// looks gives the calls that change nothing, or nothing that is asked for again.
func (w *watched) looks(started *string) []hot {
	read := func(name string, pages int, call func(ctx context.Context) (int, error)) hot {
		return hot{name, pages, 0, func(ctx context.Context) error { _, err := call(ctx); return err }}
	}
	list := func(name string, f store.Filter) hot {
		f.Tenant = "default"
		return read("list "+name, few, func(ctx context.Context) (int, error) { out, err := w.Runs(ctx, f); return len(out), err })
	}
	rare := func(name string, statuses ...machine.Status) hot { // the newest of each are sorted
		h := list(name, store.Filter{Status: statuses})
		h.pages, h.sorts = 250, 100*len(statuses)
		return h
	}
	prune := store.PruneOrder{Tenant: "default", Before: map[machine.Status]machine.Time{machine.Succeeded: 900_000}, Limit: 100}
	return []hot{
		read("clock", few, func(ctx context.Context) (int, error) { now, err := w.Clock(ctx); return int(now), err }),
		{"lapsed", few, 100, func(ctx context.Context) error { _, err := w.Expired(ctx, 100); return err }},
		read("timers", few, func(ctx context.Context) (int, error) { out, _, err := w.Due(ctx, 100); return len(out), err }),
		read("inbox", few, func(ctx context.Context) (int, error) { out, err := w.Inbox(ctx, 100); return len(out), err }),
		// Two probes for each lane, with what they have to walk over, and the lane's own row.
		{"stocked lanes", 15_000, 3_000, func(ctx context.Context) error { _, err := w.Stocked(ctx, 0, 1000); return err }},
		{"lanes", few, 0, func(ctx context.Context) error { _, err := w.Lanes(ctx, 500, 100); return err }},
		{"heartbeat", few, 0, func(ctx context.Context) error { return w.Beat(ctx, store.Process{Owner: "plan"}) }},
		read("held", 20*few, func(ctx context.Context) (int, error) { out, err := w.HeldBy(ctx, "plan", 5); return len(out), err }),
		list("of all", store.Filter{}),
		list("of running", store.Filter{Status: []machine.Status{machine.Running}}),
		rare("of failed", machine.Failed),
		rare("of dead", machine.Dead),
		rare("of failed and dead", machine.Failed, machine.Dead),
		list("of an id", store.Filter{IDSuffix: endedID(77)}),
		list("of old ones", store.Filter{Before: endedID(5000)}),
		{"open letters", few, 0, func(ctx context.Context) error {
			_, err := w.Letters(ctx, store.LetterFilter{Tenant: "default", State: machine.LetterOpen})
			return err
		}},
		{"letters of a run", few, 1, func(ctx context.Context) error {
			_, err := w.Letters(ctx, store.LetterFilter{Tenant: "default", RunID: endedID(20)})
			return err
		}},
		{"state", few, 2, func(ctx context.Context) error {
			_, err := w.State(ctx, "default", *started, []string{"a"}, []string{"m["})
			return err
		}},
		{"tasks", few, 20, func(ctx context.Context) error { _, err := w.Tasks(ctx, "default", *started, nil); return err }},
		{"journal", few, 0, func(ctx context.Context) error { _, err := w.Journal(ctx, "default", *started, 0, 100); return err }},
		{"payloads", few, 0, func(ctx context.Context) error {
			_, err := w.Payloads(ctx, "default", *started, []machine.Ref{{Seq: 1}, {Seq: 1, Key: "v"}})
			return err
		}},
		// Of 5,000 runs each has four indexes asked whether it may go.
		{"pruning", 120_000, 100, func(ctx context.Context) error { _, err := w.Prune(ctx, prune); return err }},
	}
}

// endedID is the id of the n-th run that has ended.
func endedID(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012x", n) }

func wants(err error, got, want int) error {
	if err == nil && got != want {
		return fmt.Errorf("got %d, want %d", got, want)
	}
	return err
}

func heldOf(claimed []store.Claimed) []store.Held {
	out := make([]store.Held, len(claimed))
	for i, c := range claimed {
		out[i] = store.Held{RunID: c.RunID, Path: c.Path, Token: c.Token}
	}
	return out
}

// startSome starts n runs in a database whose clock stands, and leaves the id of the last one.
func startSome(ctx context.Context, s *Store, n int, last *string) error {
	starts := make([]store.Start, n)
	for i := range starts {
		starts[i] = benchStart(standing)
		starts[i].Run.Key = starts[i].Run.ID
	}
	out, err := s.Start(ctx, starts)
	if err != nil {
		return err
	}
	*last = out[n-1].RunID
	for i := range out {
		if !out[i].Created {
			return fmt.Errorf("start %d: %+v", i, out[i])
		}
	}
	return nil
}

// settleSome settles what is held with effects of every kind: one by one it goes by statements of its own.
func settleSome(ctx context.Context, s *Store, held []store.Claimed, more bool) error {
	now := standing
	settlements := make([]store.Settlement, len(held))
	for i := range held {
		going := more && i%2 == 0
		settlements[i] = benchOutcome(&held[i], now, going, store.HandOver{Owner: "plan", Token: 79, Handlers: []string{"noop"}, Limit: 1})
		if len(held) == 1 {
			continue
		}
		settlements[i].Inbox, settlements[i].Timers = []int64{1}, []string{"t"}
		settlements[i].Effects = append([]machine.Effect{
			machine.StopTask{Path: "other"},
			machine.PutValue{Ref: machine.Ref{Seq: 2, Key: "v"}, Data: json.RawMessage(`1`)},
		}, settlements[i].Effects...)
		if going {
			settlements[i].Effects = append(settlements[i].Effects, machine.SetTimer{Key: "u", Due: now.Add(time.Hour)},
				machine.OpenLetter{Kind: machine.LetterParked, Path: "a"}, machine.HoldTasks{})
		}
	}
	out, err := s.Settle(ctx, settlements)
	if err != nil {
		return err
	}
	for i := range out {
		if out[i].Result != store.Won {
			return fmt.Errorf("settlement %d: %+v", i, out[i])
		}
	}
	return nil
}

func tellOne(ctx context.Context, s *Store, runID string) error {
	out, err := s.Tell(ctx, []store.Message{{Tenant: "default", RunID: runID, ID: "m", Event: machine.Event{Kind: machine.EventReceived, Name: "e"}}})
	return cmp.Or(err, errors.Join(out...))
}

// loadSQL fills a database in which one run has been started: runs that have ended, of which one in a hundred failed and left a
// letter, closed or open; runs that go on, each like that one, with a ready task in the first lane or in one of the small ones; as many that wait
// for a time or are held; timers and messages.
const loadSQL = `insert into millrace.lanes (id, tenant, queue, handler, workflow, paused) overriding system value
		select 1000 + n, 'default', 'q', 'h' || n, 'bench', false from generate_series(1, %[2]d) as n;
	insert into millrace.runs (id, created_at, started_at, workflow_version, machine_version, tenant, workflow, key, home, options,
			version, seq, at, finished_at, rare, status, doc)
		select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, n, n, 1, 1, 'default', 'bench', '', '', '', 5, 5, n, n,
			case when n %% 100 = 0 then 'failed' else '' end, case when n %% 100 = 0 then 'failed' else 'succeeded' end, '{}' from generate_series(1, %[3]d) as n;
	insert into millrace.journal (run, at, seq, cause, attempt, kind, path, name, key, payload)
		select id, at, 1, 0, 1, 'run_started', '', '', '', '{"customer":"c-1234567","amount":12345}' from millrace.runs where id < '00000000-0000-8000-0000-000000000000';
	insert into millrace.dead_letters (run, created_at, closed_at, tenant, kind, path, state)
		select id, at, case when at %% 1000 = 0 then 0 else at end, tenant, 'failed', 'a', case when at %% 1000 = 0 then 'open' else 'dropped' end
		from millrace.runs where rare <> '' and id < '00000000-0000-8000-0000-000000000000';
	insert into millrace.runs (id, created_at, started_at, workflow_version, machine_version, tenant, workflow, key, home, options,
			version, seq, at, finished_at, rare, status, doc)
		select ('01800000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, created_at, started_at, 1, 1, tenant, workflow, '', home,
			options, 1, 1, at, 0, '', status, doc
		from (select * from millrace.runs where id = '%[4]s') as r, generate_series(1, %[1]d + 3 * %[2]d + %[1]d / 5) as n;
	insert into millrace.tasks (run, path, lane, rank, due, cause, entry, lease_ms, priority, attempt, state, env, token, owner, lease_until)
		select ('01800000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, t.path,
			case when n > %[1]d and n <= %[1]d + 3 * %[2]d then 1001 + (n - %[1]d - 1) / 3 else t.lane end, 8000000000000000 + n,
			case when s = 1 then 9000000000000000 + n else 0 end, t.cause, 0, 0, 0, 0, s, t.env, case when s = 2 then 5 else 0 end,
			case when s = 2 then 'other' else '' end, case when s = 2 then 9000000000000000 + n else 0 end
		from (select * from millrace.tasks where run = '%[4]s') as t, generate_series(1, %[1]d + 3 * %[2]d + %[1]d / 5) as n,
			lateral (select case when n <= %[1]d + 3 * %[2]d then 0 else 1 + n %% 2 end as s) as s;
	insert into millrace.timers select run, 9000000000000000 + rank, 1, 't9', 'default' from millrace.tasks where rank > 8000000000000000;
	insert into millrace.scopes select run, 'p', '{}' from millrace.tasks where rank > 8000000000000000;
	insert into millrace.run_values select run, 'v:0', '1' from millrace.tasks where rank > 8000000000000000;
	insert into millrace.inbox (run, at, cause, attempt, delivered, tenant, id, kind, path, name, key)
		select run, rank, 1, 0, true, 'default', 'm', 'event_received', '', 'e', '' from millrace.tasks where rank > 8000000000000000`

// grown says of which tables nothing may walk all, once they hold what loadSQL puts in.
var grown = []string{
	"tasks", "runs", "journal", "scopes", "run_values", "timers", "inbox", "dead_letters", "lanes", "run_keys",
}

// inOrder are indexes that are walked up to a limit, without a condition on their columns: all that is in them is asked for. That
// of what is held is walked whole after an answer was lost, and is as long as what all processes hold.
var inOrder = []string{"inbox_waiting", "tasks_ready", "tasks_due", "runs_pkey", "tasks_leased"}

// judge finds what is wrong with how a call was carried out.
func (h *hot) judge(c *carried, loaded bool) (faults []string) {
	if pages := c.Plan.Hit + c.Plan.Read; pages > h.pages {
		faults = append(faults, fmt.Sprintf("%d pages, not %d", pages, h.pages))
	}
	c.Plan.each(func(n *planned) {
		if n.Loops == 0 {
			return
		}
		whole := n.Type == "Seq Scan" || n.Type == "Bitmap Heap Scan" && n.Rows > 1000 ||
			strings.Contains(n.Type, "Index") && n.Cond == "" && (!slices.Contains(inOrder, n.Index) || n.Passed*n.Loops > 1000 && n.Index != "tasks_leased")
		if loaded && whole && slices.Contains(grown, n.Relation) {
			faults = append(faults, fmt.Sprintf("%s of %s by %q, filter %s", n.Type, n.Relation, n.Index, n.Filter))
		}
		if loaded && strings.HasSuffix(n.Type, "Sort") && n.Rows*n.Loops > float64(h.sorts) {
			faults = append(faults, fmt.Sprintf("%s of %.0f rows, not %d", n.Type, n.Rows*n.Loops, h.sorts))
		}
	})
	return faults
}

// situation is how statements are sent and planned.
type situation struct {
	name string
	s    *watched
}

func (of *situation) check(t *testing.T, when string, loaded bool, small []int64) {
	t.Helper()
	for _, h := range of.s.calls(small) {
		most := 0
		for _, c := range of.s.during(t, when+": "+h.name, h.call) {
			most = max(most, c.Plan.Hit+c.Plan.Read)
			for _, fault := range h.judge(&c, loaded) {
				t.Errorf("%s, %s, %s: %s: %s", when, of.name, h.name, c.name(), fault)
			}
		}
		t.Logf("%s, %s, %s: %d pages", when, of.name, h.name, most)
	}
}

// What claims, settlements, starts, sweeps, polls, lists and pruning send walks an index by key, sorts no more than it was
// asked for, and touches so few pages that it does not matter what the tables hold: whether the plan was made when they were
// empty, without statistics, or with them; for one that was made once and kept, and for one that is made each time, as
// behind a pooler.
//
// Q6
func TestHotStatementsWalkTheirIndex(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	name := c.Copy(t, "standing", standingStill)
	exec := func(statements ...string) {
		t.Helper()
		if err := c.Exec(t.Context(), name, statements...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`do $$ declare t regclass; begin
		for t in select oid from pg_class where relnamespace = 'millrace'::regnamespace and relkind = 'r' loop
			execute format('alter table %s set (autovacuum_enabled = off)', t);
		end loop; end $$`, "analyze")
	situations := []situation{
		{"kept", openWatched(t, c.URL(name), Options{})},
		{"a pooler", openWatched(t, c.URL(name), Options{Pooled: true})},
		{"a pooler that prepares", openWatched(t, c.URL(name)+"&default_query_exec_mode=cache_statement", Options{Pooled: true})},
	}
	check := func(when string, loaded bool, small ...int64) {
		for _, of := range situations {
			of.check(t, when, loaded, small)
		}
	}
	for range 6 { // by then the server keeps plans that were made for any arguments
		check("nearly empty", false)
	}
	first := ""
	if err := startSome(t.Context(), situations[0].s.Store, 1, &first); err != nil {
		t.Fatal(err)
	}
	a := amounts()
	exec(strings.Split(fmt.Sprintf(loadSQL, a.ready, a.lanes, a.ended, first), ";\n")...)
	check("statistics of an empty database", true, 1010, 1020, 1030)
	exec(`update pg_class set reltuples = -1, relpages = 0 where relnamespace = 'millrace'::regnamespace and relkind in ('r', 'i')`,
		"delete from pg_statistic where starelid in (select oid from pg_class where relnamespace = 'millrace'::regnamespace)")
	check("no statistics", true, 1110, 1120, 1130)
	exec("analyze")
	check("fresh statistics", true, 1210, 1220, 1230)
}
