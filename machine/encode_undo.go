package machine

import (
	"encoding/json"
	"maps"
	"slices"
)

// The documents of undoing, and the environments that are in them and in the rows of tasks.

func (d *UndoDoc) append(b []byte) []byte {
	b = append(b, '{')
	b = appendInt(b, "b", d.Base)
	b = appendLog(b, "l", d.Log)
	b = appendInt(b, "m", d.Safe)
	b = appendInt(b, "g", d.Unknown)
	b = appendInt(b, "x", d.Dropped)
	b = appendInt(b, "s", d.Stuck)
	if len(d.Extra) > 0 {
		b = append(appendName(b, "r"), encode(d.Extra)...)
	}
	return append(b, '}')
}

func appendLog(b []byte, name string, log []Done) []byte {
	if len(log) == 0 {
		return b
	}
	b = append(appendName(b, name), '[')
	for i := range log {
		if i > 0 {
			b = append(b, ',')
		}
		b = log[i].append(b)
	}
	return append(b, ']')
}

func (r *Done) append(b []byte) []byte {
	b = appendQuoted(appendName(append(b, '{'), "p"), r.Path)
	b = appendInt(b, "a", r.Attempt)
	b = appendText(b, "h", r.How)
	b = appendText(b, "s", r.Fate)
	b = appendData(b, "o", r.Out)
	b = appendText(b, "n", r.Now)
	if r.Live != nil {
		b = appendLive(appendName(b, "l"), r.Live)
	}
	b = appendData(b, "x", r.Err)
	if !r.Env.empty() {
		b = r.Env.append(appendName(b, "e"))
	}
	return append(b, '}')
}

func (d *Undoing) append(b []byte) []byte {
	b = append(b, '{')
	b = appendInt(b, "t", d.Top)
	b = appendInt(b, "m", d.Mark)
	b = appendInt(b, "f", d.First)
	b = appendData(b, "e", d.Err)
	if d.Cause != nil {
		b = append(appendName(b, "c"), encode(d.Cause)...)
	}
	if d.Task != nil {
		b = d.Task.append(appendName(b, "k"))
	}
	if len(d.Once) > 0 {
		b = append(appendName(b, "o"), encode(d.Once)...)
	}
	return append(b, '}')
}

func (d *UndoTask) append(b []byte) []byte {
	b = appendNumber(appendName(append(b, '{'), "r"), d.Record)
	b = appendLive(appendName(b, "l"), &d.Live)
	b = appendTrue(b, "s", d.Stuck)
	b = appendInt(b, "w", int(d.Was))
	return append(b, '}')
}

// empty says whether e says nothing at all.
func (e *Env) empty() bool {
	return e.Prev.IsZero() && e.Input.IsZero() && e.Error.IsZero() && e.Steps == nil && e.Items == nil && e.Pass == nil &&
		e.Undone == nil && e.Redriven == nil && e.Ending == ""
}

func (e *Env) append(b []byte) []byte {
	b = append(b, '{')
	b = appendData(b, "p", e.Prev)
	b = appendData(b, "i", e.Input)
	b = appendData(b, "e", e.Error)
	if len(e.Steps) > 0 {
		b = append(appendName(b, "s"), '{')
		for _, key := range slices.Sorted(maps.Keys(e.Steps)) {
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
			step := e.Steps[key]
			b = step.append(append(appendQuoted(b, key), ':'))
		}
		b = append(b, '}')
	}
	if len(e.Items) > 0 {
		b = append(appendName(b, "x"), encode(e.Items)...)
	}
	if e.Pass != nil {
		b = append(appendName(b, "n"), encode(e.Pass)...)
	}
	if e.Undone != nil {
		b = e.Undone.append(appendName(b, "u"))
	}
	if e.Redriven != nil {
		b = append(appendName(b, "r"), encode(e.Redriven)...)
	}
	b = appendText(b, "d", e.Ending)
	return append(b, '}')
}

func (e *StepEnv) append(b []byte) []byte {
	b = append(b, '{')
	b = appendData(b, "o", e.Output)
	b = appendText(b, "s", e.Status)
	b = appendData(b, "e", e.Error)
	b = appendData(b, "f", e.Failed)
	return append(b, '}')
}

func (e *UndoneEnv) append(b []byte) []byte {
	b = appendQuoted(appendName(append(b, '{'), "p"), e.Path)
	b = appendInt(b, "a", e.Attempt)
	b = appendData(b, "o", e.Output)
	b = appendTrue(b, "s", e.Done)
	if e.Redriven != nil {
		b = append(appendName(b, "r"), encode(e.Redriven)...)
	}
	b = appendData(b, "e", e.Error)
	return append(b, '}')
}

// EncodeEnv gives an environment as JSON, to be read by DecodeEnv. It fails on a literal that is not JSON.
func EncodeEnv(e *Env) ([]byte, error) {
	if !e.plain() {
		return json.Marshal(e)
	}
	return e.append(make([]byte, 0, 64)), nil
}

// plain says whether e has nothing that could fail to be written: no literals.
func (e *Env) plain() bool {
	for _, s := range e.Steps {
		if !s.Output.plain() || !s.Error.plain() || !s.Failed.plain() {
			return false
		}
	}
	return e.Prev.plain() && e.Input.plain() && e.Error.plain() && len(e.Items) == 0 && e.Pass == nil && e.Redriven == nil &&
		(e.Undone == nil || e.Undone.Redriven == nil && e.Undone.Output.plain() && e.Undone.Error.plain())
}

func (d Data) plain() bool { return d.IsZero() || d.isEntry() }
