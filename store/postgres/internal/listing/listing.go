// Package listing writes the statements of lists: a filter in, a statement and its arguments out.
//
// It imports store and machine, and the id of a run.
package listing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// rareStatuses are those of which the index runs_rare holds a range each: looked for, and few.
var rareStatuses = []machine.Status{
	machine.Failed, machine.Dead, machine.Aborted, machine.Cancelled, machine.Parked, machine.Paused, machine.Stopping,
	machine.Compensating,
}

// Rare gives what the index runs_rare holds of a run: a rare status, and "" for any other.
func Rare(s machine.Status) string {
	if slices.Contains(rareStatuses, s) {
		return string(s)
	}
	return ""
}

// where gathers the conditions of a list.
type where struct {
	terms []string
	args  []any
}

// and adds a condition; %s in it is the argument.
func (w *where) and(term string, arg any) {
	if text, ok := arg.(string); ok && store.StorableText(text) != nil {
		arg = nil // equal to nothing
	}
	w.args = append(w.args, arg)
	w.terms = append(w.terms, strings.ReplaceAll(term, "%s", fmt.Sprint("$", len(w.args))))
}

// equals asks for a value; "" asks for nothing.
func (w *where) equals(column, want string) {
	if want != "" {
		w.and(column+" = %s", want)
	}
}

// between asks for a time from since on and before until; zero asks for nothing.
func (w *where) between(column string, since, until machine.Time) {
	if since != 0 {
		w.and(column+" >= %s", int64(since))
	}
	if until != 0 {
		w.and(column+" < %s", int64(until))
	}
}

func (w *where) text() string { return strings.Join(w.terms, " and ") }

// limit adds the number of rows, and gives the end of the statement.
func (w *where) limit(n int) string {
	w.args = append(w.args, max(n, 0))
	return fmt.Sprint(" limit $", len(w.args))
}

// Runs gives the statement that finds what f selects: columns of runs as r, newest first. It walks the primary key backwards, or for
// statuses that are all rare the range of each, and then sorts the newest of these.
func Runs(columns string, f *store.Filter) (query string, args []any, err error) {
	var w where
	w.and("r.tenant = %s", f.Tenant)
	w.equals("r.workflow", f.Workflow)
	w.equals("r.key", f.Key)
	rare := len(f.Status) > 0 && !slices.ContainsFunc(f.Status, func(s machine.Status) bool { return Rare(s) == "" })
	statuses := distinct(f.Status)
	switch {
	case rare:
		w.terms = append(w.terms, "r.rare = s.rare", "r.rare <> ''")
	case len(statuses) > 0:
		w.and("r.status = any (%s::text[])", statuses)
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
		before, _ := wire.ParseID(f.Before) // what is no id is before everything
		w.and("r.id < %s", [16]byte(before))
	}
	from, newest := "millrace.runs as r where "+w.text(), " order by r.id desc"+w.limit(cmp.Or(f.Limit, store.DefaultRows))
	if rare {
		w.args = append(w.args, statuses)
		from = fmt.Sprintf("unnest($%d::text[]) as s(rare) cross join lateral (select * from %s) as r", len(w.args), from+newest)
	}
	return "select " + columns + " from " + from + newest, w.args, nil
}

// distinct gives statuses as texts, each once.
func distinct(statuses []machine.Status) (out []string) {
	for _, s := range statuses {
		if !slices.Contains(out, string(s)) {
			out = append(out, string(s))
		}
	}
	return out
}

// endsWith asks for the ending of an id; a whole one is found by the primary key.
func (w *where) endsWith(suffix string) {
	if len(suffix) == 32 {
		if run, ok := wire.ParseID(strings.Join([]string{suffix[:8], suffix[8:12], suffix[12:16], suffix[16:20], suffix[20:]}, "-")); ok {
			w.and("r.id = %s", [16]byte(run))
			return
		}
	}
	w.and("replace(r.id::text, '-', '') like '%' || %s", suffix)
}

// Letters gives the statement that finds what f selects, newest first; ok is false when that is nothing. It walks an index
// backwards: the tenant's, that of one run or of open letters.
func Letters(f *store.LetterFilter) (query string, args []any, ok bool) {
	var w where
	w.and("d.tenant = %s", f.Tenant)
	if f.RunID != "" {
		run, ok := wire.ParseID(f.RunID)
		if !ok {
			return "", nil, false
		}
		w.and("d.run = %s", [16]byte(run))
	}
	if f.IDs != nil {
		w.and("d.id = any (%s::bigint[])", f.IDs)
	}
	switch f.State {
	case "":
	case machine.LetterOpen:
		w.terms = append(w.terms, "d.state = 'open'")
	default:
		w.and("d.state = %s", string(f.State))
	}
	w.equals("r.workflow", f.Workflow)
	w.equals("d.kind", string(f.Kind))
	w.equals("d.path", f.Path)
	w.equals("d.error_step", f.FailedAt)
	w.equals("d.error_code", f.Code)
	w.between("d.created_at", f.Since, f.Until)
	if f.Before != 0 {
		w.and("d.id < %s", f.Before)
	}
	query = `select d.id, d.tenant, d.run, r.workflow, d.kind, d.path, d.error, d.state, d.created_at, d.closed_at
		from millrace.dead_letters as d join millrace.runs as r on r.id = d.run where ` + w.text() + " order by d.id desc"
	query += w.limit(cmp.Or(f.Limit, len(f.IDs), store.DefaultRows))
	return query, w.args, true
}
