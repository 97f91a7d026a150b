package machine

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/millrace-go/millrace/workflow"
)

// TestTranscripts runs the files of testdata/transcripts: commands to a world of one run, and what the machine answered.
// `go test ./machine -rewrite` writes the answers anew; review the diff.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, file string) {
		var w *world
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			out := transcript(&w, d)
			if w != nil {
				if w.status.Ended() {
					w.replayed()
				}
				for _, f := range w.faults {
					t.Errorf("%s: %s: %s", d.Pos, d.Cmd, f)
				}
				w.faults = nil
			}
			return out
		})
	})
}

// ofTranscripts gives the journals of all transcripts.
func ofTranscripts(t *testing.T) (all []frozen) {
	t.Helper()
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, file string) {
		var w, kept *world
		n := 0
		keep := func() {
			if w != kept && len(w.journal) > 0 && len(w.journal) <= maxFrozen {
				kept, n = w, n+1
				all = append(all, w.frozen(fmt.Sprintf("%s %d", strings.TrimSuffix(path.Base(file), ".txt"), n)))
			}
		}
		datadriven.RunTest(t, file, func(_ *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "workflow" {
				keep()
			}
			if got := transcript(&w, d); got != "" || d.Expected == "" {
				return got
			}
			return d.Expected
		})
		keep()
	})
	return all
}

const maxFrozen = 200 // entries of a journal that goes into the corpus

func transcript(w **world, d *datadriven.TestData) string {
	if d.Cmd == "workflow" {
		def, err := workflow.Read("t.yaml", []byte("workflow: t\n"+d.Input))
		if err != nil {
			return err.Error()
		}
		*w = newWorld(def)
		return ""
	}
	var b strings.Builder
	arg := ""
	if len(d.CmdArgs) > 0 {
		arg = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "start":
		input := d.Input
		if input == "" {
			input = "null"
		}
		(*w).header.Options = options(d, (*w).now)
		(*w).show(&b, Event{Kind: RunStarted, Payload: json.RawMessage(input)})
	case "ok", "fail", "lost", "release", "stopped":
		for _, p := range (*w).matching(arg) {
			(*w).show(&b, (*w).outcome(d, p))
		}
	case "cancel", "abort", "pause", "resume":
		(*w).show(&b, Event{Kind: EventKind(d.Cmd + "_requested"), Payload: encode(Order{By: "ann", Reason: arg})})
	case "redrive", "drop":
		ev := Event{Kind: EventKind(d.Cmd + "_requested"), Name: arg, Payload: encode(Order{By: "ann", Input: json.RawMessage(d.Input)})}
		if len(d.CmdArgs) > 1 {
			ev.Path = d.CmdArgs[1].Key
		}
		(*w).show(&b, ev)
	case "retry":
		o := Order{By: "ann"}
		for _, a := range d.CmdArgs {
			o.Again = o.Again || a.Key == "again"
			if a.Key == "from" {
				o.From = a.Vals[0]
			}
		}
		(*w).show(&b, Event{Kind: RetryRequested, Payload: encode(o)})
	case "late":
		ev := Event{Kind: TaskLate, Path: arg, Attempt: 1, Name: d.CmdArgs[1].Key, Payload: json.RawMessage(d.Input)}
		if len(d.CmdArgs) > 2 {
			_, _ = fmt.Sscan(d.CmdArgs[2].Vals[0], &ev.Attempt)
		}
		(*w).show(&b, ev)
	case "hold":
		for _, p := range (*w).matching(arg) {
			(*w).tasks[p].held = true
		}
	case "fire":
		(*w).fire(&b)
	case "check-from":
		for _, found := range CheckFrom((*w).def, arg) {
			fmt.Fprintln(&b, found)
		}
		return b.String()
	case "until":
		run := (*w).load(arg, false)
		if end := Until((*w).def, run, arg, (*w).now); end != 0 {
			return fmt.Sprintln((*w).elapsed(end))
		}
		return "not bounded\n"
	case "again":
		ev := (*w).journal[len((*w).journal)-1]
		(*w).show(&b, ev)
	case "event":
		(*w).show(&b, Event{Kind: EventReceived, Name: arg, Payload: json.RawMessage(d.Input)})
	case "docs":
		fmt.Fprintf(&b, "%s\n", (*w).root)
		for _, p := range slices.Sorted(maps.Keys((*w).docs)) {
			fmt.Fprintf(&b, "%s %s\n", p, (*w).docs[p])
		}
		return b.String()
	default:
		return "unknown command " + d.Cmd
	}
	(*w).summary(&b)
	return b.String()
}

// options reads what a start says of its run: `start from=b delay=10s priority=3 queue=q var.n=1 label.team=x`.
func options(d *datadriven.TestData, now Time) (o Options) {
	for _, a := range d.CmdArgs {
		switch name, member, _ := strings.Cut(a.Key, "."); name {
		case "from":
			o.From = a.Vals[0]
		case "delay":
			after, _ := time.ParseDuration(a.Vals[0])
			o.Due = now.Add(after)
		case "priority":
			_, _ = fmt.Sscan(a.Vals[0], &o.Priority)
		case "queue":
			o.Queue = a.Vals[0]
		case "var":
			if o.Vars == nil {
				o.Vars = map[string]json.RawMessage{}
			}
			o.Vars[member] = json.RawMessage(a.Vals[0])
		case "label":
			if o.Labels == nil {
				o.Labels = map[string]string{}
			}
			o.Labels[member] = a.Vals[0]
		}
	}
	return o
}

