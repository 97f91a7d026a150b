package m

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSleeps(t *testing.T) {
	time.Sleep(1)   // want: sleep
	t.Skip("later") // want: skip
	if testing.Short() {
		t.SkipNow() // want: skip
	}
	reader{}.Skip()
}

func BenchmarkSkips(b *testing.B) { b.Skipf("%d", b.N) } // want: skip

type reader struct{}

func (reader) Skip() {}

func TestADrawMayBePassedOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if rapid.Bool().Draw(t, "odd") {
			t.Skip()
		}
	})
	t.Skip() // want: skip
}
