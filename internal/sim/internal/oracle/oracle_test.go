package oracle

import (
	"strings"
	"testing"

	"github.com/millrace-go/millrace/internal/sim/internal/plan"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// step gives a step as it is drawn with nothing said of it.
func step(key, action string, after ...int) *plan.Step {
	return &plan.Step{Key: key, Action: action, After: after, Next: -1, Tolerate: -1}
}

func with(s *plan.Step, change func(s *plan.Step)) *plan.Step {
	change(s)
	return s
}

func undoable(s *plan.Step) *plan.Step {
	return with(s, func(s *plan.Step) { s.Undo = &plan.Undo{} })
}

func graph(steps ...*plan.Step) *plan.Body { return &plan.Body{Kind: plan.Graph, Steps: steps} }

func single(s *plan.Step) *plan.Body {
	s.Alone = true
	return &plan.Body{Kind: plan.Single, Steps: []*plan.Step{s}}
}

// entries numbers entries that are written as kind and path; a failure is permanent.
func entries(lines ...string) []store.Entry {
	out := make([]store.Entry, len(lines))
	for i, line := range lines {
		kind, path, _ := strings.Cut(line, " ")
		out[i] = store.Entry{Seq: int64(i + 1), Kind: machine.EventKind(kind), Path: path, Attempt: 1, Facts: []byte("{}")}
		if out[i].Kind == machine.TaskFailed {
			out[i].Payload = []byte(`{"code":"broken","permanent":true}`)
		}
	}
	return out
}

func TestTheOracleObjectsToWhatIsWrongAlone(t *testing.T) {
	t.Parallel()
	saved := func(last *plan.Step) *plan.Plan {
		return &plan.Plan{Root: graph(undoable(step("s1", "task")), step("s2", "savepoint", 0), last)}
	}
	forestalled := step("s3", "fail", 0)
	forestalled.Code = "broken"
	inner := undoable(with(step("s1", "steps"), func(s *plan.Step) {
		s.OnError, s.Inner = "continue", []*plan.Body{graph(step("t", "task"))}
	}))
	needy := with(step("s1", "parallel"), func(s *plan.Step) {
		ends := with(step("e", "end"), func(s *plan.Step) { s.EndRun = true })
		s.Need, s.CancelRest, s.Inner = 1, true, []*plan.Body{single(step("a", "set")), single(ends)}
	})
	fails := with(step("s2", "fail", 0), func(s *plan.Step) { s.Code = "other" })
	for _, c := range []struct {
		name string
		run  Run
		want string // a part of the objection; "": none
	}{
		{"what led to a savepoint was undone", Run{
			Plan: saved(step("s3", "task", 1)), Entries: entries("run_started", "task_succeeded s1", "task_failed s3", "task_succeeded s1~undo"),
			Starts: []Start{{1, "s1"}, {2, "s3"}, {3, "s1~undo"}},
		}, "s1 was undone"},
		{"a failure without a task came before the savepoint", Run{
			Plan: saved(forestalled), Entries: entries("run_started", "task_succeeded s1", "task_succeeded s1~undo"),
			Starts: []Start{{1, "s1"}, {2, "s1~undo"}},
		}, ""},
		{"a composite that is undone by itself failed before the root did", Run{
			Plan:    &plan.Plan{Root: graph(inner, undoable(step("s2", "task")), undoable(step("s3", "task")))},
			Entries: entries("run_started", "task_failed s1/t", "task_failed s2", "task_succeeded s3", "task_succeeded s1~undo", "task_succeeded s2~undo", "task_succeeded s3~undo"),
			Starts:  []Start{{1, "s1/t"}, {1, "s2"}, {1, "s3"}, {2, "s1~undo"}, {5, "s2~undo"}, {6, "s3~undo"}},
		}, ""},
		{"an older one was undone before a newer one", Run{
			Plan:    &plan.Plan{Root: graph(undoable(step("s1", "task")), undoable(step("s2", "task", 0)), step("s3", "task", 1))},
			Entries: entries("run_started", "task_succeeded s1", "task_succeeded s2", "task_failed s3", "task_succeeded s1~undo", "task_succeeded s2~undo"),
			Starts:  []Start{{1, "s1"}, {2, "s2"}, {3, "s3"}, {4, "s1~undo"}, {5, "s2~undo"}},
		}, "s1, which ended at 2, was undone before s2"},
		{"a retry is a fresh budget for a compensation", Run{
			Plan:    &plan.Plan{Root: graph(undoable(step("s1", "task")))},
			Entries: entries("run_started", "task_failed s1", "task_failed s1~undo", "abort_requested", "retry_requested", "task_failed s1~undo"),
			Starts:  []Start{{1, "s1"}, {2, "s1~undo"}, {5, "s1~undo"}},
		}, ""},
		{"another attempt after a permanent failure", Run{
			Plan:    &plan.Plan{Root: graph(step("s1", "task"))},
			Entries: entries("run_started", "task_failed s1", "task_failed s1"), Starts: []Start{{1, "s1"}, {2, "s1"}},
		}, "another attempt of s1 after a permanent failure"},
		{"a need that is met stops what would have ended the run", Run{
			Plan: &plan.Plan{Root: graph(needy, fails)}, Entries: entries("run_started"), Error: &machine.Error{Code: "other"},
		}, ""},
	} {
		c.run.Status = machine.Failed
		if c.run.Error == nil {
			c.run.Error = &machine.Error{Code: "broken"}
		}
		found, _ := c.run.Flow()
		undoing, _ := c.run.Undoing()
		all := strings.Join(append(found, undoing...), "\n")
		if (all == "") != (c.want == "") || !strings.Contains(all, c.want) {
			t.Errorf("%s: the oracle says %q; want %q", c.name, all, c.want)
		}
	}
}
