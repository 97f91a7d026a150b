// Package link is one connection to a SQLite file: statements by their text, and values as the database holds them.
//
// Nouns: a [Conn] runs statements; a [Row] is read column by column; an [ID] is that of a run.
//
// It imports store, machine and SQLite.
package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Conn is one connection. Its statements are prepared once and kept by their text. A limit is written as a sum: SQLite looks
// at a bare parameter there when it plans, and so prepares the statement anew each time one is bound.
type Conn struct {
	DB *sqlite.Conn
	// Written counts rows changed by Exec since it was opened.
	Written int
}

// Row is a row of an answer: good until the next is asked for.
type Row = sqlite.Stmt

// ErrEnough ends a query before its last row, without an error.
var ErrEnough = errors.New("enough rows were seen")

// Each runs a query and calls see for every row, or until it gives ErrEnough.
func (c *Conn) Each(query string, see func(r *Row) error, args ...any) error {
	st, err := c.DB.Prepare(query)
	if err != nil {
		return err
	}
	bind(st, args)
	for {
		more, err := st.Step()
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		if err := see(st); errors.Is(err, ErrEnough) {
			return joinReset(st, nil)
		} else if err != nil {
			return joinReset(st, err)
		}
	}
}

// One runs a query that gives at most one row and says whether it did.
func (c *Conn) One(query string, see func(r *Row) error, args ...any) (bool, error) {
	st, err := c.DB.Prepare(query)
	if err != nil {
		return false, err
	}
	bind(st, args)
	found, err := st.Step()
	if err != nil || !found {
		return false, err
	}
	return true, joinReset(st, see(st))
}

// Statistics names the tables that hold what ANALYZE found.
func Statistics(c *Conn) (tables []string, err error) {
	err = c.Each("select name from sqlite_schema where type = 'table' and name glob 'sqlite_stat[0-9]'", func(r *Row) error {
		tables = append(tables, r.ColumnText(0))
		return nil
	})
	return tables, err
}

func joinReset(st *sqlite.Stmt, err error) error {
	if e := st.Reset(); err == nil {
		return e
	}
	return err
}

// Exec runs a statement and gives the number of rows that it changed.
func (c *Conn) Exec(query string, args ...any) (int, error) {
	st, err := c.DB.Prepare(query)
	if err != nil {
		return 0, err
	}
	bind(st, args)
	for {
		more, err := st.Step()
		if err != nil {
			return 0, err
		}
		if !more {
			break
		}
	}
	n := c.DB.Changes()
	c.Written += n
	return n, nil
}

// Do is Exec for statements that change no counted rows: pragmas, begin, commit.
func (c *Conn) Do(query string) error {
	st, err := c.DB.Prepare(query)
	if err != nil {
		return err
	}
	_, err = st.Step()
	return joinReset(st, err)
}

// Rollback undoes the transaction that is under way, if there is one.
func (c *Conn) Rollback() {
	c.DB.SetInterrupt(nil)
	if !c.DB.AutocommitEnabled() {
		_ = c.Do("rollback") // SQLite has undone it already when this fails
	}
}

// Interruptible runs do, whose statements end with ctx.
func (c *Conn) Interruptible(ctx context.Context, do func(c *Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.DB.SetInterrupt(ctx.Done())
	defer c.DB.SetInterrupt(nil)
	return do(c)
}

func bind(st *sqlite.Stmt, args []any) {
	for i, arg := range args {
		p := i + 1
		switch v := arg.(type) {
		case ID:
			st.BindBytes(p, v[:])
		case int64:
			st.BindInt64(p, v)
		case int:
			st.BindInt64(p, int64(v))
		case machine.Time:
			st.BindInt64(p, int64(v))
		case bool:
			st.BindBool(p, v)
		case string:
			st.BindText(p, v)
		case json.RawMessage:
			bindBytes(st, p, v)
		case []byte:
			bindBytes(st, p, v)
		case [32]byte:
			st.BindBytes(p, v[:])
		case nil:
			st.BindNull(p)
		default:
			panic(fmt.Sprintf("argument %d has the type %T", p, arg))
		}
	}
}

// bindBytes keeps nothing and the empty value apart.
func bindBytes(st *sqlite.Stmt, p int, v []byte) {
	if v == nil {
		st.BindNull(p)
		return
	}
	st.BindBytes(p, v)
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

// IDAt reads the id of a run from a column.
func IDAt(r *Row, col int) ID {
	var i ID
	r.ColumnBytes(col, i[:])
	return i
}

// BytesAt gives a copy of a column; nil for NULL.
func BytesAt(r *Row, col int) []byte {
	if r.ColumnIsNull(col) {
		return nil
	}
	b := make([]byte, r.ColumnLen(col))
	r.ColumnBytes(col, b)
	return b
}

// TimeAt reads a time from a column.
func TimeAt(r *Row, col int) machine.Time { return machine.Time(r.ColumnInt64(col)) }

// FailureAt reads an error stored as JSON; nil for NULL, and for what cannot be read one that says so.
func FailureAt(r *Row, col int) *machine.Error {
	b := BytesAt(r, col)
	if b == nil {
		return nil
	}
	e := &machine.Error{}
	if err := json.Unmarshal(b, e); err != nil {
		return &machine.Error{Code: store.CodeDamaged, Message: "the stored error cannot be read: " + err.Error()}
	}
	return e
}
