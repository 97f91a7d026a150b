package machine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/workflow"
)

// planned gives what a cancel would undo, as tasks.
func planned(w *world) (paths []string, err error) {
	plan, err := Plan(w.def, w.load("", true), func(path string) int {
		if task := w.tasks[path]; task != nil && task.held {
			return task.Attempt + 1
		} else if task != nil {
			return task.Attempt
		}
		return 0
	}, w.payload, func(path string) []byte { return w.docs[path] })
	for _, path := range plan {
		paths = append(paths, path+UndoSuffix)
	}
	return paths, err
}

// cancelled cancels the run, has every holder let go without an answer, and gives what was undone from then on.
func (w *world) cancelled() (paths []string) {
	note := func(effects []Effect) {
		for _, e := range effects {
			if start, ok := e.(StartTask); ok && strings.HasSuffix(start.Path, UndoSuffix) {
				paths = append(paths, start.Path)
			}
		}
	}
	note(w.tell(Event{Kind: CancelRequested, Payload: encode(Order{})}))
	for n := 0; n < 1000 && len(w.tasks) > 0 && !strings.HasPrefix(sortedTasks(w)[0], finallyPath); n++ {
		path := sortedTasks(w)[0]
		for _, p := range sortedTasks(w) { // what stops goes first, in the order in which it was told to
			if w.tasks[p].stop {
				path = p
				break
			}
		}
		ev := Event{Kind: TaskSucceeded, Path: path, Attempt: w.tasks[path].Attempt + 1, Payload: json.RawMessage("null")}
		if w.tasks[path].stop {
			ev.Kind, ev.Payload = TaskStopped, nil
		}
		note(w.tell(ev))
	}
	return paths
}

// C2: what a plan says is what a cancel then undoes, wherever the run stands; in that order, when nobody holds anything.
func TestThePlanIsWhatACancelUndoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		source := (&thicket{t: t}).source()
		def, err := workflow.Read("t.yaml", source)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		w := newWorld(def)
		l := newLedger(w)
		l.tell(Event{Kind: RunStarted, Payload: json.RawMessage(`{"i": 1}`)})
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			l.random(t)
		}
		if w.status.Ended() || w.status == Paused || w.load("", false).final() != nil {
			return
		}
		want, err := planned(w)
		if err != nil {
			t.Fatal(err)
		}
		waits := slices.ContainsFunc(sortedTasks(w), func(path string) bool { return w.tasks[path].held || strings.HasSuffix(path, UndoSuffix) })
		got := w.cancelled()
		if waits { // the order is that in which those who hold something answer
			slices.Sort(want)
			slices.Sort(got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-planned +undone):\n%s\n%s\n%s", diff, source, strings.Join(l.lines, "\n"))
		}
	})
}
