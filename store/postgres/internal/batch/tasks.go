package batch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/column"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

var makeLanesSQL = `insert into millrace.lanes (tenant, queue, handler, workflow, paused)
	select i.tenant, i.queue, i.handler, i.workflow, ` + Covered("i.tenant", "i.queue", "i.workflow") + `
	from unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[]) with ordinality
		as i(n, tenant, queue, handler, workflow, ord)
	where ` + won + ` order by i.ord on conflict (tenant, queue, handler, workflow) do nothing`

// makeLanes makes the lanes that the winners' tasks need and that this handle does not know: whoever makes lanes is alone.
func (b *Batch) makeLanes(p *wire.Pipeline, lanes *Lanes) {
	var numbers column.Ints
	var c laneColumnsOf
	seen := map[store.Lane]bool{}
	var last store.Lane // is there: one stands beside its like
	for _, m := range b.members {
		clear(seen)
		for _, effect := range m.Effects {
			e, ok := effect.(machine.StartTask)
			if !ok {
				continue
			}
			lane := store.Lane{Tenant: m.Run.Tenant, Queue: e.Queue, Handler: e.Handler, Workflow: m.Run.Workflow}
			if lane == last || seen[lane] {
				continue
			}
			if lanes.exists(lane) {
				last = lane
				continue
			}
			seen[lane] = true
			numbers.Add(m.k)
			c.add(lane)
		}
	}
	if numbers.Len() > 0 {
		lanes.Lock(p)
		p.Do(makeLanesSQL, &numbers, &c.tenant, &c.queue, &c.handler, &c.workflow)
	}
}

type laneColumnsOf struct{ tenant, queue, handler, workflow column.Texts }

func (c *laneColumnsOf) add(l store.Lane) {
	c.tenant.Add(l.Tenant)
	c.queue.Add(l.Queue)
	c.handler.Add(l.Handler)
	c.workflow.Add(l.Workflow)
}

// startSQL inserts tasks, as leased when they are handed over: ready now, of a lane that is not paused, and among the first of
// their run that are. Lanes are found by their unique names, once for all tasks of one. Kinds, hands, lists of references and
// of documents are counted from 1.
var startSQL = `with f as materialized (
		select millrace.clock() as now, array_agg(coalesce(l.id, 0) order by x.k) as ids,
			array_agg(coalesce(l.paused, true) order by x.k) as paused
		from unnest($1::text[], $2::text[], $3::text[], $4::text[]) with ordinality as x(tenant, queue, handler, workflow, k)
		left join lateral (select id, paused from millrace.lanes
			where tenant = x.tenant and queue = x.queue and handler = x.handler and workflow = x.workflow limit 1) as l on true)%s
	insert into millrace.tasks as t (run, path, lane, rank, due, cause, entry, lease_ms, priority, attempt, state, token, owner,
		lease_until, claimed_at, refs, documents, env)
	select run, path, ids[lane], rank, case when handed or due <= now then 0 else due end, cause, entry, lease_ms, priority,
		attempt + handed::int, case when handed then 2 when held > 0 then 3 when due > now then 1 else 0 end,
		case when handed then ($5::bigint[])[hand] else 0 end, case when handed then ($6::text[])[hand] else '' end,
		case when not handed then 0 when lease_ms > 0 then now + lease_ms * 1000 else now + ($7::bigint[])[hand] end,
		case when handed then now else 0 end, ($13::text[])[refs]::text[], ($14::text[])[documents]::text[], env
	from (select *, %s as handed
		from (select i.*, f.now, f.ids, i.hand > 0 and not f.paused[i.lane] and i.due <= f.now as able
			from f cross join (select i.*, ` + kindCells + ` from (
				select i.run, i.path, i.env, i.k, ` + cells("$11", "n", "kind", "rank", "due", "cause", "entry", "attempt", "refs", "documents") + `
				from ` + unnested("$8::uuid[] as run", "$9::text[] as path", "$10::bytea[] as env") + `) as i) as i
			where ` + won + ` offset 0) as i offset 0) as i
	%s`

// kindCells are the numbers that tasks of one kind share.
var kindCells = strings.ReplaceAll(cells("$12", "lane", "hand", "held", "room", "priority", "lease_ms"), "i.k *", "i.kind *")

