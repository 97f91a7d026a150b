package machine

import (
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/workflow"
)

// CheckFrom gives what keeps a run from beginning at a step, in words; nothing when it may. The step must be one of the
// root's, and neither it nor what comes after it may read into the output of a step that then never runs: where a program
// asks whether such an output is null, it is.
func CheckFrom(def *workflow.Definition, from string) []string {
	i, ok := def.Body.ByKey[from]
	if !ok {
		for _, s := range def.Steps {
			if s.Key == from {
				return []string{fmt.Sprintf("step %q stands inside another step: a run can only begin at a step of the workflow itself", from)}
			}
		}
		return []string{fmt.Sprintf("there is no step %q to begin at", from)}
	}
	follows := following(def.Body, i)
	var found []string
	say := func(reader string, uses *workflow.Uses, up int) {
		for _, u := range uses.Steps {
			if u.Up != up || !u.Bare || follows[u.Index] {
				continue
			}
			text := fmt.Sprintf("%s reads steps.%s.output, and %s does not run when the run begins at %s; write `steps.%s.output?.`",
				reader, u.Key, u.Key, from, u.Key)
			if !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
	}
	for k, s := range def.Body.Steps {
		if follows[k] {
			eachUse(s, 0, func(uses *workflow.Uses, up int) { say("step "+s.Key, uses, up) })
		}
	}
	say("the output of the workflow", &def.OutputUses, 0)
	return found
}

// eachUse gives the names that the programs of a step and of all inside it read; up is how many levels out the root is.
func eachUse(s *workflow.Step, up int, f func(uses *workflow.Uses, up int)) {
	f(&s.Uses, up)
	f(&s.WhenUses, up)
	f(&s.ActionUses, up)
	f(&s.NeedUses, up)
	for i := range s.Catch {
		f(&s.Catch[i].WhenUses, up)
	}
	if c := s.Compensate; c != nil && c.Name == "" { // a shared one names no steps
		eachUse(c.Step, up+1, f)
	}
	switch a := s.Action.(type) {
	case *workflow.Approve:
		if a.Notify != nil {
			eachUse(a.Notify, up+1, f)
		}
	case *workflow.Switch:
		for i := range a.Cases {
			f(&a.Cases[i].WhenUses, up)
		}
	case *workflow.Loop:
		f(&a.WhileUses, up)
		f(&a.UntilUses, up)
	}
	for _, body := range s.Bodies {
		for _, inner := range body.Steps {
			eachUse(inner, up+1, f)
		}
	}
}
