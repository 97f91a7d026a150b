package machine

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow"
)

// view is what an evaluation of the machine sees beside the scopes.
type view struct {
	at    *place
	step  *workflow.Step // nil for the output of the run
	prev  Data
	err   Data     // error, for the conditions of a catch
	pass  *PassEnv // pass and item of a loop whose scope is not open
	items map[string]ItemEnv
}

// references gives the names of uses as references.
func (t *turn) references(v view, uses *workflow.Uses) Env {
	var env Env
	if uses.Prev {
		env.Prev = v.prev
	}
	if uses.Input {
		env.Input = entryData(1)
	}
	if uses.Error {
		if env.Error = v.err; env.Error.IsZero() {
			env.Error = t.errorInScope(v.at, v.step)
		}
	}
	if f := t.run.final(); uses.Run && f != nil && v.at.inFinally() {
		env.Ending = f.Ending
	}
	for _, u := range uses.Steps {
		if env.Steps == nil {
			env.Steps = map[string]StepEnv{}
		}
		env.Steps[u.Key] = t.stepEnv(outward(v.at, u.Up), u)
	}
	for _, u := range uses.Items {
		if env.Items == nil {
			env.Items = map[string]ItemEnv{}
		}
		if it, ok := v.items[u.Name]; ok {
			env.Items[u.Name] = it
			continue
		}
		env.Items[u.Name] = t.itemEnv(outward(v.at, u.Up))
	}
	for _, u := range uses.Passes {
		if env.Pass = v.pass; env.Pass == nil {
			if sc := t.peek(outward(v.at, u.Up)); sc != nil {
				env.Pass = sc.Pass
			}
		}
	}
	return env
}

func outward(p *place, up int) *place {
	for ; up > 0 && p.up != nil; up-- {
		p = p.up
	}
	return p
}

func (t *turn) stepEnv(p *place, u workflow.StepUse) StepEnv {
	sc := t.scope(p)
	var e StepEnv
	switch sc.States[u.Index] {
	case StepSucceeded, StepCaught, StepCompensating, StepCompensated:
		if u.Output {
			e.Output = sc.Out[u.Index]
		}
	default:
	}
	if u.Status {
		e.Status, _ = sc.States[u.Index].Status()
	}
	if u.Error {
		e.Error = sc.Errs[u.Index]
	}
	if u.Failed {
		e.Failed = sc.failedItems(u.Index)
	}
	return e
}

// failedItems gives steps.KEY.failed: known once the map has ended, from its outputs.
func (s *Scope) failedItems(i int) Data {
	out := s.Out[i]
	if out.Kind != OutputsOf {
		return Data{Kind: ListOf}
	}
	return Data{Kind: FailedOf, Made: out.Made}
}

func (t *turn) itemEnv(p *place) ItemEnv {
	if p.isItemTask() {
		return ItemEnv{Value: valueData(p.ownerPath, p.slot), Index: p.slot}
	}
	if sc := t.scope(p); sc.Item != nil {
		return *sc.Item
	}
	return ItemEnv{}
}

// errorInScope finds `error`: that of the nearest catch that led to step or to something around it.
func (t *turn) errorInScope(p *place, step *workflow.Step) Data {
	for p != nil {
		if f := t.run.final(); p.final && f != nil && f.Err != nil {
			return t.errorValue(f.Err)
		}
		if !p.isItemTask() {
			sc := t.scope(p)
			if step != nil {
				if l := sc.Live[step.Index]; l != nil && !l.Err.IsZero() {
					return l.Err
				}
			}
			if !sc.Caught.IsZero() {
				return sc.Caught
			}
		}
		step, p = p.owner, p.up
	}
	return Data{}
}

// values makes the environment of a program from references.
func (t *turn) values(env Env) expr.Env {
	out, err := Environment(env, t.run.Header, nil, t.run, t.payload)
	if err != nil {
		t.giveUp(err)
	}
	return out
}

func (t *turn) giveUp(err error) {
	var need *Need
	if errors.As(err, &need) {
		panic(need)
	}
	panic(err.Error())
}

func (t *turn) payload(r Ref) (json.RawMessage, bool) {
	if t.ev.Payload != nil && r == (Ref{Seq: t.run.Seq}) {
		return t.ev.Payload, true
	}
	if raw, ok := t.own[r]; ok {
		return raw, true
	}
	raw, ok := t.loaded[r]
	return raw, ok
}

