package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Options are what a start says of its run beyond what it is a run of. They are part of the Header: nothing changes them, the
// maps included.
type Options struct {
	Labels   map[string]string          `json:"labels,omitempty"`   // the definition's and the start's
	Vars     map[string]json.RawMessage `json:"vars,omitempty"`     // every one that the definition declares, with its value
	Priority int                        `json:"priority,omitempty"` // added to that of each step
	Queue    string                     `json:"queue,omitempty"`    // of the steps that name none
	From     string                     `json:"from,omitempty"`     // the step of the root with which the run begins
	Due      Time                       `json:"due,omitempty"`      // nothing of the run begins before
}

// Encode gives the options as a JSON object without members that say nothing, and the empty text when none says anything.
func (o Options) Encode() string {
	if len(o.Labels)+len(o.Vars) == 0 && o.Priority == 0 && o.Queue == "" && o.From == "" && o.Due == 0 {
		return ""
	}
	if len(o.Labels)+len(o.Vars)+len(o.Queue)+len(o.From) == 0 && o.Priority == 0 && o.Due == 0 {
		return ""
	}
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false) // values come back byte for byte
	if err := w.Encode(o); err != nil {
		return "" // only a value that is no JSON cannot be written, and a start with one is refused
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

// DecodeOptions reads what Encode gave.
func DecodeOptions(text string) (Options, error) {
	var o Options
	if text == "" {
		return o, nil
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return Options{}, fmt.Errorf("the options of a run: %w", err)
	}
	return o, nil
}
