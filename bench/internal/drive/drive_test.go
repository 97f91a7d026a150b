package drive

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestARunOfAnotherTenantEndsWhileAFloodWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flood, probes int
		want          string
	}{
		"idle":            {0, 3, ""},
		"a flood":         {3000, 2, ""},
		"a flood too low": {1, 30, "the flood had ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// With few slots a flood is many commits, and a probe few, however fast the disk is.
			b, err := OpenWith(t.Context(), SQLite(filepath.Join(t.TempDir(), "bench.db")), Steps(1), 8)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}()
			times, err := b.Probes(t.Context(), c.flood, c.probes)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || len(times) != c.probes {
				t.Fatalf("%d times: %v", len(times), err)
			}
			t.Log(times)
		})
	}
}
