package load

import (
	"testing"

	"github.com/millrace-go/millrace/workflow"
)

func TestTheWorkflowsAreThoseOfTheCases(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, text := range Workflows {
		def, err := workflow.Read("load.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		known[def.Name] = true
	}
	drawn := map[string]bool{}
	for n := range 200 {
		c := Draw(7, n)
		if !known[c.Workflow] {
			t.Fatalf("case %d is of the workflow %s, which is not there", n, c.Workflow)
		}
		drawn[c.Workflow] = true
	}
	if len(drawn) != len(known) {
		t.Errorf("cases are of %v only, of %v", drawn, known)
	}
}
