package outcome

import (
	"encoding/json"
	"strconv"

	"github.com/millrace-go/millrace/internal/engine/internal/content"
	"github.com/millrace-go/millrace/machine"
)

// Facts is what an outcome's journal entry tells people about its attempt.
type Facts struct {
	Worker    string       `json:"worker,omitempty"`
	StartedAt machine.Time `json:"started_at,omitempty"` // microseconds
	WaitedMS  int64        `json:"waited_ms,omitempty"`  // from ready to claimed
	Log       string       `json:"log,omitempty"`
	Stack     string       `json:"stack,omitempty"`
}

// Encode writes the facts as JSON, as encoding/json would: every outcome has some.
func (f Facts) Encode() json.RawMessage {
	b := make([]byte, 0, 96+len(f.Worker)+len(f.Log)+len(f.Stack))
	b = append(b, '{')
	b = text(b, "worker", f.Worker)
	b = number(b, "started_at", int64(f.StartedAt))
	b = number(b, "waited_ms", f.WaitedMS)
	b = text(b, "log", f.Log)
	b = text(b, "stack", f.Stack)
	return append(b, '}')
}

func name(b []byte, key string) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, key...)
	return append(b, '"', ':')
}

func number(b []byte, key string, v int64) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendInt(name(b, key), v, 10)
}

func text(b []byte, key, v string) []byte {
	if v == "" {
		return b
	}
	b = name(b, key)
	for i := range len(v) {
		if c := v[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return append(b, content.Text(v)...)
		}
	}
	b = append(b, '"')
	b = append(b, v...)
	return append(b, '"')
}
