// Package wire is how a store speaks to PostgreSQL: transactions that are sent at once and answered at once.
//
// Nouns: a [Pipeline] is such a transaction; an [ID] is that of a run as the database holds it; a code is the SQLSTATE by which
// the server says what is wrong.
//
// It imports column, pgx and uuid.
package wire

import (
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/millrace-go/millrace/store/postgres/internal/column"
)

// Pipeline is statements that are sent together and carried out in one transaction, which ends with the last of them: one
// round trip. When one fails, nothing of it has happened.
type Pipeline struct {
	// Text gives a statement as it is sent: with the schema's own name.
	Text  func(query string) string
	Batch pgx.Batch

	size int // about, in bytes
}

// Do adds a statement whose answer nobody reads.
func (p *Pipeline) Do(query string, args ...any) { p.queue(query, args) }

func (p *Pipeline) queue(query string, args []any) *pgx.QueuedQuery {
	p.size += column.Reserve(args) + perStatement
	return p.Batch.Queue(p.Text(query), args...)
}

// perStatement is about how many bytes a statement has on the wire beside its columns.
const perStatement = 512

// Room gives a message that is none: it makes room for the pipeline in the buffer of a connection, which would else grow in many
// small steps.
func (p *Pipeline) Room() Room { return Room(p.size) }

// Room is that many bytes.
type Room int

var _ pgproto3.FrontendMessage = Room(0)

// Frontend says that it goes to the server.
func (Room) Frontend() {}

// Decode is never called.
func (Room) Decode([]byte) error { return nil }

// Encode adds nothing but room.
func (r Room) Encode(to []byte) ([]byte, error) { return slices.Grow(to, int(r)), nil }

// Each adds a query and calls see for every row of the answer.
func (p *Pipeline) Each(query string, see func(rows pgx.Rows) error, args ...any) {
	p.queue(query, args).Query(func(rows pgx.Rows) error {
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
	p.queue(query, args).Exec(func(tag pgconn.CommandTag) error {
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
