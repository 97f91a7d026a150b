package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Runs is [store.Reader.Runs].
func (s *Store) Runs(ctx context.Context, f store.Filter) (out []store.RunRow, err error) {
	query, args, err := listRuns(&f)
	if err != nil {
		return nil, err
	}
	err = s.run(ctx, "runs", func(p *pipeline) {
		out = nil
		p.each(query, func(rows pgx.Rows) error {
			var row stateRow
			var failure []byte
			if err := rows.Scan(append(row.targets(), &failure)...); err != nil {
				return err
			}
			row.header()
			m := &row.run
			m.Options, _ = machine.DecodeOptions(row.options) // what cannot be read shows in the run alone
			out = append(out, store.RunRow{
				Header: m.Header, Status: m.Status, StateVersion: row.version, Seq: m.Seq, StartedAt: m.StartedAt,
				FinishedAt: m.FinishedAt, Error: failureAt(failure),
			})
			return nil
		}, args...)
	})
	return out, err
}

// listRuns gives the statement that finds what f selects, newest first. It walks the primary key backwards, or the index of
// rare statuses.
func listRuns(f *store.Filter) (query string, args []any, err error) {
	var w where
	w.and("r.tenant = %s", f.Tenant)
	w.equals("r.workflow", f.Workflow)
	w.equals("r.key", f.Key)
	if len(f.Status) > 0 {
		statuses := make([]string, len(f.Status))
		for i, status := range f.Status {
			statuses[i] = string(status)
		}
		w.and("r.status = any (%s::text[])", statuses)
		if !slices.ContainsFunc(f.Status, func(s machine.Status) bool { return !rare(s) }) {
			w.terms = append(w.terms, "r.rare")
		}
	}
	if len(f.Labels) > 0 {
		labels, err := json.Marshal(f.Labels)
		if err != nil {
			return "", nil, err
		}
		w.and("r.labels @> %s::text::jsonb", string(labels))
	}
	if suffix := strings.ReplaceAll(f.IDSuffix, "-", ""); suffix != "" {
		w.endsWith(suffix)
	}
	w.equals("r.error_step", f.FailedAt)
	w.equals("r.error_code", f.Code)
	w.between("r.created_at", f.Since, f.Until)
	if f.Before != "" {
		before, _ := parseID(f.Before) // what is no id is before everything
		w.and("r.id < %s", [16]byte(before))
	}
	query = "select " + strings.Replace(stateColumns, "r.doc", "''::bytea", 1) + ", r.error from millrace.runs as r where " + w.text() +
		" order by r.id desc"
	return query + w.limit(cmp.Or(f.Limit, 100)), w.args, nil
}

// endsWith asks for the ending of an id; a whole one is found by the primary key.
func (w *where) endsWith(suffix string) {
	if len(suffix) == 32 {
		if run, ok := parseID(strings.Join([]string{suffix[:8], suffix[8:12], suffix[12:16], suffix[16:20], suffix[20:]}, "-")); ok {
			w.and("r.id = %s", [16]byte(run))
			return
		}
	}
	w.and("replace(r.id::text, '-', '') like '%' || %s", suffix)
}
