package machine

import (
	"errors"
	"testing"
)

// K3: what later rules began is left to a program that knows them.
func TestARunOfLaterRulesIsLeftAlone(t *testing.T) {
	t.Parallel()
	h := Header{ID: "r", Workflow: "w", MachineVersion: Version + 1}
	run := NewRun(h)
	if err := run.SetRoot([]byte(`{"s":"r1p4","r":{}}`)); !errors.Is(err, ErrNewer) {
		t.Errorf("its document: %v", err)
	}
	after, effects, err := Apply(nil, NewRun(h), Event{Kind: RunStarted})
	if !errors.Is(err, ErrNewer) || len(effects) > 0 || after.Seq != 0 {
		t.Errorf("an event: %v, %v, entry %d", err, effects, after.Seq)
	}
	if _, err := Replay(nil, h, []Event{{Kind: RunStarted}}); !errors.Is(err, ErrNewer) {
		t.Errorf("its journal: %v", err)
	}
}
