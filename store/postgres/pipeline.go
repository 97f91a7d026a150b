package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

const tries = 5

// run carries out the pipeline that fill fills, under the store's deadline. fill is called again when the transaction was
// undone for no fault of its own: a deadlock, or a connection that was found dead before anything was sent.
func (s *Store) run(ctx context.Context, op string, fill func(p *pipeline)) error {
	call, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	var err error
	for range tries {
		p := &pipeline{Text: s.tables.Text}
		if s.pooled {
			p.Do(planningOnce)
		}
		fill(p)
		if err = s.send(call, p); err == nil || call.Err() != nil || !wire.Repeatable(err) {
			break
		}
	}
	return s.fault(ctx, op, err)
}

func (s *Store) send(ctx context.Context, p *pipeline) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		c.Conn().PgConn().Frontend().Send(p.Room())
		return c.SendBatch(ctx, &p.Batch).Close()
	})
}

// usable says why nothing can be asked.
func (s *Store) usable(ctx context.Context) error {
	select {
	case <-s.closing:
		return errClosed
	default:
		return ctx.Err()
	}
}
