package batch

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/column"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// Starting is a Member that starts a run.
type Starting struct {
	*store.Start
	*Member
	labels string // as JSON; "": none
}

// NewStarting folds a start, the n-th of its call.
func NewStarting(st *store.Start, n int) *Starting {
	m := NewMember(&st.Settlement, n, st.Storable())
	if m.Unknown && m.Content == nil { // a start has no guards
		m.Content = fmt.Errorf("%w: the id is not a UUID", store.ErrRefused)
	}
	if m.Content == nil && st.Run.Seq != int64(len(st.Entries)) {
		m.Content = m.Continues(0)
	}
	s := &Starting{Start: st, Member: m}
	if labels := st.Run.Options.Labels; m.Content == nil && len(labels) > 0 {
		b, err := json.Marshal(labels)
		if err != nil {
			m.Content = fmt.Errorf("%w: labels: %w", store.ErrRefused, err)
		}
		s.labels = string(b)
	}
	return s
}

// key names the key that a start takes.
type key struct{ tenant, workflow, key string }

// hash is what the key is remembered by; nil for none.
func (k key) hash() []byte {
	if k.key == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(k.key))
	return sum[:]
}

func (s *Starting) key() key {
	h := &s.Member.Run.Header
	return key{h.Tenant, h.Workflow, h.Key}
}

// Apart gives the items that share neither id nor key with one before them, and the others.
func Apart(items []*Starting) (first, rest []*Starting) {
	ids := make(map[string]bool, len(items))
	keys := make(map[key]bool, len(items))
	for _, m := range items {
		k := m.key()
		if ids[m.Member.Run.ID] || k.key != "" && keys[k] {
			rest = append(rest, m)
		} else {
			first = append(first, m)
		}
		ids[m.Member.Run.ID] = true
		keys[k] = true
	}
	return first, rest
}

// Prior is what a start finds in the database after its transaction.
type Prior struct {
	tenant  *string // of the run with its id
	created bool    // by this transaction
	holder  *[16]byte
	hash    []byte
}

// Primary keys of runs and run_keys.
const askedSQL = `select i.n, millrace.clock(), r.tenant, coalesce(r.xmin = pg_current_xact_id_if_assigned()::xid, false), k.run, k.hash
	from unnest($1::int[], $2::uuid[], $3::text[], $4::text[], $5::bytea[]) as i(n, run, tenant, workflow, key)
	left join lateral (select tenant, xmin from millrace.runs where id = i.run limit 1) as r on true
	left join lateral (select run, hash from millrace.run_keys
		where i.key is not null and tenant = i.tenant and workflow = i.workflow and key = i.key limit 1) as k on true`

// Asked adds what has become of items, and the time.
func Asked(p *wire.Pipeline, items []*Starting, found []Prior, now *machine.Time) {
	var n column.Ints
	var run column.UUIDs
	var tenant, workflow column.Texts
	var keys column.Bytes
	for i, m := range items {
		k := m.key()
		if storableKey(k) != nil {
			k = key{}
		}
		n.Add(int32(i))
		run.Add(m.ID)
		tenant.Add(k.tenant)
		workflow.Add(k.workflow)
		keys.Add(k.hash())
	}
	p.Each(askedSQL, func(rows pgx.Rows) error {
		var i int
		var f Prior
		if err := rows.Scan(&i, (*int64)(now), &f.tenant, &f.created, &f.holder, &f.hash); err != nil {
			return err
		}
		found[i] = f
		return nil
	}, &n, &run, &tenant, &workflow, &keys)
}

func storableKey(k key) error {
	return errors.Join(store.StorableText(k.tenant), store.StorableText(k.workflow), store.StorableText(k.key))
}

// Answer says what became of a start.
func (s *Starting) Answer(f *Prior, b *Batch) store.Started {
	h := &s.Member.Run.Header
	fail := func(err error) store.Started { return store.Started{Err: fmt.Errorf("start of run %s: %w", h.ID, err)} }
	switch {
	case f.created:
		return store.Started{RunID: h.ID, Created: true, Handed: b.Handed(s.Member)}
	case f.tenant != nil && *f.tenant != h.Tenant:
		return fail(fmt.Errorf("%w: the id is taken", store.ErrRefused))
	case f.tenant != nil:
		return store.Started{RunID: h.ID}
	case f.holder != nil:
		holder := wire.ID(*f.holder).String()
		if slices.Equal(f.hash, s.KeyHash[:]) {
			return store.Started{RunID: holder}
		}
		return store.Started{Err: &store.ConflictError{What: "key", Name: h.Key, RunID: holder}}
	case store.IsSkewed(s.Member.At, b.Now):
		return fail(store.ErrSkewed)
	case s.Content != nil:
		return fail(s.Content)
	}
	return fail(fmt.Errorf("%w: nothing was started", store.ErrRefused))
}

