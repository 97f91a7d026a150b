package batch

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/column"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// The statements of this file change what belongs to the winners, each for all of them: rows of primary keys that begin with
// the run, and nothing of a run that this transaction has not written.
const (
	deliverSQL = `update millrace.inbox as t set delivered = true, payload = null, facts = null
		from unnest($1::int[], $2::uuid[], $3::bigint[]) as i(n, run, seq)
		where t.run = any (array[i.run]) and t.seq = i.seq and not t.delivered and ` + won
	unsaveSQL = `delete from millrace.scopes as t using unnest($1::int[], $2::uuid[], $3::text[]) as i(n, run, path)
		where t.run = any (array[i.run]) and t.path = i.path and ` + won
	saveSQL = `insert into millrace.scopes (run, path, doc)
		select i.run, i.path, i.doc from unnest($1::int[], $2::uuid[], $3::text[], $4::bytea[]) as i(n, run, path, doc)
		where ` + won + " on conflict (run, path) do update set doc = excluded.doc"
	// What nobody holds goes, what is held is told. A claim that comes between is waited for, and leaves it held.
	stopSQL = `delete from millrace.tasks as t using unnest($1::int[], $2::uuid[], $3::text[]) as i(n, run, path)
		where t.run = any (array[i.run]) and t.path = i.path and t.token = 0 and ` + won
	tellStopSQL = `update millrace.tasks as t set stop = true from unnest($1::int[], $2::uuid[], $3::text[]) as i(n, run, path)
		where t.run = any (array[i.run]) and t.path = i.path and t.token <> 0 and not t.stop and ` + won
	bearSQL = `insert into millrace.tasks (run, path, lane, rank, due, cause, entry, lease_ms, priority, attempt, state, env)
		select i.run, i.path, 0, 0, 0, 0, 0, 0, 0, 0, 0, '' from unnest($1::int[], $2::uuid[], $3::text[]) as i(n, run, path)
		where ` + won
	holdSQL = `update millrace.tasks as t set state = 3 from unnest($1::int[], $2::uuid[]) as i(n, run)
		where t.run = any (array[i.run]) and t.state < 2 and ` + won
	freeSQL = `update millrace.tasks as t set state = case when t.due > millrace.clock() then 1 else 0 end,
			due = case when t.due > millrace.clock() then t.due else 0 end
		from unnest($1::int[], $2::uuid[]) as i(n, run) where t.run = any (array[i.run]) and t.state = 3 and ` + won
	cancelTimerSQL = `delete from millrace.timers as t using unnest($1::int[], $2::uuid[], $3::text[]) as i(n, run, key)
		where t.run = any (array[i.run]) and t.key = i.key and ` + won
	setTimerSQL = `insert into millrace.timers (run, key, tenant, due, cause) select i.run, i.key, i.tenant, i.due, i.cause
		from unnest($1::int[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::bigint[]) as i(n, run, key, tenant, due, cause)
		where ` + won + " on conflict (run, key) do update set due = excluded.due, cause = excluded.cause"
	putSQL = `insert into millrace.run_values (run, ref, data) select i.run, i.ref, i.data
		from unnest($1::int[], $2::uuid[], $3::text[], $4::bytea[]) as i(n, run, ref, data) where ` + won
)

var (
	// The bet that every guard holds whose run's version is right: a division by zero undoes all when it does not.
	dropSQL = `with gone as (
		delete from millrace.tasks as t using (select i.run, i.path, ` + cells("$3", "n", "token") + `
			from ` + unnested("$1::uuid[] as run", "$2::text[] as path") + `) as i
		where t.run = any (array[i.run]) and t.path = i.path and t.token = i.token and ` + won + `
		returning 1)
		select 1 / ((select count(*) from gone) = (select count(*) from (
			select ` + cell("$3", 1, 2) + ` as n from generate_series(1, cardinality($1::uuid[])) as i(k)) as i where ` + won + `))::int`
	journalSQL = `insert into millrace.journal (run, seq, at, cause, attempt, kind, path, name, key, payload, facts)
		select i.run, i.seq, i.at, i.cause, i.attempt, ($5::text[])[i.kind], i.path, coalesce(($6::text[])[i.name], ''),
			coalesce(($6::text[])[i.key], ''), i.payload, ($7::bytea[])[i.facts]
		from (select i.run, i.path, i.payload, ` + cells("$4", "n", "seq", "at", "cause", "attempt", "kind", "name", "key", "facts") + `
			from ` + unnested("$1::uuid[] as run", "$2::text[] as path", "$3::bytea[] as payload") + `) as i
		where ` + won
)