// TaskInfo is `task` as a program sees it.
type TaskInfo struct {
	Key     string
	Attempt int
	Path    string
}

// Environment makes the environment of a step's programs from its references. load gives payloads; run gives the documents of
// results. What is missing comes back as a *Need. task is nil for programs that the machine itself evaluates. `step`, what a
// compensation undoes, is the caller's to add: its input may have to be evaluated.
func Environment(env Env, h Header, task *TaskInfo, run *Run, load func(Ref) (json.RawMessage, bool)) (expr.Env, error) {
	g := gatherer{run: run, load: load, limit: MaxAssembled}
	out := expr.Env{
		"prev":  g.get(env.Prev),
		"input": g.get(env.Input),
		"error": g.get(env.Error),
		"run":   headerEnv(h, g.get(env.Input), env.Ending),
	}
	if len(h.Options.Vars) > 0 {
		vars := make(expr.Env, len(h.Options.Vars))
		for name, value := range h.Options.Vars {
			vars[name] = value
		}
		out["vars"] = vars
	}
	steps := expr.Env{}
	for _, k := range ordered(env.Steps) {
		s := env.Steps[k]
		steps[k] = expr.Env{
			"output": g.get(s.Output), "status": s.Status, "error": g.get(s.Error), "failed": g.get(s.Failed),
		}
	}
	out["steps"] = steps
	for _, k := range ordered(env.Items) {
		out[k], out[k+"_index"] = g.get(env.Items[k].Value), env.Items[k].Index
	}
	if env.Pass != nil {
		out["pass"] = expr.Env{"number": env.Pass.Number, "previous": g.get(env.Pass.Previous)}
	}
	if task != nil {
		out["task"] = expr.Env{"key": task.Key, "attempt": task.Attempt, "path": task.Path}
	}
	return out, g.result()
}

func headerEnv(h Header, input json.RawMessage, ending Status) expr.Env {
	out := expr.Env{
		"id": h.ID, "key": h.Key, "workflow": h.Workflow, "version": h.Version, "input": input,
		"created_at": h.CreatedAt.Std().Format("2006-01-02T15:04:05.000000Z07:00"), "labels": labelsEnv(h.Options.Labels),
	}
	if ending != "" {
		out["ending"] = string(ending)
	}
	return out
}

// labelsEnv gives labels as an object: one that a run has not is null, not a mistake.
func labelsEnv(labels map[string]string) json.RawMessage {
	if len(labels) == 0 {
		return json.RawMessage("{}")
	}
	return encode(labels)
}

// refs lists the payloads that an environment refers to directly, without repeats, in a fixed order.
func (e Env) refs() []Ref {
	var out []Ref
	add := func(d Data) {
		d.walk(func(r Ref) {
			if !slices.Contains(out, r) {
				out = append(out, r)
			}
		})
	}
	add(e.Prev)
	add(e.Input)
	add(e.Error)
	for _, k := range ordered(e.Steps) {
		add(e.Steps[k].Output)
		add(e.Steps[k].Error)
	}
	for _, k := range ordered(e.Items) {
		add(e.Items[k].Value)
	}
	if e.Pass != nil {
		add(e.Pass.Previous)
	}
	if e.Undone != nil {
		add(e.Undone.Output)
		add(e.Undone.Error)
		if e.Undone.Redriven != nil {
			add(e.Undone.Redriven.Input)
		}
	}
	if e.Redriven != nil {
		add(e.Redriven.Input)
	}
	return out
}

// ordered gives the keys of a map, which is empty as a rule, in order.
func ordered[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}

func (d Data) walk(f func(Ref)) {
	if d.Kind == ByRef {
		f(d.Ref)
	}
	if d.Made != nil {
		for _, value := range d.Made.List {
			value.walk(f)
		}
	}
}

// expressionError makes the failure of a program.
func expressionError(err error) *Error {
	var e *expr.Error
	msg := err.Error()
	if errors.As(err, &e) && e.Remedy != "" && !strings.Contains(msg, e.Remedy) {
		msg += "; " + e.Remedy
	}
	return &Error{Code: CodeExpression, Message: clip(msg), Permanent: true}
}

const maxMessage = 4 << 10

// clip cuts a message at 4 KiB, at the border of a character.
func clip(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "")
}
