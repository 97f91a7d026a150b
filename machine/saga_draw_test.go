package machine

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// sagaStep is a task, or a composite with its body.
type sagaStep struct {
	key      string
	kind     string // task, block, switch, loop, map, savepoint
	fails    []bool // task: by activation, in order; it succeeds after that
	undo     string // "", own, once, shared
	givesUp  bool   // its compensation gives up once
	onError  bool
	caught   []*sagaStep // the body of its catch
	tries    int         // composite
	n        int         // passes, items
	tolerate int
	single   bool
	under    bool // it stands under `do`
	body     []*sagaStep
}

func drawSaga(t *rapid.T) *saga {
	keys := 0
	s := &saga{
		goOn: rapid.Bool().Draw(t, "go on"), drop: rapid.IntRange(0, 3).Draw(t, "drop") == 0,
		finally: rapid.IntRange(0, 3).Draw(t, "finally") == 0,
		held:    rapid.Bool().Draw(t, "held"), endsWell: rapid.Bool().Draw(t, "ends well"),
		cancelAt: rapid.IntRange(-10, 12).Draw(t, "cancel at"), ran: map[*sagaStep]int{},
	}
	s.steps = drawSteps(t, &keys, 0, rapid.IntRange(1, 5).Draw(t, "n"))
	return s
}

func drawSteps(t *rapid.T, keys *int, depth, n int) []*sagaStep {
	out := make([]*sagaStep, n)
	for i := range out {
		key := fmt.Sprintf("s%d", *keys)
		*keys++
		out[i] = drawStep(t, keys, depth)
		out[i].key = key
		if depth == 0 && rapid.IntRange(0, 9).Draw(t, "savepoint") == 0 {
			out[i] = &sagaStep{key: key, kind: "savepoint"}
		}
	}
	return out
}

func drawStep(t *rapid.T, keys *int, depth int) *sagaStep {
	s := &sagaStep{
		kind: "task", tries: 1, n: 1,
		undo:    rapid.SampledFrom([]string{"", "own", "own", "own", "shared", "once"}).Draw(t, "undo"),
		givesUp: rapid.IntRange(0, 7).Draw(t, "gives up") == 0,
		onError: rapid.IntRange(0, 4).Draw(t, "on_error") == 0,
	}
	if depth < 3 {
		s.kind = rapid.SampledFrom([]string{"task", "task", "task", "block", "switch", "loop", "map"}).Draw(t, "kind")
	}
	if rapid.IntRange(0, 4).Draw(t, "catch") == 0 && depth < 3 {
		s.caught = drawSteps(t, keys, depth+2, rapid.IntRange(1, 2).Draw(t, "n"))
	}
	if s.kind == "task" {
		s.fails = rapid.SliceOfN(rapid.SampledFrom([]bool{false, false, true}), 0, 3).Draw(t, "fails")
		return s
	}
	s.tries = rapid.IntRange(1, 2).Draw(t, "tries")
	s.single = rapid.IntRange(0, 2).Draw(t, "single") == 0
	n := 1
	if !s.single {
		n = rapid.IntRange(1, 3).Draw(t, "n")
	}
	if s.kind == "loop" || s.kind == "map" {
		s.n = rapid.IntRange(1, 3).Draw(t, "times")
	}
	if s.kind == "map" {
		s.tolerate = rapid.IntRange(0, 1).Draw(t, "tolerate")
	}
	if s.kind == "block" {
		s.single = false
	}
	s.body = drawSteps(t, keys, depth+1, n)
	s.body[0].under = s.single
	return s
}

// source gives the workflow as JSON, which is YAML.
func (s *saga) source() []byte {
	def := map[string]any{
		"workflow": "t", "steps": sources(s.steps),
		"compensations": map[string]any{"once": map[string]any{"task": "u", "once": true}, "shared": map[string]any{"task": "u"}},
	}
	if s.goOn {
		def["on_compensation_failure"] = "continue"
	}
	if s.finally {
		def["finally"] = map[string]any{"do": map[string]any{"task": "f"}}
	}
	return encode(def)
}

func sources(steps []*sagaStep) []any {
	out := make([]any, len(steps))
	for i, s := range steps {
		m := s.source()
		m["id"] = s.key
		out[i] = m
	}
	return out
}

func (s *sagaStep) source() map[string]any {
	m := map[string]any{}
	body := map[string]any{}
	if s.body != nil {
		body["steps"] = sources(s.body)
		if s.single {
			body = map[string]any{"do": s.body[0].source()}
		}
	}
	items := "[" + strings.TrimSuffix(strings.Repeat("1,", s.n), ",") + "]"
	switch s.kind {
	case "savepoint":
		return map[string]any{"savepoint": true}
	case "task":
		m["task"] = "h"
	case "block":
		m["steps"] = body["steps"]
	case "switch":
		body["when"] = "true"
		m["switch"] = []any{body}
	case "loop":
		body["over"] = items
		m["loop"] = body
	case "map":
		body["over"], body["parallel"], body["tolerate"] = items, 1, s.tolerate
		m["map"] = body
	}
	switch s.undo {
	case "own":
		m["compensate"] = map[string]any{"task": "u"}
	case "once", "shared":
		m["compensate"] = s.undo
	}
	if s.onError {
		m["on_error"] = "continue"
	}
	if s.caught != nil {
		m["catch"] = map[string]any{"steps": sources(s.caught)}
	}
	if s.tries > 1 {
		m["retry"] = map[string]any{"attempts": s.tries, "delay": "1s", "jitter": 0}
	}
	return m
}
