// Package wire is how a store speaks to PostgreSQL: transactions that are sent at once and answered at once.
//
// Nouns: a [Pipeline] is such a transaction; an [ID] is that of a run as the database holds it; a code is the SQLSTATE by which
// the server says what is wrong.
//
// It imports pgx and uuid alone.
package wire

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Pipeline is statements that are sent together and carried out in one transaction, which ends with the last of them: one
// round trip. When one fails, nothing of it has happened.
type Pipeline struct {
	// Text gives a statement as it is sent: with the schema's own name.
	Text  func(query string) string
	Batch pgx.Batch
}

// Do adds a statement whose answer nobody reads.
func (p *Pipeline) Do(query string, args ...any) { p.Batch.Queue(p.Text(query), args...) }

// Each adds a query and calls see for every row of the answer.
func (p *Pipeline) Each(query string, see func(rows pgx.Rows) error, args ...any) {
	p.Batch.Queue(p.Text(query), args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := see(rows); err != nil {
				return err
			}
		}
		return nil
	})
}

// One adds a query of at most one row, without arguments, that is read into out.
func (p *Pipeline) One(query string, out ...any) {
	p.Each(query, func(rows pgx.Rows) error { return rows.Scan(out...) })
}

// Count adds a statement and gives how many rows it changed.
func (p *Pipeline) Count(query string, n *int64, args ...any) {
	p.Batch.Queue(p.Text(query), args...).Exec(func(tag pgconn.CommandTag) error {
		*n = tag.RowsAffected()
		return nil
	})
}

// ID is the id of a run as the database holds it.
type ID [16]byte

// ParseID reads the canonical text of an id, and nothing else.
func ParseID(text string) (ID, bool) {
	if len(text) != 36 {
		return ID{}, false
	}
	u, err := uuid.Parse(text)
	if err != nil || u.String() != text {
		return ID{}, false
	}
	return ID(u), true
}

// String gives the canonical text.
func (i ID) String() string { return uuid.UUID(i).String() }
