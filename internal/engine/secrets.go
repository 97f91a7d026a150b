package engine

import (
	"fmt"
	"slices"
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

// values gives the secrets of these names. The error says which this process does not know.
func (s *secrets) values(names []string) (expr.Env, *machine.Error) {
	out := make(expr.Env, len(names))
	for _, name := range names {
		var value string
		ok := false
		if s.find != nil {
			value, ok = s.find(name)
		}
		if !ok {
			return nil, &machine.Error{Code: machine.CodeExpression, Permanent: true, Message: fmt.Sprintf(
				"the secret %s is not known to this process: set MILLRACE_SECRET_%s, or write it into the file of secrets", name, name)}
		}
		s.masker.Add(value)
		out[name] = value
	}
	return out, nil
}

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
