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
			out = append(out, link.LetterAt(r))
			return nil
		}, args...)
	})
	return out, err
}
