package machine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/workflow"
)

type cost struct{ rows, bytes, applies int }

func (c cost) atMost(t *testing.T, factor int, small cost) {
	t.Helper()
	t.Logf("%+v against %+v", c, small)
	if c.rows > factor*small.rows || c.bytes > factor*small.bytes || c.applies > factor*small.applies {
		t.Errorf("%+v is more than %d times %+v", c, factor, small)
	}
}

func drive(t *testing.T, source, input string) (cost, *world) {
	t.Helper()
	def, err := workflow.Read("t.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(def)
	w.quick = true
	w.tell(Event{Kind: RunStarted, Payload: json.RawMessage(input)})
	for !w.status.Ended() && len(w.faults) == 0 {
		for _, path := range sortedTasks(w) {
			w.tell(Event{Kind: TaskSucceeded, Path: path, Attempt: 1, Payload: json.RawMessage(`{"total": 12.5}`)})
		}
	}
	for _, f := range w.faults {
		t.Fatal(f)
	}
	if w.status != Succeeded {
		t.Fatalf("the run is %s", w.status)
	}
	return cost{w.rows, w.docBytes, w.applies}, w
}

// F6: a map of 10,000 costs linear rows, bytes of documents and Apply calls.
func TestMapCostsLinear(t *testing.T) {
	t.Parallel()
	run := func(n int) cost {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf(`{"sku": %d}`, i)
		}
		source := "workflow: t\nsteps:\n  m: { map: { over: input, as: line, parallel: 100, do: { task: h } } }\n"
		c, _ := drive(t, source, "["+strings.Join(items, ",")+"]")
		return c
	}
	run(10_000).atMost(t, 11, run(1_000))
}

// A sequence of 1,000 steps costs at most 11 times what one of 100 costs.
func TestSequenceCostsLinear(t *testing.T) {
	t.Parallel()
	run := func(n int) cost {
		var b strings.Builder
		b.WriteString("workflow: t\nsteps:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - { id: s%d, task: h }\n", i)
		}
		c, _ := drive(t, b.String(), "{}")
		return c
	}
	run(1_000).atMost(t, 11, run(100))
}

// Steps without a worker are bounded in one Apply: the rest goes on by a timer for now.
func TestManyStepsWithoutAWorkerAreSpreadOverSeveralEvents(t *testing.T) {
	t.Parallel()
	def, err := workflow.Read("t.yaml", []byte(
		"workflow: t\nsteps:\n  l: { loop: { over: input, limit: 5000, do: { set: { n: \"${ pass.number }\" } } } }\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(def)
	w.quick = true
	w.tell(Event{Kind: RunStarted, Payload: json.RawMessage("[" + strings.Repeat("0,", 2499) + "0]")})
	turns := 0
	for !w.status.Ended() {
		name, due, _ := w.next()
		if due > w.now {
			t.Fatalf("waits until %d", due)
		}
		w.tell(Event{Kind: TimerFired, Path: name})
		turns++
	}
	if got := w.output(); turns != 2 || got != `{"n":2500}` {
		t.Errorf("%d more events gave %s", turns, got)
	}
	w.replayed()
	for _, f := range w.faults {
		t.Error(f)
	}
}

// X3: a sequence of 1,000 compensable steps that fails at its end costs at most 6 times what one of 200 costs, undoing included.
// (Shorter ones do not fill the part of the undo log that the root's document holds.)
func TestUndoingCostsLinear(t *testing.T) {
	t.Parallel()
	run := func(n int) cost {
		var b strings.Builder
		b.WriteString("steps:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - { id: s%d, task: h, compensate: { task: u } }\n", i)
		}
		b.WriteString("  - { id: last, fail: { code: no } }\n")
		w := newWorld(read(t, b.String()))
		w.quick = true
		w.tell(Event{Kind: RunStarted, Payload: json.RawMessage("{}")})
		undone := 0
		for !w.status.Ended() && len(w.faults) == 0 {
			for _, path := range sortedTasks(w) {
				if strings.HasSuffix(path, UndoSuffix) {
					undone++
				}
				w.tell(Event{Kind: TaskSucceeded, Path: path, Attempt: 1, Payload: json.RawMessage(`{"total": 12.5}`)})
			}
		}
		for _, f := range w.faults {
			t.Fatal(f)
		}
		if w.status != Failed || undone != n {
			t.Fatalf("the run is %s, and %d steps were undone", w.status, undone)
		}
		return cost{w.rows, w.docBytes, w.applies}
	}
	run(1_000).atMost(t, 6, run(200))
}

// X8: what goes on beside a parked item costs what it would cost without.
func TestWhatGoesOnBesideAParkedItemCostsLinear(t *testing.T) {
	t.Parallel()
	run := func(n int) cost {
		w := newWorld(read(t, "on_failure: park\nsteps:\n  m: { map: { over: input, parallel: 100, do: { task: h } } }\n"))
		w.quick = true
		w.tell(Event{Kind: RunStarted, Payload: json.RawMessage("[" + strings.Repeat("0,", n-1) + "0]")})
		w.tell(Event{Kind: TaskFailed, Path: "m[0]", Attempt: 1, Payload: encode(&Error{Code: "x", Permanent: true})})
		for len(w.tasks) > 0 && len(w.faults) == 0 {
			for _, path := range sortedTasks(w) {
				w.tell(Event{Kind: TaskSucceeded, Path: path, Attempt: 1, Payload: json.RawMessage(`{"total": 12.5}`)})
			}
		}
		for _, f := range w.faults {
			t.Fatal(f)
		}
		if w.status != Parked {
			t.Fatalf("the run is %s", w.status)
		}
		return cost{w.rows, w.docBytes, w.applies}
	}
	run(2_000).atMost(t, 5, run(500))
}
