package plain

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestShortenedTextIsWholeCharacters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(3, 50).Draw(t, "limit")
		got := Cut(text, limit)
		kept, shortened := strings.CutSuffix(got, "...")
		switch {
		case len(text) <= limit && got != text,
			len(text) > limit && (len(got) > limit || !shortened || !strings.HasPrefix(text, kept) || len(got) < limit-3),
			strings.ToValidUTF8(got, "") != got:
			t.Fatalf("%q, %d bytes: %q", text, limit, got)
		}
	})
}

func TestAMessageIsStorableWhateverWasSaid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.SliceOf(rapid.Byte()).Draw(t, "said")
		got := Message(string(said) + strings.Repeat("ä", rapid.IntRange(0, 3000).Draw(t, "more")))
		if _, at := Unstorable([]byte(got), false); at >= 0 || len(got) > LongestMessage {
			t.Fatalf("%d bytes of %q", len(got), got)
		}
	})
}

func TestWhatCannotBeStoredIsFoundWhereItStands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		at     int // as JSON
		asText int
	}{
		`"fine"`:            {-1, -1},
		"\"\x00\"":          {1, 1},
		"\"é\xff\"":         {3, 3},
		"\"\xc3\"":          {1, 1},
		`"\u0000"`:          {1, -1},
		`"\\u0000"`:         {-1, -1},
		`"\\\u0000"`:        {3, -1},
		`{"a\u0000":1}`:     {3, -1},
		"\"\xff\x00\"":      {2, 2}, // a NUL is told of first
		`"\\u0000\u0000\n"`: {8, -1},
	} {
		if reason, at := Unstorable([]byte(text), true); at != want.at || at >= 0 && reason == "" {
			t.Errorf("%q as JSON: %q at %d, want %d", text, reason, at, want.at)
		}
		if _, at := Unstorable([]byte(text), false); at != want.asText {
			t.Errorf("%q as text: at %d, want %d", text, at, want.asText)
		}
	}
}

func TestTextsComeBackFromTheirJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Filter(utf8.ValidString).Draw(t, "text")
		var back string
		if raw := Encode(text); json.Unmarshal(raw, &back) != nil || back != text || strings.HasSuffix(string(raw), "\n") {
			t.Fatalf("%q became %s", text, raw)
		}
	})
}

func TestOneIsNotMany(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 lines", 1: "1 line", 2: "2 lines"} {
		if got := Count(n, "line"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}
