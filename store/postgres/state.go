package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// readRun runs a pipeline of queries that begins with one for the run, which must exist and be the tenant's.
func (s *Store) readRun(ctx context.Context, op, tenant, runID string, fill func(p *pipeline, run id)) error {
	missing := fmt.Errorf("run %s: %w", runID, store.ErrNotFound)
	run, ok := wire.ParseID(runID)
	if !ok || store.StorableText(tenant) != nil {
		return missing
	}
	found := false
	err := s.run(ctx, op, func(p *pipeline) {
		found = false
		p.Each("select true from millrace.runs where id = $1 and tenant = $2", func(rows pgx.Rows) error {
			found = true
			return nil
		}, run, tenant)
		fill(p, run)
	})
	if err == nil && !found {
		return missing
	}
	return err
}

// storable gives those texts that a row may hold: nothing is found under the others.
func storable(texts []string) []string {
	if !slices.ContainsFunc(texts, unstorable) {
		return texts
	}
	return slices.DeleteFunc(slices.Clone(texts), unstorable)
}

func unstorable(text string) bool { return store.StorableText(text) != nil }

// stateSQL reads a run and documents of it at one moment: rows and ranges of primary keys. A range without an end goes on to
// the last document.
const stateSQL = "select " + stateColumns + `, d.paths, d.docs from millrace.runs as r
	left join lateral (
		select array_agg(s.path order by s.path) as paths, array_agg(s.doc order by s.path) as docs from (
			select s.path, s.doc from unnest($3::text[]) as x
			cross join lateral (select path, doc from millrace.scopes where run = r.id and path = x limit 1) as s
			union all
			select s.path, s.doc from unnest($4::text[], $5::text[]) as u(low, high)
			cross join lateral (select path, doc from millrace.scopes
				where run = r.id and path >= u.low and (u.high is null or path < u.high) order by path) as s) as s) as d on true
	where r.id = $1 and r.tenant = $2`

// State is [store.Reader.State].
func (s *Store) State(ctx context.Context, tenant, runID string, scopes, under []string) (store.RunState, error) {
	missing := fmt.Errorf("run %s: %w", runID, store.ErrNotFound)
	run, ok := wire.ParseID(runID)
	if !ok || store.StorableText(tenant) != nil {
		return store.RunState{}, missing
	}
	scopes, under = storable(scopes), storable(under)
	var highs []*string
	for _, prefix := range under {
		highs = append(highs, after(prefix))
	}
	var row stateRow
	var paths []string
	var docs [][]byte
	err := s.run(ctx, "state", func(p *pipeline) {
		row = stateRow{}
		p.Each(stateSQL, func(rows pgx.Rows) error {
			return rows.Scan(append(row.targets(), &paths, &docs)...)
		}, run, tenant, scopes, under, highs)
	})
	switch {
	case err != nil:
		return store.RunState{}, err
	case row.version == 0:
		return store.RunState{}, missing
	}
	st, err := row.state()
	if err != nil {
		return store.RunState{}, err
	}
	for i, path := range paths {
		if st.Run.Known(path) {
			continue
		}
		if err := putDocument(st.Run, path, docs[i]); err != nil {
			return store.RunState{}, err
		}
	}
	for _, path := range scopes {
		if st.Run.Known(path) {
			continue
		}
		if err := putDocument(st.Run, path, nil); err != nil {
			return store.RunState{}, err
		}
	}
	return st, nil
}

// after gives the first text behind all that begin with prefix; nil when there is none. The last byte of UTF-8 is never the
// highest, but the next one may be no UTF-8: then the last rune is raised.
func after(prefix string) *string {
	runes := []rune(prefix)
	for n := len(runes); n > 0; n-- {
		next := runes[n-1] + 1
		if next == 0xD800 {
			next = 0xE000
		}
		if next <= 0x10FFFF {
			out := string(append(runes[:n-1:n-1], next))
			return &out
		}
	}
	return nil
}

