package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pipeline is statements that are sent together and carried out in one transaction, which ends with the last of them: one
// round trip. When one fails, nothing of it has happened.
type pipeline struct {
	s     *Store
	batch pgx.Batch
}

// do adds a statement whose answer nobody reads.
func (p *pipeline) do(query string, args ...any) { p.batch.Queue(p.s.sql(query), args...) }

// each adds a query and calls see for every row of the answer.
func (p *pipeline) each(query string, see func(rows pgx.Rows) error, args ...any) {
	p.batch.Queue(p.s.sql(query), args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := see(rows); err != nil {
				return err
			}
		}
		return nil
	})
}

// one adds a query of one row without arguments, read into out.
func (p *pipeline) one(query string, out ...any) {
	p.each(query, func(rows pgx.Rows) error { return rows.Scan(out...) })
}

// count adds a statement and gives how many rows it changed.
func (p *pipeline) count(query string, n *int64, args ...any) {
	p.batch.Queue(p.s.sql(query), args...).Exec(func(tag pgconn.CommandTag) error {
		*n = tag.RowsAffected()
		return nil
	})
}

const tries = 5

// run carries out the pipeline that fill fills, under the store's deadline. fill is called again when the transaction was
// undone for no fault of its own: a deadlock, or a connection that was found dead before anything was sent.
func (s *Store) run(ctx context.Context, op string, fill func(p *pipeline)) error {
	call, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	var err error
	for range tries {
		p := &pipeline{s: s}
		fill(p)
		if err = s.send(call, p); err == nil || call.Err() != nil || !repeatable(err) {
			break
		}
	}
	return s.fault(ctx, op, err)
}

func (s *Store) send(ctx context.Context, p *pipeline) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.pool.SendBatch(ctx, &p.batch).Close()
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

// repeatable says whether nothing has happened and the same may well succeed now.
func repeatable(err error) bool {
	switch code(err) {
	case codeDeadlock, codeSerialization, codeStalePlan:
		return true
	}
	return pgconn.SafeToRetry(err)
}

// code gives the SQLSTATE of an error of the server, else "".
func code(err error) string {
	var failure *pgconn.PgError
	if errors.As(err, &failure) {
		return failure.Code
	}
	return ""
}
