package rounds_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/engine/internal/rounds"
)

// X13: what stays are the first 5,000 rows of a list that nobody works off, with new ones behind them.
func TestAWindowGrowsUntilItShowsWhatIsBehindRowsThatStay(t *testing.T) {
	t.Parallel()
	w := rounds.Window{Least: 1_000}
	var asked []int
	look := func(stay, more, underway int) int {
		t.Helper()
		news, err := w.Read(func() int { return underway }, func(limit int) (int, int, error) {
			asked = append(asked, limit)
			read := min(stay+more, limit)
			return read, max(0, read-stay), nil
		})
		if err != nil {
			t.Error(err)
		}
		return news
	}
	if look(5_000, 1, 0) != 1 || look(5_000, 0, 0) != 0 || look(900, 0, 0) != 0 || look(5_000, 1, 700) != 0 || look(900, 200, 0) != 100 {
		t.Error("what is new is not counted")
	}
	if diff := cmp.Diff([]int{1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 1_000, 1_000}, asked); diff != "" {
		t.Error(diff)
	}
	if look(1<<20, 1, 0); w.Rows() != 128_000 {
		t.Errorf("it has grown to %d rows", w.Rows())
	}
	away := errors.New("away")
	if _, err := w.Read(nil, func(int) (int, int, error) { return 0, 0, away }); !errors.Is(err, away) {
		t.Errorf("the fault is %v", err)
	}
}
