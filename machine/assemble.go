package machine

import (
	"encoding/json"
	"strconv"
)

// MaxAssembled is the most that a value put together from many payloads may have (16 MiB).
const MaxAssembled = 16 << 20

// Assemble gives the JSON that d stands for. The error is a *Need when payloads or documents of results are missing, or an
// *Error with code too_large when the value would exceed limit bytes.
func Assemble(d Data, run *Run, load func(Ref) (json.RawMessage, bool), limit int) (json.RawMessage, error) {
	g := gatherer{run: run, load: load, limit: limit}
	raw := g.get(d)
	return raw, g.result()
}

// gatherer puts values together and remembers what was missing.
type gatherer struct {
	run     *Run
	load    func(Ref) (json.RawMessage, bool)
	limit   int
	size    int
	missing Need
	big     bool
}

func (g *gatherer) result() error {
	if len(g.missing.Refs)+len(g.missing.Scopes) > 0 {
		return &g.missing
	}
	if g.big {
		return &Error{
			Code: CodeTooLarge, Permanent: true,
			Message: "a value put together from results would exceed " + strconv.Itoa(g.limit) + " bytes",
		}
	}
	return nil
}

func (g *gatherer) get(d Data) json.RawMessage {
	if d.Kind == Null {
		return json.RawMessage("null")
	}
	if d.Kind == ByRef || d.Kind == Literal {
		return g.leaf(d)
	}
	return g.append(nil, d)
}

func (g *gatherer) leaf(d Data) json.RawMessage {
	if d.Kind == Literal {
		return d.made().Const
	}
	raw, ok := g.load(d.Ref)
	if !ok {
		g.missing.Refs = append(g.missing.Refs, d.Ref)
		return json.RawMessage("null")
	}
	return raw
}

func (g *gatherer) append(b []byte, d Data) []byte {
	if g.big {
		return b
	}
	switch d.Kind {
	case Null:
		return append(b, "null"...)
	case ByRef, Literal:
		raw := g.leaf(d)
		if g.size += len(raw); g.size > g.limit {
			g.big = true
			return b
		}
		return append(b, raw...)
	case ListOf:
		b = append(b, '[')
		for i, value := range d.made().List {
			b = g.append(comma(b, i), value)
		}
		return append(b, ']')
	case ObjectOf:
		b = append(b, '{')
		made := d.made()
		for i, value := range made.List {
			b = append(append(comma(b, i), encode(made.Keys[i])...), ':')
			b = g.append(b, value)
		}
		return append(b, '}')
	case OutputsOf:
		return g.outputs(b, d.made())
	case FailedOf:
		return g.failed(b, d.made())
	}
	return b
}

func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

func (g *gatherer) outputs(b []byte, d Made) []byte {
	b = append(b, '[')
	for from := 0; from < d.N; from += ChunkSize {
		c := g.chunk(d.Map, from)
		for i := from; i < min(from+ChunkSize, d.N); i++ {
			var out Data
			if c != nil {
				out = c.Out[i-from]
			}
			b = g.append(comma(b, i), out)
		}
	}
	return append(b, ']')
}

func (g *gatherer) failed(b []byte, d Made) []byte {
	b = append(b, '[')
	n := 0
	for from := 0; from < d.N; from += ChunkSize {
		c := g.chunk(d.Map, from)
		if c == nil {
			continue
		}
		for i := range c.States {
			if c.States[i] != StepFailed {
				continue
			}
			b = append(comma(b, n), `{"index":`...)
			b = append(strconv.AppendInt(b, int64(from+i), 10), `,"item":`...)
			b = append(g.append(b, valueData(d.Map, from+i)), `,"error":`...)
			b = append(g.append(b, c.Err[i]), '}')
			n++
		}
	}
	return append(b, ']')
}

func (g *gatherer) chunk(box string, from int) *Chunk {
	path := chunkPath(box, from)
	c, ok := g.run.Chunks[path]
	if !ok {
		g.missing.Scopes = append(g.missing.Scopes, path)
	}
	return c
}
