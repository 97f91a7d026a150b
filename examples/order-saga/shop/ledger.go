package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// entry is a line of a ledger. What undoes another has its amount with the other sign, so that the two add up to nothing.
type entry struct {
	Key    string `json:"key"` // of the request that wrote it
	Order  string `json:"order"`
	What   string `json:"what"`
	Amount int64  `json:"amount"`
	Undoes string `json:"undoes,omitempty"` // the key of the entry that it takes back
}

// ledger is the book of one service: an SQLite file in which lines are written and never changed. It is safe for concurrent use.
type ledger struct {
	mu   sync.Mutex
	conn *sqlite.Conn
}

// What a ledger refuses.
var (
	errReused    = errors.New("another request had this key")
	errCancelled = errors.New("this request was taken back")
	errDisputed  = errors.New("the charge is disputed: whoever settles that must come first")
)

const schema = `
create table if not exists entries (
  id integer primary key,
  key text not null unique,
  order_id text not null,
  what text not null,
  amount integer not null,
  undoes text unique references entries (key)
) strict;
create table if not exists cancelled (key text primary key) strict;
create table if not exists disputed (key text primary key) strict;
`

// open opens the ledger in a file, which it makes if need be. Whoever opened it closes it.
func open(path string) (*ledger, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenWAL)
	if err != nil {
		return nil, err
	}
	if err := sqlitex.ExecuteScript(conn, schema, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("ledger %s: %w", path, err), conn.Close())
	}
	return &ledger{conn: conn}, nil
}

// close closes a ledger; one that was never opened too.
func (l *ledger) close() error {
	if l == nil {
		return nil
	}
	return l.conn.Close()
}

// atomically calls f in a transaction.
func (l *ledger) atomically(ctx context.Context, f func() error) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn.SetInterrupt(ctx.Done())
	end, err := sqlitex.ImmediateTransaction(l.conn)
	if err != nil {
		return err
	}
	defer end(&err)
	return f()
}

// add writes an entry, once: the same request again finds it there. Dispute says that its money cannot be given back yet.
func (l *ledger) add(ctx context.Context, e entry, dispute bool) error {
	return l.atomically(ctx, func() error {
		if found, err := l.find("key", e.Key); err != nil || found != nil {
			return l.again(found, e, err)
		}
		cancelled, err := l.has("cancelled", e.Key)
		if err == nil && cancelled {
			err = errCancelled
		}
		if err == nil && dispute {
			err = l.do("insert into disputed values (?)", e.Key)
		}
		if err != nil {
			return err
		}
		return l.do("insert into entries (key, order_id, what, amount) values (?, ?, ?, ?)", e.Key, e.Order, e.What, e.Amount)
	})
}

// again decides about a request that was done before: whether it is the same, and still stands.
func (l *ledger) again(found *entry, e entry, err error) error {
	switch {
	case err != nil:
		return err
	case *found != e:
		return errReused
	}
	undone, err := l.find("undoes", e.Key)
	if err == nil && undone != nil {
		err = errCancelled
	}
	return err
}

// undo takes back the entry with the key of, once, whoever asks how often. One that is not there is kept from coming later, and
// nothing is written.
func (l *ledger) undo(ctx context.Context, key, of, what string) (out entry, err error) {
	err = l.atomically(ctx, func() error {
		undone, err := l.find("undoes", of)
		if err != nil || undone != nil {
			if undone != nil {
				out = *undone
			}
			return err
		}
		done, err := l.find("key", of)
		if err != nil {
			return err
		}
		if done == nil {
			out = entry{Key: key, What: "nothing to be " + what, Undoes: of}
			return l.do("insert or ignore into cancelled values (?)", of)
		}
		disputed, err := l.has("disputed", of)
		if err == nil && disputed {
			err = errDisputed
		}
		if err != nil {
			return err
		}
		out = entry{Key: key, Order: done.Order, What: what, Amount: -done.Amount, Undoes: of}
		return l.do("insert into entries (key, order_id, what, amount, undoes) values (?, ?, ?, ?, ?)", out.Key, out.Order, out.What, out.Amount, of)
	})
	return out, err
}

// settle ends all disputes.
func (l *ledger) settle(ctx context.Context) error {
	return l.atomically(ctx, func() error { return l.do("delete from disputed") })
}

// all gives every entry, oldest first.
func (l *ledger) all(ctx context.Context) (out []entry, err error) {
	out = []entry{}
	err = l.atomically(ctx, func() error { return l.read(&out, "order by id") })
	return out, err
}

// find gives the entry whose column has this value; nil: there is none.
func (l *ledger) find(column, value string) (*entry, error) {
	var found []entry
	if err := l.read(&found, "where "+column+" = ?", value); err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

func (l *ledger) has(table, key string) (found bool, err error) {
	err = sqlitex.Execute(l.conn, "select 1 from "+table+" where key = ?", &sqlitex.ExecOptions{
		Args:       []any{key},
		ResultFunc: func(*sqlite.Stmt) error { found = true; return nil },
	})
	return found, err
}

func (l *ledger) read(into *[]entry, which string, args ...any) error {
	return sqlitex.Execute(l.conn, "select key, order_id, what, amount, undoes from entries "+which, &sqlitex.ExecOptions{
		Args: args,
		ResultFunc: func(s *sqlite.Stmt) error {
			*into = append(*into, entry{s.ColumnText(0), s.ColumnText(1), s.ColumnText(2), s.ColumnInt64(3), s.ColumnText(4)})
			return nil
		},
	})
}

func (l *ledger) do(statement string, args ...any) error {
	return sqlitex.Execute(l.conn, statement, &sqlitex.ExecOptions{Args: args})
}
