package fleet_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/machine"
)

// held waits until n attempts at a path have begun, and gives them.
func (g *ground) held(path string, attempt, n int) (all map[fleet.ID]string) {
	g.t.Helper()
	g.until("attempts begin", func() (bool, error) {
		lines, err := fleet.ReadLedger(g.o.Folder)
		all = (&fleet.Books{Lines: lines}).In(fleet.Begun)
		maps.DeleteFunc(all, func(id fleet.ID, _ string) bool { return id.Path != path || id.Attempt != attempt })
		return len(all) >= n, err
	})
	return all
}

// takeover is the longest time until the attempts of a process that vanished are taken over, beside its lease: those who find
// an expired lease leave it to its owner for 5 s, once they have looked on for 5 s and a third of their own, and look every 3 s;
// the rest is for a machine that is busy.
const takeover = 5*time.Second + watchful/3 + 5*time.Second + 3*time.Second + time.Minute

// A6
func TestAKilledProcessIsTakenOverWithinItsLease(t *testing.T) {
	t.Parallel()
	g := newGround(t, chain)
	g.o.Slots, g.o.Lease = 4, watchful
	g.start("chain", 4, fleet.Order{Gates: map[string]string{"b": "open"}})
	doomed := g.o
	doomed.Lease = brief
	victim := fleet.Start(t, doomed)
	unfinished := g.held("b", 1, 4)
	fleet.Start(t, g.o)
	fleet.Start(t, g.o)
	g.start("chain", 20, fleet.Order{})
	if err := victim.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	g.open("open")
	g.ended()
	b := g.books(victim.Owner)
	if diff := cmp.Diff(unfinished, b.Of(machine.TaskLost)); diff != "" {
		t.Errorf("lost is not what was unfinished (-unfinished +lost):\n%s", diff)
	}
	for _, entries := range b.Entries {
		for _, e := range entries {
			if took := e.At.Std().Sub(killed); e.Kind == machine.TaskLost && took > brief+takeover {
				t.Errorf("attempt %d of %s was taken over %s after its process was killed", e.Attempt, e.Path, took)
			}
		}
	}
	if n := len(g.rows(machine.Succeeded)); n != len(g.runs) {
		t.Errorf("%d of %d runs succeeded", n, len(g.runs))
	}
}

// A7, C4
func TestOutcomesOfAProcessThatHungBeyondItsLeaseAreLate(t *testing.T) {
	t.Parallel()
	g := newGround(t, chain)
	g.o.Slots, g.o.Lease = 6, watchful
	// They are deaf: else it depends on what comes first, the end of the attempt or the news that it was lost.
	short := g.start("chain", 3, fleet.Order{Deaf: true, Gates: map[string]string{"b": "open"}})
	long := g.start("chain", 3, fleet.Order{Deaf: true, Gates: map[string]string{"b": "open", "c": "end"}})
	hanging := g.o
	hanging.Lease = brief
	hung := fleet.Start(t, hanging)
	unfinished := g.held("b", 1, 6)
	if err := hung.Halt(); err != nil {
		t.Fatal(err)
	}
	g.open("open") // it does not see that before it goes on
	fleet.Start(t, g.o)
	g.held("c", 1, 6)
	g.until("some runs end", func() (bool, error) { return len(g.rows(machine.Succeeded)) == len(short), nil })
	if err := hung.Continue(); err != nil {
		t.Fatal(err)
	}
	late := func() map[fleet.ID]string {
		b, err := fleet.ReadBooks(t.Context(), g.st, "default", g.o.Folder, g.runs)
		if err != nil {
			t.Fatal(err)
		}
		return b.Of(machine.TaskLate)
	}
	g.until("late outcomes are recorded", func() (bool, error) { return len(late()) == len(unfinished), nil })
	g.open("end")
	g.ended()
	b := g.books(hung.Owner)
	if diff := cmp.Diff(unfinished, b.Of(machine.TaskLate)); diff != "" {
		t.Errorf("late is not what was unfinished (-unfinished +late):\n%s", diff)
	}
	if diff := cmp.Diff(unfinished, b.Of(machine.TaskLost)); diff != "" {
		t.Errorf("lost is not what was unfinished (-unfinished +lost):\n%s", diff)
	}
	for _, run := range slices.Concat(short, long) {
		for id, n := range times(b.Entries[run], machine.TaskLate) {
			if n != 1 {
				t.Errorf("run %s: the late outcome of %v is recorded %d times", run, id, n)
			}
		}
	}
	if n := len(g.rows(machine.Succeeded)); n != len(g.runs) {
		t.Errorf("%d of %d runs succeeded", n, len(g.runs))
	}
}

// times counts the entries of a kind for each attempt.
func times(entries []fleet.Entry, kind machine.EventKind) map[fleet.ID]int {
	n := map[fleet.ID]int{}
	for i := range entries {
		if entries[i].Kind == kind {
			n[entries[i].ID("")]++
		}
	}
	return n
}

// A7
func TestAProcessThatHungForLessThanItsLeaseLosesNothing(t *testing.T) {
	t.Parallel()
	g := newGround(t, chain)
	g.o.Slots, g.o.Lease = 4, 2*patience
	g.start("chain", 4, fleet.Order{Gates: map[string]string{"b": "open"}})
	hung := fleet.Start(t, g.o)
	g.held("b", 1, 4)
	if err := hung.Halt(); err != nil {
		t.Fatal(err)
	}
	fleet.Start(t, g.o)
	g.open("open")
	others := g.start("chain", 5, fleet.Order{})
	g.until("others go on", func() (bool, error) { return len(g.rows(machine.Succeeded)) == len(others), nil })
	if err := hung.Continue(); err != nil {
		t.Fatal(err)
	}
	g.ended()
	if late := g.books().Of(machine.TaskLate); len(late) > 0 {
		t.Errorf("late outcomes: %v", late)
	}
}

func (g *ground) open(gate string) {
	g.t.Helper()
	if err := fleet.OpenGate(g.o.Folder, gate); err != nil {
		g.t.Fatal(err)
	}
}
