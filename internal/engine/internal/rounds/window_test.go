package rounds_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/engine/internal/rounds"
)

// X13: what stays is the first of a list of 5,000 rows that nobody works off, with one new row behind them.
func TestAWindowGrowsUntilItShowsWhatIsBehindRowsThatStay(t *testing.T) {
	t.Parallel()
	w := rounds.Window{Least: 1_000}
	var asked []int
	look := func(list, news, underway int) bool {
		asked = append(asked, w.Rows())
		read := min(list, w.Rows())
		if read < list { // the new one is behind
			news = 0
		}
		return w.Saw(read, news, underway)
	}
	for look(5_001, 1, 0) {
		continue
	}
	look(5_001, 0, 0) // nothing further
	look(900, 0, 0)   // they are repaired
	look(5_001, 0, 700)
	look(5_001, 0, 0)
	if diff := cmp.Diff([]int{1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 1_000, 1_000}, asked); diff != "" {
		t.Error(diff)
	}
	for range 20 {
		w.Saw(w.Rows(), 0, 0)
	}
	if w.Rows() != 128_000 {
		t.Errorf("it has grown to %d rows", w.Rows())
	}
}
