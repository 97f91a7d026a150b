package postgres

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

var makeLanesSQL = `insert into millrace.lanes (tenant, queue, handler, workflow, paused)
	select i.tenant, i.queue, i.handler, i.workflow, ` + fmt.Sprintf(coveredSQL, "i.queue", "i.workflow", "i.tenant") + `
	from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[]) with ordinality
		as i(run, tenant, queue, handler, workflow, ord)` + wins + `
	order by i.ord on conflict (tenant, queue, handler, workflow) do nothing`

// makeLanes makes the lanes that the winners' tasks need and that this handle does not know: whoever makes lanes is alone.
func (b *batch) makeLanes(p *pipeline) {
	var runs [][16]byte
	var c laneColumnsOf
	seen := map[store.Lane]bool{}
	for _, m := range b.members {
		clear(seen)
		for _, effect := range m.Effects {
			e, ok := effect.(machine.StartTask)
			if !ok {
				continue
			}
			lane := store.Lane{Tenant: m.Run.Tenant, Queue: e.Queue, Handler: e.Handler, Workflow: m.Run.Workflow}
			if seen[lane] || p.s.lanes.exists(lane) {
				continue
			}
			seen[lane] = true
			runs = append(runs, m.id)
			c.add(lane)
		}
	}
	if len(runs) > 0 {
		p.lockLanes()
		p.do(makeLanesSQL, runs, c.tenant, c.queue, c.handler, c.workflow)
	}
}

type laneColumnsOf struct{ tenant, queue, handler, workflow []string }

func (c *laneColumnsOf) add(l store.Lane) {
	c.tenant, c.queue = append(c.tenant, l.Tenant), append(c.queue, l.Queue)
	c.handler, c.workflow = append(c.handler, l.Handler), append(c.workflow, l.Workflow)
}

// startSQL inserts tasks, as leased when they are handed over: ready now, of a lane that is not paused, and among the first of
// their run that are. Lanes are found by their unique names, once for all tasks of one.
const startSQL = `with named as materialized (
		select array_agg(coalesce(l.id, 0) order by x.k) as ids, array_agg(coalesce(l.paused, true) order by x.k) as paused
		from unnest($1::text[], $2::text[], $3::text[], $4::text[]) with ordinality as x(tenant, queue, handler, workflow, k)
		left join millrace.lanes as l
			on l.tenant = x.tenant and l.queue = x.queue and l.handler = x.handler and l.workflow = x.workflow),
	started as materialized (
		select i.*, named.ids[i.k] as lane, i.hand and not named.paused[i.k] and i.due <= millrace.clock() as able
		from unnest($5::uuid[], $6::int[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
			$13::bigint[], $14::int[], $15::int[], $16::bool[], $17::bool[], $18::int[], $19::text[], $20::text[], $21::bytea[],
			$22::bigint[], $23::text[], $24::bigint[]) with ordinality
			as i(run, k, path, rank, due, ready_at, cause, entry, lease_ms, priority, attempt, held, hand, room, refs, documents, env,
				token, owner, lease, ord)` + wins + `cross join named),
	handed as materialized (%s)
	insert into millrace.tasks as t (run, path, lane, rank, due, ready_at, cause, entry, lease_ms, priority, attempt, state, token,
		owner, lease_until, claimed_at, refs, documents, env)
	select i.run, i.path, i.lane, i.rank, case when i.handed or i.due <= millrace.clock() then 0 else i.due end, i.ready_at, i.cause,
		i.entry, i.lease_ms, i.priority, case when i.handed then i.attempt + 1 else i.attempt end,
		case when i.handed then 2 when i.held then 3 when i.due > millrace.clock() then 1 else 0 end,
		case when i.handed then i.token else 0 end, case when i.handed then i.owner else '' end,
		case when not i.handed then 0 when i.lease_ms > 0 then millrace.clock() + i.lease_ms * 1000 else millrace.clock() + i.lease end,
		case when i.handed then millrace.clock() else 0 end, i.refs::text[], i.documents::text[], i.env
	from handed as i
	returning t.run, t.path, t.lane, t.attempt, t.state = 2`

var (
	// When a run may have more tasks than room for them, those are counted that are able.
	startCountedSQL = fmt.Sprintf(startSQL, `select *, able and count(*) filter (where able)
		over (partition by run order by ord) <= room as handed from started`)
	startAllSQL = fmt.Sprintf(startSQL, "select *, able as handed from started")
)

type taskRows struct {
	lanes                                     laneColumnsOf
	run                                       [][16]byte
	k, priority, attempt, room                []int32
	rank, due, readyAt, cause, entry, leaseMS []int64
	token, lease                              []int64
	held, hand                                []bool
	path, owner                               []string
	refs, documents                           []*string
	env                                       [][]byte
}

