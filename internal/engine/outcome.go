package engine

import (
	"encoding/json"

	"github.com/millrace-go/millrace/internal/engine/internal/content"
	"github.com/millrace-go/millrace/internal/engine/internal/outcome"
	"github.com/millrace-go/millrace/machine"
)

const maxStack = 16 << 10 // bytes of a stack

// event gives the event that an outcome is, checked for what a store keeps.
func (a *Attempt) event(o Outcome, ended cause) machine.Event {
	o = a.engine.secrets.Masked(o)
	ev := machine.Event{
		Path: a.Path, Attempt: a.Number, Cause: a.task.Cause,
		At: a.StartedAt, // at least: what is known of the store's time may have been corrected since
	}
	f := outcome.Facts{
		Worker: a.engine.cfg.Owner, StartedAt: a.StartedAt,
		Log:   content.Clean(content.Tail(o.Log, content.MaxText), content.MaxText),
		Stack: content.Clean(o.Stack, maxStack),
	}
	if waited := a.StartedAt - a.task.ReadyAt; waited > 0 {
		f.WaitedMS = waited.Std().UnixMilli()
	}
	ev.Facts = f.Encode()
	limit := a.engine.cfg.MaxPayload
	switch {
	case o.Interrupted && ended == stopped:
		ev.Kind = machine.TaskStopped
	case o.Interrupted && ended == interrupted:
		ev.Kind = machine.TaskReleased
	case o.Err != nil:
		ev.Kind, ev.Payload = machine.TaskFailed, content.Encode(content.Error(o.Err, limit))
	case o.Interrupted:
		ev.Kind, ev.Payload = machine.TaskFailed, content.Encode(&machine.Error{
			Code: CodeError, Message: "the handler says that it was interrupted, but nothing interrupted it", Passing: true,
		})
	default:
		ev.Kind, ev.Payload = machine.TaskSucceeded, o.Output
		if len(o.Output) == 0 {
			ev.Payload = json.RawMessage("null")
		}
		if e := content.Refuse("output", ev.Payload, limit); e != nil {
			ev.Kind, ev.Payload = machine.TaskFailed, content.Encode(e)
		}
	}
	return ev
}
