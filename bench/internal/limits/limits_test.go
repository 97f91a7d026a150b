package limits

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/pgcluster"
)

func TestTheDiskTakesTime(t *testing.T) {
	t.Parallel()
	l, err := Disk(t.TempDir())
	if err != nil || l.Value <= 0 {
		t.Errorf("%v: %v", l, err)
	}
}

func TestAServerTakesCommitsAndRows(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	all, err := Server(t.Context(), c.URL(c.Database(t)), 50*time.Millisecond)
	if err != nil || len(all) != 4 {
		t.Fatalf("%v: %v", all, err)
	}
	for _, l := range all {
		if l.Value <= 0 {
			t.Errorf("%v", l)
		}
	}
}
