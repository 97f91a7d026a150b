// Package undone is what a compensation sees of the step that it undoes.
//
// It imports expr, machine and workflow.
package undone

import (
	"encoding/json"
	"fmt"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/internal/engine/internal/content"
	"github.com/millrace-go/millrace/internal/engine/internal/recall"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/workflow"
)

// Undone is the step that a compensation undoes, as its programs see it.
type Undone struct {
	Key    string
	Input  json.RawMessage
	Output json.RawMessage // null if it failed
	Error  json.RawMessage // that for which it is undone
}

// Of gives what a compensation undoes, nil for any other task. The error is a *machine.Need when something must be loaded
// first, and a *machine.Error when what the step got or gave is too large to be put together.
func Of(def *workflow.Definition, h machine.Header, env machine.Env, m *recall.Memory, limit int) (*Undone, error) {
	of := env.Undone
	if of == nil {
		return nil, nil
	}
	u := &Undone{Key: machine.TaskKey(h, of.Path, of.Redriven)}
	var err error
	if u.Output, err = m.Assemble(of.Output); err != nil {
		return nil, err
	}
	if u.Error, err = m.Assemble(env.Error); err != nil {
		return nil, err
	}
	u.Input, err = inputOf(def, h, env, m, u.Key, limit)
	return u, err
}

// inputOf gives the input of the step that is undone as it was made for its last attempt. One that could not be made, so that
// no handler was ever called with it, is null.
func inputOf(def *workflow.Definition, h machine.Header, env machine.Env, m *recall.Memory, key string, limit int) (json.RawMessage, error) {
	of := env.Undone
	if of.Redriven != nil {
		return m.Assemble(of.Redriven.Input)
	}
	step, err := machine.Locate(def, of.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", recall.ErrDamaged, err)
	}
	if step.With == nil || !step.IsTask { // what the machine evaluated lies in Prev
		return m.Assemble(env.Prev)
	}
	saw := env
	saw.Error = of.Error
	info := machine.TaskInfo{Key: key, Attempt: of.Attempt, Path: of.Path}
	values, err := machine.Environment(saw, h, &info, m.Run, m.Load)
	if err != nil {
		return nil, err
	}
	in, err := step.With.Eval(values, expr.Budget{Bytes: limit})
	if err != nil {
		return json.RawMessage("null"), nil //nolint:nilerr // said above
	}
	return in, nil
}

// Show adds the step that is undone to what programs see: as `step`, and all of it as `prev`.
func (u *Undone) Show(env expr.Env) {
	env["step"] = expr.Env{"key": u.Key, "input": u.Input, "output": u.Output}
	env["prev"] = u.Whole()
}

// Whole is what a compensation without a `with` gets.
func (u *Undone) Whole() json.RawMessage {
	b := append([]byte(`{"key":`), content.Text(u.Key)...)
	b = append(append(b, `,"input":`...), u.Input...)
	b = append(append(b, `,"output":`...), u.Output...)
	b = append(append(b, `,"error":`...), u.Error...)
	return append(b, '}')
}
