package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/column"
)

const (
	// The unique index of open letters finds the one that is open.
	openSQL = `insert into millrace.dead_letters (tenant, run, kind, path, created_at, error, error_step, error_code)
		select i.tenant, i.run, i.kind, i.path, i.at, i.error, i.step, i.code
		from unnest($1::int[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bytea[], $8::text[], $9::text[])
			with ordinality as i(n, run, tenant, kind, path, at, error, step, code, ord)
		where ` + won + ` order by i.ord
		on conflict (run, kind, path) where state = 'open' do update
			set error = excluded.error, error_step = excluded.error_step, error_code = excluded.error_code`
	// A range of the index of open letters for each run.
	closeSQL = `update millrace.dead_letters as t set state = i.how, closed_at = i.at
		from unnest($1::int[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bool[])
			as i(n, run, kind, path, how, at, every)
		where t.run = any (array[i.run]) and t.state = 'open' and ` + won + `
			and (i.every and t.kind <> 'finally' or not i.every and t.kind = i.kind and t.path = i.path)`
)

// letters opens and closes dead letters: those of all members at once, unless the order matters within one.
func (b *batch) letters(p *pipeline) {
	var opens openColumns
	var closes closeColumns
	one := false
	for _, m := range b.members {
		one = one || m.sequential()
	}
	for _, m := range b.members {
		for _, op := range m.letters {
			if op.opens {
				opens.add(m, &op)
			} else {
				closes.add(m, &op)
			}
			if one {
				closes.queue(p)
				opens.queue(p)
			}
		}
	}
	closes.queue(p)
	opens.queue(p)
}

type openColumns struct {
	rowsOf
	tenant, kind, path, step, code column.Texts
	at                             column.Longs
	failure                        column.Bytes
}

func (c *openColumns) add(m *member, op *letterOp) {
	c.rowsOf.add(m)
	c.tenant.Add(m.Run.Tenant)
	c.kind.Add(string(op.kind))
	c.path.Add(op.path)
	c.at.Add(int64(m.At))
	step, code := stepOf(op.err)
	c.step.AddOr(step)
	c.code.AddOr(code)
	c.failure.Add(encodeFailure(op.err))
}

func (c *openColumns) queue(p *pipeline) {
	if sent := *c; !c.empty() {
		p.do(openSQL, &sent.n, &sent.run, &sent.tenant, &sent.kind, &sent.path, &sent.at, &sent.failure, &sent.step, &sent.code)
	}
	*c = openColumns{}
}

type closeColumns struct {
	rowsOf
	kind, path, how column.Texts
	at              column.Longs
	every           column.Bools
}

func (c *closeColumns) add(m *member, op *letterOp) {
	c.rowsOf.add(m)
	c.kind.Add(string(op.kind))
	c.path.Add(op.path)
	c.how.Add(string(op.how))
	c.at.Add(int64(m.At))
	c.every.Add(op.all)
}

func (c *closeColumns) queue(p *pipeline) {
	if sent := *c; !c.empty() {
		p.do(closeSQL, &sent.n, &sent.run, &sent.kind, &sent.path, &sent.how, &sent.at, &sent.every)
	}
	*c = closeColumns{}
}

// where gathers the conditions of a list.
type where struct {
	terms []string
	args  []any
}

// and adds a condition; %s in it is the argument.
func (w *where) and(term string, arg any) {
	if text, ok := arg.(string); ok && unstorable(text) {
		arg = nil // equal to nothing
	}
	w.args = append(w.args, arg)
	w.terms = append(w.terms, strings.ReplaceAll(term, "%s", fmt.Sprint("$", len(w.args))))
}

// equals asks for a value; "" asks for nothing.
func (w *where) equals(column, want string) {
	if want != "" {
		w.and(column+" = %s", want)
	}
}

// between asks for a time from since on and before until; zero asks for nothing.
func (w *where) between(column string, since, until machine.Time) {
	if since != 0 {
		w.and(column+" >= %s", int64(since))
	}
	if until != 0 {
		w.and(column+" < %s", int64(until))
	}
}

func (w *where) text() string { return strings.Join(w.terms, " and ") }

// limit adds the number of rows, and gives the end of the statement.
func (w *where) limit(n int) string {
	w.args = append(w.args, max(n, 0))
	return fmt.Sprint(" limit $", len(w.args))
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
	query, args, ok := listLetters(&f)
	if !ok {
		return nil, nil
	}
	err = s.run(ctx, "letters", func(p *pipeline) {
		out = nil
		p.each(query, func(rows pgx.Rows) error {
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

// listLetters gives the statement that finds what f selects, newest first; ok is false when that is nothing. It walks an index
// backwards: the tenant's, that of one run or of open letters.
func listLetters(f *store.LetterFilter) (query string, args []any, ok bool) {
	var w where
	w.and("d.tenant = %s", f.Tenant)
	if f.RunID != "" {
		run, ok := parseID(f.RunID)
		if !ok {
			return "", nil, false
		}
		w.and("d.run = %s", [16]byte(run))
	}
	if f.IDs != nil {
		w.and("d.id = any (%s::bigint[])", f.IDs)
	}
	switch f.State {
	case "":
	case machine.LetterOpen:
		w.terms = append(w.terms, "d.state = 'open'")
	default:
		w.and("d.state = %s", string(f.State))
	}
	w.equals("r.workflow", f.Workflow)
	w.equals("d.kind", string(f.Kind))
	w.equals("d.path", f.Path)
	w.equals("d.error_step", f.FailedAt)
	w.equals("d.error_code", f.Code)
	w.between("d.created_at", f.Since, f.Until)
	if f.Before != 0 {
		w.and("d.id < %s", f.Before)
	}
	query = `select d.id, d.tenant, d.run, r.workflow, d.kind, d.path, d.error, d.state, d.created_at, d.closed_at
		from millrace.dead_letters as d join millrace.runs as r on r.id = d.run where ` + w.text() + " order by d.id desc"
	query += w.limit(cmp.Or(f.Limit, len(f.IDs), 100))
	return query, w.args, true
}
