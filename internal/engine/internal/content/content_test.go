package content_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/millrace-go/millrace/internal/engine/internal/content"
	"github.com/millrace-go/millrace/machine"
)

// R7 R8
func TestPayloadIsRefusedByNameBeforeItIsStored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ payload, code string }{
		"object":               {`{"a":1.10,"b":1e999}`, ""},
		"escaped backslash":    {`"a\\u0000"`, ""},
		"at the limit":         {`"` + strings.Repeat("x", 98) + `"`, ""},
		"over the limit":       {`"` + strings.Repeat("x", 99) + `"`, machine.CodeTooLarge},
		"escaped NUL":          {`"a\u0000"`, machine.CodeUnstorable},
		"NUL after backslash":  {`"a\\\u0000"`, machine.CodeUnstorable},
		"NUL":                  {"\"a\x00\"", machine.CodeUnstorable},
		"invalid UTF-8":        {"\"\xff\"", machine.CodeUnstorable},
		"not JSON":             {`{`, machine.CodeUnstorable},
		"two values":           {`1 2`, machine.CodeUnstorable},
		"large and unstorable": {strings.Repeat("\x00", 200), machine.CodeTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := content.Refuse("output", json.RawMessage(c.payload), 100)
			switch {
			case c.code == "" && e != nil:
				t.Errorf("refused: %v", e)
			case c.code != "" && (e == nil || e.Code != c.code || !e.Final || !strings.Contains(e.Message, "output")):
				t.Errorf("got %+v; want a final %s", e, c.code)
			}
		})
	}
}

func TestErrorIsMadeStorable(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]machine.Error{
		"empty":       {},
		"texts":       {Code: "a\x00\xff", Message: strings.Repeat("é", 4000), Step: "\xff"},
		"NUL in data": {Code: "x", Message: "m", Data: json.RawMessage(`"\u0000"`)},
		"broken data": {Code: "x", Data: json.RawMessage(`{"a"`)},
		"large data":  {Code: "x", Data: json.RawMessage(`"` + strings.Repeat("y", 1000) + `"`)},
		"empty data":  {Code: "x", Data: json.RawMessage{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := content.Error(&e, 100)
			raw := content.Encode(got)
			if bad := content.Refuse("error", raw, 10_000); bad != nil {
				t.Errorf("%s: %v", raw, bad)
			}
			if got.Code == "" || len(got.Message) > content.MaxText || !utf8.ValidString(got.Message) || got.Data != nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestTailKeepsTheEndInWholeCharacters(t *testing.T) {
	t.Parallel()
	if got := content.Tail("aéé", 3); got != "é" {
		t.Errorf("got %q", got)
	}
	if got := content.Tail("abc", 3); got != "abc" {
		t.Errorf("got %q", got)
	}
}

// R2
func TestHashIsThatOfTheJSONValue(t *testing.T) {
	t.Parallel()
	hash := func(s string) [32]byte { return content.Hash(json.RawMessage(s)) }
	for _, equal := range [][2]string{
		{`{"a":1,"b":{"c":null}}`, "{ \"b\": {\"c\":null},\n\"a\": 1 }"},
		{`"\u00e9"`, `"é"`},
		{`[]`, `[ ]`},
	} {
		if hash(equal[0]) != hash(equal[1]) {
			t.Errorf("%s and %s have different hashes", equal[0], equal[1])
		}
	}
	for _, other := range [][2]string{
		{`1`, `1.0`},
		{`1`, `"1"`},
		{`[1,2]`, `[12]`},
		{`[[1],2]`, `[[1,2]]`},
		{`{"a":"b"}`, `["a","b"]`},
		{`{"a":[],"b":1}`, `{"a":["b",1]}`},
		{`12345678901234567890123`, `12345678901234567890124`},
	} {
		if hash(other[0]) == hash(other[1]) {
			t.Errorf("%s and %s have one hash", other[0], other[1])
		}
	}
}
