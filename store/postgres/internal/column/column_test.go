package column_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/millrace-go/millrace/store/postgres/internal/column"
)

func TestAColumnIsReadAsTheValuesThatWereAdded(t *testing.T) {
	t.Parallel()
	var ints, noInts column.Ints
	var longs column.Longs
	var bools column.Bools
	var texts column.Texts
	var bytes column.Bytes
	var uuids column.UUIDs
	for i := range 100 {
		ints.Add(int32(-i))
		longs.Add(int64(i) << 40)
		bools.Add(i%3 == 0)
		bytes.Add([]byte{byte(i), 0})
		uuids.Add([16]byte{byte(i)})
	}
	bytes.Add(nil)
	bytes.Add([]byte{})
	word := "é"
	texts.Add("")
	texts.AddOr(&word)
	texts.AddOr(nil)
	for name, test := range map[string]struct {
		oid   uint32
		value any
		into  any
		want  func() any
	}{
		"no ints": {pgtype.Int4ArrayOID, &noInts, &[]int32{}, func() any { return &[]int32{} }},
		"ints":    {pgtype.Int4ArrayOID, &ints, &[]int32{}, func() any { return list(100, func(i int) int32 { return int32(-i) }) }},
		"longs":   {pgtype.Int8ArrayOID, &longs, &[]int64{}, func() any { return list(100, func(i int) int64 { return int64(i) << 40 }) }},
		"bools":   {pgtype.BoolArrayOID, &bools, &[]bool{}, func() any { return list(100, func(i int) bool { return i%3 == 0 }) }},
		"texts":   {pgtype.TextArrayOID, &texts, &[]*string{}, func() any { empty := ""; return &[]*string{&empty, &word, nil} }},
		"bytes": {pgtype.ByteaArrayOID, &bytes, &[][]byte{}, func() any {
			out := append(*list(100, func(i int) []byte { return []byte{byte(i), 0} }), nil, []byte{})
			return &out
		}},
		"uuids":             {pgtype.UUIDArrayOID, &uuids, &[][16]byte{}, func() any { return list(100, func(i int) [16]byte { return [16]byte{byte(i)} }) }},
		"what is no column": {pgtype.Int8ArrayOID, []int64{1, 2}, &[]int64{}, func() any { return &[]int64{1, 2} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := pgtype.NewMap() // not for concurrent use
			if err := column.Register(m); err != nil {
				t.Fatal(err)
			}
			format := m.FormatCodeForOID(test.oid)
			raw, err := m.Encode(test.oid, format, test.value, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Scan(test.oid, format, raw, test.into); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want(), test.into); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func list[T any](n int, element func(i int) T) *[]T {
	var out []T
	for i := range n {
		out = append(out, element(i))
	}
	return &out
}
