package machine

import (
	"fmt"

	"pgregory.net/rapid"
)

// thicket draws a workflow of anything: graphs and sequences in each other, with whatever may stand on a step.
type thicket struct {
	t    *rapid.T
	keys int
}

type object = map[string]any

func (k *thicket) chance(n int) bool { return rapid.IntRange(1, n).Draw(k.t, "chance") == n }

func (k *thicket) source() []byte {
	def := k.body(0)
	def["workflow"] = "t"
	def["compensations"] = object{"shared": object{"task": "u"}}
	if k.chance(3) {
		def["on_failure"] = "park"
	}
	if k.chance(2) {
		def["on_compensation_failure"] = "continue"
	}
	if k.chance(4) {
		def["finally"] = object{"steps": []any{object{"id": "f", "task": "h"}}}
	}
	if k.chance(4) {
		def["deadline"] = "1h"
	}
	return encode(def)
}

// body is a list or a graph of steps.
func (k *thicket) body(depth int) object {
	n := rapid.IntRange(1, 4).Draw(k.t, "n")
	if k.chance(2) {
		var list []any
		for i := range n {
			key, step := k.step(depth)
			if step["end"] != nil && i < n-1 { // nothing could come after it
				step = object{"wait": "1s"}
			}
			step["id"] = key
			list = append(list, step)
		}
		return object{"steps": list}
	}
	graph, keys := object{}, []string{}
	for range n {
		key, step := k.step(depth)
		if depth == 0 && k.chance(5) {
			step = object{"savepoint": true}
		}
		var after []string
		for _, before := range keys {
			if k.chance(3) {
				after = append(after, before)
			}
		}
		if len(after) > 0 {
			step["after"] = after
			if step["need"] == nil && k.chance(3) {
				step["join"] = "any"
				if k.chance(2) {
					step["cancel_rest"] = true
				}
			}
		}
		graph[key] = step
		if step["end"] == nil {
			keys = append(keys, key)
		}
	}
	return object{"steps": graph}
}

func (k *thicket) step(depth int) (string, object) {
	key := fmt.Sprintf("s%d", k.keys)
	k.keys++
	s := object{}
	kind := "task"
	if depth < 3 {
		kind = rapid.SampledFrom([]string{"task", "task", "task", "wait", "steps", "parallel", "map", "loop", "switch", "end"}).Draw(k.t, "kind")
	}
	switch kind {
	case "task":
		s["task"] = "h"
		if k.chance(3) {
			s["retry"] = object{"attempts": 2, "delay": "1s", "jitter": 0}
		}
	case "wait":
		s["wait"] = "5s"
		return key, s
	case "end":
		if depth == 0 || !k.chance(3) {
			s["set"] = object{"n": 1}
			return key, s
		}
		s["end"] = true
		return key, s
	case "steps":
		s = k.body(depth + 1)
	case "switch":
		s["switch"] = []any{k.body(depth + 1)}
	case "parallel":
		s["parallel"] = object{"x": k.body(depth + 1), "y": k.body(depth + 1)}
		k.need(s)
	case "map":
		m := k.body(depth + 1)
		if k.chance(3) {
			m = object{"do": object{"task": "h"}}
		}
		m["over"], m["parallel"] = "[1, 2, 3]", rapid.IntRange(1, 3).Draw(k.t, "parallel")
		if k.chance(2) {
			m["tolerate"] = 1
		} else {
			k.need(m)
		}
		s["map"] = m
	case "loop":
		m := k.body(depth + 1)
		m["over"] = "[1, 2]"
		s["loop"] = m
	}
	k.handling(s, kind, depth)
	return key, s
}

func (k *thicket) need(s object) {
	if k.chance(2) {
		s["need"] = 1
		if k.chance(2) {
			s["cancel_rest"] = true
		}
	}
}

// handling draws what a step says of its failure.
func (k *thicket) handling(s object, kind string, depth int) {
	if k.chance(2) || kind == "task" {
		if s["compensate"] = any(object{"task": "u"}); k.chance(4) {
			s["compensate"] = "shared"
		}
		if kind != "task" && !k.chance(3) {
			delete(s, "compensate")
		}
	}
	if k.chance(5) {
		s["on_error"] = "continue"
	}
	if k.chance(5) && depth < 3 {
		s["catch"] = k.body(depth + 2)
	}
	if kind != "task" {
		if k.chance(3) {
			s["retry"] = object{"attempts": 2, "delay": "1s", "jitter": 0}
		}
		if k.chance(4) {
			s["timeout"] = "20s"
		}
	}
}
