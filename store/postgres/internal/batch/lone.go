package batch

import (
	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/listing"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// A batch of one member goes by statements of its own, which take a few values and are begun in a fraction of the time. It is a
// bet that the member wins: whatever does not hold undoes all by a division by zero, and the batch is asked again with care.
// What such a member rarely brings goes by the statements for many, to which nobody is said to have lost.
const (
	// One row of the primary key, waited for.
	loneAdvanceSQL = `with moved as (
		update millrace.runs set version = version + 1, seq = $5, at = $7, started_at = $8, finished_at = $9, status = $10, rare = $11,
			error = case when $12 then error else $13 end, error_step = case when $12 then error_step else $14 end,
			error_code = case when $12 then error_code else $15 end, doc = $16
		where id = $1 and tenant = $2 and version = $3 and seq = $4 and abs($6 - millrace.clock()) <= 1000000
		returning 1)
		select millrace.clock() / (select count(*) from moved)`
	loneKeySQL = `with taken as (
		insert into millrace.run_keys (tenant, workflow, key, run, hash) values ($1, $2, $3, $4, $5)
		on conflict (tenant, workflow, key) do nothing returning 1)
		select 1 / (select count(*) from taken)`
	loneCreateSQL = `with made as (
		insert into millrace.runs (id, tenant, workflow, workflow_version, key, home, machine_version, created_at, version, seq, at,
			started_at, finished_at, rare, status, error, error_step, error_code, options, labels, doc)
		select $1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20::text::jsonb, $21
		where abs($10 - millrace.clock()) <= 1000000
		on conflict (id) do nothing returning 1)
		select millrace.clock() / (select count(*) from made)`
	// One row of the primary key, held until the end: no claim comes between.
	loneGuardSQL = `select 1 / count(*) from (
		select from millrace.tasks where run = $1 and path = $2 and token = $3 for no key update) as t`
	loneDropSQL = `with gone as (delete from millrace.tasks where run = $1 and path = $2 and token = $3 returning 1)
		select 1 / (select count(*) from gone)`
	loneEntrySQL = `insert into millrace.journal (run, seq, at, cause, attempt, kind, path, name, key, payload, facts)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
	loneEndSQL = `with tasks as (delete from millrace.tasks where run = $1), timers as (delete from millrace.timers where run = $1),
		inbox as (delete from millrace.inbox where run = $1)
		delete from millrace.scopes where run = $1 and not $2 and right(path, 2) <> ':]'`
	// The lane is one row of its unique names.
	loneStartSQL = `with started as (
		insert into millrace.tasks (run, path, lane, rank, due, cause, entry, lease_ms, priority, attempt, state, token, owner,
			lease_until, claimed_at, refs, documents, env)
		select $1, $2, id, $7, case when handed or $8 <= now then 0 else $8 end, $9, $10, $11, $12, $13::int + handed::int,
			case when handed then 2 when $14 then 3 when $8::bigint > now then 1 else 0 end,
			case when handed then $16::bigint else 0 end, case when handed then $17 else '' end,
			case when not handed then 0 when $11::bigint > 0 then now + $11 * 1000 else now + $18::bigint end,
			case when handed then now else 0 end, $19::text[], $20::text[], $21
		from (select l.id, now, $15 and not l.paused and $8::bigint <= now as handed
			from millrace.lanes as l, (select millrace.clock() as now) as c
			where tenant = $3 and queue = $4 and handler = $5 and workflow = $6 offset 0) as l
		returning lane, attempt, state = 2 as leased)
		select lane, attempt, leased, 1 / (select count(*) from started) from (select) as one left join started on true`
)

// loneRows is how many entries or tasks of one member are written one by one.
const loneRows = 4

// lone gives the only member of a batch that bets on it: what its run's row does not stand for undoes all. Of a batch that does
// not bet, every statement asks who has won, however many there are.
func (b *Batch) lone() *Member {
	if b.bets {
		return b.members[0]
	}
	return nil
}

// wins takes the time of a bet that was won.
func (b *Batch) wins(rows pgx.Rows) error {
	b.Won = b.members
	return rows.Scan((*int64)(&b.Now))
}

func (b *Batch) loneAdvance(p *wire.Pipeline, m *Member) {
	r := m.Run
	step, code := stepOf(m.failure)
	p.Each(loneAdvanceSQL, b.wins, m.ID, r.Tenant, m.From, m.before(), r.Seq, int64(m.At), int64(r.At), int64(r.StartedAt),
		int64(r.FinishedAt), string(r.Status), listing.Rare(r.Status), !m.ends && r.Status.Ended(), encodeFailure(m.failure), step, code,
		m.root)
	for _, g := range m.Guards {
		if !g.Remove || g.Token == 0 {
			p.Do(loneGuardSQL, m.ID, g.Path, g.Token)
		}
	}
}

// Lone adds the statements that make the only run of a batch, if it bets on that.
func (b *Batch) Lone(p *wire.Pipeline, s *Starting) {
	b.bets = true
	h, r := &s.Member.Run.Header, s.Member.Run
	if k := s.key(); k.key != "" {
		p.Do(loneKeySQL, k.tenant, k.workflow, k.hash(), s.ID, s.KeyHash[:])
	}
	var labels *string
	if s.labels != "" {
		labels = &s.labels
	}
	step, code := stepOf(s.failure)
	p.Each(loneCreateSQL, b.wins, s.ID, h.Tenant, h.Workflow, h.Version, h.Key, h.Home, h.MachineVersion, int64(h.CreatedAt), r.Seq,
		int64(s.Member.At), int64(r.At), int64(r.StartedAt), int64(r.FinishedAt), listing.Rare(r.Status), string(r.Status),
		encodeFailure(s.failure), step, code, h.Options.Encode(), labels, s.root)
}

func (b *Batch) loneRemove(p *wire.Pipeline, m *Member) {
	for _, g := range m.Guards {
		if g.Remove {
			p.Do(loneDropSQL, m.ID, g.Path, g.Token)
		}
	}
}

func loneEntry(p *wire.Pipeline, m *Member, e *store.Entry) {
	p.Do(loneEntrySQL, m.ID, e.Seq, int64(e.At), e.Cause, e.Attempt, string(e.Kind), e.Path, e.Name, e.Key, []byte(e.Payload), []byte(e.Facts))
}

// startsAlone says whether the tasks of a member can be started one by one: their lanes are there, and there is room for all
// that may be handed over.
func (m *Member) startsAlone(lanes *Lanes) bool {
	if len(m.starts) > loneRows || m.hands > m.Hand.Limit {
		return false
	}
	for _, s := range m.starts {
		if !lanes.exists(s.lane) {
			return false
		}
	}
	return true
}

func (b *Batch) loneStart(p *wire.Pipeline, lanes *Lanes, s *start) {
	entry, refs := encodeRefs(s.Refs)
	l, h := &s.lane, &s.of.Hand
	p.Each(loneStartSQL, func(rows pgx.Rows) error {
		var put placed
		var one int64
		if err := rows.Scan(&put.lane, &put.attempt, &put.leased, &one); err != nil {
			return err
		}
		s.place(lanes, put)
		return nil
	}, s.of.ID, s.Path, l.Tenant, l.Queue, l.Handler, l.Workflow, store.Rank(s.readyAt(), s.Priority), int64(s.Due), s.cause, entry,
		s.Lease, s.Priority, s.Attempt, s.held, s.hand, h.Token, h.Owner, h.Lease.Microseconds(), refs, machine.Documents(s.Path), s.env)
}
