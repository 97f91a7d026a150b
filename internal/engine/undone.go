package engine

import (
	"encoding/json"
	"fmt"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/internal/engine/internal/content"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/workflow"
)

// undone is the step that a compensation undoes, as its programs see it.
type undone struct {
	Key    string
	Input  json.RawMessage
	Output json.RawMessage // null if it failed
	Error  json.RawMessage // that for which it is undone
}

// undone gives what a compensation undoes, nil for any other task. The error is a *machine.Need when something must be loaded
// first, and a *machine.Error when what the step got or gave is too large to be put together.
func (a *Attempt) undone(def *workflow.Definition, m *memory) (*undone, error) {
	of := a.task.Env.Undone
	if of == nil {
		return nil, nil
	}
	u := &undone{Key: machine.TaskKey(a.Header, of.Path, of.Redriven)}
	var err error
	if u.Output, err = m.assemble(of.Output); err != nil {
		return nil, err
	}
	if u.Error, err = m.assemble(a.task.Env.Error); err != nil {
		return nil, err
	}
	u.Input, err = a.inputOf(def, m, u.Key)
	return u, err
}

// inputOf gives the input of the step that is undone as it was made for its last attempt. One that could not be made, so that
// no handler was ever called with it, is null.
func (a *Attempt) inputOf(def *workflow.Definition, m *memory, key string) (json.RawMessage, error) {
	of := a.task.Env.Undone
	if of.Redriven != nil {
		return m.assemble(of.Redriven.Input)
	}
	step, err := machine.Locate(def, of.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if step.With == nil || !step.IsTask { // what the machine evaluated lies in Prev
		return m.assemble(a.task.Env.Prev)
	}
	saw := a.task.Env
	saw.Error = of.Error
	info := machine.TaskInfo{Key: key, Attempt: of.Attempt, Path: of.Path}
	env, err := machine.Environment(saw, a.Header, &info, m.run, m.load)
	if err != nil {
		return nil, err
	}
	in, err := step.With.Eval(env, expr.Budget{Bytes: a.engine.cfg.MaxPayload})
	if err != nil {
		return json.RawMessage("null"), nil //nolint:nilerr // said above
	}
	return in, nil
}

// show adds the step that is undone to what programs see: as `step`, and all of it as `prev`.
func (u *undone) show(env expr.Env) {
	env["step"] = expr.Env{"key": u.Key, "input": u.Input, "output": u.Output}
	env["prev"] = u.whole()
}

// whole is what a compensation without a `with` gets.
func (u *undone) whole() json.RawMessage {
	b := append([]byte(`{"key":`), content.Text(u.Key)...)
	b = append(append(b, `,"input":`...), u.Input...)
	b = append(append(b, `,"output":`...), u.Output...)
	b = append(append(b, `,"error":`...), u.Error...)
	return append(b, '}')
}

// assemble gives a value that is spread over payloads.
func (m *memory) assemble(d machine.Data) (json.RawMessage, error) {
	return machine.Assemble(d, m.run, m.load, machine.MaxAssembled)
}
