package flow_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/workflow/internal/flow"
)

// A random walk along the ways of a sequence never finds a step that was called sure and whose last visit gave nothing.
func TestWhatIsCalledSureHasSucceededOnEveryWalk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "steps")
		var ways []flow.Way
		for i := range n {
			for range rapid.IntRange(0, 3).Draw(t, "ways") {
				ways = append(ways, flow.Way{
					From: i, To: rapid.IntRange(0, n).Draw(t, "to"), Jump: rapid.Bool().Draw(t, "jump"), Gives: rapid.IntRange(0, 3).Draw(t, "gives") > 0,
				})
			}
		}
		f := flow.OfSequence(n, ways)
		gave, visited := make([]bool, n), make([]bool, n)
		for at, left := 0, 40; ; left-- {
			for k := range n {
				if f.Sure(k, at) && !gave[k] {
					t.Fatalf("step %d is called sure at %d, but gave nothing", k, at)
				}
				if visited[k] && !f.Before(k, at) {
					t.Fatalf("step %d came before %d, which Before denies", k, at)
				}
			}
			if !f.Reached(at) {
				t.Fatalf("step %d was reached, which Reached denies", at)
			}
			var on []flow.Way
			for _, w := range ways {
				if w.From == at {
					on = append(on, w)
				}
			}
			if len(on) == 0 || left == 0 {
				return
			}
			w := rapid.SampledFrom(on).Draw(t, "way")
			if !w.Jump && !f.RunsInto(w.From, w.To) {
				t.Fatalf("%d runs into %d, which RunsInto denies", w.From, w.To)
			}
			visited[at], gave[at] = true, w.Gives
			at = w.To
		}
	})
}

// In a sequence so tangled that the answer does not settle in the passes allowed, nothing is called unsure.
func TestTangledSequencesAreNotWarnedAbout(t *testing.T) {
	t.Parallel()
	const n = 200
	var ways []flow.Way
	for i := n - 1; i > 0; i-- {
		ways = append(ways, flow.Way{From: i, To: i - 1, Jump: true}, flow.Way{From: i - 1, To: i, Jump: true})
	}
	ways = append(ways, flow.Way{From: 0, To: n - 1, Jump: true})
	f := flow.OfSequence(n, ways)
	for i := range n {
		if i > 0 && !f.Before(i, 0) {
			t.Fatalf("step %d cannot have run before the first", i)
		}
	}
}