func (w *world) matching(pattern string) []string {
	var out []string
	for _, p := range slices.Sorted(maps.Keys(w.tasks)) {
		if p == pattern {
			return []string{p}
		}
		if ok, _ := path.Match(strings.NewReplacer("[", "\\[", "]", "\\]").Replace(pattern), p); ok {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return []string{pattern} // an outcome that nobody expects
	}
	return out
}

func (w *world) outcome(d *datadriven.TestData, p string) Event {
	ev := Event{Path: p, Attempt: 1}
	if task := w.tasks[p]; task != nil {
		ev.Attempt = task.Attempt + 1
	}
	for _, a := range d.CmdArgs {
		if a.Key == "attempt" {
			_, _ = fmt.Sscan(a.Vals[0], &ev.Attempt)
		}
	}
	switch d.Cmd {
	case "ok":
		ev.Kind, ev.Payload = TaskSucceeded, json.RawMessage(d.Input)
		if d.Input == "" {
			ev.Payload = json.RawMessage(`"` + p + `"`)
		}
	case "lost":
		ev.Kind = TaskLost
	case "release":
		ev.Kind = TaskReleased
	case "stopped":
		ev.Kind = TaskStopped
	case "fail":
		ev.Kind, ev.Payload = TaskFailed, encode(failure(d))
	}
	return ev
}

func failure(d *datadriven.TestData) *Error {
	e := &Error{Code: d.CmdArgs[1].Key, Message: d.Input}
	for _, a := range d.CmdArgs[2:] {
		switch a.Key {
		case "permanent":
			e.Permanent = true
		case "passing":
			e.Passing = true
		case "final":
			e.Final = true
		case "after":
			after, _ := time.ParseDuration(a.Vals[0])
			ms := after.Milliseconds()
			e.RetryAfterMS = &ms
		}
	}
	return e
}

// fire lets time pass until the next timer or due task.
func (w *world) fire(b *strings.Builder) {
	name, due, task := w.next()
	if name == "" {
		fmt.Fprintln(b, "nothing waits for a time")
		return
	}
	if due > w.now {
		fmt.Fprintf(b, "%s later\n", w.elapsed(due))
		w.now = due
	}
	if !task {
		w.show(b, Event{Kind: TimerFired, Path: name})
	}
}

func (w *world) show(b *strings.Builder, ev Event) {
	w.refused = ""
	effects := w.tell(ev)
	if w.refused != "" {
		fmt.Fprintf(b, "refused: %s\n", w.refused)
		return
	}
	if effects == nil && (len(w.journal) == 0 || w.journal[len(w.journal)-1].Kind != ev.Kind || w.journal[len(w.journal)-1].Path != ev.Path) {
		fmt.Fprintf(b, "%s %s: nothing changes\n", ev.Kind, ev.Path)
		return
	}
	for _, e := range effects {
		w.describe(b, e)
	}
}

func (w *world) describe(b *strings.Builder, e Effect) {
	switch e := e.(type) {
	case StartTask:
		fmt.Fprintf(b, "start %s <- %s", e.Path, w.input(&worldTask{StartTask: e}))
		if e.Attempt > 0 {
			fmt.Fprintf(b, " after attempt %d", e.Attempt)
		}
		if e.Due > w.now {
			fmt.Fprintf(b, " in %s", w.elapsed(e.Due))
		}
		if e.Held {
			fmt.Fprint(b, " held")
		}
		if o := w.header.Options; o.Queue != "" || o.Priority != 0 {
			fmt.Fprintf(b, " (queue %s, priority %d)", e.Queue, e.Priority)
		}
		fmt.Fprintln(b)
	case StopTask:
		fmt.Fprintf(b, "stop %s\n", e.Path)
	case SetTimer:
		fmt.Fprintf(b, "timer %s in %s\n", e.Key, w.elapsed(e.Due))
	case CancelTimer:
		fmt.Fprintf(b, "cancel timer %s\n", e.Key)
	case PutValue:
		fmt.Fprintf(b, "put %s = %s\n", e.Ref, e.Data)
	case OpenLetter:
		fmt.Fprintf(b, "letter %s %s: %s\n", e.Kind, e.Path, e.Error.Error())
	case CloseLetter:
		fmt.Fprintf(b, "close letter %s %s: %s\n", e.Kind, e.Path, e.How)
	case HoldTasks:
		fmt.Fprintln(b, "hold tasks")
	case FreeTasks:
		fmt.Fprintln(b, "free tasks")
	case EndRun:
		fmt.Fprintf(b, "end %s\n", e.Status)
	}
}

// summary is one line of where the run stands.
func (w *world) summary(b *strings.Builder) {
	run := w.load("", true)
	fmt.Fprintf(b, "%d %s:", w.seq, w.status)
	for i, s := range run.Root.States {
		status, reason := s.Status()
		if reason != "" {
			status += "(" + reason + ")"
		}
		fmt.Fprintf(b, " %s=%s", w.def.Body.Steps[i].Key, status)
	}
	for _, p := range slices.Sorted(maps.Keys(run.Scopes)) {
		fmt.Fprintf(b, " |%s", p)
		for i, s := range run.Scopes[p].States {
			status, _ := s.Status()
			if at := scopeAt(w.def, p); at != nil {
				fmt.Fprintf(b, " %s=%s", at.body.Steps[i].Key, status)
			}
		}
	}
	if w.status.Ended() {
		if e := run.Root.Run.Error; e != nil {
			fmt.Fprintf(b, " error %s at %s", e.Error(), e.Step)
		} else {
			fmt.Fprintf(b, " -> %s", w.output())
		}
	}
	fmt.Fprintln(b)
}
