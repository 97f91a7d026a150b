// Package batch is what a batch of settlements does to the tables: the statements that carry out effects for many runs at once.
//
// Nouns: a [Member] is one settlement, its effects folded as far as the order within it decides; a [Batch] is members of different
// runs whose statements share a transaction; the winners are the members whose run's row it wrote, and what the others ask for is
// passed over; a [Starting] is a member that makes its run; [Lanes] remembers the names of lanes.
//
// It imports store, machine, pgx, and the rooms beside it.
package batch

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/column"
	"github.com/millrace-go/millrace/store/postgres/internal/listing"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// Batch is what members change, as the statements of one pipeline take it: column by column. What its statements found is in
// it afterwards.
type Batch struct {
	members []*Member
	byRun   map[wire.ID]*Member
	Careful bool // all guards are asked; else it is a bet that those hold whose tasks are removed

	Now     machine.Time      // the database's, once it was sent
	Won     []*Member         // once Advance was sent
	started map[*start]placed // those that were handed over
	read    map[paid]json.RawMessage
}

// placed is where a task was put that was handed over.
type placed struct {
	lane    int64
	attempt int
}

type paid struct {
	run wire.ID
	ref machine.Ref
}

// New takes members of different runs. They are locked in the order of their ids.
func New(members []*Member) *Batch {
	b := &Batch{members: members, byRun: make(map[wire.ID]*Member, len(members))}
	for i, m := range members {
		m.k = int32(i)
		b.byRun[m.ID] = m
	}
	return b
}

// Losers gives the members that did not win.
func (b *Batch) Losers() []*Member {
	if len(b.Won) == len(b.members) {
		return nil
	}
	won := make(map[*Member]bool, len(b.Won))
	for _, m := range b.Won {
		won[m] = true
	}
	return slices.DeleteFunc(slices.Clone(b.members), func(m *Member) bool { return won[m] })
}

// won holds for rows i of the winners: the statement that decides who wins leaves the numbers of the others in a setting of
// the transaction, which is empty nearly always.
const won = "i.n <> all ((select string_to_array(current_setting('millrace_batch.lost'), ',')::int[])::int[])"

// Statements ask for many rows by key in a way that the planner cannot turn around, whatever size it believes a table to have:
// a plan may be made while a table is empty, and outlive that. What they read stands in a lateral subquery with a limit; what
// they lock too, and is then changed at the place (ctid) at which it was locked; what they change without a lock is found by
// "run = any (array[i.run])", which can be looked up and not be joined by walking the whole index.

// advanceSQL moves the runs on whose version, journal and guards are as they should be, and whose time is right. It finds
// rows in the primary keys of tasks and runs alone. A guard under a token needs no lock: only who holds the run's row can end
// a token, and the version tells. One that says that nobody holds the task locks it, so that no claim comes between. Rows of
// runs that others hold are passed over; a lock that was waited for is followed by a look at what the row has become.
const advanceSQL = `with broken as materialized (
		select g.n from unnest($1::int[], $2::uuid[], $3::text[], $4::bigint[]) as g(n, run, path, token)
		left join lateral (select true as held from millrace.tasks where run = g.run and path = g.path and token = g.token
			limit 1) as t on true
		where t.held is null
		union all
		select g.n from unnest($5::int[], $6::uuid[], $7::text[]) as g(n, run, path)
		left join lateral (select true as free from millrace.tasks where run = g.run and path = g.path and token = 0
			for no key update) as t on true
		where t.free is null),
	locked as materialized (
		select i.*, r.place
		from unnest($8::int[], $9::uuid[], $10::text[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[],
			$16::bigint[], $17::bigint[], $18::bool[], $19::bool[], $20::text[], $21::bytea[], $22::text[], $23::text[], $24::bytea[])
			as i(n, run, tenant, version, before, seq, stamp, at, started_at, finished_at, rare, keeps, status, error, step, code, doc)
		cross join lateral (select ctid as place from millrace.runs
			where id = i.run and tenant = i.tenant and version = i.version and seq = i.before
			for no key update skip locked) as r
		where abs(i.stamp - (select millrace.clock())) <= 1000000
			and i.n <> all (array(select n from broken))),
	moved as (
		update millrace.runs as r set version = i.version + 1, seq = i.seq, at = i.at, started_at = i.started_at,
			finished_at = i.finished_at, rare = i.rare, status = i.status, doc = i.doc,
			error = case when i.keeps then r.error else i.error end,
			error_step = case when i.keeps then r.error_step else i.step end,
			error_code = case when i.keeps then r.error_code else i.code end
		from locked as i where r.ctid = i.place
		returning i.n)
	select array(select n from moved), millrace.clock(), set_config('millrace_batch.lost', coalesce(
		(select string_agg(n::text, ',') from unnest($8::int[]) as n where n not in (select n from moved)), ''), true)`

// Advance moves the runs of the members on, and says who has won.
func (b *Batch) Advance(p *wire.Pipeline) {
	var g, free guardColumns
	var r runColumns
	for _, m := range slices.SortedFunc(slices.Values(b.members), func(x, y *Member) int { return bytes.Compare(x.ID[:], y.ID[:]) }) {
		for _, guard := range m.Guards {
			switch {
			case guard.Token == 0:
				free.add(m, guard)
			case b.Careful || !guard.Remove:
				g.add(m, guard)
			}
		}
		r.add(m)
	}
	p.Each(advanceSQL, func(rows pgx.Rows) error {
		var won []int32
		var lost string
		if err := rows.Scan(&won, (*int64)(&b.Now), &lost); err != nil {
			return err
		}
		b.Won = make([]*Member, len(won))
		for i, n := range won {
			b.Won[i] = b.members[n]
		}
		return nil
	}, &g.n, &g.run, &g.path, &g.token, &free.n, &free.run, &free.path, &r.n, &r.run, &r.tenant, &r.version, &r.before, &r.seq,
		&r.stamp, &r.at, &r.started, &r.finished, &r.rare, &r.keeps, &r.status, &r.failure, &r.step, &r.code, &r.doc)
}

// rowsOf says of which members rows are.
type rowsOf struct {
	n   column.Ints
	run column.UUIDs
}

func (c *rowsOf) add(m *Member) {
	c.n.Add(m.k)
	c.run.Add(m.ID)
}

func (c *rowsOf) empty() bool { return c.n.Len() == 0 }

type guardColumns struct {
	rowsOf
	path  column.Texts
	token column.Longs
}

func (c *guardColumns) add(m *Member, g store.Guard) {
	c.rowsOf.add(m)
	c.path.Add(g.Path)
	c.token.Add(g.Token)
}

type runColumns struct {
	rowsOf
	version, before, seq, stamp, at, started, finished column.Longs
	rare, keeps                                        column.Bools
	tenant, status, step, code                         column.Texts
	failure, doc                                       column.Bytes
}

func (c *runColumns) add(m *Member) {
	r := m.Run
	c.rowsOf.add(m)
	c.tenant.Add(r.Tenant)
	c.version.Add(m.From)
	c.before.Add(m.before())
	c.seq.Add(r.Seq)
	c.stamp.Add(int64(m.At))
	c.at.Add(int64(r.At))
	c.started.Add(int64(r.StartedAt))
	c.finished.Add(int64(r.FinishedAt))
	c.rare.Add(listing.Rare(r.Status))
	c.keeps.Add(!m.ends && r.Status.Ended())
	c.status.Add(string(r.Status))
	step, code := stepOf(m.failure)
	c.step.AddOr(step)
	c.code.AddOr(code)
	c.failure.Add(encodeFailure(m.failure))
	c.doc.Add(m.root)
}
