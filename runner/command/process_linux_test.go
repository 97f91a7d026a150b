package command

import (
	"os"
	"os/exec"
	"testing"
)

func TestADeadMemberThatNobodyReapsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for stat, want := range map[string]bool{
		"7 (sh) S 1 42 42 0 -1":          true,
		"7 (sh) Z 1 42 42 0 -1":          false,
		"7 (sh) X 1 42 42 0 -1":          false,
		"7 (sh) S 1 43 42 0 -1":          false,
		"7 (a) Z 1 42 b) R 1 42 42 0 -1": true,
		"7 (a) R 1 42 b) Z 1 42 42 0 -1": false,
		"7 (sh)":                         false,
		"":                               false,
	} {
		if got := livesIn(42, []byte(stat)); got != want {
			t.Errorf("%q: %v", stat, got)
		}
	}
}

func TestAProgramDiesWithTheProcessThatRunsIt(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := shell(t, holdWitness+`echo ready >&9; exec sleep 1000`)
	w := newWitness(t, &c)
	parent := exec.CommandContext(t.Context(), self)
	parent.Env = append(os.Environ(), roleVariable+"=parent", "SCRIPT="+c.Script, "FOLDER="+c.Root, "WITNESS="+w.file)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	w.hears()
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	w.seesNobody()
}
