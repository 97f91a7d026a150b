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
var rareStatuses = []machine.Status{machine.Failed, "dead", "aborted", "cancelled", "parked", "paused"}

func rare(s machine.Status) bool { return slices.Contains(rareStatuses, s) }

// Runs is [store.Reader.Runs]: it walks the primary key backwards, or the index of rare statuses, and filters.
func (s *Store) Runs(ctx context.Context, f store.Filter) (out []store.RunRow, err error) {
	query, args := runsQuery(&f)
	err = s.read(ctx, "runs", func(c *conn) error {
		return c.each(query, func(r *row) error {
			m := machine.Run{}
			headerAt(r, 0, &m)
			m.ID = idAt(r, 12).String()
			failure, err := failureAt(r, 13)
			if err != nil {
				return err
			}
			m.Options, err = machine.DecodeOptions(r.ColumnText(14))
			out = append(out, store.RunRow{
				Header: m.Header, Status: m.Status, Seq: m.Seq, StartedAt: m.StartedAt, FinishedAt: m.FinishedAt, Error: failure,
			})
			return err
		}, args...)
	})
	return out, err
}

func runsQuery(f *store.Filter) (string, []any) {
	where, args := []string{"tenant = ?"}, []any{f.Tenant}
	and := func(condition string, values ...any) {
		where = append(where, condition)
		args = append(args, values...)
	}
	if f.Workflow != "" {
		and("workflow = ?", f.Workflow)
	}
	if f.Key != "" {
		and("key = ?", f.Key)
	}
	if len(f.Status) > 0 {
		and("status in (?"+strings.Repeat(", ?", len(f.Status)-1)+")", texts(f.Status)...)
		if !slices.ContainsFunc(f.Status, func(s machine.Status) bool { return !rare(s) }) {
			and("rare = 1")
		}
	}
	for name, value := range f.Labels {
		and("exists (select 1 from json_each(nullif(options, ''), '$.labels') where key = ? and value = ?)", name, value)
	}
	if suffix := strings.ReplaceAll(f.IDSuffix, "-", ""); suffix != "" {
		and("substr(lower(hex(id)), ?) = ?", -len(suffix), suffix)
	}
	if f.FailedAt != "" {
		and("error ->> '$.step' = ?", f.FailedAt)
	}
	if f.Code != "" {
		and("error ->> '$.code' = ?", f.Code)
	}
	if f.Since != 0 {
		and("created_at >= ?", f.Since)
	}
	if f.Until != 0 {
		and("created_at < ?", f.Until)
	}
	if f.Before != "" {
		and("id < ?", before(f.Before))
	}
	args = append(args, cmp.Or(f.Limit, defaultRows))
	return "select " + headerColumns + ", id, error, options from runs where " + strings.Join(where, " and ") +
		" order by id desc limit 0 + ?", args
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
