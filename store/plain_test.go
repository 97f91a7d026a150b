package store

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWhatIsPlainIsKnownWithoutHelp(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`null`, `true`, ` false `, `""`, `"é"`, `0`, `-1.50`, `[]`, `{}`, "[ 1,\n2 ]", `{"a":{"b":[{"c":"d"},null]},"n":12345}`,
	} {
		if !plain([]byte(text)) {
			t.Errorf("%s is not plain", text)
		}
	}
}

// What plain says is JSON is JSON.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{
		`null`, `nul`, `nulls`, `"a`, `"a\"`, "\"\x01\"", `01`, `-`, `-01`, `1.`, `1.5.2`, `1e5`, `1E`, `[1,]`, `[,1]`, `[1 2]`, `[`, `]`, `{`,
		`{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a":1]`, `[1}`, `{"a" : 1 , "b":[ ] }`, `1 2`, ` `, ``, "\x0b1", `{"a":1}{`,
		strings.Repeat("[", 31) + strings.Repeat("]", 31), strings.Repeat("[", 40) + strings.Repeat("]", 40),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if plain(b) && !json.Valid(b) {
			t.Fatalf("%q is no JSON", b)
		}
	})
}

func BenchmarkStorable(b *testing.B) {
	payload := json.RawMessage(`{"customer":"c-1234567","amount":12345,"items":["aaaaaaaa","bbbbbbbb","cccccccc"],"note":"hello world hello"}`)
	for b.Loop() {
		if err := Storable(payload); err != nil {
			b.Fatal(err)
		}
	}
}