// endSQL deletes what is live of runs; those that keep their documents are told by $3.
const endSQL = `with i as materialized (
		select i.* from unnest($1::int[], $2::uuid[], $3::bool[]) as i(n, run, keep) where ` + won + `),
	tasks as (delete from millrace.tasks as t using i where t.run = any (array[i.run])),
	timers as (delete from millrace.timers as t using i where t.run = any (array[i.run])),
	inbox as (delete from millrace.inbox as t using i where t.run = any (array[i.run]))
	delete from millrace.scopes as t using i where t.run = any (array[i.run]) and not i.keep and right(t.path, 2) <> ':]'`

// CarryOut adds all that follows the runs' rows, in the order of store.Settlement.
func (b *Batch) CarryOut(p *wire.Pipeline, lanes *Lanes) {
	b.forget()
	b.removeGuarded(p)
	b.deliver(p)
	b.save(p)
	b.record(p)
	b.makeLanes(p, lanes)
	b.rounds(p)
	b.setTimers(p)
	b.holdTasks(p)
	b.put(p)
	b.letters(p)
	b.start(p, lanes)
	b.pay(p)
}

func (b *Batch) removeGuarded(p *wire.Pipeline) {
	if m := b.lone(); m != nil {
		b.loneRemove(p, m)
		return
	}
	var run column.UUIDs
	var path column.Texts
	var numbers column.Longs
	run.Grow(len(b.members), 16)
	path.Grow(len(b.members), 16)
	numbers.Grow(len(b.members), 2*12)
	for _, m := range b.members {
		for _, g := range m.Guards {
			if g.Remove {
				run.Add(m.ID)
				path.Add(g.Path)
				numbers.Row(int64(m.k), g.Token)
			}
		}
	}
	if run.Len() > 0 {
		p.Do(dropSQL, &run, &path, &numbers)
	}
}

func (b *Batch) deliver(p *wire.Pipeline) {
	var c rowsOf
	var seqs column.Longs
	for _, m := range b.members {
		for _, seq := range m.Inbox {
			c.add(m)
			seqs.Add(seq)
		}
	}
	if !c.empty() {
		p.Do(deliverSQL, &c.n, &c.run, &seqs)
	}
}

// named is a row that is found by run and name.
type named struct {
	rowsOf
	name column.Texts
}

func (c *named) add(m *Member, name string) {
	c.rowsOf.add(m)
	c.name.Add(name)
}

func (c *named) queue(p *wire.Pipeline, queries ...string) {
	if c.empty() {
		return
	}
	for _, query := range queries {
		p.Do(query, &c.n, &c.run, &c.name)
	}
}

// contents are rows found by run and name that hold bytes.
type contents struct {
	named
	data column.Bytes
}

func (c *contents) add(m *Member, name string, data []byte) {
	c.named.add(m, name)
	c.data.Add(data)
}

func (c *contents) queue(p *wire.Pipeline, query string) {
	if !c.empty() {
		p.Do(query, &c.n, &c.run, &c.name, &c.data)
	}
}

func (b *Batch) save(p *wire.Pipeline) {
	var gone named
	var kept contents
	for _, m := range b.members {
		for _, change := range m.changes {
			if change.Doc == nil {
				gone.add(m, change.Path)
			} else {
				kept.add(m, change.Path, change.Doc)
			}
		}
	}
	gone.queue(p, unsaveSQL)
	kept.queue(p, saveSQL)
}

type entryColumns struct {
	run         column.UUIDs
	path        column.Texts
	payload     column.Bytes
	numbers     column.Longs
	kind, words column.Words
	facts       column.Bytes
}

func (c *entryColumns) add(m *Member, e *store.Entry) {
	c.run.Add(m.ID)
	c.path.Add(e.Path)
	c.payload.Add(e.Payload)
	c.numbers.Row(int64(m.k), e.Seq, int64(e.At), e.Cause, int64(e.Attempt), c.kind.Number(string(e.Kind)), c.words.Number(e.Name),
		c.words.Number(e.Key), c.facts.Number(e.Facts))
}

func (b *Batch) record(p *wire.Pipeline) {
	if m := b.lone(); m != nil && len(m.Entries) <= loneRows {
		for i := range m.Entries {
			loneEntry(p, m, &m.Entries[i])
		}
		return
	}
	var c entryColumns
	n := len(b.members)
	c.run.Grow(n, 16)
	c.path.Grow(n, 16)
	c.payload.Grow(n, 128)
	c.numbers.Grow(n, 9*12)
	for _, m := range b.members {
		for i := range m.Entries {
			c.add(m, &m.Entries[i])
		}
	}
	if c.run.Len() > 0 {
		p.Do(journalSQL, &c.run, &c.path, &c.payload, &c.numbers, &c.kind, &c.words, &c.facts)
	}
}

