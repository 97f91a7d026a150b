package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/millrace-go/millrace/machine"
)

// Storable gives nil when every store keeps payload as it is, else an error that wraps ErrRefused: for what is not JSON, is
// not valid UTF-8, or holds a NUL, written out or escaped. Nothing at all is storable.
func Storable(payload json.RawMessage) error {
	switch {
	case len(payload) == 0:
		return nil
	case !utf8.Valid(payload):
		return fmt.Errorf("%w: it is not valid UTF-8", ErrRefused)
	case holdsNUL(payload):
		return fmt.Errorf("%w: it holds a NUL", ErrRefused)
	case !json.Valid(payload):
		return fmt.Errorf("%w: it is not JSON", ErrRefused)
	}
	return nil
}

// StorableText is Storable for a text: a name, a key, a path.
func StorableText(text string) error {
	switch {
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: a text is not valid UTF-8", ErrRefused)
	case strings.IndexByte(text, 0) >= 0:
		return fmt.Errorf("%w: a text holds a NUL", ErrRefused)
	}
	return nil
}

// holdsNUL looks for the byte, and for its escape with an even number of backslashes before.
func holdsNUL(payload []byte) bool {
	if bytes.IndexByte(payload, 0) >= 0 {
		return true
	}
	escape := []byte(`\u0000`)
	for rest := payload; ; {
		i := bytes.Index(rest, escape)
		if i < 0 {
			return false
		}
		before := 0
		for before < i && rest[i-1-before] == '\\' {
			before++
		}
		if before%2 == 0 {
			return true
		}
		rest = rest[i+len(escape):]
	}
}

// Storable gives nil when every store keeps all that s brings, else an error that wraps ErrRefused. The documents of the
// run are the machine's own and hold nothing that is not elsewhere in s.
func (s *Settlement) Storable() error {
	for i := range s.Entries {
		e := &s.Entries[i]
		if err := storable([]string{e.Path, e.Name, e.Key}, e.Payload, e.Facts); err != nil {
			return fmt.Errorf("entry %d: %w", e.Seq, err)
		}
	}
	for _, effect := range s.Effects {
		if err := storableEffect(effect); err != nil {
			return fmt.Errorf("effect %T: %w", effect, err)
		}
	}
	return nil
}

// Storable is Settlement.Storable with the header of the new run.
func (s *Start) Storable() error {
	h := &s.Run.Header
	if err := storable([]string{h.Tenant, h.Workflow, h.Key, h.Home}); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if err := storableOptions(&h.Options); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	return s.Settlement.Storable()
}

func storableOptions(o *machine.Options) error {
	texts := []string{o.Queue, o.From}
	for name, value := range o.Labels {
		texts = append(texts, name, value)
	}
	for name, value := range o.Vars {
		if err := storable([]string{name}, value); err != nil {
			return err
		}
	}
	return storable(texts)
}

// tellable are the kinds of events that one who holds no token may tell a run. What happened to a task or a timer is told by a
// settlement, under a guard, and never by a message: whoever could write an inbox could otherwise forge an outcome.
var tellable = []machine.EventKind{
	machine.EventReceived, machine.CancelRequested, machine.AbortRequested, machine.PauseRequested, machine.ResumeRequested,
	machine.RedriveRequested, machine.DropRequested, machine.RetryRequested,
}

// Storable gives nil when every store keeps m, else an error that wraps ErrRefused.
func (m *Message) Storable() error {
	if !slices.Contains(tellable, m.Event.Kind) {
		return fmt.Errorf("%w: a message cannot be of the kind %q", ErrRefused, m.Event.Kind)
	}
	return storable([]string{m.ID, m.Event.Path, m.Event.Name, m.Event.Key}, m.Event.Payload, m.Event.Facts)
}

func storableEffect(effect machine.Effect) error {
	switch e := effect.(type) {
	case machine.StartTask:
		return storable([]string{e.Path, e.Queue, e.Handler})
	case machine.SetTimer:
		return StorableText(e.Key)
	case machine.PutValue:
		return storable([]string{e.Ref.Key}, e.Data)
	case machine.OpenLetter:
		if err := StorableText(e.Path); err != nil {
			return err
		}
		return storableError(e.Error)
	case machine.CloseLetter:
		if e.How == "" || e.How == machine.LetterOpen {
			return fmt.Errorf("%w: a letter cannot be closed as %q", ErrRefused, e.How)
		}
		return storable([]string{e.Path, string(e.How)})
	case machine.EndRun:
		return storableError(e.Error)
	}
	return nil
}

func storableError(e *machine.Error) error {
	if e == nil {
		return nil
	}
	return storable([]string{e.Code, e.Message, e.Step}, e.Data)
}

func storable(texts []string, payloads ...json.RawMessage) error {
	for _, text := range texts {
		if err := StorableText(text); err != nil {
			return err
		}
	}
	for _, payload := range payloads {
		if err := Storable(payload); err != nil {
			return err
		}
	}
	return nil
}
