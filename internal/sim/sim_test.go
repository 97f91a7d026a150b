package sim_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/millrace-go/millrace/internal/sim"
)

func number(t *testing.T, name string, byDefault int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return byDefault
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFirst(t *testing.T) {
	from, n := number(t, "MILLRACE_SIM_FROM", 1), number(t, "MILLRACE_SIM_SEEDS", 20)
	judged, runs, steps, bad := 0, 0, 0, 0
	marks := map[string]int{}
	for seed := from; seed < from+n; seed++ {
		r := sim.Run(t.Context(), uint64(seed), sim.Options{})
		judged += r.Judged
		runs += r.Runs
		steps += r.Steps
		for k, v := range r.Marks {
			marks[k] += v
		}
		if len(r.Faults) > 0 {
			for _, f := range r.Faults[:min(2, len(r.Faults))] {
				t.Errorf("SEED %d: %.600s", seed, f)
			}
			if bad++; bad == 1 {
				t.Log(r.String())
			}
			if bad > 8 {
				break
			}
		}
	}
	t.Logf("%d runs, %d judged, %d steps, %v", runs, judged, steps, marks)
}