const (
	// Keys go first, in their order: who wants one that is being taken waits for it, and for nothing after.
	takeKeysSQL = `insert into millrace.run_keys (tenant, workflow, key, run, hash)
		select i.tenant, i.workflow, i.key, i.run, i.hash
		from unnest($1::text[], $2::text[], $3::bytea[], $4::uuid[], $5::bytea[], $6::bigint[]) as i(tenant, workflow, key, run, hash, stamp)
		where abs(i.stamp - millrace.clock()) <= 1000000 and not exists (select from millrace.runs where id = i.run offset 0)
		order by i.tenant, i.workflow, i.key
		on conflict (tenant, workflow, key) do nothing`
)

// createSQL makes those runs whose key is theirs, and whose id is new.
var createSQL = `with made as (insert into millrace.runs (id, tenant, workflow, workflow_version, key, home, machine_version, created_at,
			version, seq, at, started_at, finished_at, rare, status, error, error_step, error_code, options, labels, doc)
		select i.run, ($4::text[])[i.ending], ($11::text[])[i.workflow], i.workflow_version, i.key, coalesce(($11::text[])[i.home], ''),
			i.machine_version, i.created_at, 1, i.seq, i.at, i.started_at, i.finished_at, ($6::text[])[i.ending], ($5::text[])[i.ending],
			($7::bytea[])[i.ending], ($8::text[])[i.ending], ($9::text[])[i.ending], coalesce(($11::text[])[i.options], ''),
			($11::text[])[i.labels]::jsonb, i.doc
		from (select i.run, i.doc, i.key, ` +
	cells("$3", "n", "version", "before", "seq", "stamp", "at", "started_at", "finished_at", "ending") + ", " +
	cells("$12", "workflow", "workflow_version", "machine_version", "created_at", "home", "options", "labels") + `
			from ` + unnested("$1::uuid[] as run", "$2::bytea[] as doc", "$10::text[] as key") + `) as i
		where abs(i.stamp - (select millrace.clock())) <= 1000000
			and (i.key = '' or exists (select from millrace.run_keys as k
				where k.tenant = ($4::text[])[i.ending] and k.workflow = ($11::text[])[i.workflow]
					and k.key = sha256(convert_to(i.key, 'UTF8'))
					and k.run = i.run and k.xmin = pg_current_xact_id_if_assigned()::xid offset 0))
		order by i.run
		on conflict (id) do nothing
		returning id)
	select set_config('millrace_batch.lost', coalesce((select string_agg(i.n::text, ',') from (
		select i.id, ` + cell("$3", 1, 9) + ` as n from unnest($1::uuid[]) with ordinality as i(id, k)) as i
		where i.id not in (select id from made)), ''), true)`

// Creation is the runs that a batch makes.
type Creation struct {
	runColumns
	key     column.Texts
	words   column.Words
	headers column.Longs
	keyed   keyColumns
}

// Grow makes room for so many runs.
func (c *Creation) Grow(n int) {
	c.grow(n)
	c.key.Grow(n, 8)
	c.headers.Grow(n, 7*12)
}

// Add adds a run.
func (c *Creation) Add(s *Starting) {
	h := &s.Member.Run.Header
	c.runColumns.add(s.Member)
	c.key.Add(h.Key)
	c.headers.Row(c.words.Number(h.Workflow), int64(h.Version), int64(h.MachineVersion), int64(h.CreatedAt), c.words.Number(h.Home),
		c.words.Number(h.Options.Encode()), c.words.Number(s.labels))
	if h.Key != "" {
		c.keyed.add(s)
	}
}

type keyColumns struct {
	tenant, workflow column.Texts
	run              column.UUIDs
	key, hash        column.Bytes
	stamp            column.Longs
}

func (c *keyColumns) add(s *Starting) {
	k := s.key()
	c.tenant.Add(k.tenant)
	c.workflow.Add(k.workflow)
	c.run.Add(s.ID)
	c.key.Add(k.hash())
	c.hash.Add(s.KeyHash[:])
	c.stamp.Add(int64(s.Member.At))
}

// Queue adds the statements that take keys and make runs, and say which were made.
func (c *Creation) Queue(p *wire.Pipeline) {
	if k := &c.keyed; k.run.Len() > 0 {
		p.Do(takeKeysSQL, &k.tenant, &k.workflow, &k.key, &k.run, &k.hash, &k.stamp)
	}
	if c.run.Len() > 0 {
		p.Do(createSQL, &c.run, &c.doc, &c.numbers, &c.tenant, &c.status, &c.rare, &c.failure, &c.step, &c.code, &c.key, &c.words,
			&c.headers)
	}
}
