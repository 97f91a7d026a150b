//go:build mutants

package sim_test

import (
	"testing"

	"github.com/millrace-go/millrace/internal/sim"
	"github.com/millrace-go/millrace/machine"
)

// Each fault that can be planted in the machine is found within some seeds. They are planted one after the other: the machine
// has one planted fault at a time.
//
//nolint:paralleltest // see above
func TestEveryPlantedFaultOfTheMachineIsFound(t *testing.T) {
	defer func() { machine.Mutant = "" }()
	for _, name := range []string{
		"records swapped", "perhaps done forgotten", "tries not undone", "no step first", "covered undone too", "unknown undone",
		"once for each", "undone twice", "two at once", "savepoints protect nothing", "handled undone", "undone too early",
		"cancel ignored", "abort undoes", "pause leaks", "finally skipped",
	} {
		t.Run(name, func(t *testing.T) {
			found(t, 600, func(seed uint64, planted bool) sim.Report {
				if machine.Mutant = ""; planted {
					machine.Mutant = name
				}
				return sim.Run(t.Context(), seed, sim.Options{})
			})
		})
	}
}
