package postgres

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/listing"
)

// rowColumns are those of runs as r that a list shows: stateColumns without the document, and the error.
var rowColumns = strings.Replace(stateColumns, "r.doc", "''::bytea", 1) + ", r.error"

// Runs is [store.Reader.Runs].
func (s *Store) Runs(ctx context.Context, f store.Filter) (out []store.RunRow, err error) {
	query, args, err := listing.Runs(rowColumns, &f)
	if err != nil {
		return nil, err
	}
	err = s.run(ctx, "runs", func(p *pipeline) {
		out = nil
		p.Each(query, func(rows pgx.Rows) error {
			var row stateRow
			var failure []byte
			if err := rows.Scan(append(row.targets(), &failure)...); err != nil {
				return err
			}
			row.header()
			m := &row.run
			m.Options, _ = machine.DecodeOptions(row.options) // what cannot be read shows in the run alone
			out = append(out, store.RunRow{
				Header: m.Header, Status: m.Status, StateVersion: row.version, Seq: m.Seq, StartedAt: m.StartedAt,
				FinishedAt: m.FinishedAt, Error: failureAt(failure),
			})
			return nil
		}, args...)
	})
	return out, err
}

// failureAt reads an error stored as JSON; nil for nothing, and for what cannot be read one that says so.
func failureAt(b []byte) *machine.Error {
	if b == nil {
		return nil
	}
	e := &machine.Error{}
	if err := json.Unmarshal(b, e); err != nil {
		return &machine.Error{Code: store.CodeDamaged, Message: "the stored error cannot be read: " + err.Error()}
	}
	return e
}

// Letters is [store.Reader.Letters].
func (s *Store) Letters(ctx context.Context, f store.LetterFilter) (out []store.Letter, err error) {
	query, args, ok := listing.Letters(&f)
	if !ok {
		return nil, nil
	}
	err = s.run(ctx, "letters", func(p *pipeline) {
		out = nil
		p.Each(query, func(rows pgx.Rows) error {
			var l store.Letter
			var run [16]byte
			var failure []byte
			err := rows.Scan(&l.ID, &l.Tenant, &run, &l.Workflow, (*string)(&l.Kind), &l.Path, &failure, (*string)(&l.State),
				(*int64)(&l.CreatedAt), (*int64)(&l.ClosedAt))
			l.RunID, l.Error = id(run).String(), failureAt(failure)
			out = append(out, l)
			return err
		}, args...)
	})
	return out, err
}
