package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/internal/mask"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/workflow"
)

// secrets resolves the secrets that steps name, in this process alone, and has the masker know each before anything that may
// show it is stored.
type secrets struct {
	find   func(name string) (string, bool)
	masker mask.Masker

	mu      sync.Mutex
	learned map[*workflow.Definition]bool
}

// learn tells the masker the secrets that a definition names anywhere: one step's may show in what another gives.
func (s *secrets) learn(def *workflow.Definition) {
	if s.find == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock() // others of the definition wait until all are known
	if s.learned[def] {
		return
	}
	if s.learned == nil || len(s.learned) >= maxDefinitions {
		s.learned = map[*workflow.Definition]bool{}
	}
	s.learned[def] = true
	var names []string
	for _, step := range def.Steps {
		names = append(names, step.Uses.Secrets...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if value, ok := s.find(name); ok {
			s.masker.Add(value)
		}
	}
}

// reveal adds the secrets that the step names to what its programs see. An outcome says which this process does not know.
func (a *Attempt) reveal(env expr.Env) *Outcome {
	names := a.Step.Uses.Secrets
	if len(names) == 0 {
		return nil
	}
	s := &a.engine.secrets
	values := make(expr.Env, len(names))
	for _, name := range names {
		var value string
		known := false
		if s.find != nil {
			value, known = s.find(name)
		}
		if !known {
			return &Outcome{Err: &machine.Error{Code: machine.CodeExpression, Permanent: true, Message: fmt.Sprintf(
				"the secret %s is not known to this process: set MILLRACE_SECRET_%s, or write it into the file of secrets",
				name, shouted(name))}}
		}
		s.masker.Add(value)
		values[name] = value
	}
	env["secrets"] = values
	return nil
}

// shouted writes a name as the environment has it.
func shouted(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

// Mask gives text with every secret that this process has resolved replaced, in all forms. It is for what is shown and never
// stored; what is stored was masked before.
func (e *Engine) Mask(text string) string { return e.secrets.masker.Text(text) }

// Mask is Engine.Mask of the attempt's engine.
func (a *Attempt) Mask(text string) string { return a.engine.Mask(text) }

// masked gives an outcome without the secrets that its attempt may have said.
func (s *secrets) masked(o Outcome) Outcome {
	o.Output = s.masker.JSON(o.Output)
	o.Log, o.Stack = s.masker.Tail(o.Log), s.masker.Text(o.Stack)
	if o.Err != nil {
		e := *o.Err
		e.Code, e.Message, e.Step = s.masker.Text(e.Code), s.masker.Text(e.Message), s.masker.Text(e.Step)
		e.Data = s.masker.JSON(e.Data)
		o.Err = &e
	}
	return o
}