var (
	// When a run may have more tasks than room for them, those are counted that are able.
	startCountedSQL = fmt.Sprintf(startSQL, "", "able and count(*) filter (where able) over (partition by run order by k) <= room",
		"returning t.run, t.path, t.lane, t.attempt, t.state = 2")
	// Otherwise who is able follows from what holds for lanes, and nothing is said of each task.
	startAllSQL = fmt.Sprintf(startSQL, ", made as (", "able", ") select now, ids, paused from f")
)

type taskRows struct {
	run       column.UUIDs
	path      column.Texts
	env       column.Bytes
	numbers   column.Longs
	kinds     column.Longs
	kindOf    map[kind]int64
	refs      column.Texts
	documents column.Texts
	lanes     laneColumnsOf
	hands     handColumns
}

// kind is what tasks of one step share, as a rule.
type kind struct {
	lane, hand, held, room, priority, lease int64
}

func (c *taskRows) add(lane int64, s *start) {
	k := kind{lane: lane, hand: int64(c.hands.number(s)), room: int64(min(s.of.Hand.Limit, 1<<20)), priority: int64(s.Priority), lease: s.Lease}
	if s.held {
		k.held = 1
	}
	n, known := c.kindOf[k]
	if !known {
		c.kinds.Row(k.lane, k.hand, k.held, k.room, k.priority, k.lease)
		n = int64(len(c.kindOf)) + 1
		if c.kindOf == nil {
			c.kindOf = map[kind]int64{}
		}
		c.kindOf[k] = n
	}
	entry, refs := encodeRefs(s.Refs)
	c.run.Add(s.of.ID)
	c.path.Add(s.Path)
	c.env.Add(s.env)
	c.numbers.Row(int64(s.of.k), n, store.Rank(s.readyAt(), s.Priority), int64(s.Due), s.cause, entry, int64(s.Attempt),
		numbered(&c.refs, refs), numbered(&c.documents, machine.Documents(s.Path)))
}

// numbered adds a list of texts, and gives its number; 0: it is empty.
func numbered(to *column.Texts, list []string) int64 {
	if len(list) == 0 {
		return 0
	}
	to.Add(literal(list))
	return int64(to.Len())
}

func (s *start) readyAt() machine.Time {
	if s.Due == 0 {
		return s.of.At
	}
	return s.Due
}

// handColumns are whom tasks are handed over to: one for a whole batch, as a rule.
type handColumns struct {
	of           []handed
	token, lease column.Longs
	owner        column.Texts
}

type handed struct {
	owner string
	token int64
	lease time.Duration
}

// number gives the number of the one that s may be handed to, from 1; 0: nobody.
func (c *handColumns) number(s *start) int32 {
	if !s.hand {
		return 0
	}
	h := handed{s.of.Hand.Owner, s.of.Hand.Token, s.of.Hand.Lease}
	for i, other := range slices.Backward(c.of) {
		if other == h {
			return int32(i) + 1
		}
	}
	c.of = append(c.of, h)
	c.token.Add(h.token)
	c.lease.Add(h.lease.Microseconds())
	c.owner.Add(h.owner)
	return int32(len(c.of))
}

// start inserts the tasks that are there in the end, and hands over what may be.
func (b *Batch) start(p *wire.Pipeline, lanes *Lanes) {
	if m := b.lone(); m != nil && m.startsAlone(lanes) {
		for _, s := range m.starts {
			b.loneStart(p, lanes, s)
		}
		return
	}
	var c taskRows
	n := 0
	for _, m := range b.members {
		n += len(m.starts)
	}
	if n == 0 {
		return
	}
	c.run.Grow(n, 16)
	c.path.Grow(n, 16)
	c.env.Grow(n, 64)
	c.numbers.Grow(n, 9*12)
	numbers := map[store.Lane]int64{}
	var last *start
	counted := false
	for _, m := range b.members {
		counted = counted || m.hands > m.Hand.Limit
		for _, s := range m.starts {
			if last != nil && last.lane == s.lane {
				s.number = last.number
			} else if s.number = numbers[s.lane]; s.number == 0 {
				s.number = int64(len(numbers)) + 1
				numbers[s.lane] = s.number
				c.lanes.add(s.lane)
			}
			c.add(s.number, s)
			last = s
		}
	}
	query, see := startAllSQL, b.seeLanes(lanes, numbers)
	if counted {
		query, see = startCountedSQL, b.seeStarted(lanes)
	}
	l, h := &c.lanes, &c.hands
	p.Each(query, see, &l.tenant, &l.queue, &l.handler, &l.workflow, &h.token, &h.owner, &h.lease, &c.run, &c.path,
		&c.env, &c.numbers, &c.kinds, &c.refs, &c.documents)
}

