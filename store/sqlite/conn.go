package sqlite

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// conn is one connection. Its statements are prepared once and kept by their text. A limit is written as a sum: SQLite looks
// at a bare parameter there when it plans, and so prepares the statement anew each time one is bound.
type conn struct {
	db *sqlite.Conn
	// written counts rows changed since the log was last found empty; the checkpointer reads it. Writer only.
	written int
}

type row = sqlite.Stmt

// each runs a query and calls see for every row.
func (c *conn) each(query string, see func(r *row) error, args ...any) error {
	st, err := c.db.Prepare(query)
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
		if err := see(st); err != nil {
			return joinReset(st, err)
		}
	}
}

// one runs a query that gives at most one row and says whether it did.
func (c *conn) one(query string, see func(r *row) error, args ...any) (bool, error) {
	st, err := c.db.Prepare(query)
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

func joinReset(st *sqlite.Stmt, err error) error {
	if e := st.Reset(); err == nil {
		return e
	}
	return err
}

// exec runs a statement and gives the number of rows that it changed.
func (c *conn) exec(query string, args ...any) (int, error) {
	st, err := c.db.Prepare(query)
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
	n := c.db.Changes()
	c.written += n
	return n, nil
}

// do is exec for statements that change no counted rows: pragmas, begin, commit.
func (c *conn) do(query string) error {
	st, err := c.db.Prepare(query)
	if err != nil {
		return err
	}
	_, err = st.Step()
	return joinReset(st, err)
}

func bind(st *sqlite.Stmt, args []any) {
	for i, arg := range args {
		p := i + 1
		switch v := arg.(type) {
		case id:
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

// id is the id of a run as the database holds it.
type id [16]byte

// parseID reads the canonical text of an id, and nothing else.
func parseID(text string) (id, bool) {
	if len(text) != 36 {
		return id{}, false
	}
	u, err := uuid.Parse(text)
	if err != nil || u.String() != text {
		return id{}, false
	}
	return id(u), true
}

// String gives the canonical text.
func (i id) String() string { return uuid.UUID(i).String() }

func idAt(r *row, col int) id {
	var i id
	r.ColumnBytes(col, i[:])
	return i
}

// bytesAt gives a copy of a column; nil for NULL.
func bytesAt(r *row, col int) []byte {
	if r.ColumnIsNull(col) {
		return nil
	}
	b := make([]byte, r.ColumnLen(col))
	r.ColumnBytes(col, b)
	return b
}

func timeAt(r *row, col int) machine.Time { return machine.Time(r.ColumnInt64(col)) }

// failureAt reads an error stored as JSON; nil for NULL, and for what cannot be read one that says so.
func failureAt(r *row, col int) *machine.Error {
	b := bytesAt(r, col)
	if b == nil {
		return nil
	}
	e := &machine.Error{}
	if err := json.Unmarshal(b, e); err != nil {
		return &machine.Error{Code: store.CodeDamaged, Message: "the stored error cannot be read: " + err.Error()}
	}
	return e
}
