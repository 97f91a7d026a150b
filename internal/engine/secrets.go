package engine

import (
	"fmt"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/internal/engine/internal/options"
	"github.com/millrace-go/millrace/machine"
)

// reveal adds the secrets that the step names to what its programs see. An outcome says which this process does not know.
func (a *Attempt) reveal(env expr.Env) *Outcome {
	names := a.Step.Uses.Secrets
	if len(names) == 0 {
		return nil
	}
	values := make(expr.Env, len(names))
	for _, name := range names {
		value, known := a.engine.secrets.Value(name)
		if !known {
			return &Outcome{Err: &machine.Error{Code: machine.CodeExpression, Permanent: true, Message: fmt.Sprintf(
				"the secret %s is not known to this process: set MILLRACE_SECRET_%s, or write it into the file of secrets",
				name, options.Shouted(name))}}
		}
		values[name] = value
	}
	env["secrets"] = values
	return nil
}

// Mask gives text with every secret that this process has resolved replaced, in all forms. It is for what is shown and never
// stored; what is stored was masked before.
func (e *Engine) Mask(text string) string { return e.secrets.Text(text) }

// Mask is Engine.Mask of the attempt's engine.
func (a *Attempt) Mask(text string) string { return a.engine.Mask(text) }