// seeLanes keeps what was handed over, and the names of lanes, of which numbers are those in the statement.
func (b *Batch) seeLanes(lanes *Lanes, numbers map[store.Lane]int64) func(rows pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var now int64
		var ids []int64
		var paused []bool
		if err := rows.Scan(&now, &ids, &paused); err != nil {
			return err
		}
		for lane, k := range numbers {
			lane.ID = ids[k-1]
			if lane.ID != 0 { // else nobody won who needs it
				lanes.Keep(lane)
			}
		}
		for _, m := range b.members { // of those that lost, nobody asks
			for _, s := range m.starts {
				k := s.number - 1
				leased := s.hand && !paused[k] && int64(s.Due) <= now
				s.put = placed{lane: ids[k], attempt: s.Attempt, leased: leased}
				if leased {
					s.put.attempt++
				}
			}
		}
		return nil
	}
}

// seeStarted keeps what was handed over, and the names of lanes.
func (b *Batch) seeStarted(lanes *Lanes) func(rows pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var run [16]byte
		var path string
		var put placed
		if err := rows.Scan(&run, &path, &put.lane, &put.attempt, &put.leased); err != nil {
			return err
		}
		m := b.byRun[run]
		i := slices.IndexFunc(m.starts, func(s *start) bool { return s.Path == path })
		m.starts[i].place(lanes, put)
		return nil
	}
}

// forget drops what an earlier try found, which was undone.
func (b *Batch) forget() {
	b.read = nil
	for _, m := range b.members {
		for _, s := range m.starts {
			s.put = placed{}
		}
	}
}

// place keeps where a task was put.
func (s *start) place(lanes *Lanes, put placed) {
	lane := s.lane
	lane.ID = put.lane
	lanes.Keep(lane)
	s.put = put
}

// Handed gives the tasks that were handed over to m's owner, in the order of their effects.
func (b *Batch) Handed(m *Member) []store.Claimed {
	var out []store.Claimed
	for _, s := range m.starts {
		if !s.put.leased {
			continue
		}
		out = append(out, store.Claimed{
			Task: s.task(), Token: m.Hand.Token, Payloads: b.payloads(m, s.Refs),
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

func (s *start) task() store.Task {
	t := store.Task{
		RunID: s.of.Run.ID, Path: s.Path, Lane: s.lane, Priority: s.Priority, Attempt: s.put.attempt, Env: s.Env,
		Refs: slices.Clone(s.Refs), Cause: s.cause, Lease: s.Lease, ReadyAt: s.readyAt(),
	}
	t.Lane.ID = s.put.lane
	return t
}

func (b *Batch) payloads(m *Member, refs []machine.Ref) map[machine.Ref]json.RawMessage {
	out := make(map[machine.Ref]json.RawMessage, len(refs))
	for _, ref := range refs {
		payload, brought := m.payload(ref)
		if !brought {
			payload = b.read[paid{m.ID, ref}]
		}
		if payload != nil {
			out[ref] = slices.Clone(payload)
		}
	}
	return out
}

// encodeRefs writes references: a single entry of the journal as its number, others as a list of texts.
func encodeRefs(refs []machine.Ref) (entry int64, list []string) {
	switch {
	case len(refs) == 0:
		return 0, nil
	case len(refs) == 1 && refs[0].Key == "":
		return refs[0].Seq, nil
	}
	list = make([]string, len(refs))
	for i, ref := range refs {
		list[i] = ref.String()
	}
	return 0, list
}
