package sim

import (
	"math/rand/v2"
	"testing"

	"github.com/millrace-go/millrace/workflow"
)

func TestEveryPlanThatIsDrawnIsAWorkflow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		p := drawPlan(rand.New(rand.NewPCG(seed, 1)), "w")
		if _, err := workflow.Read("w.yaml", []byte(p.text())); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, p.text())
		}
	}
}
