package outcome_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/engine/internal/outcome"
)

func TestFactsAreWrittenAsEncodingJSONWould(t *testing.T) {
	t.Parallel()
	for _, f := range []outcome.Facts{
		{},
		{Worker: "host-1-00aa"},
		{WaitedMS: 3},
		{Worker: "w", StartedAt: 946684800000000, WaitedMS: 17, Log: "a line\nand <another> & \"more\"", Stack: "main.go:1\t\\"},
		{Log: "\u00fc\u2028", StartedAt: -1},
	} {
		want, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(f.Encode())); diff != "" {
			t.Error(diff)
		}
	}
}
