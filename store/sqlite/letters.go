package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

const (
	// The unique index of open letters finds the one that is open.
	letterSQL = `insert into dead_letters (tenant, run, kind, path, error, created_at) values (?, ?, ?, ?, ?, ?)
		on conflict (run, kind, path) where state = 'open' do update set error = excluded.error`
	// A range of the index of open letters.
	closeSQL    = "update dead_letters set state = ?, closed_at = ? where run = ? and kind = ? and path = ? and state = 'open'"
	closeAllSQL = "update dead_letters set state = ?, closed_at = ? where run = ? and kind <> ? and state = 'open'"
)

func (w *settling) openLetter(m *member, e *machine.OpenLetter) error {
	_, err := w.c.exec(letterSQL, m.Run.Tenant, m.id, string(e.Kind), e.Path, encodeFailure(e.Error), m.At)
	return err
}

func (w *settling) closeLetters(m *member, e *machine.CloseLetter) error {
	if e.Kind == "" {
		_, err := w.c.exec(closeAllSQL, string(e.How), m.At, m.id, string(machine.LetterFinally))
		return err
	}
	_, err := w.c.exec(closeSQL, string(e.How), m.At, m.id, string(e.Kind), e.Path)
	return err
}

// Letters is [store.Reader.Letters]: it walks the primary key backwards, or an index of the tenant's, of one run's or of open
// letters, and filters.
func (s *Store) Letters(ctx context.Context, f store.LetterFilter) (out []store.Letter, err error) {
	query, args, ok := lettersQuery(&f)
	if !ok {
		return nil, nil
	}
	err = s.read(ctx, "letters", func(c *conn) error {
		return c.each(query, func(r *row) error {
			out = append(out, store.Letter{
				ID: r.ColumnInt64(0), Tenant: r.ColumnText(1), RunID: idAt(r, 2).String(), Workflow: r.ColumnText(3),
				Kind: machine.LetterKind(r.ColumnText(4)), Path: r.ColumnText(5), Error: failureAt(r, 6),
				State: machine.LetterState(r.ColumnText(7)), CreatedAt: timeAt(r, 8), ClosedAt: timeAt(r, 9),
			})
			return nil
		}, args...)
	})
	return out, err
}

// lettersQuery gives the statement that finds what f selects; ok is false when that is nothing.
func lettersQuery(f *store.LetterFilter) (query string, args []any, ok bool) {
	w := where{terms: []string{"d.tenant = ?"}, args: []any{f.Tenant}}
	if f.RunID != "" {
		run, ok := parseID(f.RunID)
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
		" order by d.id desc limit 0 + ?", append(w.args, cmp.Or(f.Limit, len(f.IDs), defaultRows)), true
}
