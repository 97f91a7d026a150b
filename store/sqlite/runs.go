package sqlite

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

const defaultRows = 100

// rareStatuses are those that the index runs_rare finds: looked for, and few.
var rareStatuses = []machine.Status{
	machine.Failed, machine.Dead, machine.Aborted, machine.Cancelled, machine.Parked, machine.Paused, machine.Stopping,
	machine.Compensating,
}

func rare(s machine.Status) bool { return slices.Contains(rareStatuses, s) }

// Runs is [store.Reader.Runs]: it walks the primary key backwards, or the index of rare statuses, and filters.
func (s *Store) Runs(ctx context.Context, f store.Filter) (out []store.RunRow, err error) {
	query, args := runsQuery(&f)
	err = s.read(ctx, "runs", func(c *conn) error {
		return c.each(query, func(r *row) error {
			m := machine.Run{}
			headerAt(r, 0, &m)
			m.ID = idAt(r, 12).String()
			m.Options, _ = machine.DecodeOptions(r.ColumnText(14)) // what cannot be read shows in the run alone
			out = append(out, store.RunRow{
				Header: m.Header, Status: m.Status, StateVersion: r.ColumnInt64(15), Seq: m.Seq, StartedAt: m.StartedAt,
				FinishedAt: m.FinishedAt, Error: failureAt(r, 13),
			})
			return nil
		}, args...)
	})
	return out, err
}

func runsQuery(f *store.Filter) (string, []any) {
	w := where{terms: []string{"tenant = ?"}, args: []any{f.Tenant}}
	w.equals("workflow", f.Workflow)
	w.equals("key", f.Key)
	if len(f.Status) > 0 {
		w.and("status in (?"+strings.Repeat(", ?", len(f.Status)-1)+")", texts(f.Status)...)
		if !slices.ContainsFunc(f.Status, func(s machine.Status) bool { return !rare(s) }) {
			w.and("rare = 1")
		}
	}
	for name, value := range f.Labels {
		w.and(`exists (select 1 from json_each(iif(json_valid(options), options, '{}'), '$.labels')
			where key = ? and value = ?)`, name, value)
	}
	if suffix := strings.ReplaceAll(f.IDSuffix, "-", ""); suffix != "" {
		w.and("substr(lower(hex(id)), ?) = ?", -len(suffix), suffix)
	}
	w.failed("error", f.FailedAt, f.Code)
	w.between("created_at", f.Since, f.Until)
	if f.Before != "" {
		w.and("id < ?", before(f.Before))
	}
	return "select " + headerColumns + ", id, error, options, version from runs where " + strings.Join(w.terms, " and ") +
		" order by id desc limit 0 + ?", append(w.args, cmp.Or(f.Limit, defaultRows))
}

// where gathers the conditions of a filter.
type where struct {
	terms []string
	args  []any
}

func (w *where) and(term string, args ...any) {
	w.terms = append(w.terms, term)
	w.args = append(w.args, args...)
}

// equals asks for a value; "" asks for nothing.
func (w *where) equals(column, want string) {
	if want != "" {
		w.and(column+" = ?", want)
	}
}

// between asks for a time from since on and before until; zero asks for nothing.
func (w *where) between(column string, since, until machine.Time) {
	if since != 0 {
		w.and(column+" >= ?", since)
	}
	if until != 0 {
		w.and(column+" < ?", until)
	}
}

// failed asks for step and code of an error. One that is no JSON has neither: SQLite would fail the whole query.
func (w *where) failed(column, step, code string) {
	if step != "" {
		w.and("iif(json_valid("+column+"), "+column+" ->> '$.step', null) = ?", step)
	}
	if code != "" {
		w.and("iif(json_valid("+column+"), "+column+" ->> '$.code', null) = ?", code)
	}
}

func texts(statuses []machine.Status) []any {
	out := make([]any, len(statuses))
	for i, s := range statuses {
		out[i] = string(s)
	}
	return out
}

// before gives the id of a keyset; what is no id is before everything.
func before(text string) id {
	i, _ := parseID(text)
	return i
}
