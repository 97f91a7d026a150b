// Package secrets resolves the secrets that steps name, and keeps them out of what is stored.
//
// It imports internal/mask, machine and workflow.
package secrets

import (
	"slices"
	"sync"

	"github.com/millrace-go/millrace/internal/engine/internal/outcome"
	"github.com/millrace-go/millrace/internal/mask"
	"github.com/millrace-go/millrace/workflow"
)

const maxLearned = 1_000 // definitions that are remembered as known

// Secrets resolves the secrets that steps name, in this process alone, and has the masker know each before anything that may
// show it is stored.
type Secrets struct {
	// Find gives the value of a secret; nil: none is known.
	Find   func(name string) (string, bool)
	masker mask.Masker

	mu      sync.Mutex
	learned map[*workflow.Definition]bool
}

// Learn tells the masker the secrets that a definition names anywhere: one step's may show in what another gives.
func (s *Secrets) Learn(def *workflow.Definition) {
	if s.Find == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock() // others of the definition wait until all are known
	if s.learned[def] {
		return
	}
	if s.learned == nil || len(s.learned) >= maxLearned {
		s.learned = map[*workflow.Definition]bool{}
	}
	s.learned[def] = true
	var names []string
	for _, step := range def.Steps {
		names = append(names, step.Uses.Secrets...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if value, ok := s.Find(name); ok {
			s.masker.Add(value)
		}
	}
}

// Value gives the value of a secret and has the masker know it; false: it is not known here.
func (s *Secrets) Value(name string) (value string, known bool) {
	if s.Find == nil {
		return "", false
	}
	if value, known = s.Find(name); known {
		s.masker.Add(value)
	}
	return value, known
}

// Text gives text with every secret that was resolved replaced, in all forms.
func (s *Secrets) Text(text string) string { return s.masker.Text(text) }

// Masked gives an outcome without the secrets that its attempt may have said.
func (s *Secrets) Masked(o outcome.Outcome) outcome.Outcome {
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
