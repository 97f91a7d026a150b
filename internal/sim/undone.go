package sim

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/millrace-go/millrace/machine"
)

// undoing is what a compensation gets, without `with` and with that of the plans.
type undoing struct {
	Key    string          `json:"key"`
	Input  json.RawMessage `json:"input"`
	Output json.RawMessage `json:"output"`
	Error  *machine.Error  `json:"error"`

	Undo string          `json:"undo"`
	Got  json.RawMessage `json:"got"`
	Gave json.RawMessage `json:"gave"`
	Why  *machine.Error  `json:"why"`
}

// told is what a handler was given for a task: every attempt gets the same, and no other task gets the key.
type told struct {
	input, key string
	times      int // that a person gave the task another input
	life       int // retries of the run before
}

const undoSuffix = "~undo"

// undoes checks that a compensation gets what its step got and gave, its key, and the error that began it.
func (w *world) undoes(j *job) {
	r := w.runs[j.attempt.ID]
	step := strings.TrimSuffix(j.attempt.Path, undoSuffix)
	var u undoing
	if err := json.Unmarshal(j.attempt.Input, &u); err != nil {
		w.fault("%v gets %s", j.attempt, j.attempt.Input)
		return
	}
	if u.Key == "" {
		u.Key, u.Input, u.Output, u.Error = u.Undo, u.Got, u.Gave, u.Why
	}
	if u.Error == nil || u.Error.Code == "" {
		w.fault("%v is not told what began it: %s", j.attempt, j.attempt.Input)
	}
	before, executed := w.told[taskOf(r, step)]
	switch {
	case executed && before.times < r.inputs[step] && r.number[step] > r.since[step]: // held with the new input; no handler was called
		if u.Key == before.key || !sameJSON(u.Input, []byte(r.given[step])) {
			w.fault("%v gets %s; its step was given %s after it had the key %s", j.attempt, j.attempt.Input, r.given[step], before.key)
		}
	case executed:
		if u.Key != before.key || !sameJSON(u.Input, []byte(before.input)) {
			w.fault("%v gets %s; its step had the key %s and got %s", j.attempt, j.attempt.Input, before.key, before.input)
		}
	}
	switch {
	case r.done[step]:
		if !sameJSON(u.Output, output(step)) {
			w.fault("%v gets %s; its step gave %s", j.attempt, j.attempt.Input, output(step))
		}
	case r.late[step]:
		w.mark("a late success joined the plan")
	case r.started[step] && string(u.Output) != "null":
		w.fault("%v gets %s; its step did not succeed", j.attempt, j.attempt.Input)
	}
}

func taskOf(r *run, path string) string { return r.header.ID + " " + path }

func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// received checks what an attempt gets: the same as the one before, unless a person gave its task another input since; and a
// key that no other task has.
func (w *world) received(j *job) {
	r, path := w.runs[j.attempt.ID], j.attempt.Path
	if since, ok := r.since[path]; ok && j.attempt.Number <= since {
		return // it was taken before the new input came
	}
	name := taskOf(r, path)
	now := told{input: string(j.attempt.Input), key: j.attempt.Key, times: r.inputs[path], life: r.retries}
	before, again := w.told[name]
	given, isGiven := r.given[path]
	switch {
	case isGiven && given != now.input:
		w.fault("%v gets %s, and a person gave it %s", j.attempt, now.input, given)
	case !again:
	case before.life != now.life:
	case before.times != now.times:
		if before.key == now.key {
			w.fault("%v has another input than before, and the same key", j.attempt)
		}
	case before.key != now.key:
		w.fault("%v has the key %s, and before it was %s", j.attempt, now.key, before.key)
	case before.input != now.input && !r.late[strings.TrimSuffix(path, undoSuffix)]:
		w.fault("%v gets %s, and an attempt before got %s", j.attempt, now.input, before.input)
	}
	if other, taken := w.keys[now.key]; taken && other != name {
		w.fault("%v has the key of %s", j.attempt, other)
	}
	w.told[name], w.keys[now.key] = now, name
	if strings.HasSuffix(path, undoSuffix) && !isGiven {
		w.undoes(j)
	}
	if strings.HasPrefix(path, "finally") {
		w.lastly(j)
	}
}

// lastly checks that what runs at the end is told how the run ends.
func (w *world) lastly(j *job) {
	var in struct {
		Ending machine.Status `json:"ending"`
	}
	if err := json.Unmarshal(j.attempt.Input, &in); err != nil || !in.Ending.Ended() {
		w.fault("%v gets %s", j.attempt, j.attempt.Input)
	}
	if r := w.runs[j.attempt.ID]; !r.over { // a worker that lost its attempt may come when all is over
		r.ending = in.Ending
	}
}
