// Package column writes columns of values as PostgreSQL's binary arrays, the arguments of statements that do something for many
// rows at once: each value is written once, where it is sent from.
//
// Nouns: a column ([Ints], [Longs], [Bools], [Texts], [Bytes], [UUIDs]) grows value by value; [Register] has a connection send
// columns as they are. The zero value of each is an empty column.
//
// It imports pgx alone.
package column

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
)

// header is what stands before the elements: dimensions, flags, type of the elements, length, lower bound.
const header = 20

// array is a binary array without its header.
type array struct {
	n     int
	nulls bool
	room  int // that of all columns of its statement, if it is the first
	b     []byte
}

// Grow makes room for so many values, of about so many bytes each, before the first is added.
func (a *array) Grow(values, size int) {
	if a.b == nil {
		a.b = make([]byte, header, header+values*(size+4))
	}
}

func (a *array) next(size int) {
	if a.b == nil {
		a.b = make([]byte, header, header+8*(size+4))
	}
	a.n++
	a.b = binary.BigEndian.AppendUint32(a.b, uint32(size))
}

func (a *array) null() {
	a.next(0)
	copy(a.b[len(a.b)-4:], []byte{0xff, 0xff, 0xff, 0xff})
	a.nulls = true
}

// Len is how many values there are.
func (a *array) Len() int { return a.n }

// finish writes the header and gives the whole.
func (a *array) finish(element uint32) []byte {
	if a.n == 0 {
		return binary.BigEndian.AppendUint32(make([]byte, 8, 12), element)
	}
	flags := uint32(0)
	if a.nulls {
		flags = 1
	}
	for i, v := range []uint32{1, flags, element, uint32(a.n), 1} {
		binary.BigEndian.PutUint32(a.b[4*i:], v)
	}
	return a.b
}

// Ints is a column of type int[].
type Ints struct{ array }

// Add adds a value.
func (c *Ints) Add(v int32) {
	c.next(4)
	c.b = binary.BigEndian.AppendUint32(c.b, uint32(v))
}

func (c *Ints) encoded() []byte { return c.finish(pgtype.Int4OID) }

// Longs is a column of type bigint[].
type Longs struct{ array }

// Add adds a value.
func (c *Longs) Add(v int64) {
	c.next(8)
	c.b = binary.BigEndian.AppendUint64(c.b, uint64(v))
}

// Row adds several values: the numbers of one row, where a statement reads them by their place.
func (c *Longs) Row(values ...int64) {
	for _, v := range values {
		c.Add(v)
	}
}

func (c *Longs) encoded() []byte { return c.finish(pgtype.Int8OID) }

// Bools is a column of type bool[].
type Bools struct{ array }

// Add adds a value.
func (c *Bools) Add(v bool) {
	c.next(1)
	if v {
		c.b = append(c.b, 1)
	} else {
		c.b = append(c.b, 0)
	}
}

func (c *Bools) encoded() []byte { return c.finish(pgtype.BoolOID) }

// Texts is a column of type text[].
type Texts struct{ array }

// Add adds a value.
func (c *Texts) Add(v string) {
	c.next(len(v))
	c.b = append(c.b, v...)
}

// AddOr adds a value, or NULL for none.
func (c *Texts) AddOr(v *string) {
	if v == nil {
		c.null()
	} else {
		c.Add(*v)
	}
}

func (c *Texts) encoded() []byte { return c.finish(pgtype.TextOID) }

// Words is a list of distinct texts, counted from 1: what many rows share is sent once.
type Words struct {
	Texts

	numbers map[string]int64
}

// Number gives the number of a text, which is added when it is new; 0: it is empty.
func (c *Words) Number(v string) int64 {
	if v == "" {
		return 0
	}
	n, known := c.numbers[v]
	if !known {
		c.Add(v)
		n = int64(c.n)
		if c.numbers == nil {
			c.numbers = map[string]int64{}
		}
		c.numbers[v] = n
	}
	return n
}

// Bytes is a column of type bytea[].
type Bytes struct{ array }

// Add adds a value, or NULL for nil.
func (c *Bytes) Add(v []byte) {
	if v == nil {
		c.null()
		return
	}
	c.next(len(v))
	c.b = append(c.b, v...)
}

// Number adds a value and gives its number, counted from 1; 0: it is nil, and is not added.
func (c *Bytes) Number(v []byte) int64 {
	if v == nil {
		return 0
	}
	c.Add(v)
	return int64(c.n)
}

func (c *Bytes) encoded() []byte { return c.finish(pgtype.ByteaOID) }

// UUIDs is a column of type uuid[].
type UUIDs struct{ array }

// Add adds a value.
func (c *UUIDs) Add(v [16]byte) {
	c.next(16)
	c.b = append(c.b, v[:]...)
}

func (c *UUIDs) encoded() []byte { return c.finish(pgtype.UUIDOID) }

// column is any of them.
type column interface {
	encoded() []byte
	size() int
	reserve(n int)
	spare() int
}

// spare is for how much room is to be made before it is sent.
func (a *array) spare() int { return a.room }

// size is how many bytes are sent.
func (a *array) size() int { return max(len(a.b), 12) }

// reserve says how many bytes are to be sent in all from this column on.
func (a *array) reserve(n int) { a.room = n }

// Reserve has the first column of a statement's arguments make room for those that follow it, and gives how many bytes all have.
func Reserve(args []any) int {
	all := 0
	var first column
	for _, arg := range args {
		if c, ok := arg.(column); ok {
			if all += c.size(); first == nil {
				first = c
			}
		}
	}
	if first != nil {
		first.reserve(all)
	}
	return all
}

// Register has the connection of m take columns as arguments.
func Register(m *pgtype.Map) error {
	for _, oid := range []uint32{
		pgtype.Int4ArrayOID, pgtype.Int8ArrayOID, pgtype.BoolArrayOID, pgtype.TextArrayOID, pgtype.ByteaArrayOID, pgtype.UUIDArrayOID,
	} {
		known, ok := m.TypeForOID(oid)
		if !ok {
			return fmt.Errorf("the driver does not know the type %d", oid)
		}
		inner, ok := known.Codec.(*pgtype.ArrayCodec)
		if !ok {
			return fmt.Errorf("the driver reads the type %s by a %T", known.Name, known.Codec)
		}
		m.RegisterType(&pgtype.Type{Name: known.Name, OID: oid, Codec: codec{inner}})
	}
	return nil
}

// codec sends columns as they are, and everything else as the driver does.
type codec struct{ *pgtype.ArrayCodec }

// PreferredFormat is the binary one.
func (codec) PreferredFormat() int16 { return pgtype.BinaryFormatCode }

// PlanEncode is that of the driver, but for columns.
func (c codec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(column); ok && format == pgtype.BinaryFormatCode {
		return plan{}
	}
	return c.ArrayCodec.PlanEncode(m, oid, format, value)
}

type plan struct{}

// Encode appends the column.
func (plan) Encode(value any, buf []byte) ([]byte, error) {
	c, ok := value.(column)
	if !ok {
		return nil, fmt.Errorf("a %T is no column", value)
	}
	return append(slices.Grow(buf, c.spare()), c.encoded()...), nil
}
