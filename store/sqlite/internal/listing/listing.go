// Package listing writes the statements of lists: a filter in, a statement and its arguments out.
//
// It imports store, machine and the connection of SQLite.
package listing

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

// rareStatuses are those of which the index runs_rare holds a range each: looked for, and few.
var rareStatuses = []machine.Status{
	machine.Failed, machine.Dead, machine.Aborted, machine.Cancelled, machine.Parked, machine.Paused, machine.Stopping,
	machine.Compensating,
}

// Rare says whether the index runs_rare holds runs of this status.
func Rare(s machine.Status) bool { return slices.Contains(rareStatuses, s) }

// Runs gives the statement that finds what f selects: columns of runs, id among them, newest first. It walks the ids
// backwards, or for statuses that are all rare the range of each, and then sorts the newest of these.
func Runs(columns string, f *store.Filter) (string, []any) {
	w := where{terms: []string{"tenant = ?"}, args: []any{f.Tenant}}
	w.equals("workflow", f.Workflow)
	w.equals("key", f.Key)
	statuses := texts(f.Status)
	rare := len(statuses) > 0 && !slices.ContainsFunc(f.Status, func(s machine.Status) bool { return !Rare(s) })
	switch {
	case rare:
		w.and("rare = 1")
	case len(statuses) > 0:
		w.and("status in (?"+strings.Repeat(", ?", len(statuses)-1)+")", statuses...)
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
	limit := cmp.Or(f.Limit, store.DefaultRows)
	const newest = " order by id desc limit 0 + ?"
	query := "select " + columns + " from runs where " + strings.Join(w.terms, " and ")
	if !rare {
		return query + newest, append(w.args, limit)
	}
	var args []any
	for _, status := range statuses {
		args = append(append(args, w.args...), status, limit)
	}
	each := "select * from (" + query + " and status = ?" + newest + ")"
	all := each + strings.Repeat(" union all "+each, len(statuses)-1)
	return "select * from (" + all + ")" + newest, append(args, limit)
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

// texts gives statuses as arguments, each once.
func texts(statuses []machine.Status) (out []any) {
	for _, s := range statuses {
		if !slices.Contains(out, any(string(s))) {
			out = append(out, string(s))
		}
	}
	return out
}

// before gives the id of a keyset; what is no id is before everything.
func before(text string) link.ID {
	i, _ := link.ParseID(text)
	return i
}

// Letters gives the statement that finds what f selects, newest first; ok is false when that is nothing. It walks the
// primary key backwards, or an index of the tenant's, of one run's or of open letters.
func Letters(f *store.LetterFilter) (query string, args []any, ok bool) {
	w := where{terms: []string{"d.tenant = ?"}, args: []any{f.Tenant}}
	if f.RunID != "" {
		run, ok := link.ParseID(f.RunID)
		if !ok {
			return "", nil, false
		}
		w.and("d.run = ?", run)
	}
	if f.IDs != nil {
		ids, err := json.Marshal(f.IDs)
		if err != nil {
			return "", nil, false
		}
		w.and("d.id in (select value from json_each(?))", string(ids))
	}
	switch f.State {
	case "":
	case machine.LetterOpen:
		w.and("d.state = 'open'")
	default:
		w.and("d.state = ?", string(f.State))
	}
	w.equals("r.workflow", f.Workflow)
	w.equals("d.kind", string(f.Kind))
	w.equals("d.path", f.Path)
	w.failed("d.error", f.FailedAt, f.Code)
	w.between("d.created_at", f.Since, f.Until)
	if f.Before != 0 {
		w.and("d.id < ?", f.Before)
	}
	return `select d.id, d.tenant, d.run, r.workflow, d.kind, d.path, d.error, d.state, d.created_at, d.closed_at
		from dead_letters as d join runs as r on r.id = d.run where ` + strings.Join(w.terms, " and ") +
		" order by d.id desc limit 0 + ?", append(w.args, cmp.Or(f.Limit, len(f.IDs), store.DefaultRows)), true
}
