package batch

import (
	"github.com/millrace-go/millrace/store/postgres/internal/column"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

const (
	// The unique index of open letters finds the one that is open.
	openSQL = `insert into millrace.dead_letters (tenant, run, kind, path, created_at, error, error_step, error_code)
		select i.tenant, i.run, i.kind, i.path, i.at, i.error, i.step, i.code
		from unnest($1::int[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bytea[], $8::text[], $9::text[])
			with ordinality as i(n, run, tenant, kind, path, at, error, step, code, ord)
		where ` + won + ` order by i.ord
		on conflict (run, kind, path) where state = 'open' do update
			set error = excluded.error, error_step = excluded.error_step, error_code = excluded.error_code`
	// A range of the index of open letters for each run.
	closeSQL = `update millrace.dead_letters as t set state = i.how, closed_at = i.at
		from unnest($1::int[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bool[])
			as i(n, run, kind, path, how, at, every)
		where t.run = any (array[i.run]) and t.state = 'open' and ` + won + `
			and (i.every and t.kind <> 'finally' or not i.every and t.kind = i.kind and t.path = i.path)`
)

// letters opens and closes dead letters: those of all members at once, unless the order matters within one.
func (b *Batch) letters(p *wire.Pipeline) {
	var opens openColumns
	var closes closeColumns
	one := false
	for _, m := range b.members {
		one = one || m.sequential()
	}
	for _, m := range b.members {
		for _, op := range m.letters {
			if op.opens {
				opens.add(m, &op)
			} else {
				closes.add(m, &op)
			}
			if one {
				closes.queue(p)
				opens.queue(p)
			}
		}
	}
	closes.queue(p)
	opens.queue(p)
}

type openColumns struct {
	rowsOf
	tenant, kind, path, step, code column.Texts
	at                             column.Longs
	failure                        column.Bytes
}

func (c *openColumns) add(m *Member, op *letterOp) {
	c.rowsOf.add(m)
	c.tenant.Add(m.Run.Tenant)
	c.kind.Add(string(op.kind))
	c.path.Add(op.path)
	c.at.Add(int64(m.At))
	step, code := stepOf(op.err)
	c.step.AddOr(step)
	c.code.AddOr(code)
	c.failure.Add(encodeFailure(op.err))
}

func (c *openColumns) queue(p *wire.Pipeline) {
	if sent := *c; !c.empty() {
		p.Do(openSQL, &sent.n, &sent.run, &sent.tenant, &sent.kind, &sent.path, &sent.at, &sent.failure, &sent.step, &sent.code)
	}
	*c = openColumns{}
}

type closeColumns struct {
	rowsOf
	kind, path, how column.Texts
	at              column.Longs
	every           column.Bools
}

func (c *closeColumns) add(m *Member, op *letterOp) {
	c.rowsOf.add(m)
	c.kind.Add(string(op.kind))
	c.path.Add(op.path)
	c.how.Add(string(op.how))
	c.at.Add(int64(m.At))
	c.every.Add(op.all)
}

func (c *closeColumns) queue(p *wire.Pipeline) {
	if sent := *c; !c.empty() {
		p.Do(closeSQL, &sent.n, &sent.run, &sent.kind, &sent.path, &sent.how, &sent.at, &sent.every)
	}
	*c = closeColumns{}
}
