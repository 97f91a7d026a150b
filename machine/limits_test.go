package machine

import (
	"encoding/json"
	"strings"
	"testing"
)

// F7: what goes on and on is bounded, and fails by name, for good.
func TestWhatNeverEndsFailsByNameAtItsBound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, input, code, step string
		before                  int // activations that the run is told it had
	}{
		"jumps": {
			"steps:\n  - { id: a, set: { x: 1 } }\n  - { id: b, switch: [ { when: \"input > 0\", next: a } ] }\n",
			"1", CodeLoopLimit, "a#10000", 0,
		},
		"passes": {
			"steps:\n  l: { loop: { until: \"input > 1\", limit: 200000, do: { set: { x: 1 } } } }\n",
			"1", CodeStepLimit, "l[3000]", MaxActivations - 3000,
		},
		"items": {
			"steps:\n  m: { map: { over: input, do: { task: h } } }\n",
			"[" + strings.Repeat("0,", MaxActivations) + "0]", CodeStepLimit, "m", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(read(t, test.file))
			w.quick = true
			w.tell(Event{Kind: RunStarted, Payload: json.RawMessage(test.input)})
			run := w.load("", true)
			run.Root.Run.Activations += test.before
			w.root = run.EncodeRoot()
			w.finish()
			if e := w.load("", true).Root.Run.Error; w.status != Failed || e == nil || e.Code != test.code || !e.Final || e.Step != test.step {
				t.Errorf("%s: %+v", w.status, e)
			}
			for _, f := range w.faults {
				t.Error(f)
			}
		})
	}
}