// Documents is [store.Reader.Documents].
func (s *Store) Documents(ctx context.Context, tenant, runID string) (out map[string][]byte, err error) {
	err = s.readRun(ctx, "documents", tenant, runID, func(p *pipeline, run id) {
		out = map[string][]byte{}
		p.Each(`select '', doc from millrace.runs where id = $1 union all select path, doc from millrace.scopes where run = $1`,
			func(rows pgx.Rows) error {
				var path string
				var doc []byte
				err := rows.Scan(&path, &doc)
				out[path] = doc
				return err
			}, run)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Payloads is [store.Reader.Payloads].
func (s *Store) Payloads(
	ctx context.Context, tenant, runID string, refs []machine.Ref,
) (out map[machine.Ref]json.RawMessage, err error) {
	var seqs []int64
	var names []string
	for _, ref := range refs {
		if ref.Key == "" {
			seqs = append(seqs, ref.Seq)
		} else {
			names = append(names, ref.String())
		}
	}
	names = storable(names)
	err = s.readRun(ctx, "payloads", tenant, runID, func(p *pipeline, run id) {
		out = make(map[machine.Ref]json.RawMessage, len(refs))
		p.Each(`select x, payload from unnest($2::bigint[]) as x
			cross join lateral (select payload from millrace.journal where run = $1 and seq = x limit 1) as j where payload is not null`,
			func(rows pgx.Rows) error {
				var ref machine.Ref
				var payload []byte
				err := rows.Scan(&ref.Seq, &payload)
				out[ref] = payload
				return err
			}, run, seqs)
		p.Each(`select x, data from unnest($2::text[]) as x
			cross join lateral (select data from millrace.run_values where run = $1 and ref = x limit 1) as v where data is not null`,
			func(rows pgx.Rows) error {
				var text string
				var payload []byte
				if err := rows.Scan(&text, &payload); err != nil {
					return err
				}
				ref, err := machine.ParseRef(text)
				out[ref] = payload
				return err
			}, run, names)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Tasks is [store.Reader.Tasks].
func (s *Store) Tasks(ctx context.Context, tenant, runID string, paths []string) (out []store.Live, err error) {
	err = s.readRun(ctx, "tasks", tenant, runID, func(p *pipeline, run id) {
		out = nil
		if paths == nil {
			p.Each(liveFrom+" where p.run = $1 order by p.path", seeLive(&out), run)
			return
		}
		p.Each(liveFrom+" where p.run = $1 and p.path = any ($2::text[]) order by p.path", seeLive(&out), run, storable(paths))
	})
	return out, err
}

// Timers is [store.Reader.Timers].
func (s *Store) Timers(ctx context.Context, tenant, runID string) (out []store.Timer, err error) {
	err = s.readRun(ctx, "timers", tenant, runID, func(p *pipeline, run id) {
		out = nil
		p.Each("select run, key, tenant, due, cause from millrace.timers where run = $1 order by key", seeTimer(&out), run)
	})
	return out, err
}

// journalSQL walks a range of the primary key, and ends with the entry that fills a page. Payloads that lie beside the row are
// counted without being read.
const journalSQL = `select seq, at, kind, path, name, key, attempt, cause, payload, facts from (
		select *, sum(coalesce(octet_length(payload), 0) + coalesce(octet_length(facts), 0))
			over (order by seq rows between unbounded preceding and 1 preceding) as before
		from millrace.journal where run = $1 and seq > $2 order by seq limit $3) as j
	where coalesce(before, 0) < $4 order by seq`

// Journal is [store.Reader.Journal].
func (s *Store) Journal(
	ctx context.Context, tenant, runID string, after int64, limit int,
) (out []store.Entry, err error) {
	err = s.readRun(ctx, "journal", tenant, runID, func(p *pipeline, run id) {
		out = nil
		p.Each(journalSQL, func(rows pgx.Rows) error {
			var e store.Entry
			err := rows.Scan(&e.Seq, (*int64)(&e.At), (*string)(&e.Kind), &e.Path, &e.Name, &e.Key, &e.Attempt, &e.Cause,
				(*[]byte)(&e.Payload), (*[]byte)(&e.Facts))
			out = append(out, e)
			return err
		}, run, after, max(limit, 0), store.PageBytes)
	})
	return out, err
}
