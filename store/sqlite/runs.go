package sqlite

import (
	"context"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
	"github.com/millrace-go/millrace/store/sqlite/internal/listing"
)

// Runs is [store.Reader.Runs].
func (s *Store) Runs(ctx context.Context, f store.Filter) (out []store.RunRow, err error) {
	query, args := listing.Runs(headerColumns+", id, error, options, version", &f)
	err = s.read(ctx, "runs", func(c *conn) error {
		return c.Each(query, func(r *row) error {
			m := machine.Run{}
			headerAt(r, 0, &m)
			m.ID = link.IDAt(r, 12).String()
			m.Options, _ = machine.DecodeOptions(r.ColumnText(14)) // what cannot be read shows in the run alone
			out = append(out, store.RunRow{
				Header: m.Header, Status: m.Status, StateVersion: r.ColumnInt64(15), Seq: m.Seq, StartedAt: m.StartedAt,
				FinishedAt: m.FinishedAt, Error: link.FailureAt(r, 13),
			})
			return nil
		}, args...)
	})
	return out, err
}
