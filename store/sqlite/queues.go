package sqlite

import (
	"context"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
	"github.com/millrace-go/millrace/store/sqlite/internal/listing"
)

// Queues is [store.Reader.Queues].
func (s *Store) Queues(ctx context.Context, tenant string) (out []store.Depth, err error) {
	err = s.read(ctx, "queues", func(c *conn) error {
		return c.Each(listing.QueuesSQL, func(r *row) error {
			out = append(out, listing.DepthAt(r))
			return nil
		}, tenant, s.o.Clock())
	})
	return out, err
}

// Processes is [store.Reader.Processes].
func (s *Store) Processes(ctx context.Context) (out []store.ProcessRow, err error) {
	err = s.read(ctx, "processes", func(c *conn) error {
		return c.Each("select "+link.ProcessColumns+" from processes order by owner", func(r *row) error {
			p, err := link.ProcessAt(r)
			out = append(out, p)
			return err
		})
	})
	return out, err
}
