package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/column"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// tellSQL records messages to runs that have not ended, in order; one that a run was told before is passed over. It locks no
// run: one that ends meanwhile leaves a message, which is delivered to nobody and removed.
const tellSQL = `with told as materialized (
		select i.*, r.status from unnest($1::int[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
			$9::int[], $10::bigint[], $11::bytea[], $12::bytea[], $13::bool[])
			as i(n, run, tenant, id, kind, path, name, key, attempt, cause, payload, facts, fine)
		cross join lateral (select status from millrace.runs where id = i.run and tenant = i.tenant limit 1) as r),
	kept as (
		insert into millrace.inbox (run, at, cause, attempt, tenant, id, kind, path, name, key, payload, facts)
		select run, millrace.clock(), cause, attempt, tenant, id, kind, path, name, key, payload, facts
		from told where fine and status <> all ($14::text[]) order by n
		on conflict (run, id) do nothing)
	select t.n, t.status, not t.fine and exists (select from millrace.inbox where run = t.run and id = t.id offset 0) from told as t`

// endedStatuses are those of runs that have ended, as statements take them.
var endedStatuses = func() (out []string) {
	for _, s := range machine.Endings() {
		out = append(out, string(s))
	}
	return out
}()

type messageColumns struct {
	n, attempt                        column.Ints
	run                               column.UUIDs
	tenant, id, kind, path, name, key column.Texts
	cause                             column.Longs
	payload, facts                    column.Bytes
	fine                              column.Bools
}

// add adds a message; of one that no store keeps, that much as finds out whether the run was told of it.
func (c *messageColumns) add(n int, run id, m *store.Message, refusal error) {
	e := m.Event
	name := &m.ID
	if refusal != nil {
		e = machine.Event{}
		if store.StorableText(m.ID) != nil {
			name = nil
		}
	}
	c.n.Add(int32(n))
	c.run.Add(run)
	c.attempt.Add(int32(e.Attempt))
	c.tenant.Add(m.Tenant)
	c.id.AddOr(name)
	c.kind.Add(string(e.Kind))
	c.path.Add(e.Path)
	c.name.Add(e.Name)
	c.key.Add(e.Key)
	c.cause.Add(e.Cause)
	c.payload.Add(e.Payload)
	c.facts.Add(e.Facts)
	c.fine.Add(refusal == nil)
}

// Tell is [store.Mailbox.Tell].
func (s *Store) Tell(ctx context.Context, messages []store.Message) ([]error, error) {
	c, refusals := columnsOf(messages)
	var out []error
	err := s.run(ctx, "tell", func(p *pipeline) {
		out = make([]error, len(messages))
		for i := range messages {
			out[i] = untold(&messages[i], store.ErrNotFound)
		}
		p.Each(tellSQL, func(rows pgx.Rows) error {
			var n int
			var status string
			var told bool
			if err := rows.Scan(&n, &status, &told); err != nil {
				return err
			}
			out[n] = nil
			switch {
			case machine.Status(status).Ended():
				out[n] = untold(&messages[n], store.ErrEnded)
			case refusals[n] != nil && !told:
				out[n] = untold(&messages[n], refusals[n])
			}
			return nil
		}, &c.n, &c.run, &c.tenant, &c.id, &c.kind, &c.path, &c.name, &c.key, &c.attempt, &c.cause, &c.payload, &c.facts, &c.fine,
			endedStatuses)
	})
	switch {
	case wire.Refused(err) && len(messages) == 1:
		return []error{untold(&messages[0], fmt.Errorf("%w: %w", store.ErrRefused, err))}, nil
	case wire.Refused(err):
		return s.tellHalves(ctx, messages)
	case err != nil:
		return nil, err
	}
	s.hints.hint(store.Hint{})
	return out, nil
}

// columnsOf gives the messages to runs that there may be, and why no store keeps some of them.
func columnsOf(messages []store.Message) (c *messageColumns, refusals []error) {
	c, refusals = &messageColumns{}, make([]error, len(messages))
	before := make(map[[3]string]bool, len(messages))
	for i := range messages {
		m := &messages[i]
		run, ok := wire.ParseID(m.RunID)
		if !ok || store.StorableText(m.Tenant) != nil {
			continue
		}
		name := [3]string{m.Tenant, m.RunID, m.ID}
		refusal := m.Storable()
		c.add(i, run, m, refusal)
		if !before[name] { // else it repeats one of this call, which the statement does not see yet
			refusals[i] = refusal
		}
		before[name] = before[name] || refusal == nil
	}
	return c, refusals
}

func untold(m *store.Message, why error) error {
	return fmt.Errorf("message to run %s: %w", m.RunID, why)
}

// tellHalves tells messages of which the database refuses one.
func (s *Store) tellHalves(ctx context.Context, messages []store.Message) ([]error, error) {
	half := len(messages) / 2
	first, err := s.Tell(ctx, messages[:half])
	if err != nil {
		return nil, err
	}
	second, err := s.Tell(ctx, messages[half:])
	if err != nil {
		return nil, err
	}
	return append(first, second...), nil
}

// A range of the index of what waits, in its order: no sort.
const inboxSQL = `select seq, tenant, run, id, kind, at, path, name, key, attempt, cause, payload, facts from millrace.inbox
	where not delivered order by seq limit $1`

// Inbox is [store.Mailbox.Inbox].
func (s *Store) Inbox(ctx context.Context, limit int) (out []store.Message, err error) {
	err = s.run(ctx, "inbox", func(p *pipeline) {
		out = nil
		p.Each(inboxSQL, func(rows pgx.Rows) error {
			var m store.Message
			var run [16]byte
			e := &m.Event
			err := rows.Scan(&m.Seq, &m.Tenant, &run, &m.ID, (*string)(&e.Kind), (*int64)(&e.At), &e.Path, &e.Name, &e.Key, &e.Attempt,
				&e.Cause, (*[]byte)(&e.Payload), (*[]byte)(&e.Facts))
			m.RunID = id(run).String()
			out = append(out, m)
			return err
		}, max(limit, 0))
	})
	return out, err
}

const (
	// A range of the due index of timers, earliest first: no sort.
	dueSQL = `select run, key, tenant, due, cause from millrace.timers where due <= millrace.clock() order by due, run, key limit $1`
	// One row of it.
	nextSQL = "select due from millrace.timers where due > millrace.clock() order by due limit 1"
)

// Due is [store.Mailbox.Due].
func (s *Store) Due(ctx context.Context, limit int) (out []store.Timer, next machine.Time, err error) {
	err = s.run(ctx, "due", func(p *pipeline) {
		out, next = nil, 0
		p.Each(dueSQL, seeTimer(&out), max(limit, 0))
		p.One(nextSQL, (*int64)(&next))
	})
	return out, next, err
}

func seeTimer(out *[]store.Timer) func(rows pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var t store.Timer
		var run [16]byte
		err := rows.Scan(&run, &t.Key, &t.Tenant, (*int64)(&t.Due), &t.Cause)
		t.RunID = id(run).String()
		*out = append(*out, t)
		return err
	}
}