func (c *taskRows) add(k int, s *start) {
	readyAt := s.Due
	if s.Due == 0 {
		readyAt = s.of.At
	}
	entry, refs := encodeRefs(s.Refs)
	c.run, c.k, c.path = append(c.run, s.of.id), append(c.k, int32(k)), append(c.path, s.Path) //nolint:gosec // few
	c.rank, c.due = append(c.rank, int64(readyAt)-int64(s.Priority)*perBoost), append(c.due, int64(s.Due))
	c.readyAt, c.cause, c.entry = append(c.readyAt, int64(readyAt)), append(c.cause, s.cause), append(c.entry, entry)
	c.leaseMS, c.priority = append(c.leaseMS, s.Lease), append(c.priority, int32(s.Priority))                   //nolint:gosec // bounded by the format
	c.attempt, c.room = append(c.attempt, int32(s.Attempt)), append(c.room, int32(min(s.of.Hand.Limit, 1<<20))) //nolint:gosec // bounded
	c.held, c.hand = append(c.held, s.held), append(c.hand, s.hand)
	c.refs, c.documents = append(c.refs, literal(refs)), append(c.documents, literal(machine.Documents(s.Path)))
	c.env, c.token = append(c.env, s.env), append(c.token, s.of.Hand.Token)
	c.owner, c.lease = append(c.owner, s.of.Hand.Owner), append(c.lease, s.of.Hand.Lease.Microseconds())
}

// start inserts the tasks that are there in the end, and hands over what may be.
func (b *batch) start(p *pipeline) {
	var c taskRows
	numbers := map[store.Lane]int{}
	counted := false
	for _, m := range b.members {
		counted = counted || m.hands > m.Hand.Limit
		for _, s := range m.starts {
			k := numbers[s.lane]
			if k == 0 {
				k = len(numbers) + 1
				numbers[s.lane] = k
				c.lanes.add(s.lane)
			}
			c.add(k, s)
		}
	}
	if len(c.run) == 0 {
		return
	}
	query := startAllSQL
	if counted {
		query = startCountedSQL
	}
	l := &c.lanes
	p.each(query, b.seeStarted(p.s), l.tenant, l.queue, l.handler, l.workflow, c.run, c.k, c.path, c.rank, c.due, c.readyAt, c.cause,
		c.entry, c.leaseMS, c.priority, c.attempt, c.held, c.hand, c.room, c.refs, c.documents, c.env, c.token, c.owner, c.lease)
}

// seeStarted keeps what was handed over, and the names of lanes.
func (b *batch) seeStarted(s *Store) func(rows pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var run [16]byte
		var path string
		var put placed
		var leased bool
		if err := rows.Scan(&run, &path, &put.lane, &put.attempt, &leased); err != nil {
			return err
		}
		m := b.byRun[run]
		i := slices.IndexFunc(m.starts, func(s *start) bool { return s.Path == path })
		lane := m.starts[i].lane
		lane.ID = put.lane
		s.lanes.keep(lane)
		if leased {
			if b.started == nil {
				b.started = map[*start]placed{}
			}
			b.started[m.starts[i]] = put
		}
		return nil
	}
}

// handed gives the tasks that were handed over to m's owner, in the order of their effects.
func (b *batch) handed(m *member) []store.Claimed {
	var out []store.Claimed
	for _, s := range m.starts {
		put, ok := b.started[s]
		if !ok {
			continue
		}
		out = append(out, store.Claimed{
			Task: s.task(put), Token: m.Hand.Token, Payloads: b.payloads(m, s.Refs),
		})
	}
	if len(out) > 0 {
		state := store.RunState{Run: m.Run.Saved(), Version: m.From + 1}
		for i := range out {
			out[i].Run = state
		}
	}
	return out
}

func (s *start) task(put placed) store.Task {
	t := store.Task{
		RunID: s.of.Run.ID, Path: s.Path, Lane: s.lane, Priority: s.Priority, Attempt: put.attempt, Env: s.Env,
		Refs: slices.Clone(s.Refs), Cause: s.cause, Lease: s.Lease, ReadyAt: s.Due,
	}
	if s.Due == 0 {
		t.ReadyAt = s.of.At
	}
	t.Lane.ID = put.lane
	return t
}

func (b *batch) payloads(m *member, refs []machine.Ref) map[machine.Ref]json.RawMessage {
	out := make(map[machine.Ref]json.RawMessage, len(refs))
	for _, ref := range refs {
		payload, brought := m.payload(ref)
		if !brought {
			payload = b.read[paid{m.id, ref}]
		}
		if payload != nil {
			out[ref] = slices.Clone(payload)
		}
	}
	return out
}

func leaseOf(t *store.Task, lease time.Duration) time.Duration {
	if t.Lease > 0 {
		return time.Duration(t.Lease) * time.Millisecond
	}
	return lease
}
