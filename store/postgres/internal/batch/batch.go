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
	"fmt"
	"slices"
	"strings"

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
	bets    bool // that its only member wins: see lone

	Now  machine.Time // the database's, once it was sent
	Won  []*Member    // once Advance was sent
	read map[paid]json.RawMessage
}

// placed is where a task was put.
type placed struct {
	lane    int64
	attempt int
	leased  bool // it was handed over
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
const won = "i.n <> all ((select string_to_array(coalesce(current_setting('millrace_batch.lost', true), ''), ',')::int[])::int[])"

// Statements ask for many rows by key in a way that the planner cannot turn around, whatever size it believes a table to have:
// a plan may be made while a table is empty, and outlive that. What they read stands in a lateral subquery with a limit; what
// they lock too, and is then changed at the place (ctid) at which it was locked; what they change without a lock is found by
// "run = any (array[i.run])", which can be looked up and not be joined by walking the whole index.

// Of what a statement takes, texts and bytes come as columns, with the number k of the row; all numbers of a row stand together
// in one array, and what many rows share stands in a list of its own, under its number. So no row is copied that is wide.

// unnested gives rows of columns ("PARAMETER as NAME"), and the number k of each. Their functions stand in the list of what is
// selected, since what stands behind "from" is written to a store of tuples first, and read from it.
func unnested(columns ...string) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		param, name, _ := strings.Cut(c, " as ")
		out[i] = fmt.Sprintf("unnest(%s) as %s", param, name)
	}
	first, _, _ := strings.Cut(columns[0], " as ")
	return fmt.Sprintf("(select %s, generate_series(1, cardinality(%s)) as k) as i", strings.Join(out, ", "), first)
}

// cell gives the j-th of the numbers of row i, of which there are so many, in the array that parameter p is.
func cell(p string, j, many int) string {
	return fmt.Sprintf("(%s::bigint[])[i.k * %d - %d]", p, many, many-j)
}

// cells gives names to the numbers of row i in the array that parameter p is.
func cells(p string, names ...string) string {
	out := make([]string, len(names))
	for j, name := range names {
		out[j] = cell(p, j+1, len(names)) + " as " + name
	}
	return strings.Join(out, ", ")
}

// advance gives the statement that moves the runs on whose version, journal and guards are as they should be, and whose time is right. It finds
// rows in the primary keys of tasks and runs alone. A guard under a token needs no lock: only who holds the run's row can end
// a token, and the version tells. One that says that nobody holds the task locks it, so that no claim comes between. Rows of
// runs that others hold are passed over; a lock that was waited for is followed by a look at what the row has become.
//
// Without care it is a bet that nobody else holds the runs: their rows are not locked first, which is a third of the cost. They
// are taken in the order of their ids, so that such batches wait for each other in no circle, and not for long.
func advance(m manner) string {
	broken, unbroken, rows := "", "", boldSQL
	if m.guarded {
		broken, unbroken = brokenSQL, " and i.n <> all (array(select n from broken))"
	}
	if m.careful {
		rows = carefulSQL
	}
	return fmt.Sprintf(advanceSQL, broken, fmt.Sprintf(rows, unbroken))
}

// manner is how runs are moved on.
type manner struct{ guarded, careful bool }

// boundSQL ends a transaction that would wait for a lock: with care, none is waited for in vain.
const boundSQL = "select set_config('lock_timeout', '20ms', true)"

const brokenSQL = `broken as materialized (
		select g.n from unnest($11::int[], $12::uuid[], $13::text[], $14::bigint[]) as g(n, run, path, token)
		left join lateral (select true as held from millrace.tasks where run = g.run and path = g.path and token = g.token
			limit 1) as t on true
		where t.held is null
		union all
		select g.n from unnest($15::int[], $16::uuid[], $17::text[]) as g(n, run, path)
		left join lateral (select true as free from millrace.tasks where run = g.run and path = g.path and token = 0
			for no key update) as t on true
		where t.free is null),`

var advanceSQL = `with %s moved as (
		update millrace.runs as r set version = i.version + 1, seq = i.seq, at = i.at, started_at = i.started_at,
			finished_at = i.finished_at, status = ($5::text[])[i.ending], rare = ($6::text[])[i.ending], doc = i.doc,
			error = case when ($7::bool[])[i.ending] then r.error else ($8::bytea[])[i.ending] end,
			error_step = case when ($7::bool[])[i.ending] then r.error_step else ($9::text[])[i.ending] end,
			error_code = case when ($7::bool[])[i.ending] then r.error_code else ($10::text[])[i.ending] end
		%s
		returning i.n)
	select array(select n from moved), millrace.clock(), set_config('millrace_batch.lost', coalesce(
		(select string_agg(i.n::text, ',') from (
			select ` + cell("$3", 1, 9) + ` as n from generate_series(1, cardinality($1::uuid[])) as i(k)) as i
		where i.n not in (select n from moved)), ''), true)`

