package sqlite

import (
	"context"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
	"github.com/millrace-go/millrace/store/sqlite/internal/listing"
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
	_, err := w.c.Exec(letterSQL, m.Run.Tenant, m.id, string(e.Kind), e.Path, encodeFailure(e.Error), m.At)
	return err
}

func (w *settling) closeLetters(m *member, e *machine.CloseLetter) error {
	if e.Kind == "" {
		_, err := w.c.Exec(closeAllSQL, string(e.How), m.At, m.id, string(machine.LetterFinally))
		return err
	}
	_, err := w.c.Exec(closeSQL, string(e.How), m.At, m.id, string(e.Kind), e.Path)
	return err
}

// Letters is [store.Reader.Letters].
func (s *Store) Letters(ctx context.Context, f store.LetterFilter) (out []store.Letter, err error) {
	query, args, ok := listing.Letters(&f)
	if !ok {
		return nil, nil
	}
	err = s.read(ctx, "letters", func(c *conn) error {
		return c.Each(query, func(r *row) error {
			out = append(out, store.Letter{
				ID: r.ColumnInt64(0), Tenant: r.ColumnText(1), RunID: link.IDAt(r, 2).String(), Workflow: r.ColumnText(3),
				Kind: machine.LetterKind(r.ColumnText(4)), Path: r.ColumnText(5), Error: link.FailureAt(r, 6),
				State: machine.LetterState(r.ColumnText(7)), CreatedAt: link.TimeAt(r, 8), ClosedAt: link.TimeAt(r, 9),
			})
			return nil
		}, args...)
	})
	return out, err
}
