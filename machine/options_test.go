package machine

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// R6, R7: options come back as they were given.
func TestOptionsSurviveWriteAndRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Priority: rapid.IntRange(-9, 9).Draw(t, "priority"), Queue: rapid.String().Draw(t, "queue"),
			From: rapid.String().Draw(t, "from"), Due: Time(rapid.Int64Range(0, 1<<60).Draw(t, "due")),
		}
		if m := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "labels"); len(m) > 0 {
			o.Labels = m
		}
		for name, text := range rapid.MapOf(rapid.String(), rapid.SampledFrom([]string{`1.50`, `"<&>"`, `{"a":12345678901234567890}`, `null`})).Draw(t, "vars") {
			if o.Vars == nil {
				o.Vars = map[string]json.RawMessage{}
			}
			o.Vars[name] = json.RawMessage(text)
		}
		got, err := DecodeOptions(o.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(o, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOptionsThatSayNothingAreEmpty(t *testing.T) {
	t.Parallel()
	if text := (Options{}).Encode(); text != "" {
		t.Errorf("they are %q", text)
	}
	if _, err := DecodeOptions("{"); err == nil {
		t.Error("half an object was read")
	}
}
