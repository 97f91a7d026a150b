package ceiling

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

const schema = `
create table runs(id blob primary key, tenant text not null, workflow text, version int, status int, state_version int, doc blob,
  created_at int, finished_at int) without rowid;
create table tasks(run_id blob not null, path text not null, queue text, handler text, priority int, ready_at int, attempt int,
  input blob, token int, owner text, lease_until int, primary key(run_id, path)) without rowid;
create index tasks_ready on tasks(queue, priority desc, ready_at) where token is null;
create index tasks_lease on tasks(lease_until) where token is not null;
create table journal(run_id blob not null, seq int not null, at int, kind int, path text, data blob,
  primary key(run_id, seq)) without rowid;
`

const (
	insertRun   = "insert into runs values (?, 'default', 'bench', 1, 1, 1, ?, ?, null)"
	insertEntry = "insert into journal values (?, ?, ?, ?, ?, ?)"
	insertTask  = "insert into tasks values (?, ?, 'default', 'noop', 0, ?, ?, ?, ?, ?, ?)"
	deleteTask  = "delete from tasks where run_id = ? and path = ?"
	advanceRun  = "update runs set state_version = state_version + 1, doc = ? where id = ? and state_version = ?"
	endRun      = "update runs set state_version = state_version + 1, doc = ?, status = 2, finished_at = ? where id = ? and state_version = ?"
	claimTasks  = `update tasks set token = ?, owner = 'w', attempt = attempt + 1, lease_until = ?
where (run_id, path) in (select run_id, path from tasks where token is null and queue = 'default' and ready_at <= ?
  order by queue, priority desc, ready_at limit ?)
returning run_id, path`
)

// The sizes are those of the workloads: payloads of about 100 bytes, a document of five steps.
var (
	payload  = []byte(`{"customer":"c-1234567","amount":12345,"items":["aaaaaaaa","bbbbbbbb","cccccccc"],"note":"hello world hello"}`)
	document = []byte(`{"s":[{"k":"a","st":2,"a":1,"o":2},{"k":"b","st":1,"a":0,"o":0},{"k":"c","st":0},{"k":"d","st":0},{"k":"e","st":0}],"open":1}`)
)

const leaseMicros = 30_000_000

// writer is the one connection that writes a file.
type writer struct {
	conn *sqlite.Conn
	ids  uint64
}

func open(ctx context.Context, name string) (*writer, error) {
	conn, err := sqlite.OpenConn(name, sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenWAL)
	if err != nil {
		return nil, err
	}
	conn.SetInterrupt(ctx.Done())
	w := &writer{conn: conn}
	for _, q := range []string{"pragma synchronous = full", "pragma cache_size = -65536"} {
		if err := sqlitex.ExecuteTransient(conn, q, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", q, err)
		}
	}
	return w, sqlitex.ExecuteScript(conn, schema, nil)
}

func (w *writer) close() error { return w.conn.Close() }

// start inserts n runs, each with its first entry and its first task, in one transaction.
func (w *writer) start(n int) (err error) {
	end, err := sqlitex.ImmediateTransaction(w.conn)
	if err != nil {
		return err
	}
	defer end(&err)
	for range n {
		id, now := w.id(), time.Now().UnixMicro()
		if err := w.do(insertRun, id, document, now); err != nil {
			return err
		}
		if err := w.do(insertEntry, id, 1, now, 1, "", payload); err != nil {
			return err
		}
		if err := w.do(insertTask, id, "s0", now, 0, payload, nil, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// turn claims up to a full batch and settles all of it, in one transaction. It gives the tasks that were handed over and
// the number of those settled.
func (w *writer) turn(held []task, load Load) (next []task, settled int, err error) {
	end, err := sqlitex.ImmediateTransaction(w.conn)
	if err != nil {
		return nil, 0, err
	}
	defer end(&err)
	now := time.Now().UnixMicro()
	if free := load.Batch - len(held); free > 0 {
		claimed, err := w.claim(free, now)
		if err != nil {
			return nil, 0, err
		}
		held = append(held, claimed...)
	}
	for _, t := range held {
		more, err := w.settle(t, load.Steps, now)
		if err != nil {
			return nil, 0, err
		}
		next = append(next, more...)
	}
	return next, len(held), nil
}

func (w *writer) claim(limit int, now int64) ([]task, error) {
	var claimed []task
	err := sqlitex.Execute(w.conn, claimTasks, &sqlitex.ExecOptions{
		Args: []any{now, now + leaseMicros, now, limit},
		ResultFunc: func(s *sqlite.Stmt) error {
			id := make([]byte, 16)
			s.ColumnBytes(0, id)
			claimed = append(claimed, task{run: id, path: s.ColumnText(1), version: 1, seq: 2})
			return nil
		},
	})
	return claimed, err
}

// settle ends a task: its row goes, the journal grows, the run moves on; and gives the next one, claimed already.
func (w *writer) settle(t task, steps int, now int64) ([]task, error) {
	if err := w.do(deleteTask, t.run, t.path); err != nil {
		return nil, err
	}
	if err := w.do(insertEntry, t.run, t.seq, now, 2, t.path, payload); err != nil {
		return nil, err
	}
	if t.step+1 == steps {
		return nil, w.do(endRun, document, now, t.run, t.version)
	}
	next := task{run: t.run, path: fmt.Sprintf("s%d", t.step+1), step: t.step + 1, version: t.version + 1, seq: t.seq + 1}
	if err := w.do(advanceRun, document, t.run, t.version); err != nil {
		return nil, err
	}
	return []task{next}, w.do(insertTask, next.run, next.path, now, 1, payload, now, "w", now+leaseMicros)
}

func (w *writer) do(query string, args ...any) error {
	return sqlitex.Execute(w.conn, query, &sqlitex.ExecOptions{Args: args})
}

func (w *writer) count(query string) (n int, err error) {
	err = sqlitex.Execute(w.conn, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		n = s.ColumnInt(0)
		return nil
	}})
	return n, err
}

func (w *writer) id() []byte {
	w.ids++
	return newID(w.ids)
}

// newID gives an id of a UUIDv7's size and order in time, unlike any with another number.
func newID(number uint64) []byte {
	id := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixMilli())<<16)
	return binary.BigEndian.AppendUint64(id, number)
}
