package machine

import (
	"container/list"
	"encoding/json"
)

// recent holds payloads: the newest, and of those that were used last as many as limit has room for.
type recent struct {
	limit int // bytes; 0: all are held
	bytes int
	of    map[Ref]*list.Element
	order list.List // of payload, that which was used last in front
}

// payload is one that is held.
type payload struct {
	ref Ref
	raw json.RawMessage
}

func (c *recent) get(r Ref) (json.RawMessage, bool) {
	e := c.of[r]
	if e == nil {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(payload).raw, true
}

// put holds a payload, in place of the one that was held under its name.
func (c *recent) put(r Ref, raw json.RawMessage) {
	if c.of == nil {
		c.of = map[Ref]*list.Element{}
	}
	if old := c.of[r]; old != nil {
		c.drop(old)
	}
	c.of[r] = c.order.PushFront(payload{r, raw})
	for c.bytes += room(raw); c.limit > 0 && c.bytes > c.limit && c.order.Len() > 1; {
		c.drop(c.order.Back())
	}
}

func (c *recent) drop(e *list.Element) {
	p := c.order.Remove(e).(payload)
	delete(c.of, p.ref)
	c.bytes -= room(p.raw)
}

// room is what it takes to hold a payload: itself, and its place in list and map.
func room(raw json.RawMessage) int { return len(raw) + 256 }
