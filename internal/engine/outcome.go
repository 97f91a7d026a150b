package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

const (
	maxText  = 4 << 10  // bytes of an error's message, and of what an attempt said last
	maxStack = 16 << 10 // bytes of a stack
	maxCode  = 255      // bytes of an error's code
)

// facts is what an outcome's journal entry tells people about its attempt.
type facts struct {
	Worker    string       `json:"worker,omitempty"`
	StartedAt machine.Time `json:"started_at,omitempty"` // microseconds
	WaitedMS  int64        `json:"waited_ms,omitempty"`  // from ready to claimed
	Log       string       `json:"log,omitempty"`
	Stack     string       `json:"stack,omitempty"`
}

func (f facts) encode() json.RawMessage {
	b, err := json.Marshal(f)
	if err != nil { // texts and numbers can always be written
		return nil
	}
	return b
}

// event gives the event that an outcome is, checked for what a store keeps.
func (a *Attempt) event(o Outcome, ended cause) machine.Event {
	ev := machine.Event{Path: a.Path, Attempt: a.Number}
	f := facts{Worker: a.engine.cfg.Owner, StartedAt: a.StartedAt, Log: clean(tail(o.Log, maxText), maxText), Stack: clean(o.Stack, maxStack)}
	if waited := a.StartedAt - a.task.ReadyAt; waited > 0 {
		f.WaitedMS = waited.Std().UnixMilli()
	}
	ev.Facts = f.encode()
	limit := a.engine.cfg.MaxPayload
	switch {
	case o.Interrupted && ended == stopped:
		ev.Kind = machine.TaskStopped
	case o.Interrupted && ended == interrupted:
		ev.Kind = machine.TaskReleased
	case o.Err != nil:
		ev.Kind, ev.Payload = machine.TaskFailed, encodeError(cleanError(o.Err, limit))
	case o.Interrupted:
		ev.Kind, ev.Payload = machine.TaskFailed, encodeError(&machine.Error{
			Code: CodeError, Message: "the handler says that it was interrupted, but nothing interrupted it", Passing: true,
		})
	default:
		ev.Kind, ev.Payload = machine.TaskSucceeded, o.Output
		if len(o.Output) == 0 {
			ev.Payload = json.RawMessage("null")
		}
		if e := refuse("output", ev.Payload, limit); e != nil {
			ev.Kind, ev.Payload = machine.TaskFailed, encodeError(e)
		}
	}
	return ev
}

// refuse gives the failure of a payload that is too large or that no store keeps, nil if it is neither.
func refuse(what string, raw json.RawMessage, limit int) *machine.Error {
	if len(raw) > limit {
		return &machine.Error{
			Code: machine.CodeTooLarge, Final: true,
			Message: fmt.Sprintf("the %s has %d bytes; the limit is %d: store it elsewhere and pass on where it is", what, len(raw), limit),
		}
	}
	if err := store.Storable(raw); err != nil {
		return unstorable(what, err)
	}
	return nil
}

func unstorable(what string, err error) *machine.Error {
	return &machine.Error{
		Code: machine.CodeUnstorable, Final: true,
		Message: clean(fmt.Sprintf("the %s cannot be stored: %v", what, err), maxText),
	}
}

// cleanError makes an error storable whatever a handler put into it.
func cleanError(e *machine.Error, limit int) *machine.Error {
	c := *e
	c.Code, c.Message, c.Step = clean(e.Code, maxCode), clean(e.Message, maxText), clean(e.Step, maxText)
	if c.Code == "" {
		c.Code = CodeError
	}
	if len(c.Data) == 0 {
		c.Data = nil
	} else if bad := refuse("data of the error", c.Data, limit); bad != nil {
		c.Data = nil
		c.Message = clean(c.Message+" ("+bad.Message+")", maxText)
	}
	return &c
}

func encodeError(e *machine.Error) json.RawMessage {
	b, err := json.Marshal(e)
	if err != nil { // its data was found to be JSON before
		return json.RawMessage(`{"code":"` + machine.CodeUnstorable + `","final":true}`)
	}
	return b
}

// clean makes a text valid UTF-8, without NUL, and at most limit bytes long.
func clean(s string, limit int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return s
}

// tail gives the end of a text.
func tail(s string, limit int) string {
	if len(s) > limit {
		s = strings.ToValidUTF8(s[len(s)-limit:], "")
	}
	return s
}