var (
	membersSQL = "select i.run, i.doc, " +
		cells("$3", "n", "version", "before", "seq", "stamp", "at", "started_at", "finished_at", "ending") +
		" from " + unnested("$1::uuid[] as run", "$2::bytea[] as doc")
	boldSQL = `from (` + membersSQL + `) as i
		where r.id = any (array[i.run]) and r.tenant = ($4::text[])[i.ending] and r.version = i.version and r.seq = i.before
			and abs(i.stamp - (select millrace.clock())) <= 1000000%s`
	carefulSQL = `from (
			select i.*, r.place from (` + membersSQL + `) as i
			cross join lateral (select ctid as place from millrace.runs
				where id = i.run and tenant = ($4::text[])[i.ending] and version = i.version and seq = i.before
				for no key update skip locked) as r
			where abs(i.stamp - (select millrace.clock())) <= 1000000%s) as i
		where r.ctid = i.place`
)

var advanceSQLs = map[manner]string{
	{}: advance(manner{}), {guarded: true}: advance(manner{guarded: true}),
	{careful: true}: advance(manner{careful: true}), {true, true}: advance(manner{true, true}),
}

// Advance moves the runs of the members on, and says who has won.
func (b *Batch) Advance(p *wire.Pipeline) {
	if b.bets = len(b.members) == 1 && !b.Careful; b.bets {
		b.loneAdvance(p, b.members[0])
		return
	}
	var g, free guardColumns
	var r runColumns
	r.grow(len(b.members))
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
	args := []any{&r.run, &r.doc, &r.numbers, &r.tenant, &r.status, &r.rare, &r.keeps, &r.failure, &r.step, &r.code}
	guarded := !g.empty() || !free.empty()
	if guarded {
		args = append(args, &g.n, &g.run, &g.path, &g.token, &free.n, &free.run, &free.path)
	}
	if !b.Careful {
		p.Do(boundSQL)
	}
	p.Each(advanceSQLs[manner{guarded, b.Careful}], func(rows pgx.Rows) error {
		var won []int64
		var lost string
		if err := rows.Scan(&won, (*int64)(&b.Now), &lost); err != nil {
			return err
		}
		b.Won = make([]*Member, len(won))
		for i, n := range won {
			b.Won[i] = b.members[n]
		}
		return nil
	}, args...)
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

// runColumns are runs, and how they stand: what many share is there once.
type runColumns struct {
	run     column.UUIDs
	doc     column.Bytes
	numbers column.Longs

	known                      map[standing]int64
	tenant, status, step, code column.Texts
	rare                       column.Texts
	keeps                      column.Bools
	failure                    column.Bytes
}

// standing is how runs stand that have no error of their own.
type standing struct {
	tenant string
	status machine.Status
	ends   bool
}

func (c *runColumns) grow(n int) {
	c.run.Grow(n, 16)
	c.doc.Grow(n, 128)
	c.numbers.Grow(n, 9*12)
}

func (c *runColumns) add(m *Member) {
	r := m.Run
	c.run.Add(m.ID)
	c.doc.Add(m.root)
	c.numbers.Row(int64(m.k), m.From, m.before(), r.Seq, int64(m.At), int64(r.At), int64(r.StartedAt), int64(r.FinishedAt), c.ending(m))
}

// ending gives the number of how a run stands.
func (c *runColumns) ending(m *Member) int64 {
	s := standing{m.Run.Tenant, m.Run.Status, m.ends}
	if n, ok := c.known[s]; ok && m.failure == nil {
		return n
	}
	c.tenant.Add(s.tenant)
	c.status.Add(string(s.status))
	c.rare.Add(listing.Rare(s.status))
	c.keeps.Add(!m.ends && s.status.Ended())
	step, code := stepOf(m.failure)
	c.step.AddOr(step)
	c.code.AddOr(code)
	c.failure.Add(encodeFailure(m.failure))
	n := int64(c.status.Len())
	if m.failure == nil {
		if c.known == nil {
			c.known = map[standing]int64{}
		}
		c.known[s] = n
	}
	return n
}
