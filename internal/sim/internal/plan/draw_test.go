package plan

import (
	"math/rand/v2"
	"testing"

	"github.com/millrace-go/millrace/workflow"
)

func TestEveryPlanThatIsDrawnIsAWorkflow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		p := Draw(rand.New(rand.NewPCG(seed, 1)), "w")
		if _, err := workflow.Read("w.yaml", []byte(p.Text())); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, p.Text())
		}
	}
}
