//go:build mutants

package machine

// Mutant is the fault that is planted, "" for none. It must not change while anything is applied.
var Mutant string

func mutant(name string) bool { return name == Mutant }