// rounds carries out what stops, is born to be taken back, and ends.
func (b *Batch) rounds(p *wire.Pipeline) {
	for n := 0; ; n++ {
		var stops, births named
		var ending rowsOf
		var keeps column.Bools
		more := false
		for _, m := range b.members {
			if n >= len(m.rounds) {
				continue
			}
			more = true
			r := &m.rounds[n]
			for _, path := range r.stops {
				stops.add(m, path)
			}
			for _, s := range r.births {
				births.add(m, s.Path)
			}
			if r.ends {
				ending.add(m)
				keeps.Add(m.keep)
			}
		}
		if !more {
			return
		}
		stops.queue(p, stopSQL, tellStopSQL)
		births.queue(p, bearSQL)
		switch m := b.lone(); {
		case ending.empty():
		case m != nil:
			p.Do(loneEndSQL, m.ID, m.keep)
		default:
			p.Do(endSQL, &ending.n, &ending.run, &keeps)
		}
	}
}

func (b *Batch) setTimers(p *wire.Pipeline) {
	var gone, set named
	var tenants column.Texts
	var dues, causes column.Longs
	for _, m := range b.members {
		if len(m.timers) == 0 {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(m.timers)) {
			op := m.timers[key]
			if !op.set {
				gone.add(m, key)
				continue
			}
			set.add(m, key)
			tenants.Add(m.Run.Tenant)
			dues.Add(op.due)
			causes.Add(op.cause)
		}
	}
	gone.queue(p, cancelTimerSQL)
	if !set.empty() {
		p.Do(setTimerSQL, &set.n, &set.run, &set.name, &tenants, &dues, &causes)
	}
}

func (b *Batch) holdTasks(p *wire.Pipeline) {
	for hold, query := range map[holding]string{heldInTheEnd: holdSQL, freedInTheEnd: freeSQL} {
		var c rowsOf
		for _, m := range b.members {
			if m.hold == hold {
				c.add(m)
			}
		}
		if !c.empty() {
			p.Do(query, &c.n, &c.run)
		}
	}
}

func (b *Batch) put(p *wire.Pipeline) {
	var c contents
	for _, m := range b.members {
		for ref, data := range m.values {
			c.add(m, ref.String(), data)
		}
	}
	c.queue(p, putSQL)
}

const (
	// What the tasks that are handed over read and their settlements do not carry: rows of primary keys.
	payEntriesSQL = `select i.run, i.seq, j.payload from unnest($1::uuid[], $2::int[]) as i(run, seq)
		cross join lateral (select payload from millrace.journal where run = i.run and seq = i.seq limit 1) as j`
	payValuesSQL = `select i.run, i.ref, v.data from unnest($1::uuid[], $2::text[]) as i(run, ref)
		cross join lateral (select data from millrace.run_values where run = i.run and ref = i.ref limit 1) as v`
)

// pay reads what may be handed over with the tasks.
func (b *Batch) pay(p *wire.Pipeline) {
	var entries struct {
		rowsOf
		seq column.Ints
	}
	var values named
	for _, m := range b.members {
		for _, s := range m.starts {
			for _, ref := range s.Refs {
				if _, brought := m.payload(ref); !s.hand || brought {
					continue
				}
				if ref.Key == "" {
					entries.add(m)
					entries.seq.Add(int32(ref.Seq))
				} else {
					values.add(m, ref.String())
				}
			}
		}
	}
	if !entries.empty() {
		p.Each(payEntriesSQL, func(rows pgx.Rows) error {
			var run [16]byte
			var seq int64
			var payload []byte
			err := rows.Scan(&run, &seq, &payload)
			b.keep(run, strconv.FormatInt(seq, 10), payload)
			return err
		}, &entries.run, &entries.seq)
	}
	if !values.empty() {
		p.Each(payValuesSQL, func(rows pgx.Rows) error {
			var run [16]byte
			var ref string
			var payload []byte
			err := rows.Scan(&run, &ref, &payload)
			b.keep(run, ref, payload)
			return err
		}, &values.run, &values.name)
	}
}

func (b *Batch) keep(run wire.ID, text string, payload []byte) {
	ref, err := machine.ParseRef(text)
	if err != nil {
		return
	}
	if b.read == nil {
		b.read = map[paid]json.RawMessage{}
	}
	b.read[paid{run, ref}] = payload
}

// literal writes texts as PostgreSQL writes an array, since an array of arrays of different lengths is none.
func literal(texts []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, text := range texts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		b.WriteString(quoting.Replace(text))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
