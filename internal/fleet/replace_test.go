package fleet_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/machine"
)

const chainWithMore = `
workflow: chain
steps:
  - { id: a, task: work, with: "${ input }" }
  - { id: b, task: more, with: "${ input }" }
  - { id: c, task: work, with: "${ input }" }
`

const slow = `
workflow: slow
steps:
  - { id: a, task: slow, with: "${ input }" }
`

// A9, K3
func TestAFleetIsReplacedUnderLoadAndNothingIsLostOrRepeated(t *testing.T) {
	t.Parallel()
	g := newGround(t, chain, slow)
	g.o.Slots, g.o.Delay, g.o.Label = 4, 30*time.Millisecond, "1"
	first := g.o
	first.Handlers = []string{"work", "slow"}
	old := []*fleet.Process{fleet.Start(t, first), fleet.Start(t, g.o), fleet.Start(t, g.o)}
	// Some attempts go on for longer than anybody waits for them: they are interrupted, and taken up by others. One process
	// has them, which waits for all its Grace; that is as long as a busy machine may need to end what was interrupted.
	v1 := g.start("slow", 2, fleet.Order{Gates: map[string]string{"a": "open"}})
	long := g.held("a", 1, 2)
	v1 = append(v1, g.start("chain", 60, fleet.Order{})...)
	next := g.o
	next.Label, next.Define, next.Handlers = "2", []string{chainWithMore, slow}, []string{"work", "more", "slow"}
	var v2 []string
	for _, p := range old {
		fleet.Start(t, next)
		v2 = append(v2, g.start("chain", 40, fleet.Order{})...)
		if err := p.Terminate(t.Context()); err != nil {
			t.Fatal(err)
		}
		v2 = append(v2, g.start("chain", 40, fleet.Order{})...)
	}
	g.open("open")
	g.ended()
	b := g.books()
	if n := len(g.rows(machine.Succeeded)); n != len(g.runs) {
		t.Errorf("%d of %d runs succeeded", n, len(g.runs))
	}
	g.versions(map[int][]string{1: v1, 2: v2})
	for i := range b.Lines {
		if l := &b.Lines[i]; l.Label == "1" && l.Version == 2 && l.Path == "b" {
			t.Errorf("an old process has a handler that it never had: %+v", l)
		}
	}
	released := b.Of(machine.TaskReleased)
	for id, owner := range long {
		if released[id] != owner {
			t.Errorf("%v was not released by %s", id, owner)
		}
	}
	for id := range b.Of(machine.TaskFailed) {
		t.Errorf("%v failed", id)
	}
	for id := range b.Of(machine.TaskLate) {
		t.Errorf("%v was late", id)
	}
}

// versions checks which version of its workflow each run has.
func (g *ground) versions(want map[int][]string) {
	g.t.Helper()
	got := map[int][]string{}
	for _, r := range g.rows() {
		got[r.Version] = append(got[r.Version], r.ID)
	}
	byID := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if diff := cmp.Diff(want, got, byID); diff != "" {
		g.t.Errorf("versions of the runs (-want +got):\n%s", diff)
	}
}

// A1
func TestATaskThatNobodyServesWaitsForAProcessThatDoes(t *testing.T) {
	t.Parallel()
	g := newGround(t, chainWithMore)
	fleet.Start(t, g.o)
	ids := g.start("chain", 10, fleet.Order{})
	g.held("a", 1, len(ids))
	able := g.o
	able.Handlers = []string{"more"}
	more := fleet.Start(t, able)
	g.ended()
	for id, owner := range g.books().In(fleet.Begun) {
		if id.Attempt != 1 || (id.Path == "b") != (owner == more.Owner) {
			t.Errorf("%v was begun by %s", id, owner)
		}
	}
}

// D2
func TestProcessesThatDefineTheSameAtOnceAgreeOnItsVersion(t *testing.T) {
	t.Parallel()
	g := newGround(t, chain)
	g.o.Define, g.o.Handlers = []string{chainWithMore}, []string{"work", "more"}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			p, err := fleet.Launch(t.Context(), g.o)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = p.Kill() })
		})
	}
	all.Wait()
	ids := g.start("chain", 10, fleet.Order{})
	g.ended()
	g.books()
	g.versions(map[int][]string{2: ids})
}
