package machine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/workflow"
)

// Plan gives what a cancel of the run would undo if it came now, in order: the paths of the activations. It plays the rest of
// the run through as if every attempt under way gave no answer and every compensation did its work. attempts gives the number of
// the newest attempt of a live task, 0 when none began; load and document are those of ApplyLoading. The run is left as it was.
func Plan(def *workflow.Definition, run *Run, attempts func(path string) int, load func(Ref) (json.RawMessage, bool),
	document func(path string) []byte,
) ([]string, error) {
	var plan []string
	made := map[Ref]json.RawMessage{}
	known := func(r Ref) (json.RawMessage, bool) {
		if raw, ok := made[r]; ok {
			return raw, true
		}
		return load(r)
	}
	todo := []Event{{Kind: CancelRequested, At: run.At, Payload: encode(Order{})}}
	for _, path := range LiveTasks(def, run) { // those under way: compensations do their work, what was told to stop lets go
		ev := Event{Kind: TaskStopped, At: run.At, Path: path, Attempt: attempts(path)}
		if strings.HasSuffix(path, UndoSuffix) {
			ev.Kind, ev.Attempt, ev.Payload = TaskSucceeded, ev.Attempt+1, json.RawMessage("null")
		}
		todo = append(todo, ev)
	}
	for len(todo) > 0 && !run.Status.Ended() {
		ev := todo[0]
		todo = todo[1:]
		next, effects, err := ApplyLoading(def, run, ev, known, document)
		if err != nil {
			return nil, err
		}
		if ev.Payload != nil {
			made[Ref{Seq: next.Seq}] = ev.Payload
		}
		for _, effect := range effects {
			switch e := effect.(type) {
			case PutValue:
				made[e.Ref] = e.Data
			case StopTask:
				todo = append(todo, Event{Kind: TaskStopped, At: run.At, Path: e.Path, Attempt: attempts(e.Path)})
			case StartTask:
				if path, ok := strings.CutSuffix(e.Path, UndoSuffix); ok {
					plan = append(plan, path)
					todo = append(todo, Event{Kind: TaskSucceeded, At: run.At, Path: e.Path, Attempt: e.Attempt + 1, Payload: json.RawMessage("null")})
				}
			default:
			}
		}
		run = next
	}
	return slices.Clip(plan), nil
}
