package request

import (
	"fmt"
	"maps"
	"slices"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow"
)

// Command is what a run or shell step asks for, with its programs evaluated.
type Command struct {
	Spec *workflow.Command
	Args []string          // of run; nil for shell
	Env  map[string]string // the step's own
	Dir  string            // inside the workflow's folder
}

// CommandOf evaluates the words and variables of a step whose action is spec. broken says which of them cannot be; nil: none.
func CommandOf(step *workflow.Step, spec *workflow.Command, env expr.Env, budget expr.Budget) (c *Command, broken *Broken) {
	e := evaluation{env: env, budget: budget}
	c = &Command{Spec: spec, Dir: step.Dir, Env: make(map[string]string, len(step.Env))}
	for i, t := range spec.Args {
		c.Args = append(c.Args, e.text(fmt.Sprintf("word %d of the command", i+1), t))
	}
	for _, name := range slices.Sorted(maps.Keys(step.Env)) {
		c.Env[name] = e.text("variable "+name, step.Env[name])
	}
	return c, e.broken
}
